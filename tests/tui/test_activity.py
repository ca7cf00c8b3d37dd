"""The start time of an activity comes from the log, also for a screen that is opened later."""

from datetime import timedelta

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import START, WORKSPACE, Script
from workbench.client.client import Disconnected
from workbench.protocol import live
from workbench.tui.widgets.activity import Activity, activity_text, began, size_text
from workbench.view import clock
from workbench.view.reducer import apply


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
        assert await wait_until(pilot, lambda: "running $ pytest -q · 2m 05s" in status_text(app))


async def test_stop_that_takes_a_while_is_shown_at_once_and_is_not_offered_again():
    script = Script().start().user("Go.")
    script.begin("delegate", agent="helper", inputs="Build it.")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="acting"))
        assert await wait_until(pilot, lambda: "Esc to stop" in status_text(app))
        client.bring(live.EngineState(state="acting", is_stopping=True))
        assert await wait_until(pilot, lambda: "stopping" in status_text(app))
        assert "Esc to stop" not in status_text(app)


@pytest.mark.parametrize("later", ["nothing", "a message", "an answer that streams"])
def test_thinking_time_counts_from_the_model_call(later):
    script = Script().start().user("Go.").answer("I look.")
    script.run("execute_bash", "ok", command="ls")
    asked_at = script.events[-1].at
    if later == "a message":
        script.user("And the README.")
    state = script.state()
    if later == "an answer that streams":
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


@pytest.mark.parametrize("level", ["none", "full"])
async def test_sign_moves_unless_motion_is_reduced(level):
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    app.animation_level = level
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="thinking"))
        await wait_until(pilot, lambda: "thinking" in status_text(app))
        if level == "none":
            assert status_text(app).startswith("● thinking")
        else:
            assert await wait_until(pilot, lambda: status_text(app)[0] in "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
            first = status_text(app)[0]
            assert await wait_until(pilot, lambda: status_text(app)[0] != first)


@pytest.mark.parametrize(("output", "size"), [(999, ""), (1_000, "1.0 kB"), (12_440, "12.4 kB")])
def test_activity_shows_how_much_has_come(output, size):
    script = Script().start().user("Go.")
    action_id = script.begin("execute_bash", command="make")
    state = script.state()
    apply(state, live.ToolOutput(action_id=action_id, text="x" * output))
    assert size_text(state) == size


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (live.CallProgress(tool="str_replace_editor", path=f"{WORKSPACE}/src/a.py", size=12_400), "editing src/a.py"),
        (live.CallProgress(tool="edit_file", path=f"{WORKSPACE}/src/a.py", size=12_400), "editing src/a.py"),
        (
            live.CallProgress(tool="str_replace_editor", path=f"{WORKSPACE}/a.py", command="view", size=12_400),
            "reading a.py",
        ),
        (live.CallProgress(tool="execute_bash", size=12_400), "writing a command"),
        (live.CallProgress(tool="their\x1b[8m_tool", size=12_400), "writing a call of their\\e[8m_tool"),
    ],
    ids=["edit", "edit_file", "view", "command", "hostile"],
)
async def test_call_being_written_shows_verb_object_and_size(call: live.CallProgress, words: str):
    client = FakeClient(Script().start().user("Go.").events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        client.bring(live.EngineState(state="thinking"), live.TextDelta(text="I change it."), call)
        await wait_until(pilot, lambda: f"{words} · 12.4 kB · " in status_text(app))
        client.bring(live.EngineState(state="thinking", detail="rate limited; try 2 of 5 in 9s"))
        await wait_until(pilot, lambda: "rate limited" in status_text(app))
        assert words not in status_text(app)


def test_call_is_forgotten_when_its_response_is_stored():
    script = Script().start().user("Go.")
    state = script.state()
    apply(state, live.CallProgress(tool="execute_bash", size=10))
    assert state.call is not None
    script.answer("Done.")
    apply(state, script.events[-1])
    assert state.call is None


@pytest.mark.parametrize(
    ("lost", "words", "kind"),
    [
        (Disconnected("gone"), "✗ no connection to the agent", "warning"),
        (Disconnected("gone", for_good=True), "✗ the session cannot continue", "error"),
        (Disconnected("The attempt has ended", for_good=True, is_end=True), "the session has ended", "info"),
    ],
)
def test_session_that_was_to_end_is_no_failure(lost: Disconnected, words: str, kind: str):
    state = Script().start().user("Go.").state()
    (notice,) = apply(state, lost).added
    assert (activity_text(state)[0], notice.kind) == (words, kind)
