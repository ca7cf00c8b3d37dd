"""Builds the notices of the workbench: how a run ended, what was compacted, which settings have changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from workbench.config.modes import MODE_NAMES
from workbench.durations import whole_duration
from workbench.protocol.usage import CHARACTERS_PER_TOKEN
from workbench.text import counted, visible, visible_path
from workbench.tools.manifest import kind_of
from workbench.view.formatting.actions import plus_minus
from workbench.view.state import ActionItem, FileState, Item, NoticeItem, RunTotals, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import (
        AgentNudged,
        CondensingUndone,
        FileDelta,
        Forked,
        HistoryCondensed,
        OutputDropped,
        Rewound,
        RunEnded,
        SettingsChanged,
    )
    from workbench.protocol.live import ControlState
    from workbench.session.storage.paging import Branch

NoticeKind: TypeAlias = Literal["info", "finished", "warning", "error"]

_ENDS: Final[dict[str, tuple[str, NoticeKind]]] = {
    "finished": ("Finished", "finished"),
    "interrupted": ("Stopped by you", "warning"),
    "limit": ("Stopped at a limit", "warning"),
    "stuck": ("Paused: the agent is stuck in a loop", "warning"),
    "error": ("Stopped by an error", "error"),
}

_COMPLETED: Final[dict[str, tuple[str, NoticeKind]]] = {
    "partial": ("Finished in part", "warning"),
    "false": ("Not finished", "warning"),
}
"""The notice of a run that the agent ended although the task is not completed."""
READ_ONLY: Final = "Read-only: another screen controls this session. /pen takes control"
_VIEW: Final = "Read-only: this view follows the session and controls nothing"
_MOST_PATHS: Final = 5
_FINAL_AMONG: Final = 20
"""The number of items at the end that are searched for the final message of a run."""

_WHY_CONDENSED: Final = {
    "asked": "requested by the agent",
    "person": "requested by you",
    "overflow": "context full",
    "tokens": "context almost full",
    "events": "long history",
}


def run_end_notice(state: SessionState, event: RunEnded) -> NoticeItem | None:
    """Return the notice that says how a run ended, or None if the agent only waits for an answer."""
    if event.reason not in _ENDS:
        return None
    text, kind = _ENDS[event.reason]
    if event.reason == "finished":
        text, kind = _COMPLETED.get(_completion(state), (text, kind))
    if event.reason == "interrupted" and event.detail:
        text = "Stopped"  # not by the user: the detail says what stopped it
    says_more = event.detail and event.detail.casefold() not in text.casefold() and kind != "finished"
    notice = NoticeItem(event.seq, f"{text}: {event.detail}" if says_more else text, kind)
    files = dict[str, FileState]()
    _add_files(files, state.turn_changes.values())
    notice.run = RunTotals(files, event.at, _cost_of_run(state), state.run_began)
    _show_totals(notice, notice.run)
    return notice


def _cost_of_run(state: SessionState) -> float | None:
    if state.cost is None or state.cost_before is None:
        return None
    return round(state.cost - state.cost_before, 6)  # sums of the same prices differ in their last digits


def _add_files(files: dict[str, FileState], later: Iterable[FileState]) -> None:
    """Add later changes to the files of a run; a file that has its original text again is removed."""
    for file in later:
        earlier = files.get(file.path, file)
        joined = FileState(file.path, earlier.before, file.after, note=file.note or earlier.note)
        files[file.path] = joined
        if joined.before == joined.after:
            del files[file.path]


def _show_totals(notice: NoticeItem, run: RunTotals) -> None:
    """Let a notice show the changes, the time and the cost of its run, if the run's beginning is known."""
    if run.began is not None:
        notice.facts, notice.has_changes = _run_facts(run, run.began), bool(run.files)


def add_late_changes(items: Sequence[Item], action: ActionItem, files: Sequence[FileDelta]) -> NoticeItem | None:
    """Add changes of an action to the notice on the end of its run, which came before their snapshot was taken.

    Returns the notice, or None if the run has not ended.
    """
    notice = None
    for item in reversed(items):
        if item.seq and item.seq <= action.seq:
            break
        if isinstance(item, NoticeItem) and item.run is not None:
            notice = item
    if notice is None or notice.run is None:
        return None
    _add_files(notice.run.files, (FileState(each.path, each.before, each.after, note=each.cut) for each in files))
    _show_totals(notice, notice.run)
    return notice


def join_runs(later: Iterable[Item], part: SessionState) -> None:
    """Add an older part of the session to the run that may have begun in it: the first one that ends after it.

    The run's notice gets the changes and the cost of the part.
    """
    notice = next((item for item in later if isinstance(item, NoticeItem) and item.run is not None), None)
    if notice is None or notice.run is None or notice.run.began is not None:
        return
    run, files = notice.run, dict[str, FileState]()
    _add_files(files, part.turn_changes.values())
    _add_files(files, run.files.values())
    cost = _cost_of_run(part)
    run.files, run.began = files, part.run_began
    run.cost = None if run.cost is None or cost is None else round(run.cost + cost, 6)
    _show_totals(notice, run)


def _completion(state: SessionState) -> str:
    """Return whether the agent considers its task completed: "true", "false", "partial" or "" if it did not say."""
    latest = (item for item in reversed(state.items[-_FINAL_AMONG:]) if isinstance(item, ActionItem))
    final = next((item for item in latest if kind_of(item.tool) == "final" and not item.agent), None)
    return str(final.arguments.get("task_completed")).lower() if final is not None else ""


