"""Golden pictures of the Sessions screen."""

from datetime import timedelta

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look, text_on
from tests.tui.sample_session import START, Script
from tests.tui.session_files import answer, ended, keep, touched
from workbench.protocol import events as ev
from workbench.tui.screens.sessions import SessionsScreen

SAID = (
    ("`-3` is read as `3`. Find out why, fix it, and add tests.", "finished", 0.09),
    ("Why does the build take nine minutes on a clean machine?", "", 0.31),
    ("Write a README for people who never used the command line", "limit", None),
    ("Rename `parse` to `read_amount` everywhere", "finished", 0.02),
    ("日本語の見出しを直す", "error", 1.25),
    ("Why does the build take nine minutes on a clean machine?", "asks", 0.02),
)
ASKS = (
    ev.ActionProposed(action_id="a1", response_id="r", call_id="a1", tool="execute_bash"),
    ev.ActionAssessed(action_id="a1", risk="HIGH"),
)


LINES = ((412, 38), (0, 0), (7, 0), (1_204, 1_031), (0, 3), (1, 1))


def changed(number):
    """Return the change of a file by one of the sessions, with the numbers of lines in `LINES`."""
    added, removed = LINES[number]
    before, after = (
        "".join(f"{word} {at}\n" for at in range(count)) for word, count in (("old", removed), ("new", added))
    )
    delta = ev.FileDelta(path="/home/ada/code/file", before=before, after=after)
    return [ev.FilesChanged(files=(delta,), by="person")] if added or removed else []


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for number, (said, end, cost) in enumerate(SAID):
        more = [
            answer(f"I look at it: {said}", cost),
            answer("The tests pass.", cost),
            *changed(number),
            *(ASKS if end == "asks" else [ended(end)] if end else []),
        ]
        directory = f"/home/ada/code/{('calc', 'big-build', 'notes')[number % 3]}"
        keep(f"s{number + 1}", said, *more, at=START - timedelta(hours=9 * number * number), workspace=directory)
    for name, origin, event in (("s1-f1", "s1", 4), ("s1-f2", "s1-f1", 6)):
        fork = {"forked_from": origin, "forked_at": event, "workspace": f"/home/ada/code/calc-{name[-2:]}"}
        keep(name, SAID[0][0], answer("Another way.", 0.03), ended(), at=START - timedelta(hours=1), **fork)
    damaged = keep("s9", "x")
    damaged.write_bytes(b"torn" * 2_000)
    touched(damaged, START - timedelta(days=400))


@in_each_look
@pytest.mark.parametrize("search", ["", "tests pass"], ids=["list", "tests_pass"])
def test_sessions(search, look, picture):
    app = workbench_app(FakeClient(Script().start().user(SAID[0][0]).events))

    async def show(pilot):
        await wait_until(pilot, lambda: app.state.session_id == "s1")
        app.action_sessions(search)
        await wait_until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        await wait_until(pilot, lambda: ("6 found" if search else "· 9 · 1 damaged") in text_on(app))
        await wait_until(pilot, lambda: "searching" not in text_on(app))

    assert picture(app, look, show)
