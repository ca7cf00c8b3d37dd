"""Modes: whether an action runs, is asked about or is denied; used by the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from workbench.security.risk import Risk

Mode: TypeAlias = Literal["ask", "medium", "high", "never", "plan"]

MODE_NAMES: Final[Mapping[str, str]] = {
    "medium": "ask from MEDIUM",
    "ask": "ask always",
    "high": "ask from HIGH",
    "never": "never ask",
    "plan": "plan: read only",
}
"""Modes as a person reads them."""
_ASKED: dict[Mode, tuple[Risk, ...]] = {
    "medium": ("MEDIUM", "HIGH", "UNKNOWN"),
    "ask": ("LOW", "MEDIUM", "HIGH", "UNKNOWN"),
    "high": ("HIGH", "UNKNOWN"),
    "never": (),
    "plan": ("MEDIUM", "HIGH", "UNKNOWN"),
}


@dataclass(frozen=True)
class Ruling:
    """What happens to an action, and the rule (or mode) that says so; `reason` tells the model why it was denied."""

    verdict: Literal["ask", "allow", "deny"]
    rule: str
    reason: str = ""
    by: Literal["mode", "rule"] = "mode"


def rule_on(
    mode: Mode, risk: Risk, read_only: bool, tool: str, *, reads: bool = False, is_allowed: bool = False
) -> Ruling:
    """The ruling of a mode on an action of this effective risk; read-only tools never ask.

    `reads` says of an action that it only reads although its tool may write: plan mode then asks as `medium` does.
    What `is_allowed` beforehand is not asked about at MEDIUM; at HIGH, and in the mode that always asks, it is.
    """
    rule = f'mode "{MODE_NAMES[mode]}"'
    if read_only:
        return Ruling("allow", "read-only tool", by="rule")
    if mode == "plan" and not reads:
        return Ruling("deny", rule, _plan_reason(tool))
    if is_allowed and mode != "ask" and risk in {"LOW", "MEDIUM"}:
        return Ruling("allow", "this command is allowed beforehand", by="rule")
    return Ruling("ask" if risk in _ASKED[mode] else "allow", rule)


def _plan_reason(tool: str) -> str:
    return (
        f"{tool} was not run: in plan mode only calls that change nothing are allowed. "
        "Look at what is needed, then describe the plan and wait for the person."
    )
