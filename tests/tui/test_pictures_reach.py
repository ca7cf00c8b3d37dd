"""Golden pictures of tools that reach further: a cell that draws a plot, a form that is about to be sent."""

import pytest

from tests.tui.drawn_plot import browser_form, with_plot
from tests.tui.test_pictures import app_with, at_rest, folder, shown, text_on
from tests.tui.trial import wait_until
from workbench.tui.opening import open_action
from workbench.tui.widgets.illustrated_lines import IllustratedLines

__all__ = ["folder"]


@pytest.mark.parametrize(
    ("size", "theme"),
    [((80, 24), "ohw-dark"), ((120, 40), "ohw-dark"), ((120, 40), "ohw-light")],
    ids=lambda part: part if isinstance(part, str) else f"{part[0]}x{part[1]}",
)
@pytest.mark.parametrize("signs", ["colours", "ascii"])
async def test_the_page_of_a_cell_with_a_plot(signs, size, theme, folder, picture):
    events = with_plot()
    link, app = app_with(events, folder, theme)
    app.mind({"ascii": signs == "ascii"})
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        open_action(app, app.state, next(iter(app.state.actions)), link)
        await wait_until(pilot, lambda: app.screen.query(IllustratedLines))
        await wait_until(pilot, lambda: app.screen.query_one(IllustratedLines).is_illustrated)
        await at_rest(pilot)
        text = text_on(app)
        assert picture(app)
    assert ("▀▀▀" in text) == (signs == "colours")


@pytest.mark.parametrize(
    ("size", "theme"),
    [((80, 24), "ohw-dark"), ((120, 40), "ohw-dark"), ((120, 40), "ohw-light")],
    ids=lambda part: part if isinstance(part, str) else f"{part[0]}x{part[1]}",
)
async def test_a_form_about_to_be_sent(size, theme, folder, picture):
    events = browser_form()
    link, app = app_with(events, folder, theme)
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        await at_rest(pilot)
        assert picture(app)
