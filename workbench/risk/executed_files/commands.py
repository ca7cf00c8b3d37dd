"""Finds the files that a command executes or reads as code, given its program and arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files import programs as table
from workbench.risk.executed_files.control_files import inputs_named, lists_named
from workbench.risk.executed_files.finder import LOADED_ENDINGS, Finder
from workbench.risk.executed_files.lookup import Bases
from workbench.risk.executed_files.project_files import (
    add_awk_libraries,
    add_class_path,
    add_directory,
    add_git_directories,
    add_git_settings,
    add_git_values,
    add_hooks,
    add_node_programs,
    add_tree,
    is_tree_program,
    members_of,
    scripts_of,
    submodules,
)
from workbench.risk.executed_files.pytest_files import add_plugins, add_tests, upwards
from workbench.risk.executed_files.recipes import targets_of
from workbench.risk.executed_files.settings_files import add_settings, add_user_settings
from workbench.risk.executed_files.source import CODE_ENDINGS, Kind, commands_in, is_program, is_redirect, quoted_names
from workbench.risk.executed_files.unknown_names import has_unknown, is_open
from workbench.risk.paths import within

_DEEPEST: Final = 6
_ASSIGNMENT: Final = lazy_pattern(r"[A-Za-z_]\w*\+?=")
_MODULE_FLAGS: Final = frozenset({"-p", "--app", "-A", "--settings", "--plugins", "--load-plugins"})
"""Options whose value is a module, or several separated by commas, that some programs load."""
_VERSION: Final = lazy_pattern(r"[-.]?[\d.]+\Z")
_RECIPE_MARKS: Final = "@-+"
_INCLUDES: Final = frozenset({"include", "-include", "sinclude", "import", "mod", "mod?", "import?"})
_MOST_BASES: Final = 8


def command(finder: Finder, words: Sequence[str], bases: Bases, depth: int) -> None:
    """Add the files that one command executes: its program, and the files that the program reads as code.

    `bases` are the directories to which its names may be relative; `depth` is the distance from the command line.
    """
    words = [word for word in words if not is_redirect(word)]
    while words and (_ASSIGNMENT.match(words[0]) or words[0].lstrip(_RECIPE_MARKS) == ""):
        words = words[1:]
    if not words:
        return
    is_include = words[0] in _INCLUDES
    name, rest = (words[0] if is_include else words[0].lstrip(_RECIPE_MARKS)), words[1:]
    if is_include or name in table.SOURCES:
        for word in rest if is_include else rest[:1]:
            finder.program(word, (*bases, *finder.search), depth, "recipes" if is_include else "shell")
        if name != "dotenv":  # it is also a program that runs another
            return
    program, is_own = plain_name(name), "/" in name
    if is_own:
        _own_program(finder, name, bases, depth)
    else:
        _in_path(finder, name, bases, depth)
    # The arguments of the project's own scripts are not interpreted.
    if not is_own or program in table.RECOGNIZED or is_tree_program(program, rest):
        _program_reads(finder, program, rest, bases, depth)


def _own_program(finder: Finder, name: str, bases: Bases, depth: int) -> None:
    # Without `#!`, bash runs a program as a script. An unknown name is that of any script.
    finder.program(name, bases, depth, "" if has_unknown(name) else "shell")
    for path in finder.lookup.at(name, bases) if not has_unknown(name) else ():
        if finder.scripts.get(path, ("",))[0] == "python":
            finder.shadowing(os.path.dirname(path), depth)  # noqa: PTH120 - strings
    if name.rpartition("/")[2] in table.TREE_SCRIPTS:
        add_tree(finder, (), bases, depth)


def _in_path(finder: Finder, name: str, bases: Bases, depth: int) -> None:
    if (name, bases[0]) in finder.searched or is_open(name):
        return
    finder.searched.add((name, bases[0]))
    for directory in finder.search:
        if finder.lookup.has(directory, name):
            finder.program(name, (directory,), depth, "shell")
    if not within(bases[0], finder.workspace) or bases[0] == finder.workspace:
        return
    for directory in upwards(bases[0], finder.workspace):
        finder.program(name, tuple(f"{directory}/{each}" for each in table.BESIDE[:2]), depth, "shell")


def _program_reads(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    program = table.SAME.get(program, program)
    works_in = (*working_directories(finder, rest, bases), *bases)
    _settings(finder, program, rest, works_in, depth)
    for name in (*lists_named(program, rest), *_run_where_matched(rest)):
        finder.program(name, works_in, depth)
    if program == "git":
        _git(finder, rest, works_in, depth)
    elif program in table.SCRIPTED:
        _interpreted(finder, program, rest, works_in, depth)
        if is_tree_program(program, rest):
            add_tree(finder, rest, works_in, depth)
        add_settings(finder, program, works_in, depth)
        _looked_for(finder, program, rest, works_in, depth)  # bun and deno run scripts of package.json and deno.json
    elif program in table.WRAPPERS:
        _looked_for(finder, program, rest, works_in, depth)
        _wrapped(finder, rest, works_in, depth)
    elif program in {"awk", "gawk", "mawk", "nawk", "sed", "gsed"}:
        _flag_files(finder, rest, works_in, depth)
        add_awk_libraries(finder, rest, works_in, depth)
    elif program not in table.DATA:
        _unknown(finder, program, rest, works_in, depth)


def _settings(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    add_user_settings(finder, program, bases, depth)
    for name in table.values_of(rest, table.SETTINGS_FLAGS):
        add_directory(finder, name, bases, depth)


def _run_where_matched(rest: list[str]) -> Iterator[str]:
    """Yield globs of the programs that `find -execdir ./x` runs, which are in the directories of matched files."""
    for flag, name in _with_next(rest):
        if flag in {"-execdir", "-okdir"} and name.startswith("./"):
            yield f"**/{name[2:]}"


def _interpreted(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    """Add an interpreter's script and the files that its flags load; the script's own arguments are ignored."""
    kind = table.kind_of(program)
    values = table.SCRIPTED[program]
    words = iter(rest)
    for word in words:
        flag, equals, value = word.partition("=")
        inline = table.INLINE[kind].fullmatch(word)
        if inline is not None:
            _inline(finder, inline[1] or _command_of(word, words, kind), bases, depth, kind)
            return
        if kind == "python" and (module := table.MODULE.fullmatch(word)):
            _run_module(finder, [*filter(None, (module[1],)), *words], bases, depth)
            return
        if flag in table.CODE_FLAGS:
            _loaded(finder, value if equals else next(words, ""), bases, depth, kind)
        elif loaded := table.LOADED_FLAG.fullmatch(word):
            _load_flag(finder, loaded[1], loaded[2] or next(words, ""), bases, depth)
        elif word in values or (kind == "shell" and table.NAMES_OPTION.fullmatch(word)):
            next(words, None)
        elif not word.startswith(("-", "+")) and word not in table.VERBS.get(program, ()):
            _script(finder, word, bases, depth, kind)
            return


def _command_of(flag: str, words: Iterator[str], kind: Kind) -> str:
    """Return the command line that belongs to a flag such as `-c`, skipping a shell's other flags and names of
    options.
    """
    word = flag
    while kind == "shell" and word[:1] in {"-", "+"}:
        for _ in range(len(re.findall("[oO]", word)) if word[1:2] != "-" else 0):
            next(words, "")
        word = next(words, "")
    return next(words, "") if word is flag else word


def _libraries(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    if program in table.CLASS_PATHS:
        _class_path(finder, rest, bases, depth)
    elif program.rpartition("-")[2] in table.COMPILERS:
        _compiler(finder, rest, bases, depth)
    elif program in table.JQ:
        _jq(finder, rest, bases, depth)


def _class_path(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the classes and archives that Java would load: those of its class path, or else the tree in which it
    starts.
    """
    has_path = False
    for word, following in _with_next(rest):
        flag, equals, value = word.partition("=")
        if flag in table.CLASS_PATH_FLAGS:
            has_path = True
            add_class_path(finder, value if equals else following, bases, depth)
    if not has_path and not any(word.endswith((".java", ".jar", ".kts")) for word in rest):
        add_tree(finder, (), bases, depth)


