"""The scratch directory of a replay: a copy of the workspace with its own snapshots, home and temporary directory."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from workbench.config.locations import Locations
from workbench.files import atomic
from workbench.llm.model import Cancel
from workbench.processes.confinement import confine
from workbench.session.workspace.metadata import Metadata
from workbench.session.workspace.new_directory import share_versions
from workbench.session.workspace.repository import Change, SnapshotError, SnapshotRepository, put_file
from workbench.session.workspace.restore import restore

T = TypeVar("T")
_GIT_SETTINGS: Final = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_OWN: Final = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


class Scratch:
    """The directory with everything that a replay writes. Methods raise SnapshotError or OSError."""

    def __init__(self, directory: Path, locations: Locations, workspace: Path, session_id: str) -> None:
        """Create the directories; `workspace` is the session's, whose snapshots are used. It need not exist."""
        self.directory = directory
        self.workspace = directory / "workspace" / (workspace.name or "root")
        self.home, self.temporary = directory / "home", directory / "tmp"
        for path in (self.workspace, self.home, self.temporary):
            path.mkdir(parents=True)
        self.locations = Locations(locations.config, directory / "data", directory / "state", directory / "run")
        recorded = SnapshotRepository(locations, workspace, session_id)
        self.repository = SnapshotRepository(self.locations, self.workspace, session_id)
        self.repository.prepare()
        share_versions(self.repository, recorded)
        with suppress(FileNotFoundError):
            put_file(self.repository.directory / "info/exclude", (recorded.directory / "info/exclude").read_bytes())

    def fill(self, version: str) -> None:
        """Make the copy of the workspace match a snapshot."""
        try:
            name = self.repository.version_named(version)
        except SnapshotError as error:
            raise SnapshotError(
                f"the snapshot {version[:8]} of this session is gone: it was pruned or deleted"
            ) from error
        with atomic.without_sync():
            restore(self.repository, name)

    def differences(self, version: str) -> list[Change]:
        """Return the files that differ from a snapshot: `before` is their state in it, `after` the current one."""
        now = self.repository.snapshot()
        return self.repository.difference(version, now) if now != version else []

    def directories(self, version: str) -> tuple[Metadata, Metadata]:
        """Return the permissions and empty directories of a snapshot, and the current ones."""
        return self.repository.metadata_of(version), self.repository.metadata

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Within the block, HOME and the temporary directory are below the scratch directory, also for started
        programs.
        """
        before, directory = dict(os.environ), tempfile.tempdir
        self._copy_git_settings(Path(before.get("HOME") or Path.home()))
        os.environ |= {"HOME": str(self.home), "TMPDIR": str(self.temporary)}
        for name in _OWN:
            os.environ.pop(name, None)
        tempfile.tempdir = str(self.temporary)
        try:
            yield
        finally:
            tempfile.tempdir = directory
            os.environ.clear()
            os.environ.update(before)

    def _copy_git_settings(self, home: Path) -> None:
        """Copy the user's git settings to the new home, because git refuses to commit without a name and an email
        address.
        """
        for name in _GIT_SETTINGS:
            if (home / name).is_file():
                (self.home / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(home / name, self.home / name)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Yield a new private directory, which is deleted afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="ohw-replay-")).resolve()
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_confined(work: Callable[[], T], directory: Path | None, cancel: Cancel) -> tuple[T, bool]:
    """Do the work in a thread that can write only below a directory, if one is given and the system can enforce that.

    Returns the result, and whether the thread was confined. An interrupt sets `cancel` and waits for the work to end.
    """
    outcome: Future[tuple[T, bool]] = Future()

    def run() -> None:
        try:
            is_confined = directory is not None and confine([directory])
            outcome.set_result((work(), is_confined))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name="confined-work")
    thread.start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        cancel.set()
        raise
    finally:
        thread.join()
