"""Golden pictures of every built-in theme."""

from textual.widgets import OptionList

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import USUAL, Look, app_with, in_looks, show_events
from workbench.tui.screens.theme_choice import ThemeChoice
from workbench.tui.themes import builtin_directory

THEMES = sorted(path.stem for path in builtin_directory().glob("*.toml"))


@in_looks(*(Look(120, 40, theme) for theme in THEMES))
def test_finished(look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)

    assert picture(app, look, show)


@in_looks(Look(80, 24, "ohw-dusk"), USUAL, Look(200, 60, "ohw-dusk"))
def test_choosing(look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, "ohw-dusk")

    async def show(pilot):
        await show_events(pilot, client, events)
        app.action_change_theme()
        await wait_until(pilot, lambda: isinstance(app.screen, ThemeChoice))
        assert isinstance(app.screen, ThemeChoice)
        app.screen.query_one("#themes-list", OptionList).highlighted = app.screen._names.index(look.theme)
        await wait_until(pilot, lambda: app.theme == look.theme)

    assert picture(app, look, show)
