"""A check that the Compare screen runs ends with the screen, however that is left."""

from __future__ import annotations

from threading import Event

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.comparisons import THERE, compared
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, show_events, text_on
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel


class EndlessCheck:
    """A check that runs until it is cancelled."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.ended = Event()

    def __call__(self, names: tuple[str, ...], command: str, cancel: Cancel) -> dict[str, str]:
        self.commands.append(command)
        while not cancel.wait(10):
            pass
        self.ended.set()
        raise WorkbenchError("the check could not be run")


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> EndlessCheck:
    check = EndlessCheck()
    monkeypatch.setattr("workbench.view.comparison.compare_sessions", lambda *of: compared())
    monkeypatch.setattr("workbench.view.comparison.run_checks", check)
    return check


async def begin(pilot, client, app, check: EndlessCheck) -> None:
    await show_events(pilot, client, finished())
    await pilot.press(*f"/compare {THERE}", "enter")
    await wait_until(pilot, lambda: "4 files of" in text_on(app))
    await pilot.press("c", *"pytest", "enter")
    await wait_until(pilot, lambda: check.commands == ["pytest"])


async def test_check_ends_when_the_screen_is_closed(check: EndlessCheck, directory):
    client, app = app_with(finished(), directory, "ohw-dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await begin(pilot, client, app, check)
        assert not check.ended.is_set()
        await pilot.press("escape")
        await wait_until(pilot, check.ended.is_set)


async def test_check_ends_when_the_app_exits(check: EndlessCheck, directory):
    client, app = app_with(finished(), directory, "ohw-dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await begin(pilot, client, app, check)
        app.exit()
    assert check.ended.wait(10)


async def test_another_check_ends_the_one_before(check: EndlessCheck, directory):
    client, app = app_with(finished(), directory, "ohw-dark")
    async with app.run_test(size=(120, 40)) as pilot:
        await begin(pilot, client, app, check)
        await pilot.press("c", *"make", "enter")
        await wait_until(pilot, lambda: check.commands == ["pytest", "make"])
        assert check.ended.wait(10)
