"""What is typed or pasted while a panel has the focus reaches the prompt, unless it is a key that the panel names."""

import string
from copy import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events
from textual.keys import _character_to_key
from textual.widget import Widget

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import finished
from tests.tui.sample_session import STEADY, working_session
from tests.tui.waiting import until_processed
from workbench.tui.key_names import key_groups
from workbench.tui.screens.help import HelpScreen
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.timeline import Timeline

PANELS = {
    "the timeline": ("f2",),
    "the plan": ("f3",),
    "the changes": ("f4",),
    "the last item of the conversation": ("tab",),
    "an earlier item of the conversation": ("tab", "k", "k", "k"),
}
CHARACTERS = [*string.ascii_letters, *string.digits, *string.punctuation, " ", "é", "漢", "🙂"]
PASTES = ["j", "d g /", "?\nq\ty\n", "/quit", "🙂 漢"]
in_each_panel = pytest.mark.parametrize("keys", PANELS.values(), ids=PANELS)


def _key(character: str) -> events.Key:
    return events.Key(_character_to_key(character), character)


async def focused_panel(pilot: Any, keys: tuple[str, ...]) -> Widget:
    """Focus the panel by its keys, and return it."""
    await wait_until(pilot, lambda: len(pilot.app.state.actions) > 3)
    await pilot.press(*keys)
    await wait_until(pilot, lambda: not pilot.app.screen.query_one(Prompt).has_focus)
    return pilot.app.screen.focused


def named_keys(app: Any) -> set[str]:
    """Return the keys that the last line names, or the help on keys that it names."""
    hints = app.screen.query_one(KeyHints).render().plain
    assert "F1 Help" in hints
    in_help = [key for keys, _ in key_groups(app.screen)[0].rows for key in keys.split()]
    return {hint.partition(" ")[0] for hint in hints.split("  ")} | set(in_help)


@in_each_panel
async def test_every_character_is_a_named_key_of_the_focused_panel_or_reaches_the_prompt(keys):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        panel = await focused_panel(pilot, keys)
        main, prompt, named = app.screen, app.screen.query_one(Prompt), named_keys(app)
        assert len(named & set(CHARACTERS)) < 12
        with app.batch_update():  # nothing is painted for each of the hundred characters
            for character in CHARACTERS:
                if ("Space" if character == " " else character) in named:
                    continue
                prompt.text = ""
                app.set_focus(panel)
                app.post_message(_key(character))
                if character == "?":
                    await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
                    app.pop_screen()
                    continue
                await wait_until(pilot, lambda: prompt.text, f"{character!r} to reach the prompt")
                assert (app.screen, prompt.text) == (main, character)


@in_each_panel
async def test_every_paste_reaches_the_prompt_whole(keys):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        panel, prompt = await focused_panel(pilot, keys), app.screen.query_one(Prompt)
        for text in PASTES:
            prompt.text = ""
            app.set_focus(panel)
            app.post_message(events.Paste(text))
            await wait_until(pilot, lambda: prompt.text, f"{text!r} to reach the prompt")
            assert prompt.text == text
            assert prompt.has_focus


TYPED = st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")).map(_key)
PASTED = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).map(events.Paste)
INPUTS = st.lists(st.tuples(st.sampled_from([*PANELS.values()]), TYPED | PASTED), min_size=8, max_size=10)


@settings(STEADY, max_examples=3)
@given(INPUTS)
async def test_any_key_or_paste_in_any_panel_is_a_named_key_or_as_if_it_came_in_the_prompt(inputs):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        main, prompt = app.screen, app.screen.query_one(Prompt)
        for keys, event in inputs:
            panel = await focused_panel(pilot, keys)
            if isinstance(event, events.Key) and {event.character, event.name} & (named_keys(app) | {"?", "space"}):
                continue
            texts = []
            for place in (panel, prompt):
                prompt.text = ""
                app.set_focus(place)
                app.post_message(copy(event))
                await wait_until(pilot, lambda: prompt.has_focus)
                await until_processed(pilot)
                texts.append(prompt.text)
            assert app.screen is main
            assert texts[0] == texts[1] != ""


async def test_diff_is_offered_only_on_a_row_that_has_one():
    app = workbench_app(FakeClient(working_session().events[:38]))
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        timeline, hints = app.screen.query_one(Timeline), app.screen.query_one(KeyHints)
        await pilot.press("f2", "home")
        await wait_until(pilot, lambda: "Enter Open" in hints.render().plain)
        assert "d Diff" not in hints.render().plain
        edit = next(at for at, item in enumerate(timeline.rows.items) if getattr(item, "files", ()))
        await pilot.press(*["down"] * edit)
        await wait_until(pilot, lambda: "d Diff" in hints.render().plain)
        assert timeline.cursor == edit