def _compiler(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add what a compiler loads from directories named by its options: its own programs, headers and libraries."""
    for word, following in _with_next(rest):
        if not (match := table.COMPILER_FLAGS.fullmatch(word)):
            continue
        directory = os.path.normpath(match[2] or following or ".")
        add_directory(finder, directory, bases, depth)
        for name in table.COMPILER_FILES[match[1][:1]] if directory == "." else ():
            finder.program(name, bases, depth)


def _jq(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the modules of jq: the directories of `-L`, and the modules that the filter includes."""
    for word, following in _with_next(rest):
        if word.startswith(("-L", "--library-path")):
            value = word.removeprefix("-L") if word.startswith("-L") else word.partition("=")[2]
            add_class_path(finder, value or following, bases, depth)
        elif "include" in word or "import" in word:
            _inline(finder, word, bases, depth, "other")


def _load_flag(finder: Finder, letter: str, value: str, bases: Bases, depth: int) -> None:
    """Add the module directory of `-I` or `-cp`, or the module of `-M`, `-r` or `-l`."""
    if letter in {"I", "cp"}:
        add_class_path(finder, value, bases, depth)
        return
    path = value.partition("=")[0].replace("::", "/")
    for ending in (".pm", *LOADED_ENDINGS):
        finder.program(f"{path}{ending}", (*bases, *(f"{base}/lib" for base in bases[:1])), depth)


def _script(finder: Finder, word: str, bases: Bases, depth: int, kind: Kind) -> None:
    if word.rpartition("/")[2] in table.TREE_SCRIPTS:
        add_tree(finder, (), bases, depth)
    for path in finder.lookup.at(word, bases) if kind == "python" else ():
        finder.shadowing(os.path.dirname(real_path(path)), depth)  # noqa: PTH120 - strings
    if not finder.program(word, bases, depth, kind):
        for inner in ("__main__.py", "index.js", "package.json"):
            finder.program(f"{word}/{inner}", bases, depth, kind)
        _loaded(finder, word, bases, depth, kind)


def _loaded(finder: Finder, word: str, bases: Bases, depth: int, kind: Kind) -> None:
    for ending in LOADED_ENDINGS:
        if finder.program(f"{word}{ending}", bases, depth, kind):
            return


def _inline(finder: Finder, code: str, bases: Bases, depth: int, kind: Kind) -> None:
    if kind == "python":
        finder.shadowing(bases[0], depth)
        finder.python_text(code, bases, depth)
    elif kind == "shell":
        commands = list(commands_in(code))
        finder.commands(commands, bases[:1], bases, depth + 1)
        for name in inputs_named(code, [words[0] for words in commands]):
            finder.program(name, bases, depth)
    else:
        for name in quoted_names(code, any_name=True):
            _loaded(finder, name, bases, depth, kind)


def _wrapped(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the command among a wrapper's arguments; several words are tried, because not all flags are known."""
    for at, word in enumerate(rest[:12]):
        if " " in word and depth < _DEEPEST:  # env -S 'program word', watch 'program word'
            _inline(finder, word.removeprefix("-S").removeprefix("--split-string="), bases, depth + 1, "shell")
        elif word.startswith("-S") and len(word) > 2:
            command(finder, (word[2:], *rest[at + 1 :]), bases, depth)
        elif not word.startswith("-") and not _ASSIGNMENT.match(word):
            if depth < _DEEPEST:
                command(finder, rest[at:], bases, depth + 1)
            if not word.isdecimal() and not re.fullmatch(r"[\d.]+[smhd]?|\{\}", word):
                return


def _flag_files(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    for word, value in _with_next(rest):
        flag, equals, inline_value = word.partition("=")
        if flag in table.FILE_FLAGS or flag in {"-E", "--exec", "-i", "--include"}:
            finder.program(inline_value if equals else value, bases, depth)
        elif word[:2] in {"-f", "-E"} and len(word) > 2:
            finder.program(word[2:], bases, depth)


def _tree(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the script that a runner gets, then the tree of a build program, although not every file of it will run."""
    for word in filter(_SCRIPT_NAME.fullmatch, rest[:20] if program in {*table.RUNNERS, "go"} else ()):
        finder.program(word, bases, depth, "other")
    if is_tree_program(program, rest):
        add_tree(finder, rest, bases, depth)


_SCRIPT_NAME: Final = lazy_pattern(r"[^-].*\.(?:py|[mc]?[jt]s|rb|pl|sh|bash|php|lua|go)")


def _unknown(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    """Add, for a program without a rule of its own, the files that it looks for, and operands that are scripts or
    executable.
    """
    _looked_for(finder, program, rest, bases, depth)
    add_settings(finder, program, bases, depth)
    _libraries(finder, program, rest, bases, depth)
    _tree(finder, program, rest, bases, depth)
    _flag_files(finder, rest, bases, depth)
    _named_modules(finder, rest, bases, depth)
    is_runner = program in table.RUNNERS or program in table.NODE_MANAGERS
    add_node_programs(finder, rest if program in table.NODE_MANAGERS else (), bases, depth)
    for at, word in enumerate(rest[:20]):
        if is_runner and _runs_another(finder, word, rest[at + 1 :], bases, depth):
            return
        if word.startswith("-") or _ASSIGNMENT.match(word):
            continue
        if program in table.RUNS_OPERANDS:
            finder.program(word, bases, depth)
        module, colon, attribute = word.partition(":")
        is_target = bool(colon) and attribute.isidentifier()  # `uvicorn package.module:app`
        if is_target or (program == "unittest" and word != "discover"):
            finder.module(module, bases, depth)
        if is_runner or not is_open(word):
            _operand(finder, word.partition("::")[0], bases, depth)


def _runs_another(finder: Finder, word: str, behind: list[str], bases: Bases, depth: int) -> bool:
    """Add the files that an argument of a runner may start; return True if the argument is a program with known
    arguments.
    """
    if word.startswith("-") or _ASSIGNMENT.match(word) or depth >= _DEEPEST:
        return False
    if word in table.SCRIPTED:
        command(finder, [word, *behind], bases, depth + 1)
        return True
    _in_path(finder, word, bases, depth)
    add_settings(finder, word, bases, depth)
    is_recognized = (word in table.RECOGNIZED and word not in table.DATA) or is_tree_program(word, behind)
    if is_recognized:
        _program_reads(finder, word, behind, bases, depth + 1)
    return is_recognized


def _operand(finder: Finder, word: str, bases: Bases, depth: int) -> None:
    for path in finder.lookup.perhaps_at(word, bases):
        if path.endswith(CODE_ENDINGS) or is_program(path):
            finder.add(path, bases, depth)


def _looked_for(finder: Finder, program: str, rest: list[str], bases: Bases, depth: int) -> None:
    names = table.LOOKED_FOR.get(program, ())
    kind: Kind = "recipes" if program in table.RECIPES else ""
    starts = dict.fromkeys(bases) if names else ()
    directories = [directory for base in starts for directory in upwards(base, finder.workspace)]
    if kind:
        finder.targets += targets_of(rest)
    for name in names:
        finder.program(name, tuple(directories), depth, kind)
    for word, value in _with_next(rest) if kind else ():
        if word in {"-f", "--file", "--makefile", "--justfile"}:
            finder.program(value, bases, depth, kind)
    for pattern in table.PATTERNS.get(program, ()):
        finder.program(pattern, bases, depth)
    if program in table.NODE_MANAGERS:
        _package_scripts(finder, rest, bases, depth)
    elif program == "pytest":
        add_tests(finder, rest, bases, depth)
        add_plugins(finder, names, tuple(directories), depth)


def _named_modules(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the modules named by options such as `flask --app` and `pytest -p`, and those in the code of
    `--init-hook`.
    """
    for word, value in _with_next(rest):
        flag, equals, inline = word.partition("=")
        if flag in _MODULE_FLAGS:
            for name in (inline if equals else value).split(","):
                finder.module(name.partition(":")[0], (*bases, finder.workspace), depth)
        elif flag == "--init-hook":
            finder.python_text(inline if equals else value, bases, depth)


def _package_scripts(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the files executed by those scripts in package.json that a package manager's command runs."""
    plain = [word for word in rest if not word.startswith("-")]
    verb = plain[0] if plain else ""
    expected = set(table.LIFECYCLE.get(verb, ()))
    for name in plain[:3]:
        expected |= {name, f"pre{name}", f"post{name}"}
    members = members_of(finder, bases) if not table.OF_MEMBERS.isdisjoint(rest) else ()
    starts = dict.fromkeys((*bases, *members)) if depth < _DEEPEST else ()
    for directory in (each for base in starts for each in upwards(base, finder.workspace)):
        for name, line in scripts_of(f"{directory}/package.json", finder.pending):
            if name in expected:
                finder.lines.append((f"{directory}/package.json", line))
                _inline(finder, line, (directory, *bases), depth + 1, "shell")
    if verb == "explore" and depth < _DEEPEST:
        command(finder, plain[2:], (*(f"{bases[0]}/node_modules/{name}" for name in plain[1:2]), *bases), depth + 1)
    for word in plain[:2]:
        if word in table.CONFIGURED:
            _program_reads(finder, word, [], bases, depth + 1)


def _git(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add git's settings, the hooks of the repository, and the commands among the arguments of some verbs."""
    add_git_settings(finder, bases, depth)
    add_hooks(finder, bases, depth)
    add_git_directories(finder, rest, bases, depth)
    for key, equals, value in (word.partition("=") for word in rest[:8]):
        if equals and "." in key:
            add_git_values(finder, f"{key.rpartition('.')[2]} = {value}", bases, depth)
    for at, word in enumerate(rest[:8]):
        if word in table.GIT_RUNS:
            inside = submodules(finder, bases) if word == "foreach" else ()
            _wrapped(finder, rest[at + 1 :], (*bases, *inside), depth)


def _run_module(finder: Finder, rest: list[str], bases: Bases, depth: int) -> None:
    """Add the files that `python -m` runs: a module of the workspace, or a program such as pytest."""
    if not rest:
        return
    inner = (*bases, *(f"{base}/src" for base in bases))
    finder.shadowing(bases[0], depth)
    for word in rest[1:20]:
        if "import " in word:  # code for timeit and others
            finder.python_text(word, bases, depth)
    finder.module(rest[0], inner, depth)
    finder.installed_module(rest[0], _DEEPEST)
    finder.program(f"{rest[0].replace('.', '/')}/__main__.py", inner, depth, "python")
    if rest[0] in table.RUN_SCRIPTS:
        add_user_settings(finder, rest[0], bases, depth)
        _looked_for(finder, rest[0], [], bases, depth)
        words = re.sub(r"(?:^|\0)(?:-[os]\0[^\0]*|run)(?=\0|$)", "", "\0".join(rest[1:])).split("\0")
        _interpreted(finder, "python", [word for word in words if word], bases, depth)
    elif depth < _DEEPEST:
        _program_reads(finder, rest[0], rest[1:], bases, depth + 1)


def _with_next(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(words, [*words[1:], ""], strict=False)


def plain_name(name: str) -> str:
    """Return the name of a program without its directory and version: `python` for `/usr/bin/python3.12`."""
    name = name.rpartition("/")[2].removesuffix(".exe")
    return name if name in table.RECOGNIZED else _VERSION.sub("", name) or name


def working_directories(finder: Finder, rest: Sequence[str], bases: Bases) -> Iterator[str]:
    """Yield the working directories that flags in `rest` set."""
    for word, value in _with_next(rest):
        flag, equals, inline_value = word.partition("=")
        name = inline_value if equals else value
        if flag not in table.DIRECTORY_FLAGS:
            continue
        if has_unknown(name):
            yield from finder.lookup.directories_at(name, bases)
            continue
        for base in bases[:2]:
            path = os.path.normpath(os.path.join(base, name))  # noqa: PTH118 - strings
            yield path if not name.endswith(".toml") else os.path.dirname(path)  # noqa: PTH120
