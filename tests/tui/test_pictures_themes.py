"""Golden pictures of every theme that comes along; `pytest --snapshot-update` makes them anew."""

import pytest

from tests.tui.looks import FIRST, LIGHT, unlike
from tests.tui.picture_sessions import finished
from tests.tui.test_pictures import app_with, at_rest, folder, shown
from tests.tui.trial import wait_until
from workbench.tui.screens.theme_choice import ThemeChoice
from workbench.tui.themes import shipped_folder

__all__ = ["folder"]
THEMES = sorted(path.stem for path in shipped_folder().glob("*.toml"))


@pytest.mark.parametrize("theme", THEMES)
async def test_each_theme(theme, folder, picture):
    events = finished()
    link, app = app_with(events, folder, theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await shown(pilot, link, events)
        await at_rest(pilot)
        assert picture(app)


async def test_choosing_a_theme(folder, picture):
    events = finished()
    link, app = app_with(events, folder, "ohw-dusk")
    async with app.run_test(size=FIRST) as pilot:
        await shown(pilot, link, events)
        app.action_change_theme()
        await wait_until(pilot, lambda: isinstance(app.screen, ThemeChoice))
        dusk = [((width, height), "ohw-dusk") for width, height in ((80, 24), (120, 40), (200, 60))]
        assert await unlike(pilot, picture, "choosing", dusk) == []
        app.screen.query_one("#themes-list").highlighted = app.screen._names.index(LIGHT)
        await wait_until(pilot, lambda: app.theme == LIGHT)
        assert await unlike(pilot, picture, "choosing", [((120, 40), LIGHT)]) == []
