"""Fixtures with podman or docker, and images for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.containers.images import BASH, BUSYBOX, WITH_BASH, Engine, make_images, start_docker, storage
from tests.sandbox import Sandbox as User
from tests.sandbox import wait_for
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
    if os.getuid() != 0:  # files of the images belong to other users, and one process holds the user namespace
        subprocess.run(["podman", "unshare", "rm", "-rf", str(directory / "store")], env=env, capture_output=True)
        subprocess.run(["podman", "system", "migrate"], env=env, capture_output=True)
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def docker() -> Iterator[dict[str, str]]:
    """Yield the variables that select a docker of the tests' own, which has the images; skip where none can run."""
    if os.getuid() != 0 or not shutil.which("dockerd") or not shutil.which("docker"):
        pytest.skip("docker's daemon is not installed, or not root runs the tests; the guide says where it was seen")
    directory = Path(tempfile.mkdtemp(prefix="docker-", dir="/tmp"))
    daemon, variables = start_docker(directory)
    try:
        env = {**os.environ, **variables}
        wait_for(lambda: subprocess.run(["docker", "version"], env=env, capture_output=True).returncode == 0, "docker")
        make_images(directory, env, "docker")
        probe = ["docker", "run", "--rm", "--network", "none", WITH_BASH, "true"]
        tried = subprocess.run(probe, env=env, capture_output=True, text=True)
        if tried.returncode:
            pytest.skip(f"docker runs no container on this machine: {tried.stderr.strip()[-200:]}")
        yield variables
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(directory)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    """The program that runs the containers of the test: podman, or those that `in_each_engine` names."""
    name = getattr(request, "param", "podman")
    return Engine(name, request.getfixturevalue(name))


@pytest.fixture
def user(local_sandbox: User, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> User:
    """A user with podman, or docker, and its images."""
    for name, value in engine.variables.items():
        monkeypatch.setenv(name, value)
    local_sandbox.env.update(engine.variables)
    if engine.name != "podman":
        local_sandbox.locations.settings_file.parent.mkdir(parents=True)
        local_sandbox.locations.settings_file.write_text(f'[container]\nruntime = "{engine.name}"\n')
    return local_sandbox


@pytest.fixture
def opened(user: User, engine: Engine) -> Iterator[Callable[..., Container]]:
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
        runtime = "" if engine.name == "podman" else engine.name
        table = ContainerSettings(image=image, runtime=runtime, **settings)
        containers.append(Container(table, boundary, outputs, policy, lambda files: may_build))
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
