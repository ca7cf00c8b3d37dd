"""A condensed history on the screen: one line that says so, and the summary behind it."""

from textual.content import Content

from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import Script
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol.usage import Usage
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.conversation_messages import OpenNotice
from workbench.tui.widgets.text_lines import TextLines
from workbench.tui.widgets.timeline import Timeline
from workbench.view.state import NoticeItem

SUMMARY = "GOAL\nmend the [/b] parser\x1b[2J\nDONE\nnothing"


def condensed() -> Script:
    script = Script().start().user("go")
    script.run("think", "ok")
    script.add(
        ev.HistoryCondensed,
        first=3,
        last=90,
        summary=SUMMARY,
        reason="overflow",
        usage=Usage(input=800, output=40),
        cost=0.5,
    )
    return script


def test_condensation_is_a_notice_with_summary_and_counted_cost():
    before = Script().start().user("go")
    before.run("think", "ok")
    plain, state = before.state(), condensed().state()
    notice = state.items[-1]
    assert isinstance(notice, NoticeItem)
    assert notice.text == "Compacted events 3–90 (context full)"
    assert notice.detail == SUMMARY
    assert state.total_tokens == plain.total_tokens + 840
    if plain.cost is not None:
        assert state.cost == plain.cost + 0.5
    assert state.input_tokens == plain.input_tokens


async def shown_in_pager(app: PanelApp, pilot) -> str:
    await until(pilot, lambda: isinstance(app.screen, PagerScreen) and bool(app.screen.query(TextLines)))
    lines = app.screen.query_one(TextLines)
    await until(pilot, lambda: lines.size.width > 40)
    return "\n".join("".join(piece.text for piece in lines.line(row, 80)) for row in range(4))


async def test_summary_opens_from_conversation_and_timeline():
    app = PanelApp(condensed().state())
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: bool(app.query(OpenNotice)))
        line = app.query_one(Conversation).query_one(OpenNotice)
        assert isinstance(line.visual, Content)
        assert "Compacted events 3–90" in line.visual.plain
        line.focus()
        await pilot.press("enter")
        assert "mend the [/b] parser" in await shown_in_pager(app, pilot)
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, PagerScreen))
        app.query_one(Timeline).focus()
        await pilot.press("end", "enter")
        assert "mend the [/b] parser" in await shown_in_pager(app, pilot)
