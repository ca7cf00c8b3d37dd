"""Restoring files, restoring protected files, and downloads, while another process swaps links on the path."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.tools.test_editor_races import flipping, sides, state_of
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.files.root_directory import Root
from workbench.files.stat_keys import stat_key
from workbench.protocol.events import FileDelta
from workbench.risk.protected_state import PathChange, PathState
from workbench.sandbox.set_aside import restore_protected
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.restore import restore, restore_paths
from workbench.session.workspace.revert import revert
from workbench.tools.browser.downloads import save_download

__all__ = ["sides"]
LINKS = [("folder", "place"), ("above", "up/out"), ("file", "place")]


class Race:
    """A workspace whose real directory stays open, so that the test itself never follows the swapped link."""

    def __init__(self, workspace: Path, path: str, base: Path) -> None:
        self.workspace, self.path, self.base = workspace, path, base
        self.directory = os.open(workspace / path, os.O_RDONLY)
        locations = Locations.from_environment({"HOME": str(base / "home")})
        self.repository = SnapshotRepository(locations, workspace, "one")
        self.repository.prepare()
        self.version = self.repository.snapshot()
        self.root = Root.at(workspace)
        self.number = 0

    def change(self) -> os.stat_result | None:
        """Give the file other content; return its stat, or None if it is a link at this moment."""
        try:
            file = os.open("file", os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_NOFOLLOW, dir_fd=self.directory)
        except OSError:
            return None
        with os.fdopen(file, "w") as opened:
            opened.write("two\n")
            opened.flush()
            return os.fstat(opened.fileno())


def restores_one_file(race: Race) -> bool:
    race.change()
    restore_paths(race.repository, race.version, [f"{race.path}/file"], force=True)
    return True


def restores_everything(race: Race) -> bool:
    race.change()
    restore(race.repository, race.version)
    return True


def reverts(race: Race) -> bool:
    race.change()
    revert([FileDelta(path=f"{race.workspace}/{race.path}/file", before="two\n", after="one\n")], race.root)
    return True


def reverts_a_deletion(race: Race) -> bool:
    with_link = race.change() is None
    os.unlink("file", dir_fd=race.directory) if not with_link else None
    revert([FileDelta(path=f"{race.workspace}/{race.path}/file", before=None, after="one\n")], race.root)
    return True


def puts_back(race: Race) -> bool:
    race.number += 1
    info = race.change()
    after = PathState("file", 0o644, b"two", b"two\n", stat_key(info), True) if info else None
    before = PathState("file", 0o644, b"one", b"one\n", (), True)
    change = PathChange(f"{race.workspace}/{race.path}/file", before, after)
    return restore_protected(change, [race.root], race.base / "aside" / str(race.number)).is_done


def removes_what_is_new(race: Race) -> bool:
    race.number += 1
    info = race.change()
    after = PathState("file", 0o644, b"two", b"two\n", stat_key(info), True) if info else None
    change = PathChange(f"{race.workspace}/{race.path}/file", None, after)
    return after is not None and restore_protected(change, [race.root], race.base / "aside" / str(race.number)).is_done


def downloads(race: Race) -> bool:
    save_download(race.base / "download", "file", race.workspace / race.path, race.root)
    return True


@contextmanager
def held(race: Race) -> Iterator[Race]:
    try:
        yield race
    finally:
        os.close(race.directory)


WRITES: dict[str, tuple[Callable[[Race], bool], int]] = {
    "restore one file": (restores_one_file, 60),
    "restore everything": (restores_everything, 30),
    "revert": (reverts, 400),
    "revert a deletion": (reverts_a_deletion, 400),
    "put back": (puts_back, 400),
    "remove what is new": (removes_what_is_new, 400),
    "download": (downloads, 400),
}


@pytest.mark.parametrize(("what", "path"), LINKS, ids=[what for what, _ in LINKS])
@pytest.mark.parametrize("write", WRITES)
def test_no_restored_file_or_download_leaves_the_workspace(sides, tmp_path, write, what, path):
    workspace, outside = sides
    (tmp_path / "aside").mkdir()
    (tmp_path / "download").write_text("downloaded\n")
    work, times = WRITES[write]
    before, results = state_of(outside), {True: 0, False: 0}
    # A write checks the file before and after, so the file must not change meanwhile.
    pause = 0.002 if what == "file" else 0
    with held(Race(workspace, path, tmp_path)) as race, flipping(workspace, outside, what, pause, renews=True):
        wants_both = (write, what) != ("download", "file")  # a new name is never the swapped one
        while sum(results.values()) < times or (wants_both and not all(results.values())):
            assert sum(results.values()) < 100 * times, results
            try:
                results[work(race)] += 1
            except (WorkbenchError, OSError):
                results[False] += 1
    assert state_of(outside) == before
    assert results[True]
