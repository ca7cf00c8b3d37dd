"""Keys typed in one burst after the key that opens a screen go to that screen, in order."""

from itertools import count

import pytest
from textual import events
from textual.widgets import Input

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.approval_app import command
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import finished
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.help import HelpScreen
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.screens.settings import SettingsScreen
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side_panels import FilterLine
from workbench.tui.widgets.timeline import Timeline
from workbench.view.approval.questions import Asked


def burst(app, *keys: str) -> None:
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def test_keys_after_the_palette_key_are_typed_into_it():
    app = workbench_app(FakeClient())
    async with app.run_test(size=(100, 30)) as pilot:
        burst(app, "a", "ctrl+p", *"the")
        app.post_message(events.Paste("me"))
        burst(app, "x", "backspace")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await wait_until(pilot, lambda: app.screen.query_one(Input).value == "theme")
        burst(app, "escape", "f1", "escape")  # help opens while the palette closes
        await wait_until(pilot, lambda: app.early_input._held == () and not app.screen.is_modal)
        burst(app, "b")
        prompt = app.screen.query_one(Prompt)
        assert await wait_until(pilot, lambda: prompt.text == "ab")


async def test_keys_pressed_before_the_first_screen_are_kept(monkeypatch):
    app = workbench_app(FakeClient(finished()))
    make_screen = app.get_default_screen

    def late_screen():
        burst(app, "h", "f2", "f6", "ctrl+end", "escape", "escape", "i")
        return make_screen()

    monkeypatch.setattr(app, "get_default_screen", late_screen)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.early_input._held == () and app.screen.query_one(Prompt).text == "hi")
        assert app.screen.has_class("-zoomed")


async def test_keys_reach_the_prompt_even_if_the_window_starts_without_focus():
    app = workbench_app(FakeClient())
    app.set_reactive(type(app).app_focus, False)
    async with app.run_test(size=(100, 30)) as pilot:
        assert app.screen.focused is None
        burst(app, "h", "i")
        assert await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "hi")


async def test_command_chosen_in_one_burst_gets_the_keys_that_follow():
    app = workbench_app(FakeClient())
    async with app.run_test(size=(100, 30)) as pilot:
        burst(app, "ctrl+p", *"help", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert app.screen_stack[0].query_one(Prompt).text == ""


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["wide", "narrow"])
async def test_keys_after_a_panel_key_go_to_the_panel(size):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) > 3)
        prompt, timeline = app.screen.query_one(Prompt), app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: timeline.virtual_size.height > 3)
        burst(app, "h", "f2", "home", "down")
        await wait_until(pilot, lambda: timeline.has_focus)
        await wait_until(pilot, lambda: prompt.text == "h")
        assert timeline.cursor == 1
        burst(app, "f2" if size[0] < 100 else "escape")
        await wait_until(pilot, lambda: prompt.has_focus)


@pytest.mark.parametrize("keys", [("f2",), ("f3",), ("f4",), ("tab",), ("tab", "k")])
async def test_text_typed_or_pasted_into_a_panel_reaches_the_prompt_whole(keys):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) > 3)
        prompt = app.screen.query_one(Prompt)
        burst(app, *keys, *"nothing, jdg. ")
        await wait_until(pilot, lambda: prompt.text == "nothing, jdg. ")
        burst(app, *keys)
        await wait_until(pilot, lambda: not prompt.has_focus)
        app.post_message(events.Paste("pasted\nlines"))
        burst(app, *" j, k")
        await wait_until(pilot, lambda: prompt.text == "nothing, jdg. pasted\nlines j, k")
        assert prompt.has_focus


async def test_letters_after_escape_and_a_filter_key_go_where_those_lead():
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: len(app.state.actions) > 3)
        prompt, timeline = app.screen.query_one(Prompt), app.screen.query_one(Timeline)
        burst(app, "f2", "escape", *"do j and d")
        await wait_until(pilot, lambda: prompt.text == "do j and d")
        burst(app, "f2", "slash", *"dug", "enter", "home", "escape", "escape", *", k")
        await wait_until(pilot, lambda: prompt.text == "do j and d, k")
        assert app.screen.query_one(FilterLine).value == ""
        assert len(timeline.rows.items) > 3


async def test_letters_after_the_settings_filter_key_are_typed_into_the_filter(tmp_path):
    where = Locations.from_environment({"HOME": str(tmp_path)})
    app = workbench_app(FakeClient(), settings_model=SettingsModel(where, Settings(), {}))
    async with app.run_test(size=(120, 40)) as pilot:
        burst(app, *"/settings", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen._rows)
        burst(app, "slash", *"u usual")
        line = app.screen.query_one(Input)
        await wait_until(pilot, lambda: line.value == "u usual")
        burst(app, "escape", "escape", *"hu")
        prompt = app.screen_stack[0].query_one(Prompt)
        assert await wait_until(pilot, lambda: len(app.screen_stack) == 1 and prompt.text == "hu")


async def test_cursor_keys_keep_their_order_among_letters_in_every_text_field():
    app, ticks = workbench_app(FakeClient()), count(0, 60)
    async with app.run_test(size=(100, 30)) as pilot:
        burst(app, "ctrl+p", *"ab", "left", "left", *"ZZ", "end", "c", "backspace", "d")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await wait_until(pilot, lambda: app.screen.query_one(Input).value == "ZZabd")
        burst(app, "escape")
        await wait_until(pilot, lambda: not app.screen.is_modal)
        app.push_screen(ApprovalScreen(Asked(command("touch abc"), 1, 1), clock=lambda: next(ticks)))
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen) and app.screen.quiet.is_armed)
        question = app.screen
        assert isinstance(question, ApprovalScreen)
        burst(app, "e", "home", *"ZZ", "end", "Q", "left", "left", "x", "ctrl+s")
        await wait_until(pilot, lambda: question.proposal.arguments == {"command": "ZZtouch abxcQ"})
        burst(app, "tab", "n", "home", *"yes", "end", "o")
        await wait_until(pilot, lambda: question.box.is_writing)
        assert await wait_until(pilot, lambda: app.screen.query_one("#note", Input).value == "yesno")
