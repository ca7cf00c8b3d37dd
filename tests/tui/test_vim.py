"""Vim's keys in the prompt: each has the same effect as in vim; none sends a message, answers a question or is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import STEADY
from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.vim import Vim, rest_in_normal


def typed(keys: str, text: str, at: int) -> tuple[str, int, str]:
    """Return text, cursor and mode after keys in normal mode; `<` is escape."""
    vim = Vim()
    vim.press("escape", None, text, at + 1)
    for key in keys:
        done = vim.press("escape" if key == "<" else key, None if key == "<" else key, text, at)
        if done is None:  # typed in insert mode
            text, at = text[:at] + key + text[at:], at + 1
            continue
        if done.edit is not None:
            start, end, put = done.edit
            text = text[:start] + put + text[end:]
        at = at if done.at is None else done.at
        at = rest_in_normal(text, at) if vim.mode == "normal" else at
    return text, at, vim.mode


CASES = [
    # keys, text with | for the cursor, the same afterwards
    ("h", "a|b", "|ab"),
    ("hhh", "a|b", "|ab"),
    ("l", "|ab", "a|b"),
    ("lll", "|ab", "a|b"),
    ("0", "one t|wo", "|one two"),
    ("^", "  one t|wo", "  |one two"),
    ("$", "|one\ntwo", "on|e\ntwo"),
    ("w", "|one two", "one |two"),
    ("w", "|one(two)", "one|(two)"),
    ("2w", "|one two three", "one two |three"),
    ("w", "one |two", "one tw|o"),
    ("b", "one tw|o", "one |two"),
    ("bb", "one |two", "|one two"),
    ("e", "|one two", "on|e two"),
    ("ee", "|one two", "one tw|o"),
    ("gg", "one\nt|wo", "|one\ntwo"),
    ("G", "|one\ntwo", "one\n|two"),
    ("x", "o|ne", "o|e"),
    ("3x", "|one two", "| two"),
    ("x", "on|e", "o|n"),
    ("X", "on|e", "o|e"),
    ("dw", "|one two", "|two"),
    ("dw", "one |two\nthree", "one| \nthree"),
    ("2dw", "|one two three", "|three"),
    ("de", "|one two", "| two"),
    ("d$", "one |two\nx", "one| \nx"),
    ("D", "|one\ntwo", "|\ntwo"),
    ("d0", "one |two", "|two"),
    ("db", "one |two", "|two"),
    ("dd", "one\nt|wo\nthree", "one\n|three"),
    ("dd", "one\nt|wo", "|one"),
    ("dd", "o|ne", "|"),
    ("2dd", "|one\ntwo\nthree", "|three"),
    ("dG", "one\nt|wo\nthree", "|one"),
    ("dgg", "one\nt|wo\nthree", "|three"),
    ("cwnew<", "|one two", "ne|w two"),
    ("ccnew<", "one\nt|wo", "one\nne|w"),
    ("Cnew<", "one |two", "one ne|w"),
    ("ix<", "o|ne", "o|xne"),
    ("ax<", "o|ne", "on|xe"),
    ("Ix<", "  o|ne", "  |xone"),
    ("Ax<", "o|ne\ntwo", "one|x\ntwo"),
    ("ox<", "o|ne\ntwo", "one\n|x\ntwo"),
    ("Ox<", "one\nt|wo", "one\n|x\ntwo"),
    ("rx", "o|ne", "o|xe"),
    ("ywP", "|one two", "one| one two"),
    ("yyp", "o|ne\ntwo", "one\n|one\ntwo"),
    ("ddp", "|one\ntwo", "two\n|one"),
    ("yyP", "one\nt|wo", "one\n|two\ntwo"),
    ("xp", "|ab", "b|a"),
    ("d<x", "o|ne", "o|e"),
    ("dqx", "o|ne", "o|e"),
    ("Q?", "o|ne", "o|ne"),
    ("x", "|", "|"),
    ("dw", "|", "|"),
]


@pytest.mark.parametrize(("keys", "before", "after"), CASES)
def test_keys_behave_as_in_vim(keys, before, after):
    text, at, _ = typed(keys, before.replace("|", ""), before.index("|"))
    assert f"{text[:at]}|{text[at:]}" == after


@STEADY
@given(
    st.text("ab \n(.", max_size=20), st.integers(0, 20), st.lists(st.sampled_from("hlwbe0^$gGxXDCdcyiaIAoOpPrSs23<"))
)
def test_no_keys_move_the_cursor_out_of_the_text(text, at, keys):
    after, place, mode = typed("".join(keys), text, rest_in_normal(text, at))
    assert 0 <= place <= len(after)
    assert mode in ("normal", "insert")


async def test_vim_keys_work_if_enabled_and_the_mode_is_shown():
    client = FakeClient()
    app = workbench_app(client, set={"terminal": {"vim": True}})
    async with app.run_test(size=(100, 30)) as pilot:
        prompt = app.screen.query_one(Prompt)
        assert str(prompt.border_title) == "INSERT"
        await pilot.press(*"one two", "escape", *"bcw", *"2", "escape", *"yypk0x")
        assert await wait_until(pilot, lambda: str(prompt.border_title) == "NORMAL")
        assert prompt.text == "ne 2\none 2"
        await pilot.press("u", "j", *"dd", "escape", "/")
        assert await wait_until(pilot, lambda: prompt.text == "one 2")
        assert client.commands == []
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands == [("send", "one 2")])
        assert str(prompt.border_title) == "INSERT"
        await pilot.press(*"/mo", "escape", *"de", "escape", "k")
        assert await wait_until(pilot, lambda: prompt.text == "one 2")
        await pilot.press("j")
        assert await wait_until(pilot, lambda: prompt.text == "/mode")
