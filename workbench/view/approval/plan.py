"""The plan of a session in plan mode: when it waits for approval, and the modes in which it can be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from workbench.config.modes import MODE_NAMES, MODES, NEVER
from workbench.tools.manifest import kind_of
from workbench.view.state import ActionItem, AgentItem, NoticeItem, SessionState

if TYPE_CHECKING:
    from workbench.protocol.risk import Mode

RUN_PLAN: Final = "The plan is approved. Carry it out now."
"""The message that the agent gets with the approval."""
_DEFAULT: Final = "medium"
_KEYS: Final = {"e": "edits", "m": "medium"}


class PlanChoice(NamedTuple):
    """A key that approves the plan, and the mode in which it then runs."""

    key: str
    mode: Mode

    @property
    def label(self) -> str:
        """The name of the mode."""
        return MODE_NAMES[self.mode]


def plan_choices(state: SessionState) -> tuple[PlanChoice, ...]:
    """Return the keys that approve the plan; `y` runs it in the mode before plan mode, unless that is Don't ask."""
    before = state.mode_before_plan
    before = before if before in MODES and before not in ("", "plan", NEVER) else _DEFAULT
    modes = {"y": before} | {key: mode for key, mode in _KEYS.items() if mode != before}
    return tuple(PlanChoice(key, cast("Mode", mode)) for key, mode in modes.items())


def plan_lines(state: SessionState) -> tuple[str, ...]:
    """Return what plain mode prints about a plan that is ready."""
    before, *others = plan_choices(state)
    also = "".join(f", /approve {choice.mode} in {choice.label}" for choice in others)
    return (f"The plan is ready. /approve runs it in {before.label}{also}; or write what to change.",)


def plan_ready(state: SessionState) -> int:
    """Return the number of the event with the plan that waits for approval; 0 if none does.

    A run in plan mode has ended with a message of the agent that does not end in a question. An answer in another mode
    is not a plan, even if the mode is changed to plan mode afterwards.
    """
    is_over = not state.is_running and state.ended in ("finished", "waiting")
    if not (is_over and state.mode == state.ended_in == "plan") or state.waiting or state.queued:
        return 0
    last = next((item for item in reversed(state.items) if not isinstance(item, NoticeItem)), None)
    text = _text_of(last).strip()
    return last.seq if last is not None and text and not text.endswith("?") else 0


def _text_of(item: object) -> str:
    if isinstance(item, AgentItem):
        return "" if item.incomplete else item.text
    if isinstance(item, ActionItem) and kind_of(item.tool) == "final":
        return str(item.arguments.get("message", ""))
    return ""
