"""Applies the events of actions to the session state, and builds the workbench's notices; used by the reducer."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from workbench.diff.hunks import compare
from workbench.diff.partial import contents_with
from workbench.protocol.deletion_list import brief
from workbench.protocol.events import ActionProposed, ModelResponded
from workbench.text import counted, first_line, visible
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import ToolKind, kind_of
from workbench.view.read_groups import is_plan_change, join_reads
from workbench.view.state import (
    CHANGED_BACK,
    ActionItem,
    Changed,
    FileState,
    Hand,
    NoticeItem,
    Phase,
    SessionState,
    Task,
    added,
)

if TYPE_CHECKING:
    from workbench.protocol.events import (
        ActionAbandoned,
        ActionAssessed,
        ActionDecided,
        ActionObserved,
        ActionProposed,
        ActionStarted,
        DelegateStep,
        FileDelta,
        FilesChanged,
        UserCommand,
        VersionTaken,
    )
    from workbench.protocol.live import ToolOutput


def apply_files(
    state: SessionState, files: Sequence[FileDelta], by: Hand = "agent", *, is_of_turn: bool = True
) -> bool:
    """Apply file changes to those of the session and, if they belong to it, of the turn; return whether there were any.

    A file that has its original text again is removed.
    """
    for delta in files:
        _apply_file(state.changes, delta, by, state.version)
        if is_of_turn:
            _apply_file(state.turn_changes, delta, by, state.version)
    return bool(files)


def _apply_file(changes: dict[str, FileState], delta: FileDelta, by: Hand, version: str) -> None:
    file = changes.get(delta.path)
    if file is None:
        note = delta.cut if delta.before is not None else ""
        file = changes[delta.path] = FileState(delta.path, delta.before, delta.after, version=version, note_before=note)
    file.after = delta.after
    file.note = delta.cut or file.note_before
    file.by |= {by}
    if file.before == file.after:
        del changes[delta.path]


def merged(files: Sequence[FileDelta], later: Sequence[FileDelta]) -> tuple[FileDelta, ...]:
    """Merge the changes of one action from two sources: each file once, from its first text to its last."""
    by_path = {file.path: file for file in files}
    for file in later:
        earlier = by_path.get(file.path)
        by_path[file.path] = file if earlier is None else _joined(earlier, file)
    return tuple(by_path.values())


def _joined(earlier: FileDelta, later: FileDelta) -> FileDelta:
    cut = later.cut or (earlier.cut if earlier.before is not None else "")
    return replace(later, before=earlier.before, cut=cut)


_NO_STEP: Final[frozenset[ToolKind]] = frozenset({"plan", "thought", "final", "condensation", "question"})
"""Kinds of tools whose actions do not count as steps of a task."""

Status: TypeAlias = Literal["todo", "in_progress", "done"]


def apply_plan(state: SessionState, action: ActionItem) -> bool:
    """Replace the task list with that of a successful `plan` command; return whether it was replaced.

    A task that was in the list before keeps its steps.
    """
    if (
        kind_of(action.tool) != "plan"
        or action.observation.get("is_error")
        or action.arguments.get("command") != "plan"
    ):
        return False
    entries = action.observation.get("task_list")
    entries = entries if isinstance(entries, list | tuple) else action.arguments.get("task_list")
    if not isinstance(entries, list | tuple):
        return False
    state.tasks = _with_steps(state.tasks, (entry for entry in entries if isinstance(entry, Mapping)))
    return True


def apply_step(state: SessionState, number: int, tool: str) -> bool:
    """Add a started action to every task in progress; return whether there was such a task."""
    if kind_of(tool) in _NO_STEP:
        return False
    current = [task for task in state.tasks if task.status == "in_progress"]
    for task in current:
        task.steps.append(number)
    return bool(current)


def _with_steps(earlier: Iterable[Task], entries: Iterable[Mapping[str, Any]]) -> list[Task]:
    by_key = {(task.id, task.title): task.steps for task in earlier}
    tasks = [_task(entry, number) for number, entry in enumerate(entries, 1)]
    titles = {title: steps for (_, title), steps in by_key.items()}
    for task in tasks:
        task.steps = list(by_key.get((task.id, task.title)) or titles.get(task.title) or ())
    return tasks


def _task(entry: Mapping[str, Any], number: int) -> Task:
    return Task(
        id=str(entry.get("id") or f"task-{number}"),
        title=str(entry.get("title") or "Untitled task"),
        status=_status(entry.get("status")),
        notes=str(entry.get("notes") or ""),
    )


def _status(value: object) -> Status:
    if value == "in_progress":
        return "in_progress"
    return "done" if value == "done" else "todo"


def apply_accepted_part(item: ActionItem, event: ActionDecided) -> None:
    """Replace the previewed texts with the user's, and describe how much of the change was accepted."""
    contents = {file.path: file.text for file in event.written or ()}
    item.part = _in_words(item, event, contents)
    item.preview = tuple(replace(delta, after=contents.get(delta.path, delta.after)) for delta in item.preview)


