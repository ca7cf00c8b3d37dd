"""Applies the engine's messages to the session state, and records from the log when the model began to think."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from workbench.client.client import CommandRefused, Disconnected, EngineNotice, EngineStalled, Reconnected
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.view import action_reducer
from workbench.view.attachment_chips import chips_of, command_chip, with_resources
from workbench.view.fallback_line import fallback_line
from workbench.view.hooks import hook_notice
from workbench.view.notices import (
    NoticeKind,
    add_late_changes,
    branch_notice,
    condensed_notice,
    control_notice,
    dropped_notice,
    fork_notice,
    nudge_notice,
    rewind_notice,
    run_end_notice,
    settings_notice,
    undone_notice,
)
from workbench.view.state import AgentItem, Changed, Item, NoticeItem, RejectedKey, SessionState, UserItem, added

if TYPE_CHECKING:
    from workbench.client.client import Incoming
    from workbench.protocol.events import (
        AgentNudged,
        CondensingAsked,
        CondensingUndone,
        DelegateStep,
        Forked,
        HistoryCondensed,
        MessageWithdrawn,
        ModelAsked,
        ModelResponded,
        OutputDropped,
        ResourcesRead,
        Rewound,
        RunEnded,
        SessionStarted,
        SettingsChanged,
        UserMessage,
        VersionTaken,
    )
    from workbench.protocol.hook_run import HookRan
    from workbench.protocol.live import CallProgress, ControlState, EngineState, ReasoningDelta, TextDelta
    from workbench.session.storage.paging import Branch

_ASKED_AFTER: Final = frozenset(("action_observed", "action_abandoned", "agent_nudged", "history_condensed"))


def note_time(state: SessionState, event: Any) -> None:
    """Record the time of a stored event that makes the agent call the model; a message sent during a run does not."""
    if event.kind in _ASKED_AFTER or (event.kind == "user_message" and not state.is_running):
        state.thinks_since = event.at


def text_delta(state: SessionState, event: TextDelta) -> Changed:
    """Append text to the streaming answer."""
    _live(state).text += event.text
    return Changed(live=True)


def reasoning_delta(state: SessionState, event: ReasoningDelta) -> Changed:
    """Append reasoning to the streaming answer."""
    _live(state).reasoning += event.text
    return Changed(live=True)


def call_progress(state: SessionState, event: CallProgress) -> Changed:
    """Note the call that the model is writing."""
    state.call = event
    return Changed(live=True)


def engine_state(state: SessionState, event: EngineState) -> Changed:
    """Apply the engine's current state."""
    state.call = None
    state.work = event.state
    state.work_detail, state.is_stopping = event.detail, event.is_stopping
    state.model_url, state.fallback_model = event.address, event.model
    state.unsaved = event.detail.startswith("not saved")
    if event.sandbox:
        state.sandbox, state.sandbox_reason = event.sandbox, event.sandbox_reason
        state.sandbox_limit = event.sandbox_limit
        state.sandbox_granted, state.sandbox_refused = event.sandbox_granted, event.sandbox_refused
    if event.container:
        state.container, state.container_phase = event.container, event.container_phase
        state.container_failure, state.container_network = event.container_failure, event.container_network
    return Changed(updated=_leave_queue(state, lambda item: item.seq <= event.sent), status=True)


def control_state(state: SessionState, event: ControlState) -> Changed:
    """Apply which front end controls the session."""
    notice = control_notice(state, event)
    state.has_control, state.others, state.is_viewer = event.has_control, event.others, event.is_viewer
    changed = Changed(status=True, waiting=True)
    return changed.merge(added(state, notice)) if notice else changed


def link_lost(state: SessionState, lost: Disconnected) -> Changed:
    """Mark the engine as gone: nothing runs or streams any more, and everything shown stays."""
    changed = Changed(status=True, live=True)
    state.work, state.stalled = "lost", ""
    state.work_detail, state.is_over, state.has_ended = lost.reason, lost.for_good, lost.is_end
    state.has_control, state.others = True, 0
    for item in state.running.values():
        item.phase = "lost"
        changed.updated.append(item)
    state.running.clear()
    if state.live is not None:
        changed.merge(cut_short(state))
    kind: NoticeKind = "info" if lost.is_end else "error" if lost.for_good else "warning"
    return changed.merge(added(state, NoticeItem(0, lost.reason, kind))).merge(Changed(refused=lost.reason))


