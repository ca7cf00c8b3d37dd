"""Golden pictures of the question about a plan; `--snapshot-update` makes them."""

from __future__ import annotations

from typing import Any

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import begun
from tests.tui.pictures import app_with, in_each_look, show_events
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.plan_approval import PlanScreen

PLAN = """\
I would change two files:

1. `src/calc.py`: keep the sign when the text is parsed.
2. `tests/test_calc.py`: a test for a negative amount.

Then `python -m pytest -q` shows whether it is right.
"""


def planned() -> list[Any]:
    script = begun()
    script.add(ev.SettingsChanged, mode="plan")
    script.answer(PLAN)
    script.add(ev.RunEnded, reason="waiting")
    return [*script.events, live.EngineState(state="idle")]


@in_each_look
def test_plan(look, directory, picture):
    events = planned()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await pilot.press("f8")
        await wait_until(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.quiet.is_armed)
        await pilot.pause()

    assert picture(app, look, show)
