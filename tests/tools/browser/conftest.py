"""A Chromium for the tests: the system's; root gets one where there is none."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.tools import BrowserTool
from workbench.tools.browser.finding import Missing, find_chromium


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium."""
    with (Path(tempfile.gettempdir()) / f"ohw-tests-chromium-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers of a run want it at once
        try:
            return find_chromium()
        except Missing:
            install_chromium()
        return find_chromium()


def install_chromium() -> None:
    """Debian's package."""
    if os.getuid() != 0:
        pytest.fail("the tests of the browser need Chromium: apt-get install chromium")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(["apt-get", "-qq", *command], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def tool(chromium: str, place: Path) -> Iterator[BrowserTool]:
    """One browser for all tests that leave it in order."""
    with BrowserTool(place, state_dir=place.parent / "state", executable=chromium, seconds=20) as made:
        yield made
