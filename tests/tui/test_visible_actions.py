"""How much of the agent's work is on one screen, without scrolling."""

from __future__ import annotations

import re

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev

BEFORE_THE_SECOND_CUT = {(80, 24): 5, (120, 40): 24, (200, 60): 36}
"""The number of named actions on the screen, by its size, when every action still had a card between blank lines."""


def busy_session(rounds: int = 12) -> Script:
    """Return a session of rounds in which the agent explains, reads three files, runs a command and edits a file.

    Each action has a name of its own, which its line on the screen shows.
    """
    script = Script().start().user("Fix all of it.")
    for number in range(10, 10 + rounds):
        tasks = [{"id": "1", "title": f"Round {number}", "status": "in_progress"}]
        script.answer("This part reads its table twice, so I change that next.")
        script.run("task_tracker", command="plan", task_list=tasks)
        for part in "abc":
            path = f"{WORKSPACE}/r{number}{part}.py"
            script.run("str_replace_editor", "text", command="view", path=path)
        script.run("execute_bash", "one\ntwo\nok", command=f"make c{number}", _exit_code=0, _seconds=0.4)
        delta = ev.FileDelta(path=f"{WORKSPACE}/e{number}.py", before="a\nb\nc\n", after="a\nB\nc\n")
        script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", path=delta.path, _files=(delta,))
    return script


@pytest.mark.parametrize("size", BEFORE_THE_SECOND_CUT, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_screen_shows_half_as_many_actions_again(size: tuple[int, int]):
    script = busy_session()
    last = f"e{9 + 12}.py"
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: len(re.findall(last, text_on(app))) >= 1)
        names = set(re.findall(r"\b(?:r\d\d[abc]|c\d\d|e\d\d)\b", text_on(app)))
        assert len(names) >= 1.5 * BEFORE_THE_SECOND_CUT[size], sorted(names)


async def test_prose_has_at_least_68_columns_at_120():
    text = " ".join(["word"] * 13) + " end"  # a text of 68 characters
    script = Script().start().user("Go.").answer(text)
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 40)) as pilot:
        assert len(text) == 68
        assert await wait_until(pilot, lambda: text in text_on(app))
