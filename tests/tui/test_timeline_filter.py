"""The filter of the timeline: which rows match which words, and its input line on the screen."""

from __future__ import annotations

import re

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.panel_app import PanelApp
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.side_panels import FilterLine
from workbench.tui.widgets.timeline import Timeline
from workbench.view.formatting.timeline_rows import has_row
from workbench.view.state import ActionItem
from workbench.view.timeline_filter import Filter


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("  ", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("PYTEST", [4, 7]),
        ("failed", [4]),
        ("faile", [4]),
        ("pend", [8]),
        ("pending", [8]),
        ("risk:high", [8]),
        ("tool:bash", [2, 4, 7, 8]),
        ("tool:bash risk:medium", [4, 7]),
        ("file:calc", [3, 6]),
        ("file:nothing", []),
        ("tool:", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("a:b", []),
    ],
)
def test_all_words_must_match_an_action(text: str, numbers: list[int]):
    filter_by = Filter(text)
    actions = working_session().state().actions.values()
    assert [item.number for item in actions if filter_by.fits(item)] == numbers


def test_words_match_messages_but_terms_match_actions_only():
    state = Script().start().user("Look at risk: high things").state()
    assert Filter("look things").fits(state.items[0])
    assert not Filter("risk:high").fits(state.items[0])
    assert not Filter("failed").fits(state.items[0])


async def test_rows_appear_and_disappear_as_their_actions_change():
    script = working_session()
    app = PanelApp(script.state())
    async with app.run_test() as pilot:
        timeline = app.query_one(Timeline)
        timeline.filter("failed")
        await until(pilot, lambda: numbers_shown(timeline) == [4])
        app.take(*Script.end(script, "a7", "no", exit_code=1).events[-1:])
        await until(pilot, lambda: numbers_shown(timeline) == [4, 7])
        app.take(script.add(ev.UserMessage, text="and now?"))
        assert numbers_shown(timeline) == [4, 7]
        timeline.filter("none of them")
        await until(pilot, lambda: "Nothing fits" in timeline.render_line(0).text)
        await pilot.press("enter")
        timeline.filter("")
        await until(pilot, lambda: numbers_shown(timeline) == [2, 3, 4, 6, 7, 8])


def numbers_shown(timeline: Timeline) -> list[int]:
    return [item.number for item in timeline.rows.items if isinstance(item, ActionItem)]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_filter_applies_while_typing_and_escape_shows_all(size: tuple[int, int]):
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press("f2", "slash")
        await wait_until(pilot, lambda: isinstance(app.focused, FilterLine))
        timeline = app.screen.query_one(Timeline)
        line = app.screen.query_one(FilterLine)
        await wait_until(pilot, lambda: app.screen.find_widget(line).visible_region.height == 1)
        await pilot.press(*"fail")
        await pilot.press(*"ed")
        await wait_until(pilot, lambda: numbers_shown(timeline) == [4])
        await pilot.press("enter")
        await wait_until(pilot, lambda: timeline.has_focus)
        assert app.screen.query_one(FilterLine).display
        assert app.screen.find_widget(line).region.y == app.screen.find_widget(timeline).region.bottom
        rows = sum(map(has_row, app.state.items))
        await wait_until(pilot, lambda: re.search(rf"Timeline +1 of {rows}", text_on(app)))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(numbers_shown(timeline)) > 3 and not line.display and timeline.has_focus)
        await wait_until(pilot, lambda: f" of {rows}" not in text_on(app))
        await pilot.press("slash", *"failed", "enter")
        await wait_until(pilot, lambda: numbers_shown(timeline) == [4] and timeline.has_focus)
        await pilot.press("slash", "escape")
        await wait_until(pilot, lambda: len(numbers_shown(timeline)) > 3 and timeline.has_focus)
        assert not app.screen.query_one(FilterLine).display


async def test_d_opens_the_diff_of_the_rows_action_or_reports_that_there_is_none():
    app = workbench_app(FakeClient(working_session().events[:34]))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) == 6)
        await pilot.press("f2", "home", "down", "d")
        await wait_until(pilot, lambda: app._notifications)
        assert not isinstance(app.screen, DiffViewerScreen)
        await pilot.press("end", "d")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))
        title = app.screen.query_one("#viewer-title").render().plain
        assert "src/calc.py" in title
        assert title.endswith("hunk 1 of 1")
