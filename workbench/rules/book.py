"""All rules in force in a session, and the one that decides an action: `deny` before `ask` before `allow`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from workbench.risk.assessment import Part
from workbench.risk.executed.scripts import Script, scripts_run
from workbench.risk.paths import Places
from workbench.rules.files import RuleFile, read_rules
from workbench.rules.matching import covers, is_at, is_in_force, is_opaque, names, runs, touches
from workbench.rules.reach import base_of, linked_by, reaches
from workbench.rules.rule import Rule, RuleError, Source, near, parse_rule
from workbench.rules.subject import Subject
from workbench.tools.execute_bash import NAME as SHELL

RUNS_SCRIPT: Final = "runs `{path}`, which holds what `{rule}` names"
_CODE: Final = frozenset({"python_execute", "execute_ipython_cell"})


def ruled_script(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return an `ask` rule with its reason when a script that the action runs holds what a rule denies or asks about.

    What a script does is never certain before it runs, so a `deny` asks here too.
    """
    rules = [rule for rule in rules if _may_count(rule, subject)]
    if not rules or not (subject.commands or subject.tool in _CODE):
        return None
    code = str(subject.arguments.get("code", ""))
    for script in scripts_run(subject.parts, subject.workspace, subject.command, code):
        held = next((rule for rule in rules if _holds(rule, script, subject)), None)
        if held is not None:
            name = script.path.removeprefix(f"{subject.workspace}/")
            return replace(held, verdict="ask", reason=RUNS_SCRIPT.format(path=name, rule=held.text))
    return None


def _may_count(rule: Rule, subject: Subject) -> bool:
    return rule.verdict != "allow" and bool(rule.command or rule.path) and is_in_force(rule, subject)


def _holds(rule: Rule, script: Script, subject: Subject) -> bool:
    parts = _parts(script.text, subject.workspace, subject.home) if script.is_shell else ()
    if rule.command:
        # what is too long for the analysis is searched as text, like programs in other languages
        is_read = parts and all(part.words or part.risk != "HIGH" for part in parts)
        literal = None if is_read else _literal_command(rule.command).search(script.text)
        return literal is not None or any(runs(rule, part) for part in parts)
    is_of_shell = not rule.tool or rule.tool == SHELL
    return is_of_shell and any(is_at(rule, path, subject) for part in parts for path in part.paths)


@lru_cache(64)
def _parts(text: str, workspace: str, home: str) -> tuple[Part, ...]:
    from workbench.risk.commands import assess_command  # the parser is not loaded before it is needed

    return assess_command(text, Places(workspace, home)).parts


@lru_cache(64)
def _literal_command(pattern: str) -> re.Pattern[str]:
    """The words of a rule's pattern up to its first star, as they may stand in a program: in a list or a text."""
    words = pattern.split("*", 1)[0].split()
    return re.compile(r"(?<![\w-])" + r"[\s'\",\[\]()]{1,12}".join(map(re.escape, words)) + r"(?![\w-])")


FOLDER_FILE: Final = ".ohw/rules.toml"
BROKEN: Final = "a rule file has errors, so every action that changes something needs approval"
REACHES: Final = "may reach what `{rule}` names: it takes in a folder above, or files by a pattern"
LINKED: Final = "opens another name (a hard link) of a file that `{rule}` names"
UNSURE: Final = "the name of a command is not known, so no rule can be held against it"


