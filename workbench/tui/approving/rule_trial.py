"""Which actions of a session a rule would have let run; asked by the question before it saves one. Loads nothing slow
until it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.tui.fold.state import ActionItem, SessionState

MOST = 300
"""Actions that are looked at, from the last one back."""


@dataclass(frozen=True)
class Trial:
    """What a rule would have matched: those actions, and how many were looked at."""

    matched: tuple[ActionItem, ...] = ()
    looked_at: int = 0


def try_rule(text: str, state: SessionState) -> Trial:
    """Hold the rule (one line) against the last actions of the session."""
    from workbench.security.rules.matching import fits
    from workbench.security.rules.rule import RuleError, parse_rule

    try:
        rule = parse_rule(text)
    except RuleError:
        return Trial()
    past = [item for item in state.actions.values() if not item.error][-MOST:]
    matched = tuple(item for item in past if fits(rule, _subject(item.tool, item.arguments, state.workspace)))
    return Trial(matched, len(past))


def _subject(tool: str, arguments: Mapping[str, Any], workspace: str) -> Any:
    import os

    from workbench.security.assessment import Assessment
    from workbench.security.rules.examples import command_subject
    from workbench.security.rules.rule import SHELL
    from workbench.security.rules.subject import subject_of

    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if tool == SHELL:
        return command_subject(str(arguments.get("command", "")), workspace, home)
    return subject_of(tool, arguments, Assessment("UNKNOWN"), workspace, home)
