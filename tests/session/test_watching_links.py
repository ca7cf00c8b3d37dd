"""The watcher among links out of the folder and names that are no UTF-8."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

from tests.world import wait_for
from workbench.session.workspace.watcher import Watcher


def watches() -> int:
    """How many folders this process watches."""
    count = 0
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        try:
            count += descriptor.read_text().count("inotify wd")
        except OSError:
            continue
    return count


@contextmanager
def watching(folder: Path):
    watcher = Watcher(folder, lambda: None, lambda: 60.0)
    watcher.start()
    try:
        wait_for(lambda: watcher.is_ready, "the watcher")
        yield watcher
    finally:
        watcher.close()
        wait_for(lambda: not any(thread.name == "session-watcher" for thread in threading.enumerate()), "the watcher")


def test_no_link_out_of_the_folder_is_followed_and_new_folders_are_seen(tmp_path: Path):
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


def test_a_name_that_is_no_utf_8_does_not_end_watching(tmp_path: Path):
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
