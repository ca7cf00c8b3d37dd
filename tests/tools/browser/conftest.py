"""A Chromium for the tests: the system's, or one installed if root runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system_packages import found_or_installed
from workbench.tools import BrowserTool
from workbench.tools.browser.installation import Missing, find_chromium


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium."""
    return found_or_installed(_chromium, "chromium")


def _chromium() -> str | None:
    try:
        return find_chromium()
    except Missing:
        return None


@pytest.fixture(scope="package", autouse=True)
def _data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Put what is kept between starts into a directory of the tests of this package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def tool(chromium: str, place: Path) -> Iterator[BrowserTool]:
    """One browser for all tests that leave it usable."""
    with BrowserTool(place, state_dir=place.parent / "state", executable=chromium, seconds=20) as made:
        yield made
