"""Images made from static programs, in a storage of their own: nothing is fetched, nothing of the user changed."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

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
runroot = "{directory}/run"
"""


def storage(directory: Path) -> dict[str, str]:
    """Return the variables that make podman keep everything in a directory."""
    engine, store = directory / "containers.conf", directory / "storage.conf"
    engine.write_text(_ENGINE.format(directory=directory))
    store.write_text(_STORAGE.format(directory=directory))
    return {"CONTAINERS_CONF": str(engine), "CONTAINERS_STORAGE_CONF": str(store)}


def make_images(directory: Path, env: dict[str, str]) -> None:
    """Make both images from one tree each."""
    for name, has_bash in ((WITH_BASH, True), (WITHOUT_BASH, False)):
        tree = directory / f"tree-{has_bash}"
        (tree / "bin").mkdir(parents=True)
        for each in ("etc", "root", "tmp"):
            (tree / each).mkdir()
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
        _output(["podman", "import", str(archive), name], env)


def _output(command: list[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
