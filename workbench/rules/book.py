"""All rules that count in a session: the person's, the folder's and the session's; `deny` over `ask` over `allow`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from workbench.risk.paths import Places
from workbench.rules.files import RuleFile, read_rules
from workbench.rules.hard_links import linked_by
from workbench.rules.matching import covers, is_opaque, names, touches
from workbench.rules.reach import base_of, reaches
from workbench.rules.rule import Rule, RuleError, Source, near, parse_rule
from workbench.rules.scripts import ruled_script
from workbench.rules.subject import Subject

FOLDER_FILE: Final = ".ohw/rules.toml"
BROKEN: Final = "a rule file has errors, so nothing that changes anything goes without a question"
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
        """Whether modes that ask by risk ask about what nobody can rate."""
        self.workspace = str(workspace or "")
        self._files: dict[Source, Path] = {}
        if person is not None:
            self._files["person"] = person
        if workspace is not None and trusted:
            self._files["folder"] = workspace / FOLDER_FILE
        self._read: dict[Source, tuple[object, RuleFile]] = {}

    @property
    def person_file(self) -> Path | None:
        """Where the person's rules are kept."""
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
        known = sorted(tools)
        return tuple(
            f"{self._files[rule.source]}: rule {rule.number} ({rule.verdict}): no tool here is called {rule.tool!r}"
            f"{near(rule.tool, known)}"
            for rule in self.rules()
            if rule.tool and not any(fnmatchcase(name, each) for name in known for each in _names_of(rule.tool))
        )

    def rules(self, session: Iterable[str] = ()) -> tuple[Rule, ...]:
        """All rules that are there now, with those of the session (a line each)."""
        kept = [rule for source in self._files for rule in self._file(source).rules]
        return (*kept, *session_rules(session))

    def _file(self, source: Source) -> RuleFile:
        path = self._files[source]
        now = _signature(path)
        known = self._read.get(source)
        if known is None or known[0] != now:
            known = self._read[source] = (now, read_rules(path, source))
        return known[1]


def _names_of(tool: str) -> tuple[str, ...]:
    """What models may call the tool of a rule: one of a server also with the server's name before its own."""
    server, _, name = tool.rpartition("/")
    return (name, f"{server}_{name}") if server else (tool,)


def session_rules(lines: Iterable[str]) -> list[Rule]:
    """The rules of a log; one that cannot be read any more is left out, as all of them only allow or were shown."""
    found: list[Rule] = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(replace(parse_rule(line), number=number))
        except RuleError:
            continue
    return found


def deciding(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """The rule that decides the action: the first `deny` that touches it, else the first `ask`, else what allows it.

    What only may touch what a `deny` or `ask` names, from a folder above, is asked about.
    """
    for verdict in ("deny", "ask"):
        found = next((rule for rule in rules if rule.verdict == verdict and touches(rule, subject)), None)
        if found is not None:
            return found
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
    """A protected path that it changes and that no `allow` rule of the person names: with no sign before what protects
    it, so that a rule for a whole project lifts nothing. Empty when there is none.
    """
    places = Places(subject.workspace, subject.home)
    lifting = [
        rule
        for rule in rules
        if rule.verdict == "allow" and rule.path and not rule.command and rule.source != "folder"
        if places.protects(base_of(rule.path, subject))
    ]
    lifting = [rule for rule in lifting if subject.is_allowed_tool(rule.tool)]
    return next((path for path in subject.protected if not any(names(rule, path, subject) for rule in lifting)), "")


def _signature(path: Path) -> object:
    try:
        found = os.stat(path)  # noqa: PTH116 - asked for each action
    except OSError as error:
        return error.errno
    return found.st_mtime_ns, found.st_size, found.st_ino
