"""System programs that some tests need: root installs missing ones, other users are told which to install."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path


def found_or_installed(look: Callable[[], str | None], *packages: str) -> str:
    """Return what `look` finds, after an installation of Debian's packages if needed; safe with several workers."""
    with (Path(tempfile.gettempdir()) / f"ohw-tests-packages-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        package = look()
        if package is None:
            _install(packages)
            package = look()
    assert package, f"{' '.join(packages)}: installed, and not found"
    return package


def _install(packages: tuple[str, ...]) -> None:
    assert os.getuid() == 0, f"these tests need what is not there: apt-get install {' '.join(packages)}"
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", "-qq", *command], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
