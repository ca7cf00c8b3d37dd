"""The tool `grep`: its action, observation and description, and the executor that searches files."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import regex
from pydantic import Field

from workbench.text import first_line, visible
from workbench.tools.context import ConversationState, workspace_of
from workbench.tools.executor import ToolExecutor
from workbench.tools.glob.patterns import GlobError, expand, glob_regex
from workbench.tools.glob.program import LARGEST, ProgramError, Searches, Stop, output_of, ripgrep
from workbench.tools.glob.search_root import SearchRoot, SearchRootError, locate
from workbench.tools.glob.walk import blocks_above, blocks_inside
from workbench.tools.grep import report
from workbench.tools.grep.matches import Matches, records
from workbench.tools.grep.pattern import Pattern, PatternError, read_pattern
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition, described

SECONDS = 30.0
"""The time limit of a search, in seconds."""

_DESCRIPTION = r"""Find lines in files by a regular expression; the result is `file:line:text`, in the order of the paths.

* `pattern` is matched line by line, upper and lower case apart unless `ignore_case`. Escape characters that are meant literally: `foo\(`, `a\.b`. Lookaround and back references work, more slowly.
* `include` limits the search to files whose name fits: `*.py`, `*.{ts,tsx}`; with a `/` it is the path below `path`: `src/**/*.py`.
* `output` "files" gives only the names of the files; `context` adds that many lines around each match.
* Hidden files, files that .gitignore or .ignore exclude, binary files and files over 10 MB are not searched. A long result is cut at 30,000 characters and says so.

Use `glob` to find files by their name."""  # noqa: E501
_SHORT = "Find lines in files by a regular expression: `file:line:text`, or names with `output` files."


class GrepAction(Action):
    """A regular expression, and where to look for it."""

    pattern: str = Field(min_length=1, description="The regular expression.")
    path: str | None = Field(None, description="The directory or file to search; the workspace when omitted.")
    include: str | None = Field(None, min_length=1, description="Only files that fit this glob, such as `*.py`.")
    output: Literal["lines", "files"] = Field("lines", description="What to give back.")
    ignore_case: bool = Field(False, description="True: upper and lower case are the same.")
    context: int = Field(0, ge=0, le=20, description="Lines to show before and after each match.")


class GrepObservation(Observation):
    """The matching lines; the counts include those that are not shown."""

    matched_files: int = 0
    matched_lines: int = 0
    truncated: bool = False


class GrepTool(DeclaredTool[GrepAction, GrepObservation]):
    """Searches files below a workspace."""

    name = "grep"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GrepAction
    observation_type = GrepObservation
    annotations = ToolAnnotations.reading("Search files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        super().__init__(GrepExecutor(workspace or ".", seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session; relative paths start at its workspace."""
        return (cls(**{"workspace": workspace_of(conv_state), **params}),)


grep_tool = described(GrepTool)


_WORKER = Path(__file__).with_name("worker.py")


class SearchError(Exception):
    """The search is not possible; the message is for the model."""


@dataclass(frozen=True)
class _Task:
    """The pattern to search for, and the files to search."""

    root: SearchRoot
    pattern: Pattern
    include: str | None
    is_count: bool

    @property
    def hidden(self) -> bool:
        """Whether `include` names a leading dot, so hidden files are searched."""
        return self.include is not None and _is_hidden(self.include)

    def filter(self) -> Callable[[bytes], object]:
        """Return a predicate for relative paths that match `include`; ripgrep itself is given only the last
        part of it.
        """
        if self.include is None or not self.root.is_directory:
            return lambda path: True
        fits = re.compile(glob_regex(self.include), re.DOTALL).fullmatch
        if self.hidden:
            return lambda path: fits(os.fsdecode(path))
        return lambda path: not _is_hidden(name := os.fsdecode(path)) and fits(name)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


class GrepExecutor(ToolExecutor[GrepAction, GrepObservation]):
    """Searches files below one workspace; calls may run concurrently."""

    side_by_side = True

    def __init__(self, working_dir: str | Path = ".", seconds: float = SECONDS) -> None:
        self._workspace = str(Path(working_dir).absolute())
        self._searches = Searches(seconds)

    def __call__(self, action: GrepAction) -> GrepObservation:
        """Return the matching lines or files, or an error for an invalid pattern or path."""
        try:
            task = _read_task(action, self._workspace)
            with self._searches.one() as stop:
                matches = _search(task, stop, self._searches.seconds)
        except (SearchError, SearchRootError) as error:
            return GrepObservation.from_text(str(error), is_error=True)
        if stop.why == "interrupt":
            return GrepObservation.from_text("The search was interrupted before its end.", is_error=True)
        return self._report(action, task, matches, is_late=bool(stop.why))

    def _report(self, action: GrepAction, task: _Task, matches: Matches, *, is_late: bool) -> GrepObservation:
        if task.is_count:
            text, omitted = report.names(matches, task.root)
        else:
            text, omitted = report.lines(matches, task.root, action.context)
        if not matches.files:
            text = _nothing(action, task.root)
        if is_late:
            seconds = f"{self._searches.seconds:g} seconds"
            text += f"\n[Stopped after {seconds}: there may be more. Use a simpler `pattern` or a narrower `path`.]"
        return GrepObservation.from_text(
            text,
            is_error=is_late and not matches.files,
            matched_files=matches.files,
            matched_lines=matches.lines,
            truncated=omitted > 0 or is_late,
        )

    def interrupt(self) -> None:
        """Cancel the running searches."""
        self._searches.interrupt()

    def close(self) -> None:
        """Cancel the running searches."""
        self._searches.interrupt()


