"""The tool `glob`: its action, observation and description, and the executor that lists matching files."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible
from workbench.tools.context import ConversationState, workspace_of
from workbench.tools.executor import ToolExecutor
from workbench.tools.glob.patterns import GlobError, glob_regex, has_magic
from workbench.tools.glob.program import Searches, Stop
from workbench.tools.glob.search_root import SearchRoot, SearchRootError, locate
from workbench.tools.glob.walk import list_files
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition, described

MOST = 100
"""The most files that one call returns."""
_MOST_LINKED = 20
_MAGIC = lazy_pattern(r"[*?\[\]{}\\]")
_ESCAPED = r"\\\g<0>"
SECONDS = 30.0
"""The time limit of a search, in seconds."""

_DESCRIPTION = f"""Find files by the shape of their path; the result is their absolute paths, the newest first, {MOST} at most.

* `*` and `?` stay within one name, `**` stands for any number of directories: `src/**/*.ts`, `**/test_*.py`, `*.{{yml,yaml}}`.
* A pattern without `/` is looked for in every directory; one with `/` starts at `path`.
* Hidden files are found only by a pattern that names the dot (`**/.env*`). Files that .gitignore or .ignore exclude are not found.
* Symbolic links are not followed; those beside the files of the result are named below it.

Use `grep` to search the content of files."""  # noqa: E501
_SHORT = f"Find files by a pattern such as `src/**/*.ts`; absolute paths, newest first, {MOST} at most."


class GlobAction(Action):
    """A pattern for paths, and where to look."""

    pattern: str = Field(min_length=1, description="What the path must look like, for example `**/*.py`.")
    path: str | None = Field(None, description="The directory to look in; the workspace when omitted.")


class GlobObservation(Observation):
    """The matching files; `found` also counts those that are not shown."""

    files: list[str] = Field(default_factory=list)
    found: int = 0
    truncated: bool = False


class GlobTool(DeclaredTool[GlobAction, GlobObservation]):
    """Finds files below a workspace."""

    name = "glob"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GlobAction
    observation_type = GlobObservation
    annotations = ToolAnnotations.reading("Find files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        super().__init__(GlobExecutor(workspace or ".", seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Return the tool for a session; relative paths start at its workspace."""
        return (cls(**{"workspace": workspace_of(conv_state), **params}),)


glob_tool = described(GlobTool)


@dataclass(frozen=True)
class _Query:
    """A search below `root`: `fits` matches relative paths; `hidden` is set if the pattern names a leading dot."""

    root: SearchRoot
    fits: Callable[[str], object]
    hidden: bool


class GlobExecutor(ToolExecutor[GlobAction, GlobObservation]):
    """Finds files below one workspace; calls may run concurrently."""

    side_by_side = True

    def __init__(self, working_dir: str | Path = ".", seconds: float = SECONDS) -> None:
        self._workspace = str(Path(working_dir).absolute())
        self._searches = Searches(seconds)

    def __call__(self, action: GlobAction) -> GlobObservation:
        """Return the newest matching files, or an error for an invalid pattern or path."""
        try:
            query = _read_query(action, self._workspace)
        except GlobError as error:
            pattern = visible(action.pattern, lines=False)
            return GlobObservation.from_text(f"`{pattern}` is not a pattern: {error}.", is_error=True)
        except SearchRootError as error:
            return GlobObservation.from_text(str(error), is_error=True)
        with self._searches.one() as stop:
            count, newest = _newest(_matching(query, stop), query.root, stop)
            linked = _linked(query, newest, stop)
        if stop.why == "interrupt":
            return GlobObservation.from_text("The search was interrupted before its end.", is_error=True)
        return self._report(action, query.root, count, newest, linked, is_late=bool(stop.why))

    def _report(
        self, action: GlobAction, root: SearchRoot, count: int, newest: list[str], linked: list[str], *, is_late: bool
    ) -> GlobObservation:
        files = [root.show(path) for path in newest]
        lines = list(files)
        if not files:
            pattern = visible(action.pattern, lines=False)
            lines.append(f"No file in {root.show('')} fits `{pattern}`; hidden, ignored and linked files are excluded.")
        if count > len(files):
            lines.append(f"[The {len(files)} newest of {count} files are shown. Use a narrower pattern or path.]")
        if linked:
            rest = len(linked) - _MOST_LINKED
            more = f" and {rest} more" if rest > 0 else ""
            lines.append(f"[Links are not followed. These fit: {', '.join(linked[:_MOST_LINKED])}{more}]")
        if is_late:
            lines.append(
                f"[Stopped after {self._searches.seconds:g} seconds: there may be more. Look in a smaller directory.]"
            )
        return GlobObservation.from_text(
            "\n".join(lines), is_error=is_late and not files, files=files, found=count, truncated=count > len(files)
        )

    def interrupt(self) -> None:
        """Cancel the running searches."""
        self._searches.interrupt()

    def close(self) -> None:
        """Cancel the running searches."""
        self._searches.interrupt()


