"""The page on cost and context: by command and by a click on the status line."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script, fold
from workbench.protocol import events as ev
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.tui.widgets.text_lines import TextLines
from workbench.view.formatting.costs import spending_page

PARTS = ev.ContextParts(system=1_000, tools=4_000, messages=10_000, tool_output=35_000)


def spent(**more) -> Script:
    script = Script().start().user("Hi.")
    usage = ev.Usage(input=50_000, output=200, cached=30_000, window=200_000)
    return script.answer("Hello.", **{"usage": usage, "cost": 0.25, "parts": PARTS, **more})


def test_page_shows_cost_and_context_usage():
    page = spending_page(fold(spent().events))
    assert "$0.2500" in page
    assert "50,000 tokens of 200,000 (25 %)" in page
    assert "30,000 of them cached" in page
    parts = [
        line.strip().strip("█ ").split("  ") for line in page.splitlines() if line.startswith("  ") and "%" in line
    ]
    shares = [(part[0], part[-1].strip()) for part in parts]
    assert shares == [("instructions", "2 %"), ("tools", "8 %"), ("messages", "20 %"), ("tool output", "70 %")]


def test_unknown_values_are_shown_as_unknown():
    page = spending_page(fold(spent(cost=None, usage=ev.Usage(), parts=None).events))
    assert "unknown" in page
    assert "appears after the first response" in page
    assert "$" not in page


@pytest.mark.parametrize("by_click", [True, False])
async def test_cost_page_opens_by_command_and_by_a_click(by_click):
    client = FakeClient(spent().events)
    async with workbench_app(client).run_test(size=(120, 30)) as pilot:
        app = pilot.app
        await wait_until(pilot, lambda: "ctx 25 %" in app.screen.query_one(StatusLine).render().plain)
        if by_click:
            await pilot.click(StatusLine)
        else:
            app.screen.query_one(Prompt).text = "/cost"
            await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen))
        assert app.screen.query_one(TextLines)
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
