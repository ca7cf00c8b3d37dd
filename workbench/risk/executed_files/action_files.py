"""Finds the files that an action executes or reads as code, from the parts of its command line and from its text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from workbench.files.root_directory import real_path
from workbench.files.workspace_names import by_own_name
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import NOT_COMPARED, Part
from workbench.risk.executed_files import programs as table
from workbench.risk.executed_files.commands import command, plain_name, working_directories
from workbench.risk.executed_files.control_files import inputs_named, is_steered
from workbench.risk.executed_files.finder import Finder
from workbench.risk.executed_files.lookup import Bases
from workbench.risk.executed_files.project_files import (
    TREE_PROGRAMS,
    add_class_path,
    add_directory,
    add_git_settings,
    add_named,
    add_nearby,
)
from workbench.risk.executed_files.source import paths_named
from workbench.risk.executed_files.unknown_names import has_unknown, values_in
from workbench.risk.executed_files.variables import (
    as_mounted,
    git_directories,
    home_directories,
    inherited,
    library_paths,
    module_directories,
    search_path,
    settings_directories,
    startup_files,
)
from workbench.risk.programs.rate import recognizes
from workbench.risk.word import UNKNOWN

_LONGEST: Final = 20_000
"""The number of characters of a command or code that are examined; longer ones are never rated LOW."""
_CELL_RUNS: Final = lazy_pattern(r"^[ \t]*%(?:run|load|debug|prun)[ \t]+([^\n]+)", re.M)
_MOST_BASES: Final = 8


def executed_files(
    parts: Sequence[Part],
    workspace: str,
    directory: str,
    *,
    text: str = "",
    code: str = "",
    pending: Mapping[str, str | None] | None = None,
    second: str = "",
) -> dict[str, str]:
    """Return the files that an action starting in `directory` would execute: a hash of the content by path.

    If a path contains symbolic links, the real path is appended to the hash. `parts` are those of the assessment,
    `text` is the command line, `code` is Python code. `pending` maps files that earlier actions will write to their
    future contents. `second` is a second path of the workspace, as in some containers. Never blocks; if there are more
    than MOST_FILES files, the result contains NOT_COMPARED.
    """
    finder = finder_of(parts, workspace, directory, text=text, code=code, pending=pending, second=second)
    _add_near_unknown(finder, parts, directory)
    return {**finder.files, NOT_COMPARED: ""} if finder.is_cut else finder.files


def finder_of(
    parts: Sequence[Part],
    workspace: str,
    directory: str,
    *,
    text: str = "",
    code: str = "",
    pending: Mapping[str, str | None] | None = None,
    second: str = "",
) -> Finder:
    """Return the finder that has searched for an action's files; the arguments are those of `executed_files`."""
    text, code = text[:_LONGEST], code[:_LONGEST]
    real = {
        each: real_path(each) for each in {workspace, directory, *(each for part in parts for each in part.directories)}
    }
    workspace, start = real[workspace], (real[directory],)
    finder = Finder(workspace, search_path(workspace, text), pending or {}, command)
    finder.lookup.own_name = partial(by_own_name, workspace=workspace, container_path=second)
    set_before = inherited(workspace)
    modules = module_directories(workspace, f"{text}\n{set_before}" if set_before else text)
    if any(has_unknown(word) for part in parts for word in part.words):
        finder.lookup.values = values_in(text)
    reached = _reached(finder, parts, start) if any(part.is_lost for part in parts) else ()
    for part in parts:
        if part.words:
            bases = tuple(real[each] for each in part.directories) or start
            command(finder, part.words, (*bases, *(reached if part.is_lost else ()), *modules), 0)
    _set_by_variables(finder, text, start, modules)
    for name in paths_named(set_before):
        finder.program(name, start, 0)
    _named_anywhere(finder, parts, text, (*start, *(real[each] for part in parts for each in part.directories[1:])))
    if "<<" in text:  # a heredoc may be the code of an interpreter
        finder.python_text(text.replace("'", "\n").replace('"', "\n"), start, 0)
    if code:
        finder.python_text(code, start, 0)
        for line in _CELL_RUNS.findall(code):
            command(finder, ("python", *line.split()), start, 0)
    return finder


