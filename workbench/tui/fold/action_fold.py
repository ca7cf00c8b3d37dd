"""How an action goes from proposal to result: the part of `story` that folds events of the kind `action_…`."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any

from workbench.text import first_line
from workbench.tui.fold import delegate_fold
from workbench.tui.fold.changed import Changed, added
from workbench.tui.fold.changes_fold import merged, take_files
from workbench.tui.fold.state import CHANGED_BACK, ActionItem, Hand, NoticeItem, Phase, SessionState
from workbench.tui.fold.tasks_fold import take_plan, take_step

if TYPE_CHECKING:
    from workbench.protocol.events import (
        ActionAbandoned,
        ActionAssessed,
        ActionDecided,
        ActionObserved,
        ActionProposed,
        ActionStarted,
        FilesChanged,
        UserCommand,
        VersionTaken,
    )
    from workbench.protocol.live import ToolOutput

LIVE_LIMIT = 20_000
"""Characters of live output that are kept."""


def proposed(state: SessionState, event: ActionProposed) -> Changed:
    """A new card and row."""
    answer = state.last_response
    state.action_count += 1
    item = ActionItem(
        seq=event.seq,
        number=state.action_count,
        action_id=event.action_id,
        tool=event.tool,
        arguments=event.arguments,
        summary=event.summary,
        thought=event.thought,
        position=event.position,
        batch=event.batch,
        model_risk=event.risk,
        risk=event.risk,
        error=event.error,
        response=answer if answer is not None and answer.response_id == event.response_id else None,
        at=event.at,
    )
    state.actions[event.action_id] = item
    return added(state, item)


def person_command(state: SessionState, event: UserCommand) -> Changed:
    """A command of the person's own: nobody is asked."""
    state.action_count += 1
    item = ActionItem(
        seq=event.seq,
        number=state.action_count,
        action_id=event.action_id,
        tool="execute_bash",
        arguments={"command": event.command},
        phase="approved",
        at=event.at,
        decided_by="person",
        by_person=True,
    )
    state.actions[event.action_id] = item
    return added(state, item)


def files_changed(state: SessionState, event: FilesChanged) -> Changed:
    """Files that others wrote; or the person, as they were, from the diff viewer: an action of theirs, done at once."""
    if event.by != "person":
        return Changed(changes=take_files(state, event.files, "others"))
    state.action_count += 1
    item = ActionItem(
        seq=event.seq,
        number=state.action_count,
        action_id=f"changed-back-{event.seq}",
        tool=CHANGED_BACK,
        arguments={},
        phase="done",
        at=event.at,
        decided_by="person",
        files=event.files,
        by_person=True,
    )
    state.actions[item.action_id] = item
    return added(state, item).merge(Changed(changes=take_files(state, event.files, "person")))


def assessed(state: SessionState, event: ActionAssessed) -> Changed:
    """What is known of it; it waits for the person when nobody else decides."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.risk = event.risk
    if event.edited is not None:
        item.arguments = event.edited
    item.reasons = event.reasons
    item.segments = event.segments
    item.rule = event.rule
    item.preview = event.preview
    item.stale = event.stale
    item.part = ""
    item.fingerprint = event.fingerprint
    item.working_dir = event.working_dir
    item.asks = event.needs_answer
    item.always = event.always
    item.asked = event.seq
    if not event.needs_decision and not event.needs_answer:
        item.phase = "proposed"  # also of one that was asked about ahead, and is to wait for its turn
        return Changed(updated=[item], waiting=_no_longer_waits(state, item))
    item.phase = "waiting"
    if item.action_id not in state.waiting:
        insort(state.waiting, item.action_id, key=lambda name: state.actions[name].number)
    return Changed(updated=[item], status=True, waiting=True)


def decided(state: SessionState, event: ActionDecided) -> Changed:
    """Approved, edited or rejected: it waits no longer."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.phase = "rejected" if event.verdict == "rejected" else "approved"
    item.decided_by = event.by
    item.decided_rule = event.rule
    item.note = event.note
    if event.edited is not None:
        item.arguments = event.edited
    if event.written is not None:
        from workbench.tui.fold.part_fold import take_part

        take_part(item, event)
    return Changed(updated=[item], status=True, waiting=_no_longer_waits(state, item))


