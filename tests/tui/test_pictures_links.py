"""Golden pictures of the question before a link is opened, and of a call that is being written."""

from __future__ import annotations

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import begun
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.sample_session import WORKSPACE
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.link import LinkScreen
from workbench.tui.widgets.conversation_messages import AgentText

ANSWER = "Decimals keep amounts exact: https://docs.python.org/3/library/decimal.html, and https://example.org/money."


@in_each_look
def test_link(look, directory, picture):
    script = begun()
    script.answer(ANSWER)
    script.add(ev.RunEnded, reason="waiting")
    events = [*script.events, live.EngineState(state="idle")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "Decimals keep" in text_on(app))
        app.screen.query(AgentText).last().focus()
        await pilot.press("o")
        await wait_until(pilot, lambda: isinstance(app.screen, LinkScreen) and "y Open" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_call(look, directory, picture):
    script = begun()
    events = [*script.events, live.EngineState(state="thinking")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(live.CallProgress(tool="str_replace_editor", path=f"{WORKSPACE}/src/calc.py", size=12_400))
        await wait_until(pilot, lambda: "editing src/calc.py" in text_on(app))

    assert picture(app, look, show)
