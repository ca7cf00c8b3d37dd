"""The pages of `ohw rules`: which rules there are, and what they and the mode would make of a command."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from workbench.config import Locations, Settings
from workbench.security.assessment import summed
from workbench.security.policy import Mode, rule_on
from workbench.security.risk import effective
from workbench.security.rules.book import BROKEN, FOLDER_FILE, RuleBook, deciding
from workbench.security.rules.examples import command_subject
from workbench.security.rules.rule import SHELL, Rule
from workbench.text import visible
from workbench.tools.own import is_trusted

_NONE = "No rules yet. Write some into {file}, or answer a question with `always`."
_DONE = {"allow": "runs", "ask": "is asked about", "deny": "is denied"}


def book_of(where: Locations, settings: Settings, workspace: Path) -> RuleBook:
    """The rules that count in that folder."""
    return RuleBook(where.rules_file, workspace, trusted=is_trusted(workspace, settings.trusted))


def rules_page(where: Locations, settings: Settings, workspace: Path) -> tuple[str, Sequence[str]]:
    """Each rule with where it is from, and what is wrong in the files, a line each."""
    book = book_of(where, settings, workspace)
    rules = book.rules()
    own = workspace / FOLDER_FILE
    left_out = own.exists() and not is_trusted(workspace, settings.trusted)
    end = [visible(f"The rules in {own} are left out: the folder is not trusted.", lines=False)] if left_out else []
    if not rules:
        return "\n".join([_NONE.format(file=where.rules_file), *end]), book.faults
    rows = [(visible(rule.text, lines=False), place(rule, where.rules_file, own)) for rule in rules]
    width = min(60, max(len(text) for text, _ in rows))
    return "\n".join([*(f"{text:<{width}}  {source}" for text, source in rows), *end]), book.faults


def place(rule: Rule, person: Path, own: Path) -> str:
    """Where a rule is from and where it counts."""
    if rule.source == "session":
        return "this session"
    file = own if rule.source == "folder" else person
    return f"{file}{f', in {rule.folder}' if rule.folder else ''}"


def tried(where: Locations, settings: Settings, workspace: Path, commands: Iterable[str]) -> Iterator[str]:
    """What would happen to each command, and what decides it; none is run."""
    book = book_of(where, settings, workspace)
    rules, mode = book.rules(), cast(Mode, settings.mode)
    caution = BROKEN if book.is_broken else ""
    for command in commands:
        subject = command_subject(command, str(workspace), os.path.expanduser("~"))  # noqa: PTH111
        local = summed(subject.parts)
        rule = deciding(rules, subject)
        ruling = rule_on(mode, effective("LOW", local.risk), False, SHELL, rule=rule, caution=caution)
        why = ruling.rule if ruling.by == "mode" or ruling.rule == caution else f"rule {ruling.rule}"
        said = f"{_DONE[ruling.verdict]:<14}  {local.risk:<6}  {visible(command, lines=False)}"
        yield f"{said}\n    by {visible(why, lines=False)}"
        yield from (f"    {visible(reason, lines=False)}" for reason in local.reasons)
