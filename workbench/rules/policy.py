"""Modes and rules: whether an action runs, is asked about or is denied; used by the session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from workbench.config.modes import MODE_NAMES
from workbench.protocol.risk import Mode, Risk
from workbench.rules.rule import Rule

_ASKED: dict[Mode, tuple[Risk, ...]] = {
    "medium": ("MEDIUM", "HIGH", "UNKNOWN"),
    "ask": ("LOW", "MEDIUM", "HIGH", "UNKNOWN"),
    "high": ("HIGH", "UNKNOWN"),
    "never": (),
    "plan": ("MEDIUM", "HIGH", "UNKNOWN"),
}


PROTECTED: Final = "protected paths, which every mode asks about"


@dataclass(frozen=True)
class Ruling:
    """What happens to an action, and the rule (or mode) that says so; `reason` tells the model why it was denied."""

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
    rule: Rule | None = None,
    caution: str = "",
    protected: str = "",
    unplaced: str = "",
    confirm_unknown: bool = True,
) -> Ruling:
    """The ruling on an action of this effective risk; `rule` is the one that fits it.

    `reads` says that it changes nothing although its tool may.

    A rule denies or asks in every mode. It allows nothing that is HIGH (all that is protected is), nothing in the mode
    that always asks, and nothing that writes in plan mode. With `caution`, a reason, what is not LOW is asked about,
    whatever a rule allows: one that was lost might have denied it. What changes a `protected` path is asked about in
    every mode, and what may change one for an `unplaced` reason. Without `confirm_unknown` the modes that ask by risk
    let through what nobody can rate.
    """
    if rule is not None and rule.verdict == "deny":
        return Ruling("deny", rule.text, _rule_reason(tool, rule), by="rule")
    if mode == "plan" and not (reads or read_only):
        return Ruling("deny", _named(mode), _plan_reason(tool))
    if rule is not None and rule.verdict == "ask":
        return Ruling("ask", rule.text, rule.reason, by="rule")
    allowing = None if caution and risk != "LOW" else rule
    asked = () if risk == "UNKNOWN" and not confirm_unknown and mode in ("medium", "high") else _ASKED[mode]
    ruling = _allowed(mode, risk, read_only, allowing) or _by_mode(mode, risk, asked, caution)
    if protected and ruling.verdict == "allow":
        return Ruling("ask", PROTECTED, f"{protected} is protected, and no allow rule names it")
    if unplaced and ruling.verdict == "allow":
        return Ruling("ask", PROTECTED, unplaced)
    return ruling


def _allowed(mode: Mode, risk: Risk, read_only: bool, rule: Rule | None) -> Ruling | None:
    """What goes without a question whatever the mode asks about, as far as it leaves that open."""
    if read_only and risk == "LOW":
        return Ruling("allow", "read-only tool", by="rule")
    if rule is not None and mode not in ("ask", "plan") and risk != "HIGH":
        return Ruling("allow", rule.text, by="rule")
    return None


def _by_mode(mode: Mode, risk: Risk, asked: tuple[Risk, ...], caution: str) -> Ruling:
    if risk in asked:
        return Ruling("ask", _named(mode))
    return Ruling("ask", caution, by="rule") if caution and risk != "LOW" else Ruling("allow", _named(mode))


def _named(mode: Mode) -> str:
    return f'mode "{MODE_NAMES[mode]}"'


def _rule_reason(tool: str, rule: Rule) -> str:
    why = f" {rule.reason.rstrip('.')}." if rule.reason else ""
    return f"{tool} was not run: a rule of the person denies it ({rule.text}).{why} Do not try it in another way."


def _plan_reason(tool: str) -> str:
    return (
        f"{tool} was not run: in plan mode only calls that change nothing are allowed. "
        "Look at what is needed, then describe the plan and wait for the person."
    )
