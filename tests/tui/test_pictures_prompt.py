"""Golden pictures of the prompt's help while typing."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished, working
from tests.tui.pictures import app_with, in_each_look, show_events
from workbench.tui.widgets.suggestions import Suggestions


def commands(place):
    return "/mo"


def an_argument(place):
    return "/mode "


def files(place):
    for name in ("src/calc.py", "src/parser/words.py", "tests/test_calc.py", "docs/calculation rules.md"):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return "Compare @calc"


def sent_before(place):
    return "test\x12"


PICTURES = [(commands, working), (files, finished), (sent_before, finished), (an_argument, finished)]


@in_each_look
@pytest.mark.parametrize(("what", "state"), PICTURES, ids=[what.__name__ for what, _ in PICTURES])
def test_choosing(what, state, look, directory, picture):
    events = state()
    written = what(directory)
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        keys = {"/": "slash", " ": "space", "@": "at", "\x12": "ctrl+r"}
        await pilot.press(*(keys.get(sign, sign) for sign in written))
        await wait_until(pilot, lambda: app.screen.query_one(Suggestions).display)

    assert picture(app, look, show)