def _read_query(action: GlobAction, workspace: str) -> _Query:
    """Parse the action; leading directories without wildcards become part of the root.

    Raises GlobError and SearchRootError.
    """
    *directories, name = _without_home(action.pattern.removeprefix("./")).split("/")
    if not name:
        raise GlobError("it ends with `/`; add `**` for all files in that directory")
    count = next(
        (number for number, part in enumerate(directories) if has_magic(part) or part == "**"), len(directories)
    )
    base = os.path.expanduser(action.path) if action.path else workspace  # noqa: PTH111
    plain = "/".join(directories[:count]) or ("/" if count else "")
    root = locate(os.path.join(base, plain) if plain else base, workspace)  # noqa: PTH118
    if not root.is_directory:
        raise SearchRootError(f"{root.show('')} is a file; give the directory to look in.")
    rest = [part for part in directories[count:] if part not in ("", ".")]
    glob = "/".join([*rest, name]) if directories else f"**/{name}"
    fits = re.compile(glob_regex(glob), re.DOTALL).fullmatch
    return _Query(root, fits, any(part.startswith(".") for part in (*rest, name)))


def _without_home(pattern: str) -> str:
    """Return the pattern with a leading `~` or `~user` replaced by the home directory, as in a shell, and escaped.

    Without a `/`, `~` is part of a name, such as `~lock`.
    """
    head, slash, rest = pattern.partition("/")
    home = os.path.expanduser(head) if slash and head.startswith("~") else head  # noqa: PTH111
    return pattern if home == head else f"{_MAGIC.sub(_ESCAPED, home.rstrip('/'))}/{rest}"


def _matching(query: _Query, stop: Stop) -> Iterator[str]:
    return filter(query.fits, list_files(query.root.real, stop, hidden=query.hidden))


def _linked(query: _Query, newest: Sequence[str], stop: Stop) -> list[str]:
    """Return the links that match, with their targets: those at the root and beside the files of the result."""
    linked = []
    for directory in sorted({"", *(os.path.dirname(path) for path in newest)}):  # noqa: PTH120 - paths are relative
        if stop.why:
            break
        with suppress(OSError), os.scandir(f"{query.root.real}/{directory}") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                path = f"{directory}/{entry.name}" if directory else entry.name
                is_listed = query.hidden or not entry.name.startswith(".")
                if is_listed and entry.is_symlink() and query.fits(path):
                    target = visible(os.readlink(entry.path), lines=False)  # noqa: PTH115
                    linked.append(f"{query.root.show(path)} -> {target}")
    return linked


def _newest(paths: Iterable[str], root: SearchRoot, stop: Stop) -> tuple[int, list[str]]:
    """Return the number of paths, and the newest `MOST` of them; equal times are ordered by name."""
    prefix = f"{root.real.rstrip('/')}/"
    dated: list[tuple[int, str]] = []
    for path in paths:
        if stop.why == "interrupt":
            break
        try:
            dated.append((-os.lstat(prefix + path).st_mtime_ns, path))
        except OSError:
            continue
    return len(dated), [path for _, path in heapq.nsmallest(MOST, dated)]