def _refused(state: SessionState, reason: str) -> Changed:
    """Append a notice of the refusal, or report the last item as updated if it is the same notice."""
    last = state.items[-1] if state.items else None
    if isinstance(last, NoticeItem) and (last.seq, last.text) == (0, reason):
        return Changed(updated=[last], refused=reason)
    return added(state, NoticeItem(0, reason, "warning")).merge(Changed(refused=reason))


def _engine_stalled(state: SessionState, stalled: EngineStalled) -> Changed:
    state.stalled = stalled.reason
    notice = (
        NoticeItem(0, stalled.reason, "warning") if stalled.reason else NoticeItem(0, "The agent process continues")
    )
    return added(state, notice).merge(Changed(status=True))


def _connection_changed(state: SessionState, message: Disconnected | EngineStalled | Reconnected) -> Changed:
    if isinstance(message, Disconnected):
        return link_lost(state, message)
    return _engine_stalled(state, message) if isinstance(message, EngineStalled) else _reconnected(state, message)


def _reconnected(state: SessionState, message: Reconnected) -> Changed:
    """Drop what was streamed before the connection broke: the engine sends it again."""
    changed = Changed(live=state.live is not None, status=True)
    state.stalled, state.live, state.call = "", None, None
    state.has_control, state.others = True, 0
    if state.work == "lost":
        state.work, state.work_detail = "idle", ""
    for item in state.running.values():
        item.output = ""
        changed.updated.append(item)
    return changed.merge(added(state, NoticeItem(0, message.text)))


def cut_short(state: SessionState) -> Changed:
    """Keep the streaming answer as it is, marked as incomplete."""
    item, state.live = state.live, None
    if item is None or not (item.text or item.reasoning):
        return Changed(live=True)
    item.streaming, item.incomplete = False, True
    return added(state, item)


def _live(state: SessionState) -> AgentItem:
    if state.live is None:
        state.live = AgentItem(0, streaming=True)
    return state.live


__all__ = ["Changed", "apply"]


def apply(state: SessionState, message: Incoming | Branch) -> Changed:
    """Apply one message from the client to the state and return the changes; a stored event is applied only once."""
    if isinstance(message, Disconnected | EngineStalled | Reconnected):
        return _connection_changed(state, message)
    if isinstance(message, CommandRefused):
        return _refused(state, message.reason)
    if isinstance(message, EngineNotice):
        return added(state, NoticeItem(0, message.text, "warning"))
    if seq := getattr(message, "seq", 0):
        if seq <= state.last_seq:
            return Changed()
        state.last_seq = seq
        note_time(state, message)
    reducer = _REDUCERS.get(message.kind)
    return reducer(state, message) if reducer else Changed()


def _session_started(state: SessionState, event: SessionStarted) -> Changed:
    state.session_id = event.id
    state.workspace = event.workspace
    state.model, state.mode = event.model, event.mode
    state.scripted, state.tools, state.api_base = event.scripted, event.tools, event.api_base or ""
    return Changed(status=True)


def _user_message(state: SessionState, event: UserMessage) -> Changed:
    images, command = chips_of(event), command_chip(event.command)
    item = UserItem(event.seq, event.text, event.at, queued=state.is_running, images=images, command=command)
    if item.queued:
        state.queued.append(item)
        return added(state, item)
    changed = Changed(changes=bool(state.turn_changes))
    state.turn_changes.clear()
    state.fallbacks.clear()
    state.run_began, state.cost_before = event.at, state.cost
    _run_is_on(state)
    return changed.merge(added(state, item))


def _resources_read(state: SessionState, event: ResourcesRead) -> Changed:
    item = with_resources(state.items, event)
    return Changed(updated=[item] if item is not None else [])


def _message_withdrawn(state: SessionState, event: MessageWithdrawn) -> Changed:
    item = next((each for each in state.queued if each.seq == event.message), None)
    if item is None:
        return Changed()
    state.queued.remove(item)
    item.queued, item.withdrawn = False, True
    return Changed(updated=[item], status=True)