def _in_words(item: ActionItem, event: ActionDecided, contents: dict[str, str | None]) -> str:
    if event.hunks is None:
        return "changed by you"
    diffs = [compare(delta.path, delta.before, delta.after) for delta in item.preview]
    count = sum(len(diff.hunks) for diff in diffs)
    taken = f"{len(event.hunks)} of {counted(count, 'hunk')}"
    is_as_proposed = [contents.get(diff.path) for diff in diffs] == contents_with(diffs, event.hunks)
    if len(event.hunks) == count:
        return "changed by you"
    return taken if is_as_proposed else f"{taken}, changed by you"


_NEAR: Final = 200
"""The number of latest items that are searched for other actions of the same response."""
Reducers = Mapping[str, Callable[[SessionState, Any], Changed]]
_LONGEST_NAME, _LONGEST_SERVER = 24, 60


def apply_delegate_step(state: SessionState, step: DelegateStep, reducers: Reducers) -> Changed:
    """Apply a step of a sub-agent as if it were the agent's own, with the sub-agent's name on its actions."""
    inner = replace(step.event, seq=step.seq)
    changed = reducers[inner.kind](state, inner)
    if isinstance(inner, ModelResponded):
        state.delegate_responses[step.action_id] = inner
    if isinstance(inner, ActionProposed):
        item = state.actions[inner.action_id]
        answer = state.delegate_responses.get(step.action_id)
        item.response = answer if answer is not None and answer.response_id == inner.response_id else None
        name = step.agent[: _LONGEST_NAME if step.session else _LONGEST_SERVER]
        item.agent, item.call_id = visible(name, lines=False), step.action_id
        bear_cost(state, item)
        join_reads(state.items, item)
    return changed


def close_delegate(state: SessionState, call_id: str) -> Changed:
    """Close all open actions of a sub-agent whose call has ended: running ones are lost, waiting ones skipped."""
    state.delegate_responses.pop(call_id, None)
    return _closed(state, [item for item in _open_actions(state) if item.call_id == call_id])


def close_all(state: SessionState) -> Changed:
    """Close all open actions at a rewind or a fork: the log will have no results for them."""
    return _closed(state, _open_actions(state))


def _closed(state: SessionState, items: list[ActionItem]) -> Changed:
    changed = Changed()
    for item in items:
        item.phase = "lost" if item.action_id in state.running else "skipped"
        state.running.pop(item.action_id, None)
        if item.action_id in state.waiting:
            state.waiting.remove(item.action_id)
            changed.waiting = True
        changed.updated.append(item)
        changed.status = True
    return changed


def _open_actions(state: SessionState) -> list[ActionItem]:
    return [*(state.actions[name] for name in state.waiting), *state.running.values()]


LIVE_LIMIT = 20_000
"""The most characters of live output that are kept."""


