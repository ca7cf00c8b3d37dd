"""Finds the actions of a session that a rule would have decided; shown before a rule is saved."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.risk import Assessment
from workbench.rules.rule import Rule, RuleError, parse_rule
from workbench.rules.rule_files import command_subject, subject_again
from workbench.rules.rule_matching import fit_together, fits
from workbench.rules.subject import Subject, subject_of
from workbench.tools.execute_bash import NAME as SHELL
from workbench.view.state import ActionItem, SessionState

TRIED_ACTIONS = 300
"""The most actions that are tried, counted back from the last one."""


@dataclass(frozen=True)
class RulePreview:
    """The actions that a rule would have matched, how many were tried, and the workspace of their session."""

    matched: tuple[ActionItem, ...] = ()
    looked_at: int = 0
    workspace: str = ""


def try_rule(text: str, state: SessionState) -> RulePreview:
    """Try rules (one on each line, which apply together) on the last actions of the session.

    An `allow` rule matches neither a HIGH action, which no rule allows, nor a LOW one, which runs without a rule. If
    a rule is invalid, nothing matches.
    """
    try:
        rules = [parse_rule(line) for line in text.splitlines()]
    except RuleError:
        return RulePreview()
    past = [item for item in state.actions.values() if not item.error][-TRIED_ACTIONS:]
    matched = tuple(item for item in past if rules and _is_matched(rules, item, state))
    return RulePreview(matched, len(past), state.workspace)


def _is_matched(rules: Sequence[Rule], item: ActionItem, state: SessionState) -> bool:
    if item.risk in ("HIGH", "LOW") and rules[0].verdict == "allow":
        return False
    return fit_together(rules, _subject(rules[0], item, state.workspace))


def _subject(rule: Rule, item: ActionItem, workspace: str) -> Subject:
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if item.tool == SHELL:
        return command_subject(str(item.arguments.get("command", "")), workspace, home, item.working_dir or workspace)
    # the log does not hold the server of a tool; assume the one that the rule names
    server_tool = rule.tool if rule.tool.endswith(f"/{item.tool}") else ""
    return subject_of(item.tool, item.arguments, Assessment("UNKNOWN", server_tool=server_tool), workspace, home)


CHECKED_ACTIONS = 500
"""The most actions that are checked, counted back from the last one."""


def fitting(rule: Rule, state: SessionState) -> list[ActionItem]:
    """Return the actions that the rule would have decided, in order; no rule allows a HIGH action."""
    actions = list(state.actions.values())[-CHECKED_ACTIONS:]
    return [action for action in actions if _may_decide(rule, action) and _fits(rule, action, state)]


def _may_decide(rule: Rule, action: ActionItem) -> bool:
    if action.error or (rule.verdict == "allow" and action.risk == "HIGH"):
        return False
    return may_fit(rule, action.tool, action.arguments)


def may_fit(rule: Rule, tool: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call may match the rule; a quick check before the full one."""
    if not rule.command:
        return True
    word = re.split(r"[\\*'\" ]", rule.command, maxsplit=1)[0]
    return tool == SHELL and word in str(arguments.get("command", ""))


def _fits(rule: Rule, action: ActionItem, state: SessionState) -> bool:
    return fits(rule, subject_again(action.tool, action.arguments, state.workspace, action.working_dir))
