"""The steps of sub-agents: the part of `story` that makes them actions of the session, marked with the agent's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from workbench.protocol.events import ActionProposed, ModelResponded
from workbench.text import visible
from workbench.tui.fold.changed import Changed
from workbench.tui.fold.state import ActionItem, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import DelegateStep

Folds = Mapping[str, Callable[[SessionState, Any], Changed]]
_LONGEST_NAME, _LONGEST_SERVER = 24, 60


def take(state: SessionState, step: DelegateStep, folds: Folds) -> Changed:
    """Fold the step as if it were the agent's own."""
    inner = replace(step.event, seq=step.seq)
    changed = folds[inner.kind](state, inner)
    if isinstance(inner, ModelResponded):
        state.delegate_responses[step.action_id] = inner
    if isinstance(inner, ActionProposed):
        item = state.actions[inner.action_id]
        answer = state.delegate_responses.get(step.action_id)
        item.response = answer if answer is not None and answer.response_id == inner.response_id else None
        name = step.agent[: _LONGEST_NAME if step.session else _LONGEST_SERVER]
        item.agent, item.call_id = visible(name, lines=False), step.action_id
    return changed


def close(state: SessionState, call_id: str) -> Changed:
    """The call of the sub-agent is over: nothing of it runs or waits any more."""
    changed = Changed()
    state.delegate_responses.pop(call_id, None)
    for item in _open_of(state, call_id):
        item.phase = "lost" if item.action_id in state.running else "skipped"
        state.running.pop(item.action_id, None)
        if item.action_id in state.waiting:
            state.waiting.remove(item.action_id)
            changed.waiting = True
        changed.updated.append(item)
        changed.status = True
    return changed


def _open_of(state: SessionState, call_id: str) -> list[ActionItem]:
    waiting = (state.actions[name] for name in state.waiting)
    return [item for item in (*waiting, *state.running.values()) if item.call_id == call_id]
