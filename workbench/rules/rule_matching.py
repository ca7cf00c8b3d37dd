"""Matches rules against an action: `ask` and `deny` match any part of it, `allow` must cover all of it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from workbench.files.root_directory import real_path
from workbench.risk.assessment import LONGEST_TEXT, Part
from workbench.risk.paths import PathContext, within, words
from workbench.risk.reason import Trait
from workbench.rules.command_forms import hides_from, plain_forms
from workbench.rules.patterns import command_pattern, is_exact, is_url, path_pattern
from workbench.rules.rule import Rule, slips_by
from workbench.rules.script_content import content_hash, script_of
from workbench.rules.subject import EDITS, Subject
from workbench.rules.substitute_programs import may_drive

_CHANGERS: Final = words(
    "cd pushd popd export declare typeset readonly local unset read mapfile readarray getopts let printf"
)
"""Builtins that change the directory or variables, and so the meaning of later commands."""


def fits(rule: Rule, subject: Subject) -> bool:
    """Return whether the rule matches the action; an `allow` rule must cover all of it."""
    return covers([rule], subject) is not None if rule.verdict == "allow" else touches(rule, subject)


def fit_together(rules: Sequence[Rule], subject: Subject) -> bool:
    """Return whether a single rule matches the action, or several `allow` rules together cover it."""
    return fits(rules[0], subject) if len(rules) == 1 else covers(rules, subject) is not None


def touches(rule: Rule, subject: Subject) -> bool:
    """Return whether the rule matches any part of the action."""
    if not is_in_force(rule, subject) or not subject.is_ruled_tool(rule.tool, rule.command):
        return False
    if not rule.command:
        return not rule.path or any(is_at(rule, path, subject) for path in subject.paths)
    result = [part for part in subject.commands if runs(rule, part)]
    if not result:
        return bool(command_pattern(rule.command).fullmatch(subject.command.strip())) and not rule.path
    return not rule.path or any(is_at(rule, path, subject) for part in result for path in part.paths)


def covers(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """Return the first needed one of the `allow` rules that together cover the whole action; None if any part is not
    covered.

    Each part of a command line must be LOW, a plain command that a rule names, or a redirect to a file that is named by
    a rule for edits or by the exact rule of its command. The start of another agent, and actions known only from its
    description, are never covered.
    """
    if any(part.traits & (Trait.SELF_DESCRIBED | Trait.STARTS_AGENT) for part in subject.parts):
        return None
    usable = [rule for rule in rules if rule.verdict == "allow" and is_in_force(rule, subject)]
    if subject.is_shell:
        return _LineCoverage(usable, subject).rule()
    return next((rule for rule in usable if subject.is_allowed_tool(rule.tool) and _covers_call(rule, subject)), None)


def _covers_call(rule: Rule, subject: Subject) -> bool:
    if rule.command or not (rule.path or rule.tool):
        return False
    return not rule.path or _all_at(rule, subject.paths, subject)


class _LineCoverage:
    """Finds the rules that together cover a command line, part by part."""

    def __init__(self, rules: Sequence[Rule], subject: Subject) -> None:
        self._subject = subject
        self._commands = [rule for rule in rules if rule.command and subject.is_allowed_tool(rule.tool)]
        self._edits = [rule for rule in rules if rule.tool == EDITS and not rule.command]
        self._outer: Rule | None = None
        """The rule that names the line's most recent command, not counting commands that it runs."""
        self._words: tuple[str, ...] = ()
        self._redirects = 0
        """The number of upcoming redirects that the rule of their command names."""

    def rule(self) -> Rule | None:
        """Return the first rule that is needed; None if the rules do not cover the line, or if none is needed."""
        parts = self._subject.parts
        if any(part.is_substituted for part in parts):
            return None
        if len(parts) > 1 and any(changes_later_commands(part, self._subject) for part in parts):
            return None
        used: Rule | None = None
        for part in parts:
            rule = self._of_redirect(part) if part.is_redirect else self._of_command(part)
            if rule is None and part.risk != "LOW":
                return None
            used = used or rule
        return used

    def _of_command(self, part: Part) -> Rule | None:
        if not part.depth:
            self._redirects = 0
            self._words = part.words
            self._outer = next((rule for rule in self._commands if self._names(rule, part)), None)
            is_edit = self._outer is None and part.is_literal and writes_input(part)
            return self._edit_of(part) if is_edit else self._outer
        outer = self._outer
        if outer is not None and (is_exact(outer.command) or _is_wrapped(outer, self._words, part)):
            return outer
        return None

    def _names(self, rule: Rule, part: Part) -> bool:
        """Return whether the rule names the command, alone or together with its redirects, which it then covers too."""
        if _names(rule, part, self._subject):
            return True
        if not part.redirects or not is_exact(rule.command) or not _may_be_named(rule, part, self._subject):
            return False
        line = " ".join((shlex.join(part.words), *part.redirects))
        self._redirects = len(part.redirects) if command_pattern(rule.command).fullmatch(line) else 0
        return self._redirects > 0

    def _of_redirect(self, part: Part) -> Rule | None:
        if self._redirects:
            self._redirects -= 1
            return self._outer
        return self._edit_of(part)

    def _edit_of(self, part: Part) -> Rule | None:
        return next((rule for rule in self._edits if _all_at(rule, part.changes, self._subject)), None)


