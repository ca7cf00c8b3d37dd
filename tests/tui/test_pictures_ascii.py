"""Golden pictures of a terminal that has only ASCII: borders, signs and diffs still say what they mean."""

import pytest

from tests.tui.pictures import app_with, at_rest, in_each_look, shown, text_on
from tests.tui.test_pictures_stale import in_part, stale_file
from tests.tui.trial import workbench_app
from workbench.tui.terminal.filters import AsciiFilter
from workbench.tui.terminal.integration import TerminalIntegration


@in_each_look
@pytest.mark.parametrize("state", [stale_file, in_part], ids=lambda state: state.__name__)
def test_a_screen_in_ascii(state, look, folder, picture):
    events = state()
    link, app = app_with(events, folder, look.theme)
    app.terminal = TerminalIntegration(app, lambda: app.state, {"ascii": True})

    async def show(pilot):
        await shown(pilot, link, events)
        await at_rest(pilot)
        assert text_on(app).isascii()

    assert picture(app, look, show)


def test_an_app_is_minded_by_its_settings():
    def is_ascii(wanted: bool) -> bool:
        app = workbench_app(None, set={"terminal": {"ascii": wanted}})
        return any(isinstance(each, AsciiFilter) for each in app.get_line_filters())

    assert is_ascii(True)
    assert not is_ascii(False)
