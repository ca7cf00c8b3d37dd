"""The fixture of another machine."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.remote.far_machine import SSHD, FarMachine, start_far_machine
from tests.sandbox import Sandbox
from tests.system_packages import found_or_installed


@pytest.fixture
def far(sandbox: Sandbox, tmp_path: Path) -> Iterator[FarMachine]:
    """A machine that the user of `sandbox` reaches as `far`."""
    found_or_installed(lambda: shutil.which("ssh") and shutil.which(SSHD), "openssh-client", "openssh-server")
    home, project = tmp_path / "far-home", tmp_path / "far-project"
    home.mkdir()
    project.mkdir()
    runtime = Path(tempfile.mkdtemp(prefix="ohw-test-", dir="/tmp"))
    env = {**sandbox.env, "HOME": str(home), "TMPDIR": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    user = Sandbox(home, project, env)
    machine, sshd = start_far_machine(sandbox, user, tmp_path / "ssh")
    yield machine
    machine.link.cut()
    sshd.kill()
    sshd.wait()
    for process in user.processes():
        with contextlib.suppress(psutil.Error):
            process.kill()
    shutil.rmtree(runtime, ignore_errors=True)
