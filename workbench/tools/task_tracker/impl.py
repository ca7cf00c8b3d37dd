"""Keeps the task list of one session, also over a restart."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.tools.executor import ToolExecutor
from workbench.tools.kept import Kept
from workbench.tools.task_tracker.definition import SIGNS, TaskItem, TaskTrackerAction, TaskTrackerObservation

_NAME = "tasks.json"


class TaskTrackerExecutor(ToolExecutor[TaskTrackerAction, TaskTrackerObservation]):
    """The list: replaced by `plan`, printed by `view`."""

    def __init__(self, state_dir: Path | None = None) -> None:
        self._kept = Kept(state_dir)
        self._tasks = _loaded(self._kept.get(_NAME))

    def __call__(self, action: TaskTrackerAction) -> TaskTrackerObservation:
        """The list after the command."""
        if action.command == "plan":
            self._tasks = list(action.task_list)
            entries = [task.model_dump() for task in self._tasks]
            self._kept.put(_NAME, json.dumps(entries).encode())
        return TaskTrackerObservation.from_text(
            self._said(action.command), command=action.command, task_list=[task.model_dump() for task in self._tasks]
        )

    def _said(self, command: str) -> str:
        if command == "view":
            return "\n".join(["# Tasks", "", *self._rows()]) if self._tasks else "There are no tasks yet. Use `plan`."
        count = len(self._tasks)
        done = f"The task list has {count} {'task' if count == 1 else 'tasks'} now."
        active = [task.id for task in self._tasks if task.status == "in_progress"]
        if len(active) > 1:
            done += f" {len(active)} of them are in progress ({', '.join(active[:10])}); one at a time is better."
        return done

    def _rows(self) -> list[str]:
        rows = []
        for number, task in enumerate(self._tasks, 1):
            rows.append(f"{number}. {SIGNS[task.status]} {task.title} [{task.id}, {task.status}]")
            rows += [f"   {line}" for line in task.notes.splitlines()]
        return rows


def _loaded(kept: bytes | None) -> list[TaskItem]:
    """The kept list; none when there is nothing or it cannot be read (the plan is then made again)."""
    try:
        return [TaskItem.model_validate(entry) for entry in json.loads(kept or b"[]")]
    except (ValueError, TypeError):
        return []
