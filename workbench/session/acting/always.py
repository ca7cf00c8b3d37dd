"""What "always" saves: the very rule that the question showed, for the session, the folder or the person."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import msgspec.structs

from workbench.protocol.events import ActionDecided, Event, SettingsChanged
from workbench.security.rules.book import RuleBook
from workbench.security.rules.files import add_rule
from workbench.security.rules.rule import RuleError, parse_rule
from workbench.session.acting.decisions import Refused
from workbench.session.ledger import OpenAction

Scope: TypeAlias = Literal["session", "folder", "person"]


class Always(NamedTuple):
    """A rule in one line, and where it is to be kept."""

    rule: str
    scope: Scope


def remembered(waiting: OpenAction | None, always: Always, book: RuleBook, decision: list[Event]) -> list[Event]:
    """Save the rule; the events to commit, with the decision itself. Raises Refused, and then nothing is saved."""
    shown = waiting.assessed.always if waiting and waiting.assessed else ""
    if not shown or always.rule != shown:
        raise Refused("that is not the rule that was shown with this action; look at it again")
    told = [
        msgspec.structs.replace(event, rule=shown) if isinstance(event, ActionDecided) else event for event in decision
    ]
    if always.scope == "session":
        return [*told, SettingsChanged(rule=shown)]
    if book.person_file is None:
        raise Refused("there is no file to keep rules in; choose the session")
    try:
        rule = parse_rule(shown, "person")
        add_rule(book.person_file, replace(rule, folder=book.workspace if always.scope == "folder" else ""))
    except RuleError as error:
        raise Refused(str(error)) from error
    return told
