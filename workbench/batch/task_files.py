"""Reads tasks from JSON lines, TOML, a directory of prompts, or standard input, and checks all before any starts."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.batch.swe_bench import is_swe_bench, swe_bench_row
from workbench.batch.task import InvalidTask, TaskProblem, TaskSpec, check_unique, refuse, task_of
from workbench.errors import UsageError
from workbench.text import visible_path

_PROMPTS: Final = (".md", ".txt")
_URLS: Final = ("https://", "http://", "ssh://", "git://", "file://")


def read_tasks(source: str, stdin: str | None = None, template: str = "") -> list[TaskSpec]:
    """Return the tasks of a file or directory, or of the text of standard input if the source is `-`.

    Rows of SWE-bench are tasks too. `template` is the prompt of tasks without one. Relative workspaces are made
    absolute. Raises UsageError, which names the line and field of each problem, if there is any.
    """
    path = Path(source).expanduser()
    base = Path.cwd() if stdin is not None else path.absolute() if path.is_dir() else path.absolute().parent
    tasks: list[tuple[str, TaskSpec]] = []
    problems: list[TaskProblem] = []
    for where, row, default_id in _rows(path, stdin):
        if isinstance(row, TaskProblem):
            problems.append(row)
            continue
        try:
            tasks.append((where, _located(_task(row, template, default_id), base)))
        except InvalidTask as error:
            problems.append(TaskProblem(f"{where}, {error.field}" if error.field else where, error.reason))
    name = "standard input" if stdin is not None else visible_path(source)
    refuse([*problems, *check_unique(tasks)], name)
    if not tasks:
        raise UsageError(f"there is no task in {name}")
    return [task for _, task in tasks]


def _task(row: Any, template: str, default_id: str) -> TaskSpec:
    return task_of(swe_bench_row(row, template)) if is_swe_bench(row) else task_of(row, template, default_id)


def _rows(path: Path, stdin: str | None) -> Iterator[tuple[str, Any, str]]:
    """Yield where each row is, its fields or a TaskProblem, and the ID that it has if it names none."""
    if stdin is not None:
        yield from _json_rows(stdin)
    elif path.is_dir():
        for file in sorted(path.iterdir()):
            if file.suffix in _PROMPTS:
                yield file.name, {"prompt": _text(file)}, file.stem
    elif path.suffix == ".toml":
        yield from _toml_rows(_text(path))
    else:
        yield from _json_rows(_text(path))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(f"{visible_path(str(path))} cannot be read: {why}") from None


def _json_rows(text: str) -> Iterator[tuple[str, Any, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            yield where, json.loads(line), ""
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
            yield where, TaskProblem(where, f"not JSON: {why}"), ""


def _toml_rows(text: str) -> Iterator[tuple[str, Any, str]]:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        yield "", TaskProblem("the file", f"not TOML: {error}"), ""
        return
    rows = table.get("task")
    if not isinstance(rows, list) or len(table) > 1:
        yield "", TaskProblem("the file", "each task is a table [[task]], and nothing is outside of them"), ""
        return
    for number, row in enumerate(rows, 1):
        yield f"[[task]] {number}", row, ""


def _located(task: TaskSpec, base: Path) -> TaskSpec:
    """Return the task with the absolute path of its workspace. Raises InvalidTask if there is nothing at that path."""
    if not task.workspace or is_url(task.workspace):
        return task
    path = (base / Path(task.workspace).expanduser()).resolve()
    if not path.exists():
        raise InvalidTask("workspace", f"there is no {visible_path(str(path))}")
    return msgspec.structs.replace(task, workspace=str(path))


def is_url(workspace: str) -> bool:
    """Return whether a workspace is the URL of a git repository, such as https://… or host:path, and not a path."""
    if workspace.startswith(_URLS):
        return True
    host, colon, _ = workspace.partition(":")
    return bool(colon) and "/" not in host and "@" in host


def encoded(tasks: Sequence[TaskSpec]) -> bytes:
    """Return the tasks as JSON lines."""
    return b"".join(msgspec.json.encode(task) + b"\n" for task in tasks)


def decoded(text: bytes) -> list[TaskSpec]:
    """Return the tasks of JSON lines that `encoded` has made. Raises msgspec.MsgspecError."""
    return [msgspec.json.decode(line, type=TaskSpec) for line in text.splitlines()]


def check_stored(tasks: Sequence[TaskSpec]) -> None:
    """Raise UsageError if the tasks of an earlier run were changed so that they cannot be run."""
    problems = check_unique([(f"line {number}", task) for number, task in enumerate(tasks, 1)])
    for number, task in enumerate(tasks, 1):
        try:
            task.validate()
        except InvalidTask as error:
            problems.append(TaskProblem(f"line {number}, {error.field}", error.reason))
    refuse(problems, "tasks.jsonl")
    if not tasks:
        raise UsageError("there is no task in tasks.jsonl")
