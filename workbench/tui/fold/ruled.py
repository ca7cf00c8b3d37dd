"""Which actions of a session a rule fits, whether it is saved or not; pure, for the Rules screen and for `always`."""

from __future__ import annotations

import re

from workbench.security.rules.examples import subject_again
from workbench.security.rules.matching import fits
from workbench.security.rules.rule import SHELL, Rule
from workbench.tui.fold.state import ActionItem, SessionState

MOST = 500
"""Actions that are looked at, from the last one back."""


def fitting(rule: Rule, state: SessionState) -> list[ActionItem]:
    """The actions that the rule would have decided, in their order; what is HIGH is asked about whatever is allowed."""
    actions = list(state.actions.values())[-MOST:]
    return [action for action in actions if _may_fit(rule, action) and _fits(rule, action, state)]


def _may_fit(rule: Rule, action: ActionItem) -> bool:
    """Whether a closer look is worth it."""
    if action.error or (rule.verdict == "allow" and action.risk == "HIGH"):
        return False
    if not rule.command:
        return True
    word = re.split(r"[\\*'\" ]", rule.command, maxsplit=1)[0]
    return action.tool == SHELL and word in str(action.arguments.get("command", ""))


def _fits(rule: Rule, action: ActionItem, state: SessionState) -> bool:
    return fits(rule, subject_again(action.tool, action.arguments, state.workspace, action.working_dir))
