"""The lines that plain mode prints about each event: full sentences, with symbols only inside quoted text.

All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from workbench.diff.hunks import FileDiff, Hunk
from workbench.durations import measured_duration
from workbench.text import counted
from workbench.tools.ask_human.question import who_asks
from workbench.tools.manifest import ToolKind, kind_of
from workbench.view.diff.lines import Standing, paint_line
from workbench.view.formatting.actions import action_line, decision_of, presentation
from workbench.view.formatting.cards import printed_output
from workbench.view.state import CHANGED_BACK, ActionItem, AgentItem, Item, NoticeItem, SessionState, UserItem
from workbench.view.wrapping import count_lines

LINES: Final = 10
"""The number of last lines of an output that are printed; `/show` prints all."""
RENDERED_LINES: Final = 40
"""The number of first lines of a tool's own rendering that are printed."""
_ENDED: Final = {"skipped": "skipped", "lost": "its outcome is unknown"}
_QUIET: Final[frozenset[ToolKind]] = frozenset({"final", "question", "plan"})
"""Kinds of tools whose result is not printed, because the user sees it elsewhere."""


def item_lines(item: Item, workspace: str) -> Iterator[str]:
    """Yield the lines about an item of the session in its current state, to show the history."""
    match item:
        case UserItem():
            images = "".join(f" [image {chip}]" for chip in item.images)
            images += "".join(f" [resource {chip}]" for chip in item.resources)
            command = f" ({item.command})" if item.command else ""
            yield f"You{command}{' (removed)' if item.withdrawn else ''}: {item.text}{images}"
        case AgentItem() if item.text.strip():
            yield f"Agent: {item.text.strip()}{' (cut short)' if item.incomplete else ''}"
        case NoticeItem():
            yield f"{item.text}."
        case ActionItem():
            yield begun(item, workspace)
            yield from call_lines(item)
            yield from ended(item)


def begun(item: ActionItem, workspace: str) -> str:
    """Return one line about an action that starts to run, including who or what allowed it."""
    who = f" of {who_asks(item.agent)}" if item.agent else " of your own" if item.by_user else ""
    what = "" if item.tool == CHANGED_BACK else f"{_what(item)} "
    decision = decision_of(item) if item.phase != "rejected" else ""
    allowed = f" ({decision})" if decision else ""
    return f"Step {item.number}{who}: {f'{what}{action_line(item, workspace)}'.rstrip()}{allowed}"


def call_lines(item: ActionItem) -> Iterator[str]:
    """Yield the tool's own rendering of a call that starts to run; most tools have none."""
    yield from _head(item.call_rendering, item)


def ended(item: ActionItem) -> Iterator[str]:
    """Yield lines about the outcome and output of an action; none until the action has ended."""
    end = (decision_of(item) or "rejected") if item.phase == "rejected" else _ENDED.get(item.phase)
    if end:
        yield f"Step {item.number}: {end}{f'. {item.note}' if item.note else ''}"
    elif kind_of(item.tool) in _QUIET and item.phase == "done":
        message = str(item.arguments.get("message", "")).strip()
        yield from [f"Agent: {message}"] if message and kind_of(item.tool) == "final" else []
    elif item.phase in ("done", "failed"):
        yield f"Step {item.number}: {_outcome(item)}{_took(item)}"
        yield from _output(item)


def change_lines(file: FileDiff, hunk: Hunk) -> list[str]:
    """Return the lines that describe one change to a file: its position, the removed lines and the added lines."""
    lines = [f"{file.path}, at line {hunk.old + 1}:"]
    standing = Standing(file)
    lines += [f"  remove: {paint_line(standing.masked_line('old', at)).text}" for at in range(hunk.old, hunk.old_end)]
    return lines + [f"  add: {paint_line(line).text}" for line in file.new[hunk.new : hunk.new_end]]


def file_line(file: FileDiff) -> str:
    """Return one line about what happens to a file."""
    kind = {"A": "is new", "D": "will be gone", "=": "stays as it is"}.get(file.sign, "changes")
    counts = f": {_counted(file.added, file.removed)}" if file.hunks else ""
    return f"File {paint_line(file.path).text} {kind}{counts}.{f' {file.note}' if file.note else ''}"


def standing(state: SessionState) -> Iterator[str]:
    """Yield lines about the session: running or pending actions, directory, model, mode and cost."""
    running = next(iter(state.running.values()), None)
    if state.waiting:
        yield f"{len(state.waiting)} waiting for your answer; /question shows it again."
    elif running is not None:
        yield f"Running. {begun(running, state.workspace)}"
    else:
        work = {"thinking": "The agent is thinking.", "starting": "The engine is starting."}
        yield work.get(state.work, "The agent works." if state.is_running else "Nothing runs; the agent waits for you.")
    cost = "unknown" if state.cost is None else f"${state.cost:.3f}"
    other = f" ({state.fallback_model} is asked in its place)" if state.fallback_model else ""
    at = f" at {state.model_url}" if state.model_url else ""
    yield f"Directory {state.workspace}, model {state.model}{other}{at}, mode {state.mode}, cost {cost}."


def key_lines(state: SessionState) -> Iterator[str]:
    """Yield what the user can do if the API key is missing or was rejected; nothing otherwise."""
    if state.rejected_key is not None:
        resume = f"ohw resume {state.session_id}"
        yield f"To continue: /model NAME uses another model; or quit, correct the key, and run {resume} --plain."
        yield f"{resume}, without --plain, opens a form that takes another key for {state.rejected_key.model}."


def tasks(state: SessionState) -> Iterator[str]:
    """Yield one line for each task of the agent's plan."""
    words = {"todo": "to do", "in_progress": "in progress", "done": "done"}
    for number, task in enumerate(state.tasks, 1):
        claimed = ", without any step" if task.is_claimed else ""
        yield f"Task {number}, {words[task.status]}{claimed}: {task.title}"
    if not state.tasks:
        yield "The agent has made no plan."


def _what(item: ActionItem) -> str:
    return presentation(item).noun or item.tool


def _outcome(item: ActionItem) -> str:
    if item.phase == "failed":
        return f"failed with exit code {item.exit_code}" if item.exit_code not in (None, 0, -1) else "failed"
    if item.exit_code == -1:
        return "continues"
    if not item.files:
        return "done"
    counts = [count_lines(delta.before, delta.after) for delta in item.files]
    return f"done: {_counted(sum(added for added, _ in counts), sum(removed for _, removed in counts))}"


def _counted(added: int, removed: int) -> str:
    return f"{counted(added, 'line')} added, {removed} removed"


def _took(item: ActionItem) -> str:
    return f", {measured_duration(item.duration)}" if item.duration is not None and item.duration >= 0.1 else ""


def _output(item: ActionItem) -> Iterator[str]:
    if presentation(item).result in ("changes", "none") and item.phase == "done":
        return
    if item.rendering:
        yield from _head(item.rendering, item)
        return
    lines = printed_output(item).rstrip().splitlines()
    yield from (f"  {line}" for line in lines[-LINES:])
    if len(lines) > LINES:
        yield f"  These are the last {LINES} of {len(lines)} lines: /show {item.number} has all."


def _head(rendering: str, item: ActionItem) -> Iterator[str]:
    """Yield the first lines of a tool's own rendering."""
    lines = rendering.split("\n") if rendering else []
    yield from (f"  {line}" for line in lines[:RENDERED_LINES])
    if len(lines) > RENDERED_LINES:
        yield f"  These are the first {RENDERED_LINES} of {len(lines)} lines: /show {item.number} has all."
