"""Images made from static programs, in a storage of their own: nothing is fetched, nothing of the user changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

WITH_BASH, WITHOUT_BASH = "localhost/ohw-test-bash", "localhost/ohw-test-busybox"
BASH, BUSYBOX = Path("/bin/bash-static"), Path("/bin/busybox")
_ENGINE = """[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
tmp_dir = "{directory}/tmp"
lock_type = "file"
[containers]
default_ulimits = []
"""
_STORAGE = """[storage]
driver = "vfs"
graphroot = "{directory}/store"
rootless_storage_path = "{directory}/store"
runroot = "{directory}/run"
"""


def storage(directory: Path) -> dict[str, str]:
    """Return the variables that make podman keep everything in a directory."""
    engine, store = directory / "containers.conf", directory / "storage.conf"
    engine.write_text(_ENGINE.format(directory=directory))
    store.write_text(_STORAGE.format(directory=directory))
    return {"CONTAINERS_CONF": str(engine), "CONTAINERS_STORAGE_CONF": str(store)}


def make_images(directory: Path, env: dict[str, str], program: str = "podman") -> None:
    """Make both images from one tree each."""
    for name, has_bash in ((WITH_BASH, True), (WITHOUT_BASH, False)):
        tree = directory / f"tree-{has_bash}"
        (tree / "bin").mkdir(parents=True)
        for each in ("etc", "root", "tmp"):
            (tree / each).mkdir()
        (tree / "tmp").chmod(0o1777)
        (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
        shutil.copy(BUSYBOX, tree / "bin/busybox")
        for applet in _output([str(BUSYBOX), "--list"], env).split():
            if not (tree / "bin" / applet).exists():
                (tree / "bin" / applet).symlink_to("busybox")
        if has_bash:
            shutil.copy(BASH, tree / "bin/bash")
        archive = directory / f"{has_bash}.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(tree, ".")
        _output([program, "import", str(archive), name], env)


in_each_engine = pytest.mark.parametrize("engine", ["podman", "docker"], indirect=True)
"""Lets a test run with podman and, where its daemon is installed, with docker."""


@dataclass(frozen=True)
class Engine:
    """A program that runs containers, with the variables that give it the images."""

    name: str
    variables: Mapping[str, str]

    def __call__(self, *words: str) -> str:
        """Run it with a command; return what it prints."""
        env = {**os.environ, **self.variables}
        return subprocess.run([self.name, *words], env=env, capture_output=True, text=True).stdout.strip()


def start_docker(directory: Path) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """Start a daemon of docker that has everything in a directory; return it and the variables that select it.

    It leaves the network of this machine alone, so its containers have only their loopback interface.
    """
    socket = f"unix://{directory}/socket"
    paths = [f"--{name}={directory}/{name}" for name in ("data-root", "exec-root", "pidfile")]
    alone = ("--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs")
    # Not those of the test that needs it first, which ends what has its home and deletes its directories.
    env = {"PATH": os.environ["PATH"], "HOME": str(directory), "TMPDIR": str(directory)}
    with (directory / "log").open("wb") as log:
        daemon = subprocess.Popen(["dockerd", "--host", socket, *paths, *alone], stdout=log, stderr=log, env=env)
    return daemon, {"DOCKER_HOST": socket, "DOCKER_CONFIG": str(directory / "client")}


def _output(command: list[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
