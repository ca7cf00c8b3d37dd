"""The Blame screen: who wrote each line, the way to the action, and to an action in another session."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.blame_files import GROSS, HEAD, LAST, SECOND, TAX, keep_blamed
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from workbench.errors import WorkbenchError
from workbench.protocol import events as ev
from workbench.tui.app import WorkbenchApp
from workbench.tui.messages import TimeRequested
from workbench.tui.screens.blame import BlameLines, BlameScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.time_view import TimeScreen
from workbench.tui.widgets.diff_layout import new_line_at
from workbench.tui.widgets.diff_view import DiffView
from workbench.view.app_session import AppSession
from workbench.view.state import ActionItem

SIZE = (120, 40)


@pytest.fixture
def blamed(directory, monkeypatch, tmp_path):
    """Return an app that shows the session s1, and the options to make another."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    script = keep_blamed(directory)
    return lambda **more: workbench_app(FakeClient(script.events), directory=directory, **more)


async def opened(pilot: Any, app: WorkbenchApp, command: str = "/blame shop.py") -> BlameScreen:
    await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.items)
    await pilot.press(*command, "enter")
    await wait_until(pilot, lambda: isinstance(app.screen, BlameScreen) and "lines: " in text_on(app))
    screen = app.screen
    assert isinstance(screen, BlameScreen)
    return screen


def cursor(app: WorkbenchApp) -> int:
    return app.screen.query_one(BlameLines).cursor


async def go_to(pilot: Any, app: WorkbenchApp, words: str) -> None:
    """Put the cursor on the first line with these words."""
    lines = LAST.splitlines()
    app.screen.query_one(BlameLines).move_to(next(at for at, line in enumerate(lines) if words in line))
    await pilot.pause()


async def test_enter_goes_to_the_action_in_the_conversation(blamed):
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, app)
        await go_to(pilot, app, "unknown")
        assert "Check the country" in text_on(app)
        assert "approved by you" in text_on(app)
        assert "model m" in text_on(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        action = next(item for item in app.state.actions.values() if item.summary == "Check the country")
        await wait_until(pilot, lambda: getattr(app.focused, "item", None) is action)


async def test_action_in_another_session_is_named_and_opened_by_a_second_enter(blamed):
    names: list[str] = []

    def resume(name: str) -> AppSession:
        names.append(name)
        raise WorkbenchError("not here")

    app = blamed(resume=resume)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, app)
        await go_to(pilot, app, "def gross")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Enter opens that session" in text_on(app))
        assert "Write the module with the prices (s0)" in text_on(app)
        await pilot.press("down", "up")
        assert "Enter opens that session" not in text_on(app), "the cursor has moved"
        await pilot.press("enter", "enter")
        await wait_until(pilot, lambda: names == ["s0"])
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert app.state.session_id == "s1"


async def test_other_session_is_shown_at_the_action(blamed, directory):
    from workbench.config.locations import Locations
    from workbench.session.session_names import session_path
    from workbench.session.storage.store import Store

    def resume(name: str) -> AppSession:
        with Store.open(session_path(Locations.from_environment(), name), readonly=True) as store:
            return AppSession(FakeClient(list(store.events())), directory)

    app = blamed(resume=resume)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, app)
        await go_to(pilot, app, "def gross")
        await pilot.press("enter", "enter")
        await wait_until(pilot, lambda: app.state.session_id == "s0" and isinstance(app.screen, MainScreen))
        await wait_until(
            pilot, lambda: getattr(getattr(app.focused, "item", None), "summary", "") == "Write the module"
        )
        assert len(app.screen_stack) == 2, "the screen of the first session, and that of the other one"


async def test_line_of_the_user_leads_nowhere(blamed):
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, app)
        await go_to(pilot, app, "def net")
        assert "You, with another program" in text_on(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "There is no action to go to" in text_on(app))
        assert isinstance(app.screen, BlameScreen)


