"""Golden pictures of the screens."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import empty, failed, finished, question_with_command, question_with_diff, working
from tests.tui.pictures import LOOKS, README, app_with, in_each_look, in_looks, show_events, text_on
from workbench.tui.open_screens import open_action
from workbench.tui.palette_entries import PastSession
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.help import HelpScreen, topics
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.welcome import Welcome

SIZES = [(80, 24), (120, 40), (200, 60)]
STATES = [empty, working, question_with_command, question_with_diff, finished, failed]


def diff_viewer(app):
    app.screen.action_diff()
    return DiffViewerScreen, "def test_negative"


def pager(app):
    open_action(app, app.state, "a8", app.session.client)
    return PagerScreen, "ARGUMENTS"


def help_on_keys(app):
    app.action_help()
    return HelpScreen, "Search the prompt history"


OVER = [diff_viewer, pager, help_on_keys]


@pytest.fixture(autouse=True)
def _these_topics(monkeypatch):
    """Pictures stay the same when guides are added."""
    guides = topics()
    listed = {
        name: guides[name] for name in ("start", "keys", "approving", "reviewing", "models", "settings", "sessions")
    }
    monkeypatch.setattr("workbench.tui.screens.help.topics", lambda: listed)
    monkeypatch.setattr("workbench.tui.screens.help.guide_summaries", lambda: {"Start": "Where to begin"})


@in_looks(*LOOKS, README)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_main_screen(state, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        if state is empty:
            await wait_until(pilot, lambda: "Example tasks" in app.screen.query_one(Welcome).render().plain)

    assert picture(app, look, show)


@in_each_look
def test_welcome(look, directory, picture):
    """Show example tasks of a directory, and recent sessions."""
    (directory / "tests").mkdir()
    (directory / "cart.py").write_text("total = 0\n# TODO: taxes\n")
    past = [
        PastSession("a1", "Fix unknown countries", "10:20 · shop"),
        PastSession("a2", "Add a currency to each label of the catalog", "27 Feb · shop"),
    ]
    events = empty()
    client = FakeClient(events)
    app = workbench_app(client, directory=directory, set={"theme": look.theme}, sessions=lambda: past)

    async def show(pilot):
        await show_events(pilot, client, events)
        welcome = app.screen.query_one(Welcome)
        await wait_until(pilot, lambda: "Example tasks" in welcome.render().plain)
        await pilot.press("tab", "down")
        await wait_until(pilot, lambda: "› Resolve" in welcome.render().plain)

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("over", OVER, ids=lambda over: over.__name__)
def test_screens_over_it(over, look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        kind, words = over(app)
        await wait_until(pilot, lambda: isinstance(app.screen, kind) and words in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_no_model(look, directory, picture):
    app = workbench_app(None, directory=directory, set={"model": None})

    async def show(pilot):
        await wait_until(pilot, lambda: "/demo" in text_on(app))

    assert picture(app, look, show)
