import stat

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.prompt import Prompt
from workbench.view.prompt.prompt_history import MOST, PromptHistory


def labels(app):
    return [choice.label for choice in app.screen.query_one(Composer)._completer.choices]


def test_sent_texts_are_remembered_once_each(tmp_path):
    path = tmp_path / "state" / "history.jsonl"
    first = PromptHistory(path)
    for text in ("one", "two\nlines", "one", "  "):
        first.remember(text)
    again = PromptHistory(path)
    again.remember("now")
    again.add_older(again.read())
    assert list(again.newest_first) == ["now", "one", "two\nlines"]


def test_history_file_is_private(tmp_path):
    path = tmp_path / "state" / "history.jsonl"
    PromptHistory(path).remember("a secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_long_history_is_shortened_and_a_damaged_line_skipped(tmp_path):
    path = tmp_path / "state" / "history.jsonl"
    path.parent.mkdir(mode=0o700)
    path.write_text("{damaged\n" + "".join(f'"text {number}"\n' for number in range(2 * MOST + 5)))
    texts = PromptHistory(path).read()
    assert len(texts) == MOST
    assert texts[-1] == f"text {2 * MOST + 4}"
    assert len(path.read_text().splitlines()) == MOST
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_history_without_a_writable_file_works_on_this_screen(tmp_path):
    (tmp_path / "file").touch()
    history = PromptHistory(tmp_path / "file" / "history.jsonl")
    history.remember("one")
    assert list(history.newest_first) == ["one"]
    assert history.read() == []


async def test_up_recalls_messages_of_another_session(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text('"from yesterday"\n')
    client = FakeClient(Script().start().user("of this session").events)
    app = workbench_app(client, history=path)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: len(list(prompt.past.newest_first)) == 2)
        seen = []
        for key in ("up", "up", "down", "down"):
            await pilot.press(key)
            seen.append(prompt.text)
        assert seen == ["of this session", "from yesterday", "of this session", ""]


async def test_ctrl_r_finds_by_words_and_never_sends(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text('"fix the parser"\n"write a test of the parser\\nand run it"\n"read the notes"\n')
    client = FakeClient()
    app = workbench_app(client, history=path)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: len(list(prompt.past.newest_first)) == 3)
        await pilot.press("ctrl+r")
        assert await wait_until(
            pilot, lambda: labels(app) == ["read the notes", "write a test of the parser", "fix the parser"]
        )
        await pilot.press(*"parser")
        assert await wait_until(pilot, lambda: labels(app) == ["write a test of the parser", "fix the parser"])
        await wait_until(pilot, lambda: "Enter Insert" in app.screen.query_one(KeyHints).render().plain)
        await pilot.press("ctrl+r", "enter")
        assert await wait_until(pilot, lambda: prompt.text == "fix the parser")
        assert labels(app) == []
        assert client.commands == []
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", "fix the parser")]


@pytest.mark.parametrize("keymap", ["default", "emacs", "vim"])
@pytest.mark.parametrize("typed", ["fix", "nothing like it"])
async def test_escape_restores_the_text_from_before_the_search(tmp_path, keymap, typed):
    path = tmp_path / "history.jsonl"
    path.write_text('"fix the parser, please"\n')
    client = FakeClient()
    app = workbench_app(client, history=path, set={"terminal": {"keymap": keymap}})
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: list(prompt.past.newest_first))
        await pilot.press("ctrl+r", *typed, "escape")
        assert await wait_until(pilot, lambda: prompt.text == "")
        assert labels(app) == []
        await pilot.press(*"please", "left", "ctrl+r", "ctrl+e", *typed, "escape", "X")
        assert await wait_until(pilot, lambda: prompt.text == "pleasXe")
        assert client.commands == []


@pytest.mark.parametrize("typed", ["slow", "SLOW", "slower"])
async def test_enter_in_a_search_never_sends_what_is_typed(tmp_path, typed):
    path = tmp_path / "history.jsonl"
    path.write_text('"slow"\n')
    client = FakeClient()
    app = workbench_app(client, history=path)
    async with app.run_test() as pilot:
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: list(prompt.past.newest_first))
        await pilot.press("ctrl+r", *typed, "enter", "enter" if typed == "slower" else "x")
        assert await wait_until(pilot, lambda: prompt.text == ("slower" if typed == "slower" else "slowx"))
        assert client.commands == []
