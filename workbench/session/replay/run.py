"""Replays a session: opens its log and its tools, and follows the log in a confined thread."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from msgspec import Struct

from workbench.config.locations import Locations, private_directory
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.llm.model import Cancel
from workbench.processes.spawn import keep_out_of
from workbench.protocol.events import Event
from workbench.session.actions.run import PartialWriter
from workbench.session.relocator import Relocator
from workbench.session.replay.divergence import ReplayResult
from workbench.session.replay.files import FileComparison
from workbench.session.replay.git_copy import copy_repository
from workbench.session.replay.normalizing import Normalizer
from workbench.session.replay.outline import Outline, outline_of
from workbench.session.replay.replayer import Replayer, ReplayParts, follow_all
from workbench.session.replay.rerun import Rerun
from workbench.session.replay.scratch import Scratch, run_confined, scratch_directory
from workbench.session.session_names import session_path, state_directory
from workbench.session.state import State
from workbench.session.storage.shared_history import parts_of
from workbench.session.storage.store import DamagedFile, Store, StoreError, first_event, not_ours
from workbench.tools.context import NoModel, ToolContext
from workbench.tools.selection import Selection, select_tools
from workbench.tools.trust import brought, fingerprint, is_trusted


class ReplayOptions(Struct, frozen=True):
    """How to replay: up to event `until`, to all divergences (`keeps_going`), with access to the outside
    (`is_live`).
    """

    until: int | None = None
    keeps_going: bool = False
    is_live: bool = False


def replay(
    locations: Locations, settings: Settings, session_id: str, options: ReplayOptions, cancel: Cancel
) -> ReplayResult:
    """Run the actions of a session again in a scratch directory, and compare them with the record.

    Unless `is_live`, nothing else is written. No model is called. Raises WorkbenchError or OSError if it cannot be
    replayed.
    """
    path = session_path(locations, session_id)
    if not path.is_file():
        raise UsageError(f"there is no session {session_id}; `ohw sessions` lists them")
    if reason := not_ours(path):
        raise UsageError(f"the session file {session_id} {reason}; its actions are not run again")
    with Store.open(path, readonly=True) as store, scratch_directory() as directory:
        last = _last(store, options.until)
        work = _Work(locations, settings, store, outline_of(store, last), options)
        confined_to = None if options.is_live else directory
        result, is_confined = run_confined(lambda: work.done(directory, last, cancel), confined_to, cancel)
        result.is_confined = is_confined
        return result


def _last(store: Store, until: int | None) -> int:
    """Return the number of the last event to follow. Raises UsageError if there is no such event, or StoreError."""
    check_history(store)
    if until is None:
        return store.last_seq
    if not 0 < until <= store.last_seq:
        raise UsageError(f"there is no event {until} in this session; it has {store.last_seq}")
    return until


def check_history(store: Store) -> None:
    """Read all events. Raises StoreError if some are lost, or DamagedFile if they are damaged."""
    for _ in store.lines():
        pass
    _check_gaps(store)


def _check_gaps(store: Store) -> None:
    if store.gaps:
        gap = store.gaps[0]
        events = f"event {gap.first}" if gap.first == gap.last else f"events {gap.first} to {gap.last}"
        parent = next((part.session for part in parts_of(store.path) if part.first <= gap.first <= part.last), "")
        if parent:
            raise StoreError(
                f"{events} of {store.path.stem} are in the session {parent}, which was deleted or replaced"
            )
        raise DamagedFile(store.path, f"{events}: {gap.reason}")


class _Work:
    """The work of one replay, done in its own thread."""

    def __init__(
        self, locations: Locations, settings: Settings, store: Store, outline: Outline, options: ReplayOptions
    ) -> None:
        """Raises UsageError if the session ran actions but has no snapshots."""
        if outline.count and not outline.first:
            raise UsageError("this session has no snapshots, so the files that its actions worked on are not known")
        self._locations, self._settings, self._options = locations, settings, options
        self._store, self._outline = store, outline
        self._started = first_event(store)

    def done(self, directory: Path, last: int, cancel: Cancel) -> ReplayResult:
        """Follow the log up to event `last` in the scratch directory, and return what was found."""
        home = os.environ.get("HOME") or str(Path.home())
        workspace = Path(self._started.workspace)
        scratch = Scratch(directory, self._locations, workspace, self._store.path.stem)
        normalizer = Normalizer(self._names(scratch, home))
        relocator = Relocator([self._started.workspace, *self._outline.directories], str(scratch.workspace))
        with ExitStack() as resources:
            resources.enter_context(scratch.environment())
            files = FileComparison(scratch, self._outline, normalizer)
            copy_repository(workspace, scratch.workspace, self._started.at)
            for directory_of_user in (workspace, scratch.workspace):
                keep_out_of(directory_of_user)
            state = State()
            selection, state_dir = self._tools(scratch)
            resources.callback(selection.close)
            rerun = Rerun(selection.tools, state, PartialWriter(state_dir, str(scratch.workspace)))
            resources.callback(rerun.close)
            parts = ReplayParts(
                rerun,
                state,
                relocator,
                normalizer,
                files,
                self._outline,
                str(workspace),
                is_live=self._options.is_live,
                keeps_going=self._options.keeps_going,
            )
            replayer = Replayer(parts, cancel)
            follow_all(replayer, self._events(last), cancel)
            return replayer.result

    def _events(self, last: int) -> Iterator[Event]:
        for event in self._store.events(0, last):
            yield event
            _check_gaps(self._store)

    def _names(self, scratch: Scratch, home: str) -> dict[str, str]:
        """Return the name that replaces each directory of the two runs in comparisons."""
        own = (self._locations.data, scratch.locations.data), (self._locations.state, scratch.locations.state)
        return {
            **{str(path): "<workspace>" for path in (self._started.workspace, scratch.workspace)},
            **{str(path): "<data>" for pair in own for path in pair},
            **dict.fromkeys((home, str(scratch.home)), "<home>"),
            **dict.fromkeys(("/tmp", "/var/tmp", tempfile.gettempdir(), str(scratch.temporary)), "<temp>"),
        }

    def _tools(self, scratch: Scratch) -> tuple[Selection, Path]:
        """Open the tools in the scratch directory. Raises UsageError for invalid settings."""
        settings = self._settings
        state_dir = private_directory(state_directory(scratch.locations, self._store.path.stem))
        context = ToolContext(str(scratch.workspace), state_dir, NoModel(), merges=True)
        own = {name: value for name, value in settings.tools.items() if name not in settings.mcpServers}
        chosen = replace(settings, tools=own, trusted=_trusted(settings, self._started.workspace, scratch))
        return select_tools(chosen, self._locations.settings_file, context), state_dir


def _trusted(settings: Settings, workspace: str, scratch: Scratch) -> tuple[str, ...]:
    """Return the trusted fingerprints, adding that of the copy if the workspace is trusted.

    It is added only if the files of the copy that need trust are the same as in the workspace.
    """
    original = Path(workspace)
    if not is_trusted(original, settings.trusted):
        return settings.trusted
    pairs = [(path.relative_to(scratch.workspace), path) for path in brought(scratch.workspace)]
    is_same = all(
        (original / name).is_file() and (original / name).read_bytes() == path.read_bytes() for name, path in pairs
    )
    return (*settings.trusted, fingerprint(scratch.workspace)) if is_same else settings.trusted
