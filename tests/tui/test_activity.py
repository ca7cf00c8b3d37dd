"""The start time of an activity comes from the log, also for a screen that is opened later."""

from datetime import timedelta

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import START, Script
from workbench.protocol import live
from workbench.tui.widgets.activity import Activity, began
from workbench.view import clock


def status_text(app) -> str:
    return str(app.screen.query_one(Activity).render())


async def test_command_begun_before_the_screen_shows_its_whole_duration(monkeypatch):
    script = Script().start().user("Go.")
    script.begin("execute_bash", command="pytest -q")
    began_at = script.events[-1].at
    monkeypatch.setattr(clock, "now", lambda: began_at + timedelta(minutes=2, seconds=5))
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="acting"))
        assert await wait_until(pilot, lambda: "running $ pytest -q · 2 min 5 s" in status_text(app))


@pytest.mark.parametrize("later", ["nothing", "a message", "an answer that streams"])
def test_thinking_time_counts_from_the_model_call(later):
    script = Script().start().user("Go.").answer("I look.")
    script.run("execute_bash", "ok", command="ls")
    asked_at = script.events[-1].at
    if later == "a message":
        script.user("And the README.")
    state = script.state()
    if later == "an answer that streams":
        from workbench.view.reducer import apply

        apply(state, live.TextDelta(text="So"))
    assert began(state) == (None if later == "an answer that streams" else asked_at)


def test_second_of_two_equal_commands_has_its_own_duration():
    script = Script().start().user("Go.")
    script.run("execute_bash", "ok", command="make")
    first = script.events[-2].at
    script.begin("execute_bash", command="make")
    state = script.state()
    assert began(state) == script.events[-1].at
    assert began(state) > first > START
