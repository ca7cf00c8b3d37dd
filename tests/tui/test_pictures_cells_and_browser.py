"""Golden pictures of cells and the browser: a cell that draws a plot, a form about to be sent."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.plot_sessions import browser_form, with_plot
from workbench.tui.open_screens import open_action
from workbench.tui.terminal.integration import TerminalIntegration
from workbench.tui.widgets.text_lines import IllustratedLines


@in_each_look
@pytest.mark.parametrize("signs", ["colours", "ascii"])
def test_the_page_of_a_cell_with_a_plot(signs, look, directory, picture):
    events = with_plot()
    client, app = app_with(events, directory, look.theme)
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": signs == "ascii"})

    async def show(pilot):
        await show_events(pilot, client, events)
        open_action(app, app.state, next(iter(app.state.actions)), client)
        await wait_until(pilot, lambda: app.screen.query(IllustratedLines))
        await wait_until(pilot, lambda: app.screen.query_one(IllustratedLines).is_illustrated)
        assert ("▀▀▀" in text_on(app)) == (signs == "colours")

    assert picture(app, look, show)


@in_each_look
def test_form(look, directory, picture):
    events = browser_form()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)

    assert picture(app, look, show)