class RuleBook:
    """Reads the files again when they have changed. Without files only the rules of the session count."""

    def __init__(
        self,
        person: Path | None = None,
        workspace: Path | None = None,
        *,
        trusted: bool = False,
        confirm_unknown: bool = True,
    ) -> None:
        self.confirm_unknown = confirm_unknown
        """Whether modes that ask by risk ask about actions of unknown risk."""
        self.workspace = str(workspace or "")
        self._files: dict[Source, Path] = {}
        if person is not None:
            self._files["person"] = person
        if workspace is not None and trusted:
            self._files["folder"] = workspace / FOLDER_FILE
        self._read: dict[Source, tuple[object, RuleFile]] = {}

    @property
    def person_file(self) -> Path | None:
        """The file with the user's own rules."""
        return self._files.get("person")

    @property
    def faults(self) -> tuple[str, ...]:
        """What is wrong in the files, a line each."""
        return tuple(line for source in self._files for line in self._file(source).faults)

    @property
    def is_broken(self) -> bool:
        """Whether an `ask` or `deny` may be lost in what cannot be read."""
        return any(self._file(source).loses for source in self._files)

    def strangers(self, tools: Iterable[str]) -> tuple[str, ...]:
        """A line for each rule of the files that names a tool which is none of these."""
        tool_names = sorted(tools)
        return tuple(
            f"{self._files[rule.source]}: rule {rule.number} ({rule.verdict}): there is no tool named {rule.tool!r}"
            f"{near(rule.tool, tool_names)}"
            for rule in self.rules()
            if rule.tool and not any(fnmatchcase(name, each) for name in tool_names for each in _names_of(rule.tool))
        )

    def rules(self, session: Iterable[str] = ()) -> tuple[Rule, ...]:
        """All rules that are there now, with those of the session (a line each)."""
        selected = [rule for source in self._files for rule in self._file(source).rules]
        return (*selected, *session_rules(session))

    def _file(self, source: Source) -> RuleFile:
        path = self._files[source]
        now = _signature(path)
        cached = self._read.get(source)
        if cached is None or cached[0] != now:
            cached = self._read[source] = (now, read_rules(path, source))
        return cached[1]


def _names_of(tool: str) -> tuple[str, ...]:
    """What models may call the tool of a rule: one of a server also with the server's name before its own."""
    server, _, name = tool.rpartition("/")
    return (name, f"{server}_{name}") if server else (tool,)


def session_rules(lines: Iterable[str]) -> list[Rule]:
    """The rules of a log; one that cannot be read any more is left out, as all of them only allow or were shown."""
    result: list[Rule] = []
    for number, line in enumerate(lines, 1):
        try:
            result.append(replace(parse_rule(line), number=number))
        except RuleError:
            continue
    return result


def deciding(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """The rule that decides the action: the first `deny` that touches it, else the first `ask`, else what allows it.

    What only may touch what a `deny` or `ask` names, from a folder above, is asked about.
    """
    for verdict in ("deny", "ask"):
        result = next((rule for rule in rules if rule.verdict == verdict and touches(rule, subject)), None)
        if result is not None:
            return result
        linked = linked_by((rule for rule in rules if rule.verdict == verdict), subject)
        if linked is not None:
            return replace(linked, reason=LINKED.format(rule=linked.text))
    above = next((rule for rule in rules if rule.verdict != "allow" and reaches(rule, subject)), None)
    if above is not None:
        return replace(above, verdict="ask", reason=REACHES.format(rule=above.text))
    if is_opaque(rules, subject):
        return Rule("ask", subject.tool, reason=UNSURE)
    held = ruled_script(rules, subject)
    if held is not None:
        return held
    return covers(rules, subject)


def guarded_by(rules: Sequence[Rule], subject: Subject) -> str:
    """A protected path that it changes and no `allow` rule of the user names: with no character before what protects
    it, so that a rule for a whole project lifts nothing. Empty when there is none.
    """
    places = Places(subject.workspace, subject.home)
    lifting = [
        rule
        for rule in rules
        if rule.verdict == "allow" and rule.path and not rule.command and rule.source != "folder"
        if places.protects(base := base_of(rule.path, subject)) or places.shares(base)
    ]
    lifting = [rule for rule in lifting if subject.is_allowed_tool(rule.tool)]
    return next((path for path in subject.protected if not any(names(rule, path, subject) for rule in lifting)), "")


def _signature(path: Path) -> object:
    try:
        result = os.stat(path)  # noqa: PTH116 - asked for each action
    except OSError as error:
        return error.errno
    return result.st_mtime_ns, result.st_size, result.st_ino