def action_item(event: ActionProposed, number: int = 0) -> ActionItem:
    """Return a proposed action as an item; `number` counts the actions of the session."""
    return ActionItem(
        seq=event.seq,
        number=number,
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
        presentation=event.presentation,
        call_rendering=event.rendering,
        at=event.at,
    )


def proposed(state: SessionState, event: ActionProposed) -> Changed:
    """Add a proposed action as an item; an action that is already open gets the new arguments instead."""
    answer = state.last_response
    state.action_count += 1
    open_item = state.actions.get(event.action_id)
    if open_item is not None and open_item.phase in ("proposed", "waiting"):
        open_item.arguments, open_item.call_rendering = event.arguments, event.rendering
        open_item.number = state.action_count
        return Changed(updated=[open_item])
    item = action_item(event, state.action_count)
    if answer is not None and answer.response_id == event.response_id:
        item.response = answer
    state.actions[event.action_id] = item
    bear_cost(state, item)
    changed = added(state, item)
    join_reads(state.items, item)
    return changed


def bear_cost(state: SessionState, item: ActionItem) -> None:
    """Show the cost of an action's response in the action's row, unless an earlier row of the response shows it.

    A change of the plan has no row, so it never shows the cost.
    """
    if item.response is None or is_plan_change(item):
        return
    recent = state.items[-_NEAR:] if item.position else []
    item.bears_cost = not any(
        isinstance(each, ActionItem) and each.bears_cost and each.response is item.response for each in recent
    )


def user_command(state: SessionState, event: UserCommand) -> Changed:
    """Add a command of the user's, which needs no approval."""
    state.action_count += 1
    item = ActionItem(
        seq=event.seq,
        number=state.action_count,
        action_id=event.action_id,
        tool=SHELL,
        arguments={"command": event.command, **({"outside_sandbox": True} if event.outside else {})},
        phase="approved",
        at=event.at,
        decided_by="person",
        by_user=True,
    )
    state.actions[event.action_id] = item
    return added(state, item)


def files_changed(state: SessionState, event: FilesChanged) -> Changed:
    """Apply files changed outside of actions; files that the user wrote become a finished action of the user's."""
    if event.by != "person":
        return Changed(changes=apply_files(state, event.files, "others"))
    state.action_count += 1
    item = ActionItem(
        seq=event.seq,
        number=state.action_count,
        action_id=f"changed-back-{event.seq}",
        tool=CHANGED_BACK,
        arguments={"session": event.session} if event.session else {},
        phase="done",
        at=event.at,
        decided_by="person",
        files=event.files,
        by_user=True,
    )
    state.actions[item.action_id] = item
    return added(state, item).merge(Changed(changes=apply_files(state, event.files, "person")))


def assessed(state: SessionState, event: ActionAssessed) -> Changed:
    """Apply the assessment of an action; the action waits for the user if it needs a decision or an answer."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.risk = event.risk
    if event.edited is not None:
        item.arguments, item.call_rendering = event.edited, ""
    item.reasons = tuple(brief(reason, event.deleted) for reason in event.reasons)
    item.segments = tuple(replace(part, reason=brief(part.reason, event.deleted)) for part in event.segments)
    item.deleted = event.deleted
    item.rule = event.rule
    item.preview = event.preview
    item.stale = event.stale
    item.part = ""
    item.fingerprint = event.fingerprint
    item.working_dir = event.working_dir
    item.asks = event.needs_answer
    item.always = event.choices
    item.no_always = event.no_always
    item.asked = event.seq
    if not event.needs_decision and not event.needs_answer:
        item.phase = "proposed"  # also an action that was asked about ahead of its turn and now has to wait for it
        return Changed(updated=[item], waiting=_no_longer_waits(state, item))
    item.phase = "waiting"
    if item.action_id not in state.waiting:
        insort(state.waiting, item.action_id, key=lambda name: state.actions[name].number)
    return Changed(updated=[item], status=True, waiting=True)


def decided(state: SessionState, event: ActionDecided) -> Changed:
    """Apply the decision on an action, which then no longer waits."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.phase = "rejected" if event.verdict == "rejected" else "approved"
    item.decided_by = event.by
    item.decided_rule = event.rule
    item.note = event.note
    if event.edited is not None:
        item.arguments, item.call_rendering = event.edited, ""
    if event.written is not None:
        apply_accepted_part(item, event)
    return Changed(updated=[item], status=True, waiting=_no_longer_waits(state, item))


