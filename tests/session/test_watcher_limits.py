"""The watcher under limits of the system, each in a process of its own: it reports the limit and polls instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, resource, sys, time
from pathlib import Path
import watchfiles
from workbench.session.workspace.watcher import Watcher

workspace, limit = Path(sys.argv[1]), sys.argv[2]
if limit == "watches":
    Path("/proc/sys/user/max_inotify_watches").write_text("8")
if limit == "handles":
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    held = []
    while len(held) < 64:
        try:
            held.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break
looks = []
watcher = Watcher(workspace, workspace / "no-marks", lambda: looks.append(1), lambda: 0.0)
watcher.start()
until = time.monotonic() + 40
while time.monotonic() < until and not (watcher.is_ready or watcher.problem):
    time.sleep(0.01)
print(watcher.is_whole, watcher.problem, sep="|")
while time.monotonic() < until and watcher.problem and not looks:
    time.sleep(0.01)
print(len(looks) > 0)
watcher.close()
"""
WHY = {
    "watches": "the system cannot watch more directories (fs.inotify.max_user_watches)",
    "handles": "Too many open files",
}
NAMESPACE = ["unshare", "--user", "--map-root-user"]


def watched(directory: Path, limit: str, *around: str) -> list[str]:
    for number in range(40):
        (directory / f"d{number}").mkdir()
    command = [*around, sys.executable, "-c", PROGRAM, str(directory), limit]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def own_limits() -> bool:
    """Return whether a user namespace with its own limit of watched directories can be created here."""
    command = [*NAMESPACE, "test", "-w", "/proc/sys/user/max_inotify_watches"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def test_watcher_runs_without_a_limit(tmp_path: Path) -> None:
    assert watched(tmp_path, "none") == ["True|", "False"]


@pytest.mark.parametrize("requested", ["watches", "handles"])
def test_watch_limit_is_reported_and_replaced_by_regular_scans(tmp_path: Path, requested: str) -> None:
    # If namespaces are disabled, test the other limit.
    limit = requested if requested == "handles" or own_limits() else "handles"
    notice, has_looked = watched(tmp_path, limit, *(NAMESPACE if limit == "watches" else ()))
    assert (notice, has_looked) == (f"False|{WHY[limit]}", "True")
