"""The mode key and the modes by name: which one is in force, from what time on, and which one must be confirmed."""

import asyncio
import time

import pytest
from textual import events

from tests.tui.app_driver import type_while_it_stands_still, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from tests.tui.test_main_screen import text_of
from workbench.tui.screens.confirmations import NeverAskScreen
from workbench.tui.screens.mode_switch import DEBOUNCE_SECONDS
from workbench.tui.settings.apply import apply_settings
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.view.approval.never_ask import NeverAskQuestion


async def test_only_the_last_of_several_presses_takes_effect_and_both_modes_are_shown():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*["shift+tab"] * 4)
        assert "Ask (medium+) → Ask every time?" in text_of(app, StatusLine)
        assert client.commands == []
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("mode", "ask")]
        assert "→" not in text_of(app, StatusLine)


async def test_key_never_selects_the_never_ask_mode():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        seen = []
        for _ in range(9):
            await pilot.press("shift+tab")
            seen.append(app.state.next_mode)
        assert seen[:6] == ["edits", "high", "plan", "ask", "medium", "edits"]
        assert "never" not in seen
        app.state.mode, app.state.next_mode = "never", ""
        await pilot.press("shift+tab")
        assert app.state.next_mode == "plan"


async def test_full_cycle_back_to_the_current_mode_changes_nothing():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*["shift+tab"] * 5)
        await asyncio.sleep(DEBOUNCE_SECONDS + 0.3)
        await wait_until(pilot, lambda: not app.state.next_mode)
        assert client.commands == []


async def test_mode_chosen_by_name_replaces_a_pending_one():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press("shift+tab")
        await app.run_action("mode('plan')", app.screen)
        await asyncio.sleep(DEBOUNCE_SECONDS + 0.3)
        await pilot.pause()
        assert client.commands == [("mode", "plan")]


async def by_command(app, pilot):
    await pilot.press(*"/mode", "space", *"never", "enter")


async def by_palette(app, pilot):
    await app.run_action("mode('never')", app.screen)


async def by_settings(app, pilot):
    apply_settings(app, type(app.settings)(mode="never"))


@pytest.mark.parametrize("way", [by_command, by_palette, by_settings])
@pytest.mark.parametrize("key", ["y", "n", "escape"])
async def test_never_ask_mode_is_confirmed_however_it_was_chosen(way, key):
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await way(app, pilot)
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen))
        assert client.commands == []
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen) and app.screen.quiet.is_armed)
        await pilot.press(key)
        await wait_until(pilot, lambda: not isinstance(app.screen, NeverAskScreen))
        assert client.commands == ([("mode", "never", "confirmed")] if key == "y" else [])


async def test_early_keys_and_words_do_not_confirm_it(monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3.0)  # a busy machine presses keys slowly
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"/mode", "space", *"never", "enter", "y", "n", "y", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen))
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen) and app.screen.quiet.is_armed)
        await pilot.press("h", "e", "y", "enter")
        await pilot.pause()
        assert isinstance(app.screen, NeverAskScreen)
        assert client.commands == []
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, NeverAskScreen))
        assert app.screen.query_one(Prompt).text == "ynyhey"
        assert client.commands == []


@pytest.mark.parametrize("confirmed", [True, False])
def test_session_in_never_ask_mode_starts_after_the_confirmation(confirmed):
    question = NeverAskQuestion()
    question.answer(confirmed)
    assert question.wait() is confirmed


async def test_key_pressed_during_a_stall_cancels_the_mode_before_it():
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press("shift+tab")
        type_while_it_stands_still(app, "shift+tab", seconds=DEBOUNCE_SECONDS + 0.6)
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("mode", "high")]


async def test_key_read_after_a_stall_confirms_nothing(monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 1.5)
    client = FakeClient(Script().start().events)
    app = workbench_app(client)
    async with app.run_test(size=(140, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await app.run_action("mode('never')", app.screen)
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen) and app.screen.quiet.has_begun)
        time.sleep(1.8)  # the whole process is blocked, so nothing reads the terminal
        app.post_message(events.Key("y", "y"))
        await pilot.pause(0.3)
        assert isinstance(app.screen, NeverAskScreen)
        assert client.commands == []
        # The keys are shown by the tick that saw the quiet time end; from then on a stall takes nothing back.
        await wait_until(pilot, lambda: "y Don't ask" in app.screen.query_one("#keys").render().plain)
        time.sleep(1.0)
        app.post_message(events.Key("y", "y"))
        await wait_until(pilot, lambda: client.commands == [("mode", "never", "confirmed")])