def _run_facts(run: RunTotals, began: datetime) -> str:
    """Return what a run has changed, its time and its cost, such as `2 files +7 −2 · 3m 05s · $0.42`."""
    files = run.files.values()
    facts = []
    if files:
        counts = plus_minus(sum(file.added for file in files), sum(file.removed for file in files))
        facts.append(f"{counted(len(files), 'file')} {counts}")
    facts.append(whole_duration(max(0.0, (run.ended - began).total_seconds())))
    if run.cost:
        facts.append(f"${run.cost:.2f}" if run.cost >= 0.1 else f"${run.cost:.3f}")
    return " · ".join(facts)


def nudge_notice(event: AgentNudged) -> NoticeItem:
    """Return the notice about a message that the workbench itself sent to the agent, and the reason for it."""
    if event.reason == "stuck":
        return NoticeItem(event.seq, f"The agent was warned about a loop: {event.evidence}", "warning")
    if event.reason == "lost":
        return NoticeItem(event.seq, f"The session file was damaged and repaired: {event.evidence}", "warning")
    why = "its answer was empty" if event.reason == "empty" else "its answer called no tool"
    return NoticeItem(event.seq, f"The agent was asked again: {why}")


def condensed_notice(event: HistoryCondensed) -> NoticeItem:
    """Return the notice about a compaction, naming the events; the summary is its detail."""
    text = f"Compacted events {event.first}–{event.last} ({_WHY_CONDENSED[event.reason]})"
    return NoticeItem(event.seq, text, detail=event.summary, title="Summary of the history")


def undone_notice(event: CondensingUndone) -> NoticeItem:
    """Return the notice that a compaction was undone."""
    text = f"Compaction of events {event.first} to {event.last} undone"
    return NoticeItem(event.seq, text)


def dropped_notice(event: OutputDropped, action: ActionItem | None) -> NoticeItem:
    """Return the notice that a result is no longer sent to the model."""
    what = f"Output of #{action.number}" if action is not None else "An output"
    tokens = event.characters // CHARACTERS_PER_TOKEN
    return NoticeItem(event.seq, f"{what} dropped from the context: about {tokens:,} tokens")


def settings_notice(event: SettingsChanged) -> NoticeItem:
    """Return the notice of the changed settings."""
    parts = [
        f"mode changed to: {MODE_NAMES[event.mode]}" if event.mode else "",
        f"model changed to: {event.model}" if event.model else "",
        f"at most {event.max_steps} steps a run" if event.max_steps is not None else "",
        _added_rule(event.rule) if event.rule else "",
        f"session rule removed: {event.dropped_rule}" if event.dropped_rule else "",
        f"session renamed to {event.title or 'its first message'}" if event.title is not None else "",
    ]
    changed = [part for part in parts if part]
    text = ", ".join(changed)
    return NoticeItem(event.seq, f"{text[:1].upper()}{text[1:]}", is_mode=bool(event.mode) and len(changed) == 1)


def _added_rule(rule: str) -> str:
    directory = rule.removeprefix(_GRANTS)
    if directory == rule:
        return f"session rule added: {rule}"
    return f"commands may write {directory} in this session, which undo does not cover"


_GRANTS: Final = "allow sandbox_write in "


def branch_notice(branch: Branch) -> NoticeItem:
    """Return the notice shown in place of events that a rewind undid; it opens them."""
    counts = [
        counted(count, name) for count, name in ((branch.messages, "message"), (branch.actions, "action")) if count
    ]
    return NoticeItem(branch.last, f"Undone by a rewind: {' and '.join(counts)}", branch=(branch.first, branch.last))


def rewind_notice(event: Rewound) -> NoticeItem:
    """Return the notice of a rewind: what moved, and which files did not."""
    moved = {"both": "Session", "conversation": "Conversation", "files": "Files"}[event.scope]
    parts = [f"{moved} rewound to event {event.target}"]
    if event.files:
        parts.append(f"{counted(len(event.files), 'file')} changed")
    if event.conflicts:
        parts.append(f"kept because you changed the same lines: {_listed(event.conflicts)}")
    if event.not_covered:
        parts.append(f"not covered: {_listed(event.not_covered)}")
    if event.copies:
        parts.append(f"copies of deleted files: ohw restore {event.copies[0]}")
    parts.append("/redo undoes the last rewind")
    return NoticeItem(event.seq, "; ".join(parts), "warning" if event.conflicts else "info")


def read_only_line(state: SessionState) -> str:
    """Return why this front end does not control the session, and how it could."""
    return _VIEW if state.is_viewer else READ_ONLY


def control_notice(state: SessionState, control: ControlState) -> NoticeItem | None:
    """Return the notice that this front end gained or lost control, or that another one attached; None for neither."""
    if control.is_viewer:
        return None if state.is_viewer else NoticeItem(0, _VIEW)
    if control.has_control and not state.has_control:
        return NoticeItem(0, "This screen controls the session now")
    if not control.has_control and state.has_control:
        return NoticeItem(0, "Another screen took control. /pen regains it" if state.others else READ_ONLY)
    if control.has_control and control.others > state.others:
        return NoticeItem(0, "Another screen of yours is attached, read-only")
    return None


def fork_notice(event: Forked) -> NoticeItem:
    """Return the notice that a fork begins here."""
    where = f" in {visible_path(event.workspace)}" if event.moved_from else ""
    origin = visible(event.session, lines=False)
    return NoticeItem(event.seq, f"Forked from {origin} at event {event.target}{where}; what follows is the fork's own")


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(visible_path(path) for path in paths[:_MOST_PATHS]) + more
