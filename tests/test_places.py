"""One task has the same events wherever its commands run: here, in the sandbox, in a container, on another machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import pytest

from tests.comparable_events import comparable
from tests.containers.conftest import engine, podman, user
from tests.containers.images import WITH_BASH
from tests.plain.test_plain import log
from tests.remote.conftest import far
from tests.remote.far_machine import FarMachine
from tests.remote.screens import quit_screen, send
from tests.sandbox import Sandbox, bash, finish
from tests.system_packages import found_or_installed
from tests.terminal.terminal import Terminal

__all__ = ["engine", "far", "podman", "user"]
"""The fixtures of these places."""
pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox and the tests' containers need Linux"),
]


def task(project: str) -> Sequence[dict[str, object]]:
    edit = {"command": "create", "path": f"{project}/sum.sh", "file_text": "echo $((40 + 2))\n"}
    return (
        bash("pwd; echo first > notes.txt; export KEPT=yes", risk="LOW"),
        {"tool": "str_replace_editor", "risk": "LOW", "arguments": edit},
        bash("sh sum.sh; cat notes.txt; echo $KEPT", risk="LOW"),
        bash("source missing.sh", risk="LOW"),
        bash("rm notes.txt", risk="LOW"),
        finish("All done."),
    )


def events_of(worker: Sandbox, screen_of: Sandbox, sandbox: str, *arguments: str) -> list[object]:
    """Return the events of the task, whose session and project are removed."""
    worker.env["OHW_SANDBOX"] = sandbox
    words = [*arguments, "--mode", "high", "--model", worker.script(*task(str(worker.project)))]
    with Terminal(words, 120, 40, screen_of.env, cwd=screen_of.project) as terminal:
        terminal.wait_for("What should we work on?")
        send(terminal, "begin")
        terminal.wait_for("All done.")
        quit_screen(terminal)
    events = comparable(log(worker), str(worker.project), str(worker.home))
    shutil.rmtree(worker.locations.sessions)
    for each in worker.project.iterdir():
        each.unlink()
    return events


def test_a_task_has_the_same_events_in_every_place(user: Sandbox, far: FarMachine):
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    here = events_of(user, user, "off")
    assert len(here) > 20
    assert events_of(user, user, "workspace-write") == here
    assert events_of(user, user, "auto", "--container", WITH_BASH) == here
    far.set(OHW_SANDBOX="off")
    assert events_of(far.user, user, "off", far.url) == here