async def test_n_goes_from_writer_to_writer_and_a_line_may_be_named(blamed):
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, app, "/blame shop.py:3")
        assert cursor(app) == 2
        await pilot.press("n")
        assert cursor(app) == 3
        await pilot.press("N")
        assert cursor(app) == 0
        await pilot.press("escape")
        assert isinstance(app.screen, MainScreen)


async def test_b_in_the_diff_viewer_blames_the_line_under_the_cursor(blamed):
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "TAX = {" in text_on(app))
        await pilot.press("b")
        await wait_until(pilot, lambda: isinstance(app.screen, BlameScreen) and "lines: " in text_on(app))
        assert SECOND.splitlines()[cursor(app)].startswith("TAX = {")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))


async def test_b_finds_a_line_of_an_earlier_text_by_its_content(blamed):
    """The session inserted lines above it later, so that its number is another one now."""
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await blame_in_the_past(pilot, app, "    return price * (1 + rate)")
        assert cursor(app) == LAST.splitlines().index("    return price * (1 + rate)")
        assert not app._notifications


async def test_b_says_that_a_line_of_an_earlier_text_is_gone(blamed, directory):
    path = directory / "shop.py"
    path.write_text(LAST.replace("    return price * (1 + rate)\n", ""))
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await blame_in_the_past(pilot, app, "    return price * (1 + rate)")
        words = "The line is not in shop.py any more; the cursor is where it was"
        await wait_until(pilot, lambda: any(words == str(each.message) for each in app._notifications))
        assert cursor(app) == LAST.splitlines().index("    return price * (1 + rate)")


async def blame_in_the_past(pilot: Any, app: WorkbenchApp, line: str) -> None:
    """Open the changes as of the first action's end, and blame a line of the text of then."""
    await wait_until(pilot, lambda: app.state.session_id == "s1" and app.state.changes)
    first = next(item for item in app.state.items if isinstance(item, ActionItem))
    app.screen.post_message(TimeRequested(first, 0))
    await wait_until(pilot, lambda: isinstance(app.screen, TimeScreen) and app.screen.state.changes)
    await pilot.press("f5")
    await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "TAX = {" in text_on(app))
    view = app.screen.query_one(DiffView)
    number = (HEAD + TAX + GROSS).splitlines().index(line) + 1
    while new_line_at(view.geometry, view.marks.cursor) != number:
        await pilot.press("down")
    await pilot.press("b")
    await wait_until(pilot, lambda: isinstance(app.screen, BlameScreen) and "lines: " in text_on(app))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/blame", "Name a file: /blame FILE"),
        ("/blame gone.py", "there is no file gone.py"),
        ("/blame /etc/passwd", "is outside"),
    ],
)
async def test_file_that_cannot_be_blamed_is_reported(blamed, command, words):
    app = blamed()
    async with app.run_test(size=SIZE) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        await pilot.press(*command, "enter")
        await wait_until(pilot, lambda: any(words in str(each.message) for each in app._notifications))
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert app.is_running


async def test_text_from_files_and_models_is_shown_safely(directory, monkeypatch, tmp_path):
    from tests.tui.blame_files import keep_script
    from tests.tui.sample_session import Script

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = directory / "shop.py"
    path.write_text("evil = '\x1b[2J\u202e [red]'\n")
    script = Script().start(workspace=str(directory)).user("do \x1b]0;x\x07 it").answer("")
    action_id = script.propose("execute_bash", "LOW", "write \x1b[31m it", command="true")
    script.end(action_id, "", files=(ev.FileDelta(path=str(path), before=None, after=path.read_text()),))
    keep_script(script)
    app = workbench_app(FakeClient(script.events), directory=directory)
    async with app.run_test(size=SIZE) as pilot:
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        await pilot.press(*"/blame shop.py", "enter")
        await wait_until(pilot, lambda: "1 line: " in text_on(app))
        shown = text_on(app)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "[red]" in shown
