"""The question about a plan: when it opens, which key runs the plan in which mode, and which keys never approve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from textual import events

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.plan_approval import PlanScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.approval.plan import RUN_PLAN, plan_choices, plan_ready
from workbench.view.state import SessionState

PLAN = "I would change `gross` to raise ValueError, and add a test."
RUN = ("send", RUN_PLAN)


def planned(text: str = PLAN, *, modes: Sequence[str] = ("plan",), reason: str = "waiting") -> Script:
    script = Script().start()
    for mode in modes:
        script.add(ev.SettingsChanged, mode=mode)
    script.user("Plan the fix.").answer(text)
    script.add(ev.RunEnded, reason=reason)
    return script


def changed(script: Script, *modes: str) -> Script:
    for mode in modes:
        script.add(ev.SettingsChanged, mode=mode)
    return script


def late(script: Script) -> list[Any]:
    """Return the last event of a script, and that the engine is idle; they arrive while the screen is open."""
    return [script.events[-1], live.EngineState(state="idle")]


@pytest.mark.parametrize(
    ("script", "is_ready"),
    [
        (planned(), True),
        (planned(reason="finished"), True),
        (planned(reason="interrupted"), False),
        (planned(reason="error"), False),
        (planned("Which file do you mean?"), False),
        (planned(modes=["plan", "medium"]), False),
        (planned(modes=[]), False),
        (planned().user("No, smaller."), False),
        (changed(planned(modes=[]), "plan"), False),
        (changed(planned(), "medium", "plan"), True),
    ],
    ids=["waiting", "finished", "stopped", "failed", "question", "left", "other mode", "answered", "later", "back"],
)
def test_plan_is_ready_when_a_run_in_plan_mode_has_ended_with_a_message(script: Script, is_ready: bool):
    assert bool(plan_ready(script.state())) is is_ready


@pytest.mark.parametrize(
    ("modes", "keys"),
    [
        (["plan"], {"y": "medium", "e": "edits"}),
        (["ask", "plan"], {"y": "ask", "e": "edits", "m": "medium"}),
        (["edits", "plan"], {"y": "edits", "m": "medium"}),
        (["high", "plan"], {"y": "high", "e": "edits", "m": "medium"}),
        (["never", "plan"], {"y": "medium", "e": "edits"}),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_y_is_the_mode_before_but_never_the_one_that_does_not_ask(modes: list[str], keys: dict[str, str]):
    assert {choice.key: choice.mode for choice in plan_choices(planned(modes=modes).state())} == keys


def test_session_started_in_plan_mode_runs_the_plan_in_the_default_mode():
    assert [choice.mode for choice in plan_choices(SessionState(mode="plan"))] == ["medium", "edits"]


async def opened(pilot, app, client: FakeClient, script: Script) -> None:
    await wait_until(pilot, lambda: app.state.session_id)
    client.bring(*late(script))
    await wait_until(pilot, lambda: isinstance(app.screen, PlanScreen))


def is_armed(app) -> bool:
    return isinstance(app.screen, PlanScreen) and app.screen.quiet.is_armed


@pytest.mark.parametrize(("key", "mode"), [("y", "high"), ("e", "edits"), ("m", "medium")])
async def test_one_key_approves_the_plan_and_chooses_the_mode(key: str, mode: str):
    script = planned(modes=["high", "plan"])
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        await pilot.press(key)
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        assert client.commands == [("mode", mode), RUN]


@pytest.mark.parametrize("key", ["alt+y", "alt+e", "alt+n"])
async def test_key_pressed_with_alt_neither_answers_nor_is_text(key: str):
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        app.post_message(events.Key(key, key[-1]))  # as a key from a terminal, with the character of its letter
        await pilot.press("f12")
        await pilot.pause()
        assert isinstance(app.screen, PlanScreen)
        assert app.screen_stack[0].query_one(Prompt).text == ""
        assert client.commands == []


@pytest.mark.parametrize("key", ["n", "escape"])
async def test_no_and_escape_keep_planning_and_f8_asks_again(key: str):
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        await pilot.press(key)
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        await pilot.press("f8")
        await wait_until(pilot, lambda: is_armed(app))
        assert client.commands == []
        await pilot.press("y")
        await wait_until(pilot, lambda: client.commands == [("mode", "medium"), RUN])


@pytest.mark.parametrize("words", ["yes but", "every test too", "make it smaller", "no, not that", "also the docs"])
async def test_words_typed_ahead_go_to_the_prompt_and_approve_nothing(monkeypatch, words: str):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3.0)  # a busy machine presses keys slowly
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        await pilot.press(*("space" if sign == " " else "comma" if sign == "," else sign for sign in words))
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        assert app.screen.query_one(Prompt).text == words
        assert client.commands == []


async def test_enter_and_a_paste_approve_nothing():
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        await pilot.press("enter", "shift+tab", "tab")
        await pilot.pause()
        assert isinstance(app.screen, PlanScreen)
        app.screen.post_message(events.Paste("y"))
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        assert app.screen.query_one(Prompt).text == "y"
        assert client.commands == []


async def test_plan_of_a_loaded_session_is_asked_about_only_on_request():
    client = FakeClient(planned().events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: app.state.work == "idle")
        await pilot.pause()
        assert not isinstance(app.screen, PlanScreen)
        await pilot.press("f8")
        await wait_until(pilot, lambda: isinstance(app.screen, PlanScreen))


async def test_text_in_the_prompt_keeps_it_closed():
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"and")
        client.bring(*late(script))
        await wait_until(pilot, lambda: app.state.ended == "waiting")
        await pilot.pause()
        assert not isinstance(app.screen, PlanScreen)
        assert app.screen.query_one(Prompt).text == "and"


async def test_plan_that_is_no_longer_current_closes_the_question():
    script = planned()
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        script.user("Rather not.")
        client.bring(script.events[-1])
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        assert client.commands == []


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_plan_question_is_docked_with_its_keys_in_the_last_line(size: tuple[int, int]):
    script = planned("\n\n".join(f"Step {number}." for number in range(40)))
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        await wait_until(pilot, lambda: "Step 39." in text_on(app))
        keys = app.screen.query_one("#keys")
        assert (keys.region.height, keys.region.bottom) == (1, size[1])
        edits = "e Accept edits" if size[0] == 80 else "e Approve, Accept edits"
        line = f"y Approve, Ask (medium+)   {edits}   n Keep planning   Esc Not now"
        await wait_until(pilot, lambda: keys.render().plain == line)


async def test_narrow_plan_question_names_every_mode_in_full():
    script = planned(modes=["ask", "plan"])
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        line = "y Approve, Ask every time   e Accept edits   m Ask (medium+)   Esc Not now"
        await wait_until(pilot, lambda: app.screen.query_one("#keys").render().plain == line)
        assert "e Approve" not in text_on(app)


async def test_f8_in_the_diff_viewer_goes_back_to_the_plan_and_asks():
    script = Script().start().user("Fix the sign.")
    delta = ev.FileDelta(path="/home/ada/code/calc/calc.py", before="x = 1\n", after="x = -1\n")
    script.run("str_replace_editor", "edited", "MEDIUM", command="create", path=delta.path, _files=(delta,))
    script.add(ev.RunEnded, reason="finished")
    script.add(ev.SettingsChanged, mode="plan")
    script.user("Plan the rest.").answer(PLAN)
    script.add(ev.RunEnded, reason="waiting")
    client = FakeClient(script.events[:-1])
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, app, client, script)
        await wait_until(pilot, lambda: is_armed(app))
        await pilot.press("n")
        await wait_until(pilot, lambda: not isinstance(app.screen, PlanScreen))
        await pilot.press("f5")
        await wait_until(pilot, lambda: "The plan needs approval" in text_on(app))
        await pilot.press("f8")
        await wait_until(pilot, lambda: is_armed(app))
        assert len(app.screen_stack) == 2
        await pilot.press("y")
        await wait_until(pilot, lambda: client.commands == [("mode", "medium"), RUN])
