"""Decides by mode and rule whether an action runs, is asked about or is denied, and which rule "always" saves."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from workbench.config.modes import MODE_NAMES, MODES, PLAN_COMMANDS
from workbench.files.root_directory import real_path
from workbench.protocol.risk import Mode, Risk
from workbench.risk.paths import within
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject
from workbench.tools.manifest import kind_of

_ASKS_BY_RISK: Final[frozenset[Mode]] = frozenset({"medium", "edits", "high"})
"""The modes that ask from a certain risk up; the setting `confirm_unknown` decides whether they ask about unknown
risk.
"""
PROTECTED: Final = "protected paths, which every mode asks about"


class Ruling(msgspec.Struct, frozen=True):
    """The verdict on an action, and the rule or mode that gave it; `reason` is passed to the model."""

    verdict: Literal["ask", "allow", "deny"]
    rule: str
    reason: str = ""
    by: Literal["mode", "rule"] = "mode"


def rule_on(
    mode: Mode,
    risk: Risk,
    read_only: bool,
    tool: str,
    *,
    reads: bool = False,
    reader: str = "",
    edits: bool = False,
    rule: Rule | None = None,
    caution: str = "",
    protected: str = "",
    unplaced: str = "",
    confirm_unknown: bool = True,
    containment: str = "",
) -> Ruling:
    """Return the ruling on an action of this effective risk; `rule` is the rule that matches it, if any.

    `reads`: this call changes nothing, although its tool may. `reader`: the kind of sub-agent that makes the call, if
    it may only read with this tool. `edits`: the call edits the workspace (`edits_workspace`). `caution`: why the user
    must be asked about everything above LOW, despite `allow` rules. `protected`: a protected path that the action
    changes; `unplaced`: why it may change one. `containment`: the sandbox in which it runs.

    A rule denies or asks in every mode, but never allows a HIGH action, anything in the mode that always asks, or
    writing in plan mode. Protected paths are asked about in every mode. Modes that ask by risk allow actions of unknown
    risk without `confirm_unknown`, and in a sandbox they ask only about HIGH actions.
    """
    if rule is not None and rule.verdict == "deny":
        return Ruling("deny", rule.text, _rule_reason(tool, rule), by="rule")
    if (mode == "plan" or reader) and not (reads or read_only):
        return _no_writing(mode, tool, reader)
    if rule is not None and rule.verdict == "ask":
        return Ruling("ask", rule.text, rule.reason, by="rule")
    allowing = None if caution and risk != "LOW" else rule
    is_let = risk == "UNKNOWN" and not confirm_unknown and mode in _ASKS_BY_RISK
    asked = () if is_let else MODES[mode].asks_about_edits if edits else MODES[mode].asks
    containment = containment if mode in _ASKS_BY_RISK and risk != "HIGH" else ""
    ruling = _allowed(mode, risk, read_only, allowing) or _by_mode(mode, risk, asked, caution, containment)
    guard = f"{protected} is protected, and no allow rule names it" if protected else unplaced
    return Ruling("ask", PROTECTED, guard) if guard and ruling.verdict == "allow" else ruling


def _allowed(mode: Mode, risk: Risk, read_only: bool, rule: Rule | None) -> Ruling | None:
    """Return the ruling that allows an action regardless of the mode's risk levels; None if the mode decides."""
    if read_only and risk == "LOW":
        return Ruling("allow", "read-only tool", by="rule")
    if rule is not None and mode not in ("ask", "plan") and risk != "HIGH":
        return Ruling("allow", rule.text, by="rule")
    return None


def _by_mode(mode: Mode, risk: Risk, asked: tuple[Risk, ...], caution: str, containment: str) -> Ruling:
    if risk in asked and containment and not caution:
        return Ruling("allow", f"{mode_label(mode)}, {containment}")
    if risk in asked:
        return Ruling("ask", mode_label(mode))
    return Ruling("ask", caution, by="rule") if caution and risk != "LOW" else Ruling("allow", mode_label(mode))


def edits_workspace(subject: Subject) -> bool:
    """Return whether the action is a call of a built-in editor on files inside the workspace, after resolving links."""
    workspace = real_path(subject.workspace)
    return (
        kind_of(subject.tool) == "edit"
        and bool(subject.paths)
        and all(
            within(each, root) and each != root
            for path in subject.paths
            for each, root in ((path, subject.workspace), (real_path(path), workspace))
        )
    )


def mode_label(mode: Mode) -> str:
    """Return the name of a mode as recorded with a decision."""
    return f'mode "{MODE_NAMES[mode]}"'


def _rule_reason(tool: str, rule: Rule) -> str:
    why = f" {rule.reason.rstrip('.')}." if rule.reason else ""
    return f"{tool} was not run: a rule of the user denies it ({rule.text}).{why} Do not try it in another way."


def _no_writing(mode: Mode, tool: str, reader: str) -> Ruling:
    """Return the denial of an action that may write, in plan mode or by a sub-agent of a kind that only reads."""
    what = f"calls that change nothing are allowed ({PLAN_COMMANDS})" if kind_of(tool) == "command" else _NO_CHANGE
    if reader:
        reason = f"{tool} was not run: for the sub-agent {reader} only {what}. Report what you would change instead."
        return Ruling("deny", f'read-only sub-agent "{reader}"', reason, by="rule")
    reason = (
        f"{tool} was not run: in plan mode only {what}. "
        "Look at what is needed, then describe the plan and wait for the user."
    )
    return Ruling("deny", mode_label(mode), reason)


_NO_CHANGE: Final = "calls that change nothing are allowed"
