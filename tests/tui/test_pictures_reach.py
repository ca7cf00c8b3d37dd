"""Golden pictures of tools that reach further: a cell that draws a plot, a form that is about to be sent."""

import pytest

from tests.tui.drawn_plot import browser_form, with_plot
from tests.tui.looks import DARK, FIRST, LIGHT, unlike
from tests.tui.test_pictures import SIZES, app_with, folder, shown, text_on
from tests.tui.trial import wait_until
from workbench.tui.opening import open_action
from workbench.tui.terminal.integration import TerminalIntegration
from workbench.tui.widgets.text_lines import IllustratedLines

__all__ = ["folder"]


@pytest.mark.parametrize("signs", ["colours", "ascii"])
async def test_the_page_of_a_cell_with_a_plot(signs, folder, picture):
    events = with_plot()
    link, app = app_with(events, folder, DARK)
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": signs == "ascii"})
    async with app.run_test(size=FIRST) as pilot:
        await shown(pilot, link, events)
        open_action(app, app.state, next(iter(app.state.actions)), link)
        await wait_until(pilot, lambda: app.screen.query(IllustratedLines))
        await wait_until(pilot, lambda: app.screen.query_one(IllustratedLines).is_illustrated)
        assert await unlike(pilot, picture, signs) == []
        text = text_on(app)
    assert ("▀▀▀" in text) == (signs == "colours")


@pytest.mark.parametrize("size", SIZES)
async def test_a_form_about_to_be_sent(size, folder, picture):
    events = browser_form()
    link, app = app_with(events, folder, DARK)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        assert await unlike(pilot, picture, "form", [(size, DARK), (size, LIGHT)]) == []