def started(state: SessionState, event: ActionStarted) -> Changed:
    """It runs; the tasks in progress get it as a step, where it is the agent's."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.phase = "running"
    item.started = event.at
    item.output = ""
    state.running[item.action_id] = item
    tasks = not item.by_person and take_step(state, item.number, item.tool)
    return Changed(updated=[item], status=True, tasks=tasks)


def tool_output(state: SessionState, event: ToolOutput) -> Changed:
    """Live output of a running action."""
    item = state.running.get(event.action_id)
    if item is None:
        return Changed()
    item.output = (item.output + event.text)[-LIVE_LIMIT:]
    return Changed(updated=[item])


def observed(state: SessionState, event: ActionObserved) -> Changed:
    """The result, also of an action that never ran."""
    item = state.actions.get(event.action_id)
    if item is None:  # it stands in a part that is not read
        return Changed(changes=take_files(state, event.files_changed))
    state.running.pop(item.action_id, None)
    item.observation = event.observation
    item.output = observation_text(event.observation)
    code = event.observation.get("exit_code")
    item.exit_code = code if isinstance(code, int) else None
    item.duration = event.duration if event.ran else None
    item.files = event.files_changed
    is_let_down = event.refused and item.phase == "approved" and item.decided_by == "person"
    item.phase = "failed" if is_let_down else _ran(item) if event.ran else _did_not_run(item)
    item.part = "" if is_let_down else item.part
    changed = Changed(
        added=[_let_down(state, item, event.seq)] if is_let_down else [],
        updated=[item],
        status=True,
        tasks=event.ran and not item.agent and take_plan(state, item),
        changes=take_files(state, event.files_changed, _hand(item)),
        waiting=_no_longer_waits(state, item),
    )
    return changed.merge(delegate_fold.close(state, item.action_id))


def _hand(item: ActionItem | None) -> Hand:
    """Whose files an action changes; of one in a part that is not read nobody knows, and most are the agent's."""
    return "person" if item is not None and item.by_person else "agent"


def _let_down(state: SessionState, item: ActionItem, seq: int) -> NoticeItem:
    """The person approved it, and its tool refuses: they are told, not the model alone."""
    text = f"Action {item.number} was not done as you decided: {first_line(item.output, 300)}"
    notice = NoticeItem(seq, text, "warning")
    state.items.append(notice)
    return notice


def side_effects(state: SessionState, event: VersionTaken) -> Changed:
    """What an action changed on disk beside what its result says; a file that both tell of is counted once."""
    item = state.actions.get(event.action_id)
    changed = Changed(changes=take_files(state, event.files, _hand(item)))
    if item is not None and (event.files or event.copy_id):
        item.files = merged(item.files, event.files)
        item.copy_id = event.copy_id or item.copy_id
        changed.updated.append(item)
    return changed


def abandoned(state: SessionState, event: ActionAbandoned) -> Changed:
    """Its outcome is unknown for good."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.phase = "lost"
    item.note = event.reason or item.note
    state.running.pop(item.action_id, None)
    text = f"Action {item.number}: the outcome is unknown; it is not run again"
    notice = NoticeItem(event.seq, f"{text}; {event.known}" if event.known else text, "warning")
    state.items.append(notice)
    changed = Changed(added=[notice], updated=[item], status=True, waiting=_no_longer_waits(state, item))
    return changed.merge(delegate_fold.close(state, item.action_id))


def observation_text(observation: dict[str, Any]) -> str:
    """All text of a dumped observation; an image is named."""
    content = observation.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    return str(block["text"]) if "text" in block else f"[{block.get('mime_type', 'block')}]"


def _ran(item: ActionItem) -> Phase:
    return "failed" if item.observation.get("is_error") or item.exit_code not in (None, 0, -1) else "done"


def _did_not_run(item: ActionItem) -> Phase:
    if item.phase == "rejected":
        return "rejected"
    return "failed" if item.error else "skipped"


def _no_longer_waits(state: SessionState, item: ActionItem) -> bool:
    if item.action_id not in state.waiting:
        return False
    state.waiting.remove(item.action_id)
    return True
