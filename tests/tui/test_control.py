"""A screen that does not control the session: what it shows, and that none of its keys answers anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.always import AlwaysScreen
from workbench.tui.screens.approval import ApprovalScreen
from workbench.view.follower import start_over
from workbench.view.state import SessionState

QUIET = "workbench.view.approval.quiet_time.QUIET"
OTHERS = live.ControlState(has_control=False, others=1)
OWN = live.ControlState(has_control=True, others=1)


def asking() -> Script:
    script = Script().start().user("go on").answer("")
    action_id = script.propose("execute_bash", "MEDIUM", command="mkdir one")
    always = (ev.AlwaysChoice(label="mkdir one", rules=("allow $ mkdir one",)),)
    script.add(ev.ActionAssessed, action_id=action_id, risk="MEDIUM", fingerprint="f", always_choices=always)
    return script


async def armed(pilot: Any) -> None:
    await wait_until(pilot, lambda: pilot.app.screen.quiet.is_armed)


async def test_no_key_approves_before_the_screen_is_in_control_and_quiet(monkeypatch: pytest.MonkeyPatch):
    client = FakeClient(asking().events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        client.bring(OTHERS)
        await wait_until(pilot, lambda: not app.state.has_control)
        await armed(pilot)
        await pilot.press("y")
        assert isinstance(app.screen, ApprovalScreen)
        monkeypatch.setattr(QUIET, 600.0)  # however slowly the next key is pressed, it is too early
        client.bring(OWN)
        await wait_until(pilot, lambda: app.state.has_control)
        await pilot.press("y")
        assert client.commands == [], "a key that was meant for a read-only screen"
        monkeypatch.setattr(QUIET, 0.1)
        await armed(pilot)
        await pilot.press("y")
        await wait_until(pilot, lambda: [command[0] for command in client.commands] == ["decide"])


async def test_a_screen_above_the_question_has_its_quiet_time_again_too(monkeypatch: pytest.MonkeyPatch):
    client = FakeClient(asking().events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        await armed(pilot)
        await pilot.press("a")
        await wait_until(pilot, lambda: isinstance(app.screen, AlwaysScreen))
        await armed(pilot)
        client.bring(OTHERS)
        await wait_until(pilot, lambda: not app.state.has_control)
        monkeypatch.setattr(QUIET, 600.0)  # however slowly the next key is pressed, it is too early
        client.bring(OWN)
        await wait_until(pilot, lambda: app.state.has_control)
        await pilot.press("y")
        assert client.commands == []


async def test_request_for_control_reaches_the_engine():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        client.bring(OTHERS)
        await wait_until(pilot, lambda: not app.state.has_control)
        await pilot.press(*"/pen", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("request_control",)]


def test_a_rewind_does_not_change_who_is_in_control():
    state = SessionState(has_control=False, others=1)
    start_over(state, SessionState())
    assert (state.has_control, state.others) == (False, 1)
