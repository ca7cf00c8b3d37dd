"""Fixtures with podman and its images."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.containers.images import BASH, BUSYBOX, WITH_BASH, make_images, storage
from tests.sandbox import Sandbox as User
from tests.system_packages import found_or_installed
from workbench.config.settings import ContainerSettings
from workbench.sandbox.container import Container
from workbench.sandbox.sandbox import Boundary
from workbench.web.network import NetworkPolicy


@pytest.fixture(scope="session")
def podman() -> Iterator[dict[str, str]]:
    """Yield the variables with which podman has the images; skip where it cannot run a container."""
    if sys.platform != "linux":
        pytest.skip("the tests' containers are podman's with runc, which runs on Linux")
    found_or_installed(lambda: shutil.which("podman") and shutil.which("runc"), "podman", "runc")
    found_or_installed(
        lambda: str(BASH) if BASH.exists() and BUSYBOX.exists() else None, "bash-static", "busybox-static"
    )
    # A longer path, as pytest's own, lets podman 4.3 miss the end of every container, for which it then waits 20 s.
    directory = Path(tempfile.mkdtemp(prefix="podman-", dir="/tmp"))
    variables = storage(directory)
    env = {**os.environ, **variables}
    make_images(directory, env)
    probe = ["podman", "run", "--rm", "--network", "none", WITH_BASH, "true"]
    tried = subprocess.run(probe, env=env, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"podman runs no container on this machine: {tried.stderr.strip()[-200:]}")
    yield variables
    subprocess.run(["podman", "rm", "-fa"], env=env, capture_output=True)
    shutil.rmtree(directory)


@pytest.fixture
def user(local_sandbox: User, podman: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> User:
    """A user with podman and its images."""
    for name, value in podman.items():
        monkeypatch.setenv(name, value)
    local_sandbox.env.update(podman)
    return local_sandbox


@pytest.fixture
def opened(user: User) -> Iterator[Callable[..., Container]]:
    """Yield what opens containers, which are closed after the test."""
    containers: list[Container] = []

    def open_container(
        image: str = WITH_BASH,
        policy: NetworkPolicy | None = None,
        workspace: Path = user.project,
        outputs: Path = user.home / "state/outputs",
        secrets: Sequence[str] = (),
        may_build: bool = True,
        **settings: object,
    ) -> Container:
        boundary = Boundary(workspace, user.locations, user.home, secrets=secrets)
        containers.append(
            Container(ContainerSettings(image=image, **settings), boundary, outputs, policy, lambda files: may_build)
        )
        return containers[-1]

    yield open_container
    for each in containers:
        each.close()


@pytest.fixture
def container(opened: Callable[..., Container]) -> Container:
    """A container that is up."""
    one = opened()
    assert one.await_start(lambda: False, lambda step: None) == ""
    return one
