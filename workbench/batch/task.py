"""A task of a batch: what the agent is asked, where it works, and how its work is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from workbench.config.modes import MODES
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import near
from workbench.text import counted

_ID: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_ID_RULE: Final = "must be 1 to 200 letters, digits, and . _ - after the first"
_AMOUNTS: Final = ("max_steps", "max_tokens", "max_cost", "minutes")
_FIELD: Final = lazy_pattern(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class TaskSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task, as in the task file."""

    id: str
    prompt: str = ""
    fields: Mapping[str, str | int | float] = {}
    """The values of `{name}` in the prompt."""
    workspace: str = ""
    """A directory, a tar archive, or the URL of a git repository; relative to the task file. Empty for an empty one."""
    revision: str = ""
    """The git revision to check out, with its history and nothing later; a directory without one is copied as it is."""
    image: str = ""
    """The container image that commands run in."""
    image_path: str = ""
    """The directory of the image to copy as the workspace."""
    setup: str = ""
    """A shell command that runs before the agent, outside the sandbox."""
    check: str = ""
    """A shell command that runs after the agent, in the sandbox; exit code 0 means that the task is solved."""
    model: str = ""
    mode: str = ""
    max_steps: int = 0
    max_tokens: int = 0
    max_cost: float = 0.0
    """In US dollars."""
    minutes: float = 0.0
    """For the agent; setup and check have as much again each."""
    tags: Sequence[str] = ()

    def validate(self) -> None:
        """Raise InvalidTask if a value cannot be used."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, str) and not _is_usable(value):
                raise InvalidTask(name, "it contains a character that no file or command can have")
        for field, is_wrong, reason in (
            (
                "id",
                not _ID.fullmatch(self.id),
                f"{self.id!r} must be 1 to 200 letters, digits, and . _ - after the first",
            ),
            ("prompt", not self.prompt.strip(), "there is none, in the row or with --prompt"),
            ("mode", self.mode not in ("", *MODES), f"{self.mode!r} is none of {', '.join(MODES)}"),
            ("image_path", bool(self.image_path) and not self.image, "it needs an image"),
            ("image_path", bool(self.image_path and self.workspace), "give it or a workspace, not both"),
            ("revision", bool(self.revision) and not self.workspace, "it needs a workspace that is a git repository"),
            ("revision", self.revision.startswith("-"), f"{self.revision!r} is no git revision"),
            *((name, getattr(self, name) < 0, "it cannot be negative") for name in _AMOUNTS),
        ):
            if is_wrong:
                raise InvalidTask(field, reason)


def _is_usable(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


class TaskProblem(msgspec.Struct, frozen=True):
    """Something wrong with a task file; `where` is the line, and the field if one is wrong."""

    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class InvalidTask(ValueError):
    """A row is not a task; `field` is the one that is wrong, or empty."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


def task_of(row: Any, template: str = "", default_id: str = "") -> TaskSpec:
    """Return the task in a row of a task file.

    `template` is the prompt of rows without one, `default_id` the ID of a row without one. Raises InvalidTask.
    """
    if not isinstance(row, dict):
        raise InvalidTask("", "not a table of fields")
    for name in row:
        if name not in TaskSpec.__struct_fields__:
            raise InvalidTask(name, f"there is no such field{near(name, TaskSpec.__struct_fields__)}")
    row = {"prompt": template, "id": default_id, **row}
    for name, value in row.items():
        _check_type(name, value)
    task = msgspec.convert(row, TaskSpec)
    task.validate()
    return msgspec.structs.replace(task, prompt=_filled(task), fields={})


def _check_type(name: str, value: Any) -> None:
    kind = _KINDS[name]
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidTask(name, f"{error}".replace("`", "").replace("Expected", "expected")) from None


def _filled(task: TaskSpec) -> str:
    """Return the prompt with the values of the task's fields. Raises InvalidTask if one is missing or never used."""
    if not task.fields:
        return task.prompt
    names = set(_FIELD.findall(task.prompt))
    if missing := sorted(names - set(task.fields)):
        raise InvalidTask("fields", f"the prompt has {{{missing[0]}}}, for which there is no value")
    if unused := sorted(set(task.fields) - names):
        raise InvalidTask("fields", f"the prompt has no {{{unused[0]}}}")
    return _FIELD.sub(lambda match: str(task.fields[match[1]]), task.prompt)


_KINDS: Final = {field.name: field.type for field in msgspec.structs.fields(TaskSpec)}


def check_unique(tasks: Sequence[tuple[str, TaskSpec]]) -> list[TaskProblem]:
    """Return a problem for each task whose ID another has too; each task comes with the line that it is in."""
    lines: dict[str, str] = {}
    problems = []
    for where, task in tasks:
        first = lines.setdefault(task.id.lower(), where)
        if first != where:
            problems.append(TaskProblem(f"{where}, id", f"{task.id!r} is also the ID in {first}"))
    return problems


def refuse(problems: Sequence[TaskProblem], source: str) -> None:
    """Raise UsageError with all problems, if there are any."""
    if not problems:
        return
    listed = "; ".join(map(str, problems[:_MOST_LISTED]))
    more = f"; and {len(problems) - _MOST_LISTED} more" if len(problems) > _MOST_LISTED else ""
    raise UsageError(f"nothing was started: {source} has {counted(len(problems), 'wrong row')}: {listed}{more}")


_MOST_LISTED: Final = 10
