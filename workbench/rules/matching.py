"""Whether a rule fits an action: `ask` and `deny` by any part of it, `allow` only when all of it is covered."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from workbench.files.anchored import real_path
from workbench.risk.assessment import LONGEST_TEXT, Part
from workbench.risk.paths import within, words
from workbench.rules.forms import hides_from, plain_forms
from workbench.rules.patterns import command_pattern, is_address, is_exact, path_pattern
from workbench.rules.rule import Rule, slips_by
from workbench.rules.subject import Subject

_CHANGERS: Final = words(
    "cd pushd popd export declare typeset readonly local unset read mapfile readarray getopts let printf"
)
"""Builtins after which the same words may run something else: in another folder, or with other variables."""
_RUNS_ANYTHING: Final = re.compile(
    r"(?:\w+ |may )?runs? |puts |too long|longer than|holds a substitution|the name of the command|gives the |"
    r"loads |starts a shell|the analysis failed|changes what |sets \w+, which changes|acts with the rights of another"
)
"""How the reasons begin of what is HIGH because it runs what is not seen in its words."""


def fits(rule: Rule, subject: Subject) -> bool:
    """Whether the rule alone decides this action (or, for `allow`, would let it run)."""
    return covers([rule], subject) is not None if rule.verdict == "allow" else touches(rule, subject)


def touches(rule: Rule, subject: Subject) -> bool:
    """Whether any part of the action fits the rule."""
    if not is_in_force(rule, subject) or not subject.is_tool(rule.tool):
        return False
    if not rule.command:
        return not rule.path or any(is_at(rule, path, subject) for path in subject.paths)
    if not subject.is_shell:
        return False
    found = [part for part in subject.parts if runs(rule, part)]
    if not found:
        return bool(command_pattern(rule.command).fullmatch(subject.command.strip())) and not rule.path
    return not rule.path or any(is_at(rule, path, subject) for part in found for path in part.paths)


def covers(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """The rule (one of several, perhaps) that lets all of the action run; None when something in it is not covered.

    Of a command line each part must be LOW by itself or be a plain command that a rule names.
    """
    usable = [rule for rule in rules if rule.verdict == "allow" and is_in_force(rule, subject)]
    usable = [rule for rule in usable if subject.is_allowed_tool(rule.tool)]
    if not subject.is_shell:
        return next((rule for rule in usable if _covers_call(rule, subject)), None)
    return _covers_line([rule for rule in usable if rule.command], subject)


def _covers_call(rule: Rule, subject: Subject) -> bool:
    if rule.command or not (rule.path or rule.tool):
        return False
    return not rule.path or _all_at(rule, subject.paths, subject)


def _covers_line(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    used: Rule | None = None
    outer: Rule | None = None
    said: tuple[str, ...] = ()
    for part in subject.parts:
        if not part.depth:
            outer, said = next((rule for rule in rules if _names(rule, part, subject)), None), part.words
        held = outer is not None and (not part.depth or is_exact(outer.command) or _is_module(said, part))
        if not held and part.risk != "LOW":
            return None
        used = used or outer
    return None if len(subject.parts) > 1 and any(_changes(part, subject) for part in subject.parts) else used


def _changes(part: Part, subject: Subject) -> bool:
    """Whether the commands beside it may run elsewhere or with other variables; to go to the workspace is neither."""
    name = part.words[0].lstrip("\\") if part.words else ""
    if name == "printf":
        return any(word.startswith("-v") for word in part.words[1:])
    return name in _CHANGERS and part.words != ("cd", subject.workspace)


def _is_module(outer: tuple[str, ...], inner: Part) -> bool:
    """Whether the inner command is what stands behind `python -m`: the same words, looked at once more."""
    return outer[1:2] == ("-m",) and inner.words == outer[2:]


def _names(rule: Rule, part: Part, subject: Subject) -> bool:
    """Whether an `allow` rule names this plain command; with a `*` in it the paths must be those of the workspace."""
    if not part.plain or not any(command_pattern(rule.command).fullmatch(text) for text in _plain_texts(part)):
        return False
    if not is_exact(rule.command) and slips_by(rule.command, part.words):
        return False
    if rule.path:
        return _all_at(rule, part.paths, subject)
    return is_exact(rule.command) or not _leads_out(part, subject.workspace)


def _leads_out(part: Part, workspace: str) -> bool:
    """Whether it names a path outside the workspace, also in a word that is not known to be a path."""
    values = [word.partition("=")[2] for word in part.words]
    if any(value.startswith(("/", "~", "..")) for value in values) or any(
        ".." in word.split("/") for word in part.words
    ):
        return True
    named = [word for word in part.words[1:] if word.startswith(("/", "~"))]
    return any(not within(real(path), workspace) for path in (*part.paths, *named))


def _plain_texts(part: Part) -> Iterator[str]:
    yield shlex.join(part.words)
    if len(part.text) < LONGEST_TEXT:
        yield part.text


def runs(rule: Rule, part: Part) -> bool:
    """Whether an `ask` or `deny` rule names the command of a part, however it is quoted or reached."""
    pattern = command_pattern(rule.command)
    return any(pattern.fullmatch(text) for text in _texts(part))


def _texts(part: Part) -> Iterator[str]:
    yield part.text
    for form in plain_forms(part.words, part.program):
        yield " ".join(form)
        yield shlex.join(form)


def is_opaque(rules: Iterable[Rule], subject: Subject) -> bool:
    """Whether what a command is called, or what it is told to do first, is not known where a rule forbids one."""
    patterns = [rule.command for rule in rules if rule.verdict != "allow" and rule.command]
    return bool(patterns) and any(_may_run(part, pattern) for part in subject.parts for pattern in patterns)


def _may_run(part: Part, pattern: str) -> bool:
    if part.opaque == "*" or part.opaque == pattern.partition(" ")[0]:
        return True
    if not part.words and part.reason.startswith("cannot be read"):
        return True
    if part.risk == "HIGH" and _RUNS_ANYTHING.match(part.reason):
        return True
    if part.risk != "LOW" and any(_is_word_of(pattern, part.words[at:]) for at in range(1, len(part.words))):
        return True
    if is_exact(pattern) and any(command_pattern(f"{pattern} *").fullmatch(text) for text in _texts(part)):
        return True
    return hides_from(pattern, part.words, part.program)


def _is_word_of(pattern: str, words_behind: Sequence[str]) -> bool:
    """Whether the words behind the program's name are a command of the rule's: the program may run it."""
    first, start = words_behind[0].rpartition("/")[2], pattern.partition(" ")[0]
    return first == start and bool(command_pattern(pattern).fullmatch(" ".join([first, *words_behind[1:]])))


def is_in_force(rule: Rule, subject: Subject) -> bool:
    """Whether the rule counts in the folder of the action."""
    return not rule.folder or within(subject.workspace, os.path.realpath(os.path.expanduser(rule.folder)))  # noqa: PTH111


def is_at(rule: Rule, path: str, subject: Subject) -> bool:
    """Whether a path, by its name or where it really leads, is at or below what an `ask` or `deny` rule names."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, below=True, folded=True)
    return any(pattern.fullmatch(each) for each in {path, os.path.normpath(path), real(path)})


def _all_at(rule: Rule, paths: Sequence[str], subject: Subject) -> bool:
    """Whether all paths, by their names and where they really lead, fit what an `allow` rule names."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, below=False, folded=False)
    return bool(paths) and all(pattern.fullmatch(each) for path in paths for each in {path, real(path)})


def names(rule: Rule, path: str, subject: Subject) -> bool:
    """Whether an `allow` rule names this path, by its name and where it really leads."""
    return is_in_force(rule, subject) and _all_at(rule, (path,), subject)


def real(path: str) -> str:
    """Where a path really leads; an address of the web leads where it says."""
    if is_address(path):
        return path
    try:
        return real_path(path)
    except (OSError, ValueError):
        return path