def writes_input(part: Part) -> bool:
    """Return whether a command only copies piped input to files, like a redirect."""
    return part.words[:1] == ("tee",) and part.is_piped


def changes_later_commands(part: Part, subject: Subject) -> bool:
    """Return whether a part changes the directory (other than to the workspace) or variables for later commands."""
    name = part.words[0].lstrip("\\") if part.words else ""
    if name == "printf":
        return any(word.startswith("-v") for word in part.words[1:])
    is_home = part.words[0] == "cd" and len(part.words) == 2 if part.words else False
    return name in _CHANGERS and not (is_home and os.path.normpath(part.words[1]) == subject.workspace)


def _is_wrapped(rule: Rule, outer: tuple[str, ...], inner: Part) -> bool:
    """Return whether the inner command is the end of the outer one, and the rule spells out the inner program.

    This is true of `python -m NAME`, `timeout 60 NAME` and `uv run NAME`.
    """
    before = len(outer) - len(inner.words)
    spelled = rule.command.split("*", 1)[0].split()
    is_end = 0 < before < len(outer) and inner.words == outer[before:]
    return is_end and spelled[before : before + 1] == [inner.words[0]]


def _names(rule: Rule, part: Part, subject: Subject) -> bool:
    """Return whether an `allow` rule names this command; if the rule has a `*` but no path, all paths must be in the
    workspace.
    """
    if not _may_be_named(rule, part, subject):
        return False
    if not any(command_pattern(rule.command).fullmatch(text) for text in _plain_lines(part)):
        return False
    if not is_exact(rule.command) and (slips_by(rule.command, part.words) or _runs_more(rule.command, part)):
        return False
    if rule.path:
        return _all_at(rule, part.paths, subject)
    return is_exact(rule.command) or not _leads_out(part, subject.workspace)


def _runs_more(pattern: str, part: Part) -> bool:
    """Return whether a command runs unknown code only because of words that the pattern does not spell out.

    `npm run *` does not allow `npm run x --node-options=…`, but `systemctl restart *` allows restarting any service.
    """
    spelled = pattern.split("*", 1)[0].strip()
    return bool(spelled) and _runs_unseen(part) and not _runs_anyway(spelled)


def _runs_unseen(part: Part) -> bool:
    return part.risk == "HIGH" and Trait.RUNS in part.traits


@lru_cache(256)
def _runs_anyway(line: str) -> bool:
    from workbench.risk.commands import assess_command  # defers loading the parser

    return any(map(_runs_unseen, assess_command(line, PathContext("/workspace", "/home")).parts))


def _may_be_named(rule: Rule, part: Part, subject: Subject) -> bool:
    """Return whether a rule may name the command: its words are all that it receives, and its script has the rule's
    content.

    Of the commands that read from a pipe, only `tee` may be named, and only exactly.
    """
    is_alone = part.plain or (part.is_literal and not part.is_piped)
    if not is_alone and not (part.is_literal and writes_input(part) and is_exact(rule.command)):
        return False
    if not rule.content:
        return True
    script = script_of(part, subject.workspace)
    return bool(script) and content_hash(script) == rule.content


def _leads_out(part: Part, workspace: str) -> bool:
    """Return whether any word may be a path outside the workspace."""
    values = [word.partition("=")[2] for word in part.words]
    if any(value.startswith(("/", "~", "..")) for value in values) or any(
        ".." in word.split("/") for word in part.words
    ):
        return True
    named = [word for word in part.words[1:] if word.startswith(("/", "~"))]
    return any(not within(real(path), workspace) for path in (*part.paths, *named))