def _nothing(action: GrepAction, root: SearchRoot) -> str:
    files = f" in files that fit `{visible(action.include, lines=False)}`" if action.include else ""
    message = f"No line matches `{visible(action.pattern, lines=False)}` in {root.show('')}{files}."
    return f"{message} Hidden, ignored and binary files are not searched." if root.is_directory else message


def _read_task(action: GrepAction, workspace: str) -> _Task:
    """Return the task of an action. Raises SearchError or SearchRootError if it is invalid."""
    try:
        pattern = read_pattern(action.pattern, action.ignore_case)
    except PatternError as error:
        escaped = visible(action.pattern[:200], lines=False)
        raise SearchError(f"`{escaped}` is not a regular expression that can be searched for: {error}.") from error
    include = None
    if action.include:
        include = action.include.removeprefix("./")
        include = include if "/" in include else f"**/{include}"
        try:
            glob_regex(include)
        except GlobError as error:
            raise SearchError(f"`include` {visible(include, lines=False)!r} is not a pattern: {error}.") from error
    return _Task(locate(action.path, workspace), pattern, include, action.output == "files")


def _search(task: _Task, stop: Stop, seconds: float) -> Matches:
    command = _ripgrep(task)
    if command is not None:
        try:
            return _run_search(task, command, task.root.real, stop)
        except (ProgramError, OSError, ValueError):
            pass  # an old ripgrep without one of the options, or a pattern that is too large for it
    root, _, name = task.root.real.rpartition("/")
    asked = {
        "root": task.root.real.rstrip("/") if task.root.is_directory else root,
        "file": "" if task.root.is_directory else name,
        "hidden": task.hidden,
        "include": task.include,
        **asdict(task.pattern),
        "count": task.is_count,
        "largest": LARGEST,
        "seconds": seconds,
    }
    try:
        worker = [sys.executable, "-I", "-S", str(_WORKER), str(Path(regex.__file__).parent.parent)]
        return _run_search(task, worker, task.root.real if task.root.is_directory else "/", stop, json.dumps(asked))
    except (ProgramError, OSError) as error:
        last = str(error).rpartition("\n")[2]
        raise SearchError(f"The search failed: {first_line(last, 300)}. Try a simpler pattern.") from error


def _ripgrep(task: _Task) -> list[str] | None:
    """Return the ripgrep command, or None if our own search is used.

    Our own search is used if ripgrep is missing, would wait for an ignore file, or interprets the pattern differently,
    and for a single file, where our search is faster.
    """
    if task.pattern.ripgrep is None or not task.root.is_directory or blocks_above(task.root.real):
        return None
    options = ["--no-mmap", f"--max-filesize={LARGEST}", "--count" if task.is_count else "--line-number"]
    options += ["--no-heading", "--ignore-case" if task.pattern.ignore_case else "--case-sensitive"]
    if task.include:
        names = {_last_name(path) for path in expand(task.include)}
        options += [f"--type-add=ohw:{name}" for name in sorted(names)] + ["--type=ohw"]
    return ripgrep(*options, f"--regexp={task.pattern.ripgrep}", hidden=task.hidden)


def _last_name(glob: str) -> str:
    """Return the glob's last part for ripgrep, widened to `*` if it contains `?` or a class, which match bytes in
    ripgrep.
    """
    name = glob.rpartition("/")[2]
    if name == "**" or "\\" in name:
        return "*"
    return re.sub(r"\?|\[.[^]]*\]", "*", name).replace("include:", "\\include:")


def _run_search(task: _Task, command: list[str], directory: str, stop: Stop, stdin: str = "") -> Matches:
    matches = Matches(report.MOST_CHARS, 4 * report.LONGEST_LINE + 4, task.filter())
    is_blocked = bool if stdin else partial(blocks_inside, directory, stop)  # our own search waits for no file
    parsed = records(output_of(command, directory, stop, is_blocked, stdin.encode()))
    (matches.add_counts if task.is_count else matches.add_lines)(parsed)
    return matches
