"""Golden pictures of the screens; `pytest --snapshot-update` makes them anew."""

import subprocess

import pytest

from tests.tui.fake_link import FakeLink
from tests.tui.looks import DARK, FIRST, LIGHT, at_rest, text_on, unlike
from tests.tui.picture_sessions import empty, failed, finished, question_with_command, question_with_diff, working
from tests.tui.trial import wait_until, workbench_app
from workbench.protocol import live
from workbench.tui.opening import open_action
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.help import HelpScreen, topics
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.status_line import StatusLine

SIZES = [(80, 24), (120, 40), (200, 60)]
__all__ = ["at_rest", "text_on"]
STATES = [empty, working, question_with_command, question_with_diff, finished, failed]


def diff_viewer(app):
    app.screen.action_diff()
    return DiffViewerScreen, "def test_negative"


def pager(app):
    open_action(app, app.state, "a7", app.opened.link)
    return PagerScreen, "ARGUMENTS"


def help_on_keys(app):
    app.action_help()
    return HelpScreen, "Search what was sent"


OVER = [diff_viewer, pager, help_on_keys]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A real repository with a change in its tree, at `~/code/calc`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = tmp_path / "code" / "calc"
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    (place / "new.py").write_text("")
    return place


def is_settled(app, events) -> bool:
    """Everything is folded, and what had to open is open and takes answers."""
    if app.state.last_seq < max(getattr(event, "seq", 0) for event in events):
        return False
    if not app.state.waiting:
        return True
    return isinstance(app.screen, ApprovalScreen) and app.screen.is_armed


async def shown(pilot, link, events):
    """The main screen shows all of it, the star of the branch too."""
    app = pilot.app
    link.bring(*(event for event in events if not getattr(event, "seq", 0)), live.EngineState(state=work_of(events)))
    await wait_until(pilot, lambda: app.state.work != "starting" and is_settled(app, events))
    await wait_until(pilot, lambda: "main*" in app.screen_stack[0].query_one(StatusLine).render().plain)


def work_of(events):
    return getattr(events[-1], "state", "idle")


def app_with(events, folder, theme, **more):
    link = FakeLink([event for event in events if getattr(event, "seq", 0)])
    return link, workbench_app(link, folder=folder, set={"theme": theme, **more})


@pytest.fixture(autouse=True)
def _these_topics(monkeypatch):
    """Pictures stay the same when guides are added."""
    found = topics()
    kept = {name: found[name] for name in ("start", "keys", "approving", "reviewing", "models", "settings", "sessions")}
    monkeypatch.setattr("workbench.tui.screens.help.topics", lambda: kept)
    monkeypatch.setattr("workbench.tui.screens.help.what_guides_tell", lambda: {"Start": "Where to begin"})


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_main_screen(state, size, folder, picture):
    events = state()
    link, app = app_with(events, folder, DARK)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        assert await unlike(pilot, picture, state.__name__, [(size, DARK), (size, LIGHT)]) == []


@pytest.mark.parametrize("over", OVER, ids=lambda over: over.__name__)
async def test_screens_over_it(over, folder, picture):
    events = finished()
    link, app = app_with(events, folder, DARK)
    async with app.run_test(size=FIRST) as pilot:
        await shown(pilot, link, events)
        kind, words = over(app)
        await wait_until(pilot, lambda: isinstance(app.screen, kind) and words in text_on(app))
        assert await unlike(pilot, picture, over.__name__) == []


async def test_welcome_without_a_model(folder, picture):
    app = workbench_app(None, folder=folder, set={"model": None})
    async with app.run_test(size=FIRST) as pilot:
        assert await unlike(pilot, picture, "no_model") == []
