"""Keeps the task list of one session; the log has it too, and gives it back after a restart."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from workbench.tools.executor import ToolExecutor
from workbench.tools.task_tracker.definition import SIGNS, TaskItem, TaskTrackerAction, TaskTrackerObservation


class TaskTrackerExecutor(ToolExecutor[TaskTrackerAction, TaskTrackerObservation]):
    """The list: replaced by `plan`, printed by `view`."""

    def __init__(self) -> None:
        self._tasks: list[TaskItem] = []

    def recall(self, observation: dict[str, Any]) -> None:
        """Go on with the list that the log holds; one that does not fit is left out (the plan is then made again)."""
        with suppress(ValueError, TypeError):
            self._tasks = [TaskItem.model_validate(entry) for entry in observation.get("task_list", ())]

    def __call__(self, action: TaskTrackerAction) -> TaskTrackerObservation:
        """The list after the command."""
        if action.command == "plan":
            self._tasks = list(action.task_list)
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
