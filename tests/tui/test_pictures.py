"""Golden pictures of the screens; `pytest --snapshot-update` makes them anew."""

import subprocess

import pytest
from textual._context import visible_screen_stack

from tests.tui.fake_link import FakeLink
from tests.tui.picture_sessions import empty, failed, finished, question_with_command, question_with_diff, working
from tests.tui.trial import wait_until, workbench_app
from workbench.session import events as ev
from workbench.tui.opening import open_action
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.help import HelpScreen, topics
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.status_line import StatusLine

SIZES = [(80, 24), (120, 40), (200, 60)]
THEMES = ["ohw-dark", "ohw-light"]
STATES = [empty, working, question_with_command, question_with_diff, finished, failed]


def diff_viewer(app):
    app.screen.action_diff()
    return DiffViewerScreen, "def test_negative"


def pager(app):
    open_action(app, app.state, "a7", app.opened.link)
    return PagerScreen, "ARGUMENTS"


def help_on_keys(app):
    app.action_help()
    return HelpScreen, "alt+enter New line"


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


def text_on(app) -> str:
    return "\n".join(strip.text for strip in strips_on(app))


def strips_on(app):
    """What is on the screen, with the screens below it: a first look from here would else be kept without them."""
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


async def at_rest(pilot) -> None:
    """Nothing is laid out, written or coloured any more: several pictures in a row are the same."""
    last, same = [], 0

    def unchanged() -> bool:
        nonlocal last, same
        now = [list(line) for line in strips_on(pilot.app)]
        same, last = (same + 1 if now == last else 0), now
        return same >= 10

    await wait_until(pilot, unchanged)
    if pilot.app.screen.is_modal:
        await drawn(pilot)


async def drawn(pilot) -> None:
    """What stands behind a box is drawn too: several whole pictures in a row are the same."""
    last, same = "", 0

    def unchanged() -> bool:
        nonlocal last, same
        now = pilot.app.export_screenshot()
        same, last = (same + 1 if now == last else 0), now
        return same >= 4

    await wait_until(pilot, unchanged)


async def shown(pilot, link, events):
    """The main screen shows all of it, the star of the branch too."""
    app = pilot.app
    link.bring(*(event for event in events if not getattr(event, "seq", 0)), ev.EngineState(state=work_of(events)))
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


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_main_screen(state, size, theme, folder, picture):
    events = state()
    link, app = app_with(events, folder, theme)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        await at_rest(pilot)
        assert picture(app)


@pytest.mark.parametrize(
    ("size", "theme"),
    [((80, 24), "ohw-dark"), ((120, 40), "ohw-dark"), ((120, 40), "ohw-light"), ((200, 60), "ohw-dark")],
    ids=lambda part: part if isinstance(part, str) else f"{part[0]}x{part[1]}",
)
@pytest.mark.parametrize("over", OVER, ids=lambda over: over.__name__)
async def test_screens_over_it(over, size, theme, folder, picture):
    events = finished()
    link, app = app_with(events, folder, theme)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        kind, words = over(app)
        await wait_until(pilot, lambda: isinstance(app.screen, kind) and words in text_on(app))
        await at_rest(pilot)
        assert picture(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"no_model-{size[0]}x{size[1]}-ohw-dark")
async def test_welcome_without_a_model(size, folder, picture):
    app = workbench_app(None, folder=folder, set={"model": None})
    async with app.run_test(size=size) as pilot:
        await at_rest(pilot)
        assert picture(app)
