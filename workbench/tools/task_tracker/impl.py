"""Keeps the task list of one session; where there is a folder, in a file that survives a restart."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from workbench.tools.executor import ToolExecutor
from workbench.tools.task_tracker.definition import SIGNS, TaskItem, TaskTrackerAction, TaskTrackerObservation


class TaskTrackerExecutor(ToolExecutor[TaskTrackerAction, TaskTrackerObservation]):
    """The list: replaced by `plan`, printed by `view`."""

    def __init__(self, state_dir: Path | None = None) -> None:
        self._file = state_dir / "tasks.json" if state_dir else None
        self._tasks = _load(self._file) if self._file else []

    def __call__(self, action: TaskTrackerAction) -> TaskTrackerObservation:
        """The list after the command."""
        if action.command == "plan":
            self._tasks = list(action.task_list)
            self._save()
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

    def _save(self) -> None:
        if self._file:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = self._file.with_suffix(".tmp")
            unfinished.write_text(json.dumps([task.model_dump() for task in self._tasks]))
            unfinished.replace(self._file)


def _load(file: Path) -> list[TaskItem]:
    """The kept list; none when there is no file or it cannot be read (the plan is then made again)."""
    try:
        kept = json.loads(file.read_text())
        return [TaskItem.model_validate(entry) for entry in kept]
    except (OSError, ValueError, TypeError, ValidationError):
        return []
