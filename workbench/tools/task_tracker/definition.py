"""The tool `task_tracker`; missing fields of a task get defaults, invalid ones are errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import Field, TypeAdapter, field_validator, model_validator

from workbench.files.atomic import replace, write_new
from workbench.text import visible
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation, Schema
from workbench.tools.tool import StatelessTool, ToolAnnotations, described

Status = Literal["todo", "in_progress", "done"]
SYMBOLS: dict[str, str] = {"todo": "⏳", "in_progress": "🔄", "done": "✅"}

_DESCRIPTION = """Keep a list of the tasks of a longer piece of work; the user sees it beside the conversation.

* `plan` replaces the whole list by `task_list`: send every task each time, with its new status.
* `view` shows the list.

Use it for work of three steps or more. Mark a task `in_progress` before you start it and `done` only when its result
has been checked. Keep one task in progress at a time."""
_SHORT = "Keep a list of tasks: `plan` replaces the whole list, `view` shows it. One task in progress at a time."


class TaskItem(Schema):
    """One task."""

    id: str = Field("", description="A short name that stays the same; made when omitted.")
    title: str = Field("", description="What is to be done, in one line.")
    status: Status = Field("todo", description="How far it is.")
    notes: str = Field("", description="What is worth remembering about it.")


class TaskTrackerAction(Action):
    """View the list, or replace it."""

    command: Literal["view", "plan"] = Field(description="What to do.")
    task_list: list[TaskItem] = Field(default_factory=list, description="For `plan`: all tasks, in order.")

    @field_validator("task_list", mode="before")
    @classmethod
    def _each_entry_named(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value  # validation refuses it; a list as JSON text is decoded first
        taken = {entry.get("id") for entry in value if isinstance(entry, dict) and isinstance(entry.get("id"), str)}
        return [_completed(entry, number, taken) for number, entry in enumerate(value, 1)]

    @model_validator(mode="after")
    def _plan_has_tasks(self) -> Self:
        if self.command == "plan" and "task_list" not in self.model_fields_set:
            raise ValueError("`plan` needs `task_list`: all tasks, in order ([] empties the list)")
        return self


def _completed(entry: Any, number: int, taken: set[str | None]) -> Any:
    """Return the entry with missing fields filled in. Raises a ValueError that names the entry."""
    if isinstance(entry, TaskItem):
        entry = entry.model_dump()
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number} of task_list must be an object with id, title, status, notes")
    filled = {
        "id": next(name for name in _names(number) if name not in taken),
        "title": "Untitled task",
        "status": "todo",
        "notes": "",
    }
    fields = {name: value for name, value in entry.items() if value is not None and value != ""}
    unknown = [name for name in fields if name not in filled]
    if unknown:
        excerpt = visible(str(unknown[0])[:60], lines=False)
        raise ValueError(f"entry {number} of task_list has an unknown field {excerpt!r}; fields: {', '.join(filled)}")
    status = fields.get("status", "todo")
    if status not in get_args(Status):
        excerpt = visible(str(status)[:60], lines=False)
        raise ValueError(f"entry {number} of task_list has the status {excerpt!r}; use {', '.join(get_args(Status))}")
    if isinstance(fields.get("id"), int):
        fields["id"] = str(fields["id"])
    completed = filled | fields
    taken.add(completed["id"] if isinstance(completed["id"], str) else None)
    return completed


def _names(number: int) -> Iterator[str]:
    return (f"task-{free}" for free in count(number))


class TaskTrackerObservation(Observation):
    """The current list, also as data."""

    command: Literal["view", "plan"] = "view"
    task_list: list[TaskItem] = Field(default_factory=list)


class TaskTrackerTool(StatelessTool[TaskTrackerAction, TaskTrackerObservation]):
    """Stores and shows the task list."""

    name = "task_tracker"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = TaskTrackerAction
    observation_type = TaskTrackerObservation
    # It changes nothing outside the session, so calls need no approval.
    annotations = ToolAnnotations.reading("Task list")

    def __init__(self, save_dir: str | Path | None = None) -> None:
        """With a `save_dir`, the list is stored there in `TASKS.json`; otherwise it exists only during the session."""
        super().__init__(TaskTrackerExecutor(save_dir))


class TaskTrackerExecutor(ToolExecutor[TaskTrackerAction, TaskTrackerObservation]):
    """Stores the task list of one session."""

    recalls_last = True

    def __init__(self, save_dir: str | Path | None = None) -> None:
        """With a `save_dir`, the list is stored there in `TASKS.json`; if the file is unreadable, the list is empty."""
        self._file = None if save_dir is None else Path(save_dir) / "TASKS.json"
        self._tasks: list[TaskItem] = []
        if self._file is not None and self._file.is_file():
            with suppress(OSError, ValueError):
                self._tasks = TypeAdapter(list[TaskItem]).validate_json(self._file.read_bytes())

    def rewound(self, *, files: bool) -> None:
        """Empty the list."""
        self._tasks = []

    def recall(self, observation: dict[str, Any]) -> None:
        """Restore the list from an observation in the log; an invalid one is ignored."""
        with suppress(ValueError, TypeError):
            self._tasks = [TaskItem.model_validate(entry) for entry in observation.get("task_list", ())]

    def __call__(self, action: TaskTrackerAction) -> TaskTrackerObservation:
        """Carry out the command and return the list."""
        if action.command == "plan":
            self._tasks = list(action.task_list)
            self._save()
        return TaskTrackerObservation.from_text(
            self._message(action.command), command=action.command, task_list=list(self._tasks)
        )

    def _save(self) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write = replace if self._file.exists() else write_new
            write(self._file, TypeAdapter(list[TaskItem]).dump_json(self._tasks, indent=2))

    def _message(self, command: str) -> str:
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
            rows.append(f"{number}. {SYMBOLS[task.status]} {task.title} [{task.id}, {task.status}]")
            rows += [f"   {line}" for line in task.notes.splitlines()]
        return rows


task_tracker_tool = described(TaskTrackerTool)