def _plain_lines(part: Part) -> Iterator[str]:
    yield shlex.join(part.words)
    if len(part.text) < LONGEST_TEXT:
        yield part.text


def runs(rule: Rule, part: Part) -> bool:
    """Return whether an `ask` or `deny` rule names the command of a part in any equivalent form."""
    pattern = command_pattern(rule.command)
    return any(pattern.fullmatch(text) for text in _strings(part))


def _strings(part: Part) -> Iterator[str]:
    yield part.text
    for form in plain_forms(part.words, part.program):
        yield " ".join(form)
        yield shlex.join(form)


def is_opaque(rules: Iterable[Rule], subject: Subject) -> bool:
    """Return whether a part may run a command of an `ask` or `deny` rule without showing it in its words."""
    patterns = [rule.command for rule in rules if rule.verdict != "allow" and rule.command]
    return bool(patterns) and any(_may_run(part, pattern) for part in subject.parts for pattern in patterns)


def _may_run(part: Part, pattern: str) -> bool:
    if part.opaque == "*" or part.opaque == pattern.partition(" ")[0]:
        return True
    if not part.words and Trait.UNREAD in part.traits:
        return True
    if part.risk == "HIGH" and (Trait.RUNS in part.traits or _holds_command(pattern, part.words)):
        return True
    if part.risk != "LOW" and _names_in_words(part, pattern):
        return True
    if is_exact(pattern) and any(command_pattern(f"{pattern} *").fullmatch(text) for text in _strings(part)):
        return True
    return hides_from(pattern, part.words, part.program) or may_drive(part.words, pattern.partition(" ")[0])


def _holds_command(pattern: str, command: Sequence[str]) -> bool:
    """Return whether a single word of a command contains the pattern's literal part, because many programs execute such
    words.
    """
    literal = " ".join(pattern.split("*", 1)[0].split())
    if not literal:
        return False
    expression = re.compile(rf"(?<![\w-]){re.escape(literal)}(?![\w-])")
    return any(expression.search(" ".join(word.split())) for word in command[1:])


def _names_in_words(part: Part, pattern: str) -> bool:
    """Return whether the words after a program's name form a command of the pattern, or one word of an unrecognized
    program does.
    """
    if any(_is_word_of(pattern, part.words[at:]) for at in range(1, len(part.words))):
        return True
    return Trait.UNRECOGNIZED in part.traits and any(_begins_with(pattern, word) for word in part.words[1:])


def _begins_with(pattern: str, word: str) -> bool:
    """Return whether a word, or the value of an option, is a command line of several words that matches the pattern."""
    text = word.partition("=")[2] if word.startswith("-") else word
    return " " in text and bool(command_pattern(pattern).fullmatch(" ".join(text.split())))


def _is_word_of(pattern: str, words_behind: Sequence[str]) -> bool:
    """Return whether these words, taken as a command, match the pattern; the program before them may execute them."""
    first, start = words_behind[0].rpartition("/")[2], pattern.partition(" ")[0]
    return first == start and bool(command_pattern(pattern).fullmatch(" ".join([first, *words_behind[1:]])))


def is_in_force(rule: Rule, subject: Subject) -> bool:
    """Return whether the rule applies in the action's workspace."""
    return not rule.folder or within(subject.workspace, os.path.realpath(os.path.expanduser(rule.folder)))  # noqa: PTH111


def is_at(rule: Rule, path: str, subject: Subject) -> bool:
    """Return whether a path or its real path is at or below the path of an `ask` or `deny` rule."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, descendants=True, folded=True)
    return any(pattern.fullmatch(each) for each in {path, os.path.normpath(path), real(path)})


def _all_at(rule: Rule, paths: Sequence[str], subject: Subject) -> bool:
    """Return whether all paths, and their real paths, match the path of an `allow` rule; False without paths."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, descendants=False, folded=False)
    return bool(paths) and all(pattern.fullmatch(each) for path in paths for each in {path, real(path)})


def names(rule: Rule, path: str, subject: Subject) -> bool:
    """Return whether an `allow` rule matches this path and its real path."""
    return is_in_force(rule, subject) and _all_at(rule, (path,), subject)


def real(path: str) -> str:
    """Return the real path; a URL, or a path that cannot be resolved, is returned unchanged."""
    if is_url(path):
        return path
    try:
        return real_path(path)
    except (OSError, ValueError):
        return path
