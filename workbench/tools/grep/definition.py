"""The tool `grep` as model and session see it: which lines match a regular expression."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import regex
from pydantic import Field

from workbench.text import first_line, visible
from workbench.tools.context import ConversationState
from workbench.tools.executor import ToolExecutor
from workbench.tools.glob.patterns import GlobError, expand, glob_regex
from workbench.tools.glob.program import LARGEST, ProgramError, Searches, Stop, output_of, ripgrep
from workbench.tools.glob.search_root import Place, PlaceError, locate
from workbench.tools.grep import report
from workbench.tools.grep.matches import Found, records
from workbench.tools.grep.pattern import Pattern, PatternError, read_pattern
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

SECONDS = 30.0
"""How long a search may take."""

_DESCRIPTION = r"""Find lines in files by a regular expression; the result is `file:line:text`, in the order of the paths.

* `pattern` is matched line by line, upper and lower case apart unless `ignore_case`. Escape signs that are meant as they are: `foo\(`, `a\.b`. Lookaround and back references work, more slowly.
* `include` limits the search to files whose name fits: `*.py`, `*.{ts,tsx}`; with a `/` it is the path below `path`: `src/**/*.py`.
* `output` "files" gives only the names of the files; `context` adds that many lines around each match.
* Hidden files, files that .gitignore or .ignore leave out, binary files and files over 10 MB are not searched. A long result is cut at 30,000 characters and says so.

