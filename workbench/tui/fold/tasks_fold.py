"""The agent's plan as the screen shows it: from task_tracker observations, with the steps done under each task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from workbench.tui.fold.state import ActionItem, SessionState, Task

TASK_TOOL = "task_tracker"
NO_STEP = frozenset({TASK_TOOL, "think", "finish", "request_condensation", "ask_human"})
"""Tools that do no work on a task."""

Status: TypeAlias = Literal["todo", "in_progress", "done"]


def take_plan(state: SessionState, action: ActionItem) -> bool:
    """Replace the plan when the action was a successful `plan`; steps stay with the tasks they were done under."""
    if action.tool != TASK_TOOL or action.observation.get("is_error") or action.arguments.get("command") != "plan":
        return False
    entries = action.observation.get("task_list")
    entries = entries if isinstance(entries, list | tuple) else action.arguments.get("task_list")
    if not isinstance(entries, list | tuple):
        return False
    state.tasks = _with_steps(state.tasks, (entry for entry in entries if isinstance(entry, Mapping)))
    return True


def take_step(state: SessionState, number: int, tool: str) -> bool:
    """Note an action that started under every task in progress; whether there was one."""
    if tool in NO_STEP:
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