def _model_responded(state: SessionState, event: ModelResponded) -> Changed:
    _run_is_on(state)
    state.live = state.call = None
    state.last_response = event
    _count(state, event)
    if event.usage.input is not None:
        state.input_tokens = event.usage.input
        state.window = event.usage.window
        state.parts = event.parts
    read = _queue_read(state, event)
    changed = Changed(updated=read, live=True, status=True).merge(_fallback_notice(state, event))
    if event.text or event.reasoning:
        item = AgentItem(event.seq, event.text, event.reasoning, incomplete=event.incomplete)
        changed.merge(added(state, item))
    return changed


def _fallback_notice(state: SessionState, event: ModelResponded) -> Changed:
    line = fallback_line(event, state.fallbacks)
    return added(state, NoticeItem(event.seq, line, "warning")) if line else Changed()


def _count(state: SessionState, event: ModelResponded | HistoryCondensed | ModelAsked) -> None:
    state.cost = None if state.cost is None or event.cost is None else state.cost + event.cost
    state.total_tokens += (event.usage.input or 0) + (event.usage.output or 0)


def _queue_read(state: SessionState, event: ModelResponded) -> list[Item]:
    """Remove from the queue the messages that this model request included, and return them."""
    began = event.at - timedelta(seconds=event.latency)
    return _leave_queue(state, lambda item: _was_read(item, event, began))


def _leave_queue(state: SessionState, was_sent: Callable[[UserItem], bool]) -> list[Item]:
    """Remove from the front of the queue the messages that were sent to the model, and return them."""
    sent: list[Item] = []
    while state.queued and was_sent(state.queued[0]):
        item = state.queued.popleft()
        item.queued = False
        sent.append(item)
    return sent


def _was_read(item: UserItem, event: ModelResponded, began: datetime) -> bool:
    return item.at <= began if event.seen is None else item.seq <= event.seen


def _spent(state: SessionState, event: ModelResponded | HistoryCondensed | ModelAsked) -> Changed:
    """Count the cost of a call by a sub-agent or a tool, which is not an answer in this conversation."""
    _count(state, event)
    return Changed(status=True)


def _delegate_response(state: SessionState, event: ModelResponded) -> Changed:
    return _spent(state, event).merge(_fallback_notice(state, event))


def _delegate_step(state: SessionState, event: DelegateStep) -> Changed:
    return action_reducer.apply_delegate_step(state, event, _DELEGATE_REDUCERS)


def _version_taken(state: SessionState, event: VersionTaken) -> Changed:
    action = state.actions.get(event.action_id)
    ended = add_late_changes(state.items, action, event.files) if action is not None and event.files else None
    changed = action_reducer.side_effects(state, event, is_of_turn=not _was_before_turn(state, ended))
    state.version = event.version or state.version
    if ended is not None:
        changed.updated.append(ended)
    return changed.merge(added(state, NoticeItem(event.seq, _sentence(event.notice)))) if event.notice else changed


def _was_before_turn(state: SessionState, ended: NoticeItem | None) -> bool:
    """Return whether a run that has ended is not the latest one."""
    run = ended.run if ended is not None else None
    return run is not None and state.run_began is not None and run.ended <= state.run_began


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _history_condensed(state: SessionState, event: HistoryCondensed) -> Changed:
    _count(state, event)
    return added(state, condensed_notice(event)).merge(Changed(status=True))


def _condensing_asked(state: SessionState, event: CondensingAsked) -> Changed:
    return added(state, NoticeItem(event.seq, "Compaction was requested"))


def _condensing_undone(state: SessionState, event: CondensingUndone) -> Changed:
    return added(state, undone_notice(event))


def _output_dropped(state: SessionState, event: OutputDropped) -> Changed:
    item, tokens = state.actions.get(event.action_id), event.characters // CHARACTERS_PER_TOKEN
    if state.input_tokens is not None:
        state.input_tokens = max(0, state.input_tokens - tokens)
    if state.parts is not None:
        state.parts = replace(state.parts, tool_output=max(0, state.parts.tool_output - tokens))
    if item is not None:
        item.is_dropped = True
    return added(state, dropped_notice(event, item)).merge(Changed(status=True))


def _hook_ran(state: SessionState, event: HookRan) -> Changed:
    item, notice = state.actions.get(event.action_id), hook_notice(event)
    changed = Changed()
    if item is not None:
        item.hooks += (event,)
        changed.updated.append(item)
    return changed.merge(added(state, notice)) if notice is not None else changed


def _agent_nudged(state: SessionState, event: AgentNudged) -> Changed:
    return added(state, nudge_notice(event))


