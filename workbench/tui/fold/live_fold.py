"""What is told live and never stored: text as it streams, what the engine does, that it is gone; used by `story`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tui.fold.changed import Changed, added
from workbench.tui.fold.notices import NoticeKind
from workbench.tui.fold.state import AgentItem, NoticeItem, SessionState
from workbench.tui.links.link import LinkLost

if TYPE_CHECKING:
    from workbench.protocol.live import EngineState, ReasoningDelta, TextDelta


def text_delta(state: SessionState, event: TextDelta) -> Changed:
    """The answer grows."""
    _live(state).text += event.text
    return Changed(live=True)


def reasoning_delta(state: SessionState, event: ReasoningDelta) -> Changed:
    """The reasoning grows."""
    _live(state).reasoning += event.text
    return Changed(live=True)


def engine_state(state: SessionState, event: EngineState) -> Changed:
    """What the engine does now."""
    state.work = event.state
    state.work_detail = event.detail
    state.address = event.address
    state.unsaved = event.detail.startswith("not being saved")
    return Changed(status=True)


def link_lost(state: SessionState, lost: LinkLost) -> Changed:
    """The engine is gone: nothing runs or streams any more, and nothing that was shown disappears."""
    changed = Changed(status=True, live=True)
    state.work = "lost"
    state.work_detail = lost.reason
    for item in state.running.values():
        item.phase = "lost"
        changed.updated.append(item)
    state.running.clear()
    if state.live is not None:
        changed.merge(cut_short(state))
    kind: NoticeKind = "error" if lost.for_good else "warning"
    return changed.merge(added(state, NoticeItem(0, lost.reason, kind, refuses=True)))


def cut_short(state: SessionState) -> Changed:
    """What streams stays as it is; it was not finished."""
    item, state.live = state.live, None
    if item is None or not (item.text or item.reasoning):
        return Changed(live=True)
    item.streaming, item.incomplete = False, True
    return added(state, item)


def _live(state: SessionState) -> AgentItem:
    if state.live is None:
        state.live = AgentItem(0, streaming=True)
    return state.live
