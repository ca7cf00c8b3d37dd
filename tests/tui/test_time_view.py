"""The time view: the screen as it was at any event, read-only; what happens now is neither lost nor in the way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import AFTER, BEFORE, WORKSPACE, Script
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.session.workspace.repository import SnapshotRepository
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.pager import ActionPage, PagerScreen
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.screens.rewind import RewindScreen
from workbench.tui.screens.time_view import TimeScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.timeline import Timeline
from workbench.view.rewind import CheckpointRow

FILE = f"{WORKSPACE}/src/calc.py"
PLAN = [{"id": "1", "title": "Find the sign", "status": "in_progress"}]


def two_turns() -> Script:
    script = Script().start().user("fix the parser").answer("I look.")
    script.run("task_tracker", command="plan", task_list=PLAN)
    delta = ev.FileDelta(path=FILE, before=BEFORE, after=AFTER)
    script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", path=FILE, _files=(delta,))
    script.answer("The sign is kept.")
    script.add(ev.RunEnded, reason="finished")
    script.user("now the docs").answer("Documented.")
    script.run("task_tracker", command="plan", task_list=[{**PLAN[0], "status": "done"}])
    script.add(ev.RunEnded, reason="finished")
    return script


def stored(events: list[ev.Event]) -> Path:
    """Write the session file that the time view reads."""
    path = session_path(Locations.from_environment(), "s1")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with Store.create(path) as store:
        store.append(*events)
    return path


def seq_of(events: list[ev.Event], kind: type[Any], number: int = 0) -> int:
    return [event.seq for event in events if isinstance(event, kind)][number]


@pytest.fixture
def opened(directory):
    """Return a client and an app of two stored turns, and their script."""
    script = two_turns()
    stored(script.events)
    client = FakeClient(script.events)
    return client, workbench_app(client, directory=directory), script


async def followed(pilot: Any, client: FakeClient, script: Script) -> None:
    client.bring(live.EngineState(state="idle"))
    await wait_until(pilot, lambda: pilot.app.state.last_seq == len(script.events) and pilot.app.state.work == "idle")
    await wait_until(pilot, lambda: "Documented." in text_on(pilot.app))


async def looked_back(pilot: Any, *keys: str, seq: int) -> TimeScreen:
    """Press the keys, and wait until the session is shown as it was at event `seq`."""
    await pilot.press(*keys)
    app: WorkbenchApp = pilot.app
    await wait_until(pilot, lambda: isinstance(app.screen, TimeScreen) and app.screen.state.last_seq == seq)
    await wait_until(pilot, lambda: f"Event {seq} of" in text_on(app))
    assert isinstance(app.screen, TimeScreen)
    return app.screen


def notices(app: WorkbenchApp) -> str:
    return " ".join(notice.message for notice in app._notifications)


async def test_f9_shows_the_session_as_it_was_at_each_event_and_escape_returns_to_now(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last = len(script.events)
        await looked_back(pilot, "f9", seq=last)
        first_run = seq_of(script.events, ev.RunEnded)
        screen = await looked_back(pilot, *["left_square_bracket"] * (last - first_run), seq=first_run)
        await wait_until(pilot, lambda: "Documented." not in text_on(app))
        assert "The sign is kept." in text_on(app)
        assert "Find the sign" in text_on(app), "the plan as it was"
        assert screen.state.tasks[0].status == "in_progress"
        assert [path.rpartition("/")[2] for path in screen.state.changes] == ["calc.py"]
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen) and "Documented." in text_on(app))
        assert client.commands == []


async def test_bracket_on_a_row_of_the_timeline_goes_to_the_end_of_that_row(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        message = seq_of(script.events, ev.UserMessage, 1)
        await pilot.press("f2")
        timeline = app.screen.query_one(Timeline)
        edit = next(row for row in timeline.rows.items if getattr(row, "tool", "") == "str_replace_editor")
        await pilot.press(*["up"] * (len(timeline.rows.items) - 1 - timeline.rows.items.index(edit)))
        run_ended = seq_of(script.events, ev.RunEnded)
        await looked_back(pilot, "left_square_bracket", seq=run_ended - 1)
        assert "now the docs" not in text_on(app)
        assert message > run_ended


async def test_brackets_step_and_going_forward_from_the_last_event_is_now(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last = len(script.events)
        await pilot.press("f2")
        await looked_back(pilot, "left_square_bracket", seq=last - 1)
        await looked_back(pilot, "right_square_bracket", seq=last)
        await pilot.press("right_square_bracket")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("right_square_bracket")
        await wait_until(pilot, lambda: "This is now" in notices(app))
        assert app.screen.query_one(Prompt).text == "", "the key is not typed"


async def test_far_jumps_go_to_messages_and_to_both_ends(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last, first, second = (
            len(script.events),
            seq_of(script.events, ev.UserMessage),
            seq_of(script.events, ev.UserMessage, 1),
        )
        await looked_back(pilot, "f9", seq=last)
        await looked_back(pilot, "left_curly_bracket", seq=second)
        await looked_back(pilot, "left_curly_bracket", seq=first)
        await looked_back(pilot, "right_curly_bracket", seq=second)
        await looked_back(pilot, "home", seq=1)
        assert "No messages yet at this point of the session" in text_on(app)
        await looked_back(pilot, "left_square_bracket", seq=1)
        await looked_back(pilot, "end", seq=last)


async def test_typing_returns_to_now_and_lands_in_the_prompt(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        await looked_back(pilot, "f9", "left_square_bracket", seq=len(script.events) - 1)
        await pilot.press(*"what now")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert app.screen.query_one(Prompt).text == "what now"
        assert client.commands == []


async def test_what_arrives_now_moves_nothing_in_the_past_and_is_there_after_the_return(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last = len(script.events)
        screen = await looked_back(pilot, "f9", "left_square_bracket", seq=last - 1)
        shown = list(screen.state.items)
        script.user("and the tests").answer("Tested.")
        client.bring(*script.events[last:])
        await wait_until(pilot, lambda: f"Event {last - 1} of {last + 2}" in text_on(app) and "2 new" in text_on(app))
        assert screen.state.items == shown
        assert "Tested." not in text_on(app)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "Tested." in text_on(app))


async def test_a_question_is_named_in_the_bar_and_answered_only_in_the_present(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last = len(script.events)
        await looked_back(pilot, "f9", "left_square_bracket", seq=last - 1)
        script.user("clean up").answer("I delete it.")
        script.ask("execute_bash", command="rm -rf build")
        client.bring(*script.events[last:], live.EngineState(state="deciding"))
        await wait_until(pilot, lambda: "? 1 action needs approval · F8" in text_on(app))
        assert isinstance(app.screen, TimeScreen), "it does not open over the past"
        await pilot.press("enter")
        assert client.commands == []
        while not isinstance(app.screen, TimeScreen):  # Enter has opened the detail of an action of the past
            await pilot.press("escape")
        await pilot.press("f8")
        await wait_until(pilot, lambda: isinstance(app.screen, ApprovalScreen))
        assert client.commands == []


async def test_the_diff_viewer_shows_the_changes_of_then_and_changes_nothing(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        observed = [
            event.seq for event in script.events if isinstance(event, ev.ActionObserved) and event.files_changed
        ]
        await looked_back(pilot, "f9", seq=len(script.events))
        await looked_back(pilot, *["left_square_bracket"] * (len(script.events) - observed[0]), seq=observed[0])
        await pilot.press("f5")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen) and "sign * int" in text_on(app))
        for key in ("x", "X", "R", "m", "c", "d", "ctrl+s"):
            await pilot.press("slash", "escape", key)  # the input line removes the sentence of the key before
            await wait_until(pilot, lambda: "This is the past, which cannot be changed" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, TimeScreen))
        await looked_back(pilot, "left_square_bracket", seq=observed[0] - 1)
        await pilot.press("f5")
        await wait_until(pilot, lambda: "Nothing has changed yet" in notices(app))
        assert client.commands == []


@pytest.fixture
def with_snapshots(directory):
    """Return a client and an app of a session with two snapshots: of one file that it changed, and of another one."""
    repository = SnapshotRepository(Locations.from_environment(), directory, "s1")
    repository.prepare()
    (directory / "README.md").write_text("# Parser of \x1b[31mnumbers\n")
    versions = []
    for text in (BEFORE, AFTER):
        (directory / "calc.py").write_text(text)
        versions.append(repository.snapshot())
    script = Script().start(workspace=str(directory)).user("fix the parser")
    for version in versions:
        script.answer("I look.").add(ev.VersionTaken, version=version)
    script.answer("Documented.").add(ev.RunEnded, reason="finished")
    stored(script.events)
    client = FakeClient(script.events)
    return client, workbench_app(client, directory=directory), script, repository


async def open_file(pilot: Any, name: str) -> None:
    await pilot.press("o")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, PaletteScreen) and name in text_on(pilot.app))
    await pilot.press(*name, "enter")


@pytest.mark.starts
async def test_o_opens_any_file_as_it_was_at_the_event(with_snapshots):
    client, app, script, _ = with_snapshots
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        first = seq_of(script.events, ev.VersionTaken)
        await looked_back(pilot, "f9", seq=len(script.events))
        await looked_back(pilot, *["left_square_bracket"] * (len(script.events) - first), seq=first)
        await open_file(pilot, "README.md")
        await wait_until(pilot, lambda: "# Parser of" in text_on(app))
        assert f"README.md · as of event {first} · read-only" in text_on(app)
        await pilot.press("escape")
        await open_file(pilot, "calc.py")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen) and "return int" in text_on(app))
        assert BEFORE.splitlines()[-1] in text_on(app)
        assert client.commands == []


@pytest.mark.starts
async def test_o_says_why_there_is_no_file_to_open(with_snapshots):
    client, app, script, repository = with_snapshots
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        last = len(script.events)
        await looked_back(pilot, "f9", seq=last)
        shutil.rmtree(repository.directory)
        await pilot.press("o")
        await wait_until(pilot, lambda: "the snapshot before this event was removed: snapshots are" in notices(app))
        await looked_back(pilot, "home", seq=1)
        await pilot.press("o")
        await wait_until(pilot, lambda: "no snapshot was taken before this event" in notices(app))
        assert isinstance(app.screen, TimeScreen)


async def test_the_detail_of_an_action_is_that_of_then(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        started = seq_of(script.events, ev.ActionStarted, 1)
        await looked_back(pilot, "f9", seq=len(script.events))
        await looked_back(pilot, *["left_square_bracket"] * (len(script.events) - started), seq=started)
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ActionPage))
        assert "running, no output yet" in text_on(app)
        assert client.commands == []


async def test_r_offers_to_rewind_to_the_shown_event_and_f_forks_there(opened, monkeypatch):
    client, app, script = opened
    first, second = seq_of(script.events, ev.UserMessage), seq_of(script.events, ev.UserMessage, 1)
    at = script.events[0].at
    rows = [CheckpointRow(first, first - 1, at, "fix the parser", "fix the parser")]
    rows.append(CheckpointRow(second, second - 1, at, "now the docs", "now the docs"))
    monkeypatch.setattr("workbench.view.rewind.read_checkpoints", lambda path: rows)
    forks: list[str] = []

    async def fork(event: str = "") -> None:
        forks.append(event)

    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        monkeypatch.setattr(app.switcher, "fork", fork)
        await looked_back(pilot, "f9", "left_curly_bracket", "left_square_bracket", seq=second - 1)
        await pilot.press("r")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindScreen) and "2 checkpoints" in text_on(app))
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands == [("preview", first - 1, "both")])
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await looked_back(pilot, "f9", "left_curly_bracket", seq=second)
        await pilot.press("f")
        await wait_until(pilot, lambda: forks == [str(second)])
        assert isinstance(app.screen, MainScreen)


async def test_an_event_that_cannot_be_read_is_named_in_place_of_the_content(opened):
    client, app, script = opened
    async with app.run_test(size=(120, 40)) as pilot:
        await followed(pilot, client, script)
        session_path(Locations.from_environment(), "s1").unlink()
        await pilot.press("f9")
        await wait_until(pilot, lambda: "there is no session file" in text_on(app))
        assert isinstance(app.screen, TimeScreen)
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))


async def test_before_there_is_a_session_f9_has_nothing_to_look_back_at(directory):
    client = FakeClient([])
    app = workbench_app(client, directory=directory)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("f9")
        await wait_until(pilot, lambda: "nothing to look back at yet" in notices(app))
        assert isinstance(app.screen, MainScreen)