def started(state: SessionState, event: ActionStarted) -> Changed:
    """Mark an action as running; the agent's actions become steps of the tasks in progress."""
    item = state.actions.get(event.action_id)
    if item is None:
        return Changed()
    item.phase = "running"
    item.started = event.at
    item.output = ""
    state.running[item.action_id] = item
    tasks = not item.by_user and apply_step(state, item.number, item.tool)
    return Changed(updated=[item], status=True, tasks=tasks)


def tool_output(state: SessionState, event: ToolOutput) -> Changed:
    """Append live output to a running action, keeping the last `LIVE_LIMIT` characters."""
    item = state.running.get(event.action_id)
    if item is None:
        return Changed()
    item.output = (item.output + event.text)[-LIVE_LIMIT:]
    return Changed(updated=[item])


def observed(state: SessionState, event: ActionObserved) -> Changed:
    """Apply the result of an action, including one that never ran."""
    item = state.actions.get(event.action_id)
    if item is None:  # it belongs to a part of the session that is not read
        return Changed(changes=apply_files(state, event.files_changed))
    state.running.pop(item.action_id, None)
    item.observation = event.observation
    item.output = observation_text(event.observation)
    item.rendering = event.rendering
    code = event.observation.get("exit_code")
    item.exit_code = code if isinstance(code, int) else None
    item.duration = event.duration if event.ran else None
    item.files = merged(item.files, event.files_changed)  # a sub-agent may have changed some before its end
    is_let_down = event.refused and item.phase == "approved" and item.decided_by == "person"
    item.phase = "failed" if is_let_down else _ran(item) if event.ran else _did_not_run(item)
    item.part = "" if is_let_down else item.part
    changed = Changed(
        added=[_add_refusal_notice(state, item, event.seq)] if is_let_down else [],
        updated=[item],
        status=True,
        tasks=event.ran and not item.agent and apply_plan(state, item),
        changes=apply_files(state, event.files_changed, _hand(item)),
        waiting=_no_longer_waits(state, item),
    )
    return changed.merge(close_delegate(state, item.action_id))


def _hand(item: ActionItem | None) -> Hand:
    """Return who changes files with an action; the agent is assumed if the action is in a part that was not read."""
    return "person" if item is not None and item.by_user else "agent"


def _add_refusal_notice(state: SessionState, item: ActionItem, seq: int) -> NoticeItem:
    """Add and return a notice that a tool refused an approved action; the model learns that from the result."""
    text = f"Action {item.number} was not done as you decided: {first_line(item.output, 300)}"
    notice = NoticeItem(seq, text, "warning")
    state.items.append(notice)
    return notice


def side_effects(state: SessionState, event: VersionTaken, *, is_of_turn: bool) -> Changed:
    """Apply an action's file changes, including those not in its result; a file in both is counted once."""
    item = state.actions.get(event.action_id)
    changed = Changed(changes=apply_files(state, event.files, _hand(item), is_of_turn=is_of_turn))
    if item is not None and (event.files or event.copy_id):
        item.files = merged(item.files, event.files)
        item.copy_id = event.copy_id or item.copy_id
        changed.updated.append(item)
    return changed


def abandoned(state: SessionState, event: ActionAbandoned) -> Changed:
    """Mark an action as lost: its outcome stays unknown."""
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
    return changed.merge(close_delegate(state, item.action_id))


def observation_text(observation: dict[str, Any]) -> str:
    """Return all text of a dumped observation; each image is replaced with its type in brackets."""
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