def _add_near_unknown(finder: Finder, parts: Sequence[Part], directory: str) -> None:
    """Add the sources around each unknown program, because it may read any of them."""
    for part in parts:
        program = plain_name(part.words[0]) if part.words and part.risk != "LOW" else ""
        if program and "/" not in part.words[0] and not (recognizes(program) or program in table.RECOGNIZED):
            bases = tuple(real_path(each) for each in part.directories) or (real_path(directory),)
            add_nearby(finder, part.words[1:], bases)


def _reached(finder: Finder, parts: Sequence[Part], start: Bases) -> Bases:
    """Return the directories to which the `cd` commands of a line may lead."""
    moves = (part.words for part in parts if part.words[:1] and part.words[0] in table.MOVES)
    return tuple(dict.fromkeys(path for words in moves for path in finder.lookup.directories_at(words[-1], start)))


def _set_by_variables(finder: Finder, text: str, start: Bases, modules: Bases) -> None:
    for name in ("sitecustomize", "usercustomize") if modules else ():
        finder.module(name, modules, 0)
    for value in library_paths(text):
        add_class_path(finder, value, start, 0)
    for value in home_directories(text):
        add_directory(finder, value, start, 0)
    for value in git_directories(text):
        add_git_settings(finder, start, 0, value)
    for value in startup_files(text):
        finder.program(value, start, 0, "shell")
    was_cut = finder.is_cut
    for value in settings_directories(text):
        add_directory(finder, value, start, 0)
    finder.is_cut = was_cut  # it may be data instead


def _named_anywhere(finder: Finder, parts: Sequence[Part], text: str, bases: Bases) -> None:
    """Add all files that a line names if one of its commands may run code, because it may load any of them."""
    programs = [plain_name(part.words[0]) for part in parts if part.words]
    for path in inputs_named(text, programs):
        finder.program(path, bases[:_MOST_BASES], 1)
    if not any(map(_runs_something, parts)) or (len(parts) == 1 and _is_script(parts[0])):
        return
    for path in (path for part in parts for path in part.paths) if any(part.opaque for part in parts) else ():
        finder.program(path, bases, 1, "shell")
    directories = dict.fromkeys(
        (*bases, *(directory for part in parts for directory in working_directories(finder, part.words, bases)))
    )
    bases = tuple(directories)[:_MOST_BASES]
    add_named(finder, as_mounted(text), [part.words for part in parts], bases)
    for word in (word for part in parts if part.words and part.words[0] in table.COPIES for word in part.words[1:]):
        if finder.lookup.may_have(word, bases):
            add_directory(finder, word, bases, 1)
    for part in parts:
        if part.words and part.risk != "LOW":
            _named_directories(finder, part.words, bases)


def _named_directories(finder: Finder, words: Sequence[str], bases: Bases) -> None:
    """Add the files in directories named by a program's arguments, unless the program only reads or moves files."""
    program = plain_name(words[0])
    if program in table.DATA or program in TREE_PROGRAMS or program in table.SCRIPTED or program == "pytest":
        return
    for word in words[1:20]:
        name = word.partition("=")[2] if word.startswith("-") else word
        if name and UNKNOWN not in name and finder.lookup.may_have(name, bases):
            add_directory(finder, name, bases, 1)


def _is_script(part: Part) -> bool:
    """Return whether a command runs a script whose arguments are usually data."""
    is_recognized = part.risk != "HIGH" and not part.opaque and not any(UNKNOWN in word for word in part.words)
    runs_script = bool(part.words) and ("/" in part.words[0] or plain_name(part.words[0]) in table.SCRIPTED)
    return is_recognized and runs_script


def _runs_something(part: Part) -> bool:
    """Return whether a command may run code: it is not LOW, and does more than read or move files."""
    if part.opaque or part.risk == "HIGH":
        return True
    program = plain_name(part.words[0]) if part.words else ""
    if is_steered(program, part.words[1:]):
        return True
    is_data = program in table.DATA
    fills_in = any(UNKNOWN in word for word in part.words) and not is_data
    return fills_in or (part.risk != "LOW" and bool(part.words) and not is_data)
