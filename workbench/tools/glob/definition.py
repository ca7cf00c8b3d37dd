"""The tool `glob` as model and session see it: which files there are, the newest first."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from workbench.text import visible
from workbench.tools.context import ConversationState
from workbench.tools.executor import ToolExecutor
from workbench.tools.glob.patterns import GlobError, glob_regex, has_magic
from workbench.tools.glob.program import Searches, Stop
from workbench.tools.glob.search_root import Place, PlaceError, locate
from workbench.tools.glob.walk import files_below
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations, ToolDefinition

MOST = 100
"""Files that one call gives back."""
SECONDS = 30.0
"""How long a search may take."""

_DESCRIPTION = f"""Find files by the shape of their path; the result is their absolute paths, the newest first, {MOST} at most.

* `*` and `?` stay within one name, `**` stands for any number of folders: `src/**/*.ts`, `**/test_*.py`, `*.{{yml,yaml}}`.
* A pattern without `/` is looked for in every folder; one with `/` begins at `path`.
* Hidden files are found only by a pattern that names the dot (`**/.env*`). Files that .gitignore or .ignore leave out are not found.

Use `grep` to look for what stands in files."""  # noqa: E501
_SHORT = f"Find files by a pattern such as `src/**/*.ts`; absolute paths, newest first, {MOST} at most."


class GlobAction(Action):
    """A pattern for paths, and where to look."""

    pattern: str = Field(min_length=1, description="What the path must look like, for example `**/*.py`.")
    path: str | None = Field(None, description="The folder to look in; the workspace when left out.")


class GlobObservation(Observation):
    """The files found; `found` counts those that are not shown too."""

    files: list[str] = Field(default_factory=list)
    found: int = 0
    truncated: bool = False


class GlobTool(DeclaredTool[GlobAction, GlobObservation]):
    """Finding files, ready to use."""

    name = "glob"
    description = _DESCRIPTION
    short_description = _SHORT
    action_type = GlobAction
    observation_type = GlobObservation
    annotations = ToolAnnotations.reading("Find files")

    def __init__(self, workspace: str | Path | None = None, *, seconds: float = SECONDS) -> None:
        super().__init__(GlobExecutor(str(Path(workspace or ".").absolute()), seconds))

    @classmethod
    def create(cls, conv_state: ConversationState, **params: Any) -> Sequence[ToolDefinition]:
        """Finding files of a session; relative paths are below its workspace."""
        return (cls(**{"workspace": conv_state.workspace, **params}),)


@dataclass(frozen=True)
class _Wanted:
    """Paths below `place` that fit; `hidden` ones only where the pattern names the dot."""

    place: Place
    fits: Callable[[str], object]
    hidden: bool


class GlobExecutor(ToolExecutor[GlobAction, GlobObservation]):
    """Finds files below one workspace; calls may run side by side."""

    side_by_side = True

    def __init__(self, workspace: str, seconds: float) -> None:
        self._workspace = workspace
        self._searches = Searches(seconds)

    def __call__(self, action: GlobAction) -> GlobObservation:
        """The newest files that fit."""
        try:
            wanted = _read(action, self._workspace)
        except GlobError as error:
            shown = visible(action.pattern, lines=False)
            return GlobObservation.from_text(f"`{shown}` is no pattern: {error}.", is_error=True)
        except PlaceError as error:
            return GlobObservation.from_text(str(error), is_error=True)
        with self._searches.one() as stop:
            found, newest = _newest(_fitting(wanted, stop), wanted.place, stop)
        if stop.why == "interrupt":
            return GlobObservation.from_text("The search was interrupted before its end.", is_error=True)
        return self._report(action, wanted.place, found, newest, is_late=bool(stop.why))

    def _report(
        self, action: GlobAction, place: Place, found: int, newest: list[str], *, is_late: bool
    ) -> GlobObservation:
        files = [place.show(path) for path in newest]
        said = list(files)
        if not files:
            pattern = visible(action.pattern, lines=False)
            said.append(f"No file in {place.show('')} fits `{pattern}`; hidden and ignored files are left out.")
        if found > len(files):
            said.append(f"[The {len(files)} newest of {found} files are shown. Use a narrower pattern or path.]")
        if is_late:
            said.append(
                f"[Stopped after {self._searches.seconds:g} seconds: there may be more. Look in a smaller folder.]"
            )
        return GlobObservation.from_text(
            "\n".join(said), is_error=is_late and not files, files=files, found=found, truncated=found > len(files)
        )

    def interrupt(self) -> None:
        """End the searches that run."""
        self._searches.interrupt()

    def close(self) -> None:
        """End the searches that run."""
        self._searches.interrupt()


def _read(action: GlobAction, workspace: str) -> _Wanted:
    """The plain beginning of the pattern becomes a part of the place; raises GlobError, PlaceError."""
    *folders, name = action.pattern.removeprefix("./").split("/")
    if not name:
        raise GlobError("it ends with `/`; add `**` for all files in that folder")
    count = next((number for number, part in enumerate(folders) if has_magic(part) or part == "**"), len(folders))
    base = os.path.expanduser(action.path) if action.path else workspace  # noqa: PTH111
    plain = "/".join(folders[:count]) or ("/" if count else "")
    place = locate(os.path.join(base, plain) if plain else base, workspace)  # noqa: PTH118
    if not place.is_folder:
        raise PlaceError(f"{place.show('')} is a file; give the folder to look in.")
    rest = [part for part in folders[count:] if part not in ("", ".")]
    glob = "/".join([*rest, name]) if folders else f"**/{name}"
    fits = re.compile(glob_regex(glob), re.DOTALL).fullmatch
    return _Wanted(place, fits, any(part.startswith(".") for part in (*rest, name)))


def _fitting(wanted: _Wanted, stop: Stop) -> Iterator[str]:
    return filter(wanted.fits, files_below(wanted.place.real, stop, hidden=wanted.hidden))


def _newest(paths: Iterable[str], place: Place, stop: Stop) -> tuple[int, list[str]]:
    """How many there are, and the newest of them; those of the same moment by name."""
    prefix = f"{place.real.rstrip('/')}/"
    dated: list[tuple[int, str]] = []
    for path in paths:
        if stop.why == "interrupt":
            break
        try:
            dated.append((-os.lstat(prefix + path).st_mtime_ns, path))
        except OSError:
            continue
    return len(dated), [path for _, path in heapq.nsmallest(MOST, dated)]