def _settings_changed(state: SessionState, event: SettingsChanged) -> Changed:
    if event.model:
        state.model, state.scripted, state.window = event.model, event.model.startswith("scripted/"), None
        state.rejected_key = None
    if event.mode and event.mode != state.mode:
        state.mode_before_plan = state.mode if event.mode == "plan" else ""
        state.mode = event.mode
    state.title = state.title if event.title is None else event.title
    others = tuple(rule for rule in state.rules if rule not in (event.rule, event.dropped_rule))
    state.rules = (*others, event.rule) if event.rule else others
    return _notice_of_settings(state, settings_notice(event))


def _notice_of_settings(state: SessionState, notice: NoticeItem) -> Changed:
    """Append the notice, or let it replace the text of the notice before it if both say only which mode applies."""
    last = state.items[-1] if state.items else None
    if not (notice.is_mode and isinstance(last, NoticeItem) and last.is_mode):
        return added(state, notice)
    last.text = notice.text
    return Changed(updated=[last], status=True)


def _branch(state: SessionState, branch: Branch) -> Changed:
    return added(state, branch_notice(branch))


def _rewound(state: SessionState, event: Rewound) -> Changed:
    state.was_rewound = True
    if event.scope == "files":
        return added(state, rewind_notice(event))
    return _closed(state, rewind_notice(event))


def _forked(state: SessionState, event: Forked) -> Changed:
    if event.keeps_run:
        return added(state, fork_notice(event))
    return _closed(state, fork_notice(event))


def _closed(state: SessionState, notice: NoticeItem) -> Changed:
    """End the run that a rewind or a fork cuts off, and add its notice."""
    state.is_running, state.ended = False, ""
    state.queued.clear()
    return added(state, notice).merge(action_reducer.close_all(state))


def _run_ended(state: SessionState, event: RunEnded) -> Changed:
    state.is_running = False
    state.ended, state.ended_in = event.reason, state.mode
    if event.fault == "key":
        state.rejected_key = RejectedKey(event.seq, event.model or state.model, event.detail)
    changed = Changed(status=True, live=state.live is not None)
    if state.live is not None:
        changed.merge(cut_short(state))
    changed.updated.extend(state.queued)
    for item in state.queued:
        item.queued = False
    state.queued.clear()
    notice = run_end_notice(state, event)
    return changed.merge(added(state, notice)) if notice else changed


def _run_is_on(state: SessionState) -> None:
    state.is_running = True
    state.ended, state.rejected_key = "", None


_REDUCERS: Final[dict[str, Callable[[SessionState, Any], Changed]]] = {
    "session_started": _session_started,
    "user_message": _user_message,
    "resources_read": _resources_read,
    "message_withdrawn": _message_withdrawn,
    "model_responded": _model_responded,
    "action_proposed": action_reducer.proposed,
    "person_command": action_reducer.user_command,
    "action_assessed": action_reducer.assessed,
    "action_decided": action_reducer.decided,
    "action_started": action_reducer.started,
    "action_observed": action_reducer.observed,
    "action_abandoned": action_reducer.abandoned,
    "files_changed": action_reducer.files_changed,
    "model_asked": _spent,
    "version_taken": _version_taken,
    "agent_nudged": _agent_nudged,
    "hook_ran": _hook_ran,
    "history_condensed": _history_condensed,
    "condensing_asked": _condensing_asked,
    "condensing_undone": _condensing_undone,
    "output_dropped": _output_dropped,
    "settings_changed": _settings_changed,
    "branch": _branch,
    "rewound": _rewound,
    "forked": _forked,
    "run_ended": _run_ended,
    "delegate_step": _delegate_step,
    "text_delta": text_delta,
    "reasoning_delta": reasoning_delta,
    "call_progress": call_progress,
    "tool_output": action_reducer.tool_output,
    "engine_state": engine_state,
    "control_state": control_state,
    "prompt_ready": lambda state, event: Changed(prompt=event.text),
    "rewind_ready": lambda state, event: Changed(rewind=event),
    "changes_rated": lambda state, event: Changed(rated=event),
    "listening_ports": lambda state, event: Changed(ports=event),
    "matching_files": lambda state, event: Changed(files=event),
}
_DELEGATE_REDUCERS: Final = _REDUCERS | {"model_responded": _delegate_response, "history_condensed": _spent}
