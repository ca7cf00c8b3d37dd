"""How the parent's log tells the steps of a sub-agent: what a screen needs; the rest is in the sub-agent's own log."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionEvent,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
)
from workbench.session.storage.words import observed_text
from workbench.text import cut_middle

_LONGEST = 4_000
"""Characters of a result that are told."""


def told(call: str, agent: str, session: str, event: Event) -> DelegateStep | None:
    """The step for the parent's log, or None for what only the sub-agent's own log holds."""
    part: ModelResponded | HistoryCondensed | ActionEvent
    match event:
        case ActionObserved():
            part = replace(event, observation=_short(event.observation))
        case ModelResponded():  # for what it cost
            part = replace(event, text="", reasoning="", thinking=(), tool_calls=())
        case HistoryCondensed():
            part = replace(event, summary="")
        case ActionProposed() | ActionAssessed() | ActionDecided() | ActionStarted() | ActionAbandoned() | ModelAsked():
            part = event
        case _:
            return None
    if not isinstance(part, ModelResponded | HistoryCondensed):
        part = replace(part, action_id=f"{session}:{part.action_id}")
    return DelegateStep(action_id=call, agent=agent, session=session, event=part)


def _short(observation: dict[str, Any]) -> dict[str, Any]:
    text = cut_middle(observed_text(observation), _LONGEST)
    known: dict[str, Any] = {name: observation[name] for name in ("is_error", "exit_code") if name in observation}
    if isinstance(printed := observation.get("output"), str):  # without what the model is told about it
        known["output"] = cut_middle(printed, _LONGEST)
    return {"content": [{"type": "text", "text": text}], **known}
