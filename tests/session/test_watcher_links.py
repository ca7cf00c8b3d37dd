"""The watcher with links out of the directory and names that are not UTF-8."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

from tests.sandbox import wait_for
from workbench.session.workspace.watcher import Watcher


def watches() -> int:
    """Return how many directories this process watches."""
    count = 0
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        try:
            count += descriptor.read_text().count("inotify wd")
        except OSError:
            continue
    return count


@contextmanager
def watching(directory: Path):
    marks = directory.with_name(f"{directory.name}-marks")
    marks.mkdir()
    watcher = Watcher(directory, marks, lambda: None, lambda: 60.0)
    watcher.start()
    try:
        wait_for(lambda: watcher.is_ready, "the watcher")
        yield watcher
    finally:
        watcher.close()
        wait_for(lambda: not any(thread.name == "session-watcher" for thread in threading.enumerate()), "the watcher")


def test_links_out_of_the_workspace_are_not_followed_and_new_directories_are_watched(tmp_path: Path):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "sub").mkdir(parents=True)
    for number in range(200):
        (outside / str(number)).mkdir(parents=True)
    (workspace / "sub" / "link").symlink_to(outside)
    before = watches()
    with watching(workspace) as watcher:
        assert watches() - before <= 5
        seen: set[str] = set()

        def sees(path: str) -> bool:
            seen.update(watcher.drain())
            return path in seen or "." in seen

        (workspace / "sub" / "new").mkdir()
        wait_for(lambda: sees("sub/new"), "the watcher")
        seen.clear()
        wait_for(lambda: sees("."), "the watcher")
        seen.clear()
        (workspace / "sub" / "new" / "file").touch()
        wait_for(lambda: sees("sub/new/file"), "the watcher")
        assert watcher.problem == ""


def test_name_that_is_not_utf8_does_not_end_watching(tmp_path: Path):
    with watching(tmp_path) as watcher:
        seen: set[str] = set()

        def sees(path: str) -> bool:
            seen.update(watcher.drain())
            return path in seen

        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
        wait_for(lambda: sees("."), "the watcher")
        (tmp_path / "later").touch()
        wait_for(lambda: sees("later"), "the watcher")
        assert watcher.problem == ""


def test_catching_up_reports_every_earlier_change(tmp_path: Path):
    workspace = tmp_path / "workspace"
    (workspace / "sub").mkdir(parents=True)
    with watching(workspace) as watcher:
        for round_ in range(10):
            names = [f"sub/{round_}-{number}" for number in range(100)]
            for name in names:
                (workspace / name).write_text(name)
            assert watcher.catch_up(20)
            assert set(names) <= set(watcher.drain())
        assert list(tmp_path.glob("workspace-marks/*")) == []


def test_catching_up_ends_if_nothing_reports_changes(tmp_path: Path):
    (tmp_path / "workspace").mkdir()
    with watching(tmp_path / "workspace") as watcher:
        watcher.fall_back("lost")
        assert not watcher.catch_up(20)
    watcher = Watcher(tmp_path / "workspace", tmp_path / "no-marks", lambda: None, lambda: 60.0)
    assert not watcher.catch_up(20)
