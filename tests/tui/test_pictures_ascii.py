"""Golden pictures of a terminal that has only ASCII: borders, signs and diffs still say what they mean."""

import pytest

from tests.tui.test_pictures import app_with, at_rest, folder, shown
from tests.tui.test_pictures_stale import in_part, stale_file
from tests.tui.trial import workbench_app
from workbench.tui.terminal.filters import AsciiFilter
from workbench.tui.terminal.integration import TerminalIntegration

__all__ = ["folder"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("state", [stale_file, in_part], ids=lambda state: state.__name__)
async def test_a_screen_in_ascii(state, size, folder, picture):
    events = state()
    link, app = app_with(events, folder, "ohw-dark")
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": True})
    async with app.run_test(size=size) as pilot:
        await shown(pilot, link, events)
        await at_rest(pilot)
        lines = [strip.text for strip in app.screen._compositor.render_strips()]
        assert picture(app)
    assert all(line.isascii() for line in lines)


def test_an_app_is_minded_by_its_settings():
    def is_ascii(wanted: bool) -> bool:
        app = workbench_app(None, set={"terminal": {"ascii": wanted}})
        return any(isinstance(each, AsciiFilter) for each in app.get_line_filters())

    assert is_ascii(True)
    assert not is_ascii(False)