Use `glob` to find files by their name."""  # noqa: E501
_SHORT = "Find lines in files by a regular expression: `file:line:text`, or names with `output` files."


class GrepAction(Action):
    """A regular expression, and where to look for it."""

    pattern: str = Field(min_length=1, description="The regular expression.")
    path: str | None = Field(None, description="The folder or file to search; the workspace when left out.")
    include: str | None = Field(None, min_length=1, description="Only files that fit this glob, such as `*.py`.")
    output: Literal["lines", "files"] = Field("lines", description="What to give back.")
    ignore_case: bool = Field(False, description="True: upper and lower case are the same.")
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")


class GrepObservation(Observation):
    """The lines found; the counts include those that are not shown."""

    matched_files: int = 0
    matched_lines: int = 0
    truncated: bool = False


class GrepTool(DeclaredTool[GrepAction, GrepObservation]):
    """Searching files, ready to use."""

    name = "grep"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GrepAction
    observation_type = GrepObservation
    annotations = ToolAnnotations.reading("Search files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        super().__init__(GrepExecutor(str(Path(workspace or ".").absolute()), seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Searching files of a session; relative paths are below its workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)


_WORKER = Path(__file__).with_name("worker.py")


class SearchError(Exception):
    """The search cannot be made; the message is for the model."""


@dataclass(frozen=True)
class _Task:
    """What to search for, and where."""

    place: Place
    pattern: Pattern
    include: str | None
    is_count: bool

    @property
    def hidden(self) -> bool:
        """Whether `include` names a dot, so that hidden files count."""
        return self.include is not None and _is_hidden(self.include)

    def filter(self) -> Callable[[bytes], object]:
        """Whether a file found is one of those asked for (ripgrep is given only the last part of `include`)."""
        if self.include is None or not self.place.is_folder:
            return lambda path: True
        fits = re.compile(glob_regex(self.include), re.DOTALL).fullmatch
        if self.hidden:
            return lambda path: fits(os.fsdecode(path))
        return lambda path: not _is_hidden(name := os.fsdecode(path)) and fits(name)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


class GrepExecutor(ToolExecutor[GrepAction, GrepObservation]):
    """Searches files below one workspace; calls may run side by side."""

    side_by_side = True

    def __init__(self, workspace: str, seconds: float) -> None:
        self._workspace = workspace
        self._searches = Searches(seconds)

    def __call__(self, action: GrepAction) -> GrepObservation:
        """The lines that match."""
        try:
            task = _read(action, self._workspace)
            with self._searches.one() as stop:
                found = _search(task, stop, self._searches.seconds)
        except (SearchError, PlaceError) as error:
            return GrepObservation.from_text(str(error), is_error=True)
        if stop.why == "interrupt":
            return GrepObservation.from_text("The search was interrupted before its end.", is_error=True)
        return self._report(action, task, found, is_late=bool(stop.why))

    def _report(self, action: GrepAction, task: _Task, found: Found, *, is_late: bool) -> GrepObservation:
        if task.is_count:
            text, left = report.names(found, task.place)
        else:
            text, left = report.lines(found, task.place, action.context)
        if not found.files:
            text = _nothing(action, task.place)
        if is_late:
            seconds = f"{self._searches.seconds:g} seconds"
            text += f"\n[Stopped after {seconds}: there may be more. Use a simpler `pattern` or a narrower `path`.]"
        return GrepObservation.from_text(
            text,
            is_error=is_late and not found.files,
            matched_files=found.files,
            matched_lines=found.lines,
            truncated=left > 0 or is_late,
        )

    def interrupt(self) -> None:
        """End the searches that run."""
        self._searches.interrupt()

    def close(self) -> None:
        """End the searches that run."""
        self._searches.interrupt()


def _nothing(action: GrepAction, place: Place) -> str:
    files = f" in files that fit `{visible(action.include, lines=False)}`" if action.include else ""
    said = f"No line matches `{visible(action.pattern, lines=False)}` in {place.show('')}{files}."
    return f"{said} Hidden, ignored and binary files are not searched." if place.is_folder else said


def _read(action: GrepAction, workspace: str) -> _Task:
    """The task, or what is wrong with it as SearchError or PlaceError."""
    try:
        pattern = read_pattern(action.pattern, action.ignore_case)
    except PatternError as error:
        shown = visible(action.pattern[:200], lines=False)
        raise SearchError(f"`{shown}` is no regular expression that can be searched for: {error}.") from error
    include = None
    if action.include:
        include = action.include.removeprefix("./")
        include = include if "/" in include else f"**/{include}"
        try:
            glob_regex(include)
        except GlobError as error:
            raise SearchError(f"`include` {visible(include, lines=False)!r} is no pattern: {error}.") from error
    return _Task(locate(action.path, workspace), pattern, include, action.output == "files")


def _search(task: _Task, stop: Stop, seconds: float) -> Found:
    command = _ripgrep(task)
    if command is not None:
        try:
            return _gathered(task, command, task.place.real, stop)
        except (ProgramError, OSError, ValueError):
            pass  # an old ripgrep without one of the options, or a pattern it finds too large
    root, _, name = task.place.real.rpartition("/")
    asked = {
        "root": task.place.real.rstrip("/") if task.place.is_folder else root,
        "file": "" if task.place.is_folder else name,
        "hidden": task.hidden,
        "include": task.include,
        **asdict(task.pattern),
        "count": task.is_count,
        "largest": LARGEST,
        "seconds": seconds,
    }
    try:
        worker = [sys.executable, "-I", "-S", str(_WORKER), str(Path(regex.__file__).parent.parent)]
        return _gathered(task, worker, task.place.real if task.place.is_folder else "/", stop, json.dumps(asked))
    except (ProgramError, OSError) as error:
        last = str(error).rpartition("\n")[2]
        raise SearchError(f"The search failed: {first_line(last, 300)}. Try a simpler pattern.") from error


def _ripgrep(task: _Task) -> list[str] | None:
    """The command; None where our own search has to do it (one file is quicker that way, and read the same way)."""
    if task.pattern.ripgrep is None or not task.place.is_folder:
        return None
    options = ["--no-mmap", f"--max-filesize={LARGEST}", "--count" if task.is_count else "--line-number"]
    options += ["--no-heading", "--ignore-case" if task.pattern.ignore_case else "--case-sensitive"]
    if task.include:
        names = {_last_name(path) for path in expand(task.include)}
        options += [f"--type-add=ohw:{name}" for name in sorted(names)] + ["--type=ohw"]
    return ripgrep(*options, f"--regexp={task.pattern.ripgrep}", hidden=task.hidden)


def _last_name(glob: str) -> str:
    """What ripgrep is given of a glob: at least as much as fits, for its `?` and classes stand for bytes."""
    name = glob.rpartition("/")[2]
    if name == "**" or "\\" in name:
        return "*"
    return re.sub(r"\?|\[.[^]]*\]", "*", name).replace("include:", "\\include:")


def _gathered(task: _Task, command: list[str], folder: str, stop: Stop, given: str = "") -> Found:
    found = Found(report.MOST_CHARS, 4 * report.LONGEST_LINE + 4, task.filter())
    taken = records(output_of(command, folder, stop, given.encode()))
    (found.take_counts if task.is_count else found.take_lines)(taken)
    return found
