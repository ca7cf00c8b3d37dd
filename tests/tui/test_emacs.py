"""The prompt with the keys of Emacs, and the setting that chooses a keymap."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.config.settings import read_terminal
from workbench.errors import UsageError
from workbench.tui.screens.main.search import SessionSearch
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.widgets.emacs_prompt import EmacsPrompt
from workbench.tui.widgets.prompt import Prompt

CASES = [
    # keys, text with | for the cursor, the same afterwards
    ("ctrl+a", "one |two", "|one two"),
    ("ctrl+e", "one |two", "one two|"),
    ("ctrl+b", "one |two", "one| two"),
    ("ctrl+f", "one |two", "one t|wo"),
    ("alt+b", "one two|", "one |two"),
    ("alt+f", "|one two", "one| two"),
    ("ctrl+d", "one |two", "one |wo"),
    ("ctrl+k", "one |two\nthree", "one |\nthree"),
    ("ctrl+k ctrl+k", "one |two\nthree", "one |three"),
    ("ctrl+u", "one |two", "|two"),
    ("ctrl+w", "one two|", "one |"),
    ("alt+d", "|one two", "| two"),
    ("ctrl+y", "one|", "one|"),
    ("ctrl+k ctrl+a ctrl+y", "one |two", "two|one "),
    ("ctrl+w ctrl+y ctrl+y", "one two|", "one twotwo|"),
    ("ctrl+t", "o|ne", "no|e"),
    ("ctrl+t", "one|", "oen|"),
    ("ctrl+t", "|one", "|one"),
    ("ctrl+t", "|", "|"),
    ("ctrl+p", "one\ntw|o", "on|e\ntwo"),
    ("ctrl+n", "on|e\ntwo", "one\ntw|o"),
]


async def test_keys_act_as_in_readline():
    app = workbench_app(FakeClient(Script().start().events), set={"terminal": {"keymap": "emacs"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.keymap.get("palette") == "alt+x")
        prompt = app.screen.query_one(Prompt)
        assert isinstance(prompt, EmacsPrompt)
        for keys, before, after in CASES:
            prompt._killed = ""
            prompt.load_text(before.replace("|", ""))
            head = before.partition("|")[0]
            prompt.move_cursor((head.count("\n"), len(head.rpartition("\n")[2])))
            await pilot.press(*keys.split())
            head = after.partition("|")[0]
            at = (head.count("\n"), len(head.rpartition("\n")[2]))
            assert (keys, prompt.text, prompt.cursor_location) == (keys, after.replace("|", ""), at)


async def test_palette_and_search_have_other_keys_and_the_prompt_wins():
    app = workbench_app(FakeClient(Script().start().events), set={"terminal": {"keymap": "emacs"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.keymap.get("palette") == "alt+x")
        await pilot.press("ctrl+p", "ctrl+f")
        assert len(app.screen_stack) == 1
        assert not app.screen.query(SessionSearch)
        await pilot.press("alt+x")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: bool(app.screen.query(SessionSearch)))


async def test_the_users_own_keys_replace_those_of_the_keymap():
    chosen = {"terminal": {"keymap": "emacs"}, "keys": {"palette": "alt+p", "find": "no such key"}}
    app = workbench_app(FakeClient(Script().start().events), set=chosen)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.keymap.get("find") == "ctrl+s")
        assert app.keymap["palette"] == "alt+p"
        assert any("find: there is no key" in line for line in app.problems.lines)


@pytest.mark.parametrize(
    ("values", "keymap"),
    [
        ({}, "default"),
        ({"vim": True}, "vim"),
        ({"vim": False}, "default"),
        ({"keymap": "emacs"}, "emacs"),
        ({"vim": True, "keymap": "emacs"}, "emacs"),
    ],
)
def test_the_older_setting_is_still_read(values, keymap):
    assert read_terminal(values).keymap == keymap


@pytest.mark.parametrize("values", [{"keymap": "emacz"}, {"vim": "maybe"}])
def test_an_unknown_keymap_is_reported(values):
    with pytest.raises(UsageError, match=r"terminal\."):
        read_terminal(values)
