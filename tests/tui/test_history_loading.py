"""A long session is shown before it is read completely: first its end, then the totals, older parts on demand."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import asdict
from textual.widgets import Static

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import WORKSPACE, Script, fold
from workbench.client.client import EventHistory
from workbench.client.log_reader import FilePast, read_history
from workbench.protocol import events as ev
from workbench.protocol.event_base import EventBase
from workbench.protocol.usage import Usage
from workbench.session.storage.store import Store
from workbench.tui.screens.main import event_feed
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.task_panel import TaskPanel
from workbench.tui.widgets.timeline import Timeline
from workbench.view.follower import begin_after, folded, put_before, settled
from workbench.view.formatting.timeline_rows import has_row
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, Item, NoticeItem, SessionState

_PLAN = [{"id": "1", "title": "Read", "status": "done"}, {"id": "2", "title": "Write", "status": "in_progress"}]
_SUMS = (
    *("session_id", "workspace", "title", "rules", "model", "mode", "is_running", "ended", "last_seq"),
    *("tasks", "changes", "turn_changes", "cost", "total_tokens", "input_tokens", "window", "action_count"),
    *("waiting", "queued"),
)


def delta(number: int) -> ev.FileDelta:
    before = None if number < 10 else f"old {number - 10}\n"
    return ev.FileDelta(path=f"{WORKSPACE}/f{number % 10}.py", before=before, after=f"old {number}\n")


def turn(script: Script, number: int) -> None:
    """Add one run: an answer, some actions, and sometimes other events that a log holds."""
    script.user(f"message {number}")
    for step in range(4):
        usage = Usage(input=1_000 + number, output=10, window=200_000)
        script.answer(f"answer {number}.{step}", usage=usage, cost=0.01)
        script.run("execute_bash", f"line {number}\nok", command=f"echo {number}", _exit_code=0)
    if number % 3 == 0:
        tasks = [dict(task, status="in_progress" if number % 2 else task["status"]) for task in _PLAN]
        script.run("task_tracker", command="plan", task_list=tasks)
    script.run("str_replace_editor", "edited", command="str_replace", path="f", _files=(delta(number),))
    if number % 4 == 0:
        sub_agent(script, number)
    if number % 5 == 0:
        script.add(ev.SettingsChanged, title=f"title {number}", rule=f"bash(make {number})")
        script.add(ev.FilesChanged, files=(delta(number + 3),), by="person" if number % 2 else "other")
        script.user(f"queued {number}")
        script.answer("read it").answer("and on")
        script.add(ev.UserCommand, action_id=f"own-{number}", command="ls")
        script.add(ev.ActionStarted, action_id=f"own-{number}")
        script.add(ev.VersionTaken, version="v", files=(delta(number + 6),))
    if number % 2:
        script.add(ev.RunEnded, reason="finished")


def sub_agent(script: Script, number: int) -> None:
    call = script.begin("delegate", task="look")
    for event in (
        ev.ModelResponded(response_id="d", model="m", text="so", cost=0.5, usage=Usage(input=5, output=6)),
        ev.ActionProposed(action_id=f"d{number}", response_id="d", call_id="c", tool="execute_bash", arguments={}),
        ev.ActionAssessed(action_id=f"d{number}", risk="LOW", needs_decision=False),
        ev.ActionStarted(action_id=f"d{number}"),
        ev.ActionObserved(action_id=f"d{number}", observation={"content": "x"}, files_changed=(delta(number + 1),)),
    ):
        script.add(ev.DelegateStep, action_id=call, agent="reader", session="child", event=event)
    script.end(call, "found")


def session(turns: int, directory: Path) -> tuple[list[EventBase], Path]:
    script = Script().start()
    for number in range(turns):
        turn(script, number)
    path = directory / "long.ohw"
    with Store.create(path) as store:
        store.append(*script.events)
    return script.events, path


def end_of(path: Path, least: int) -> tuple[SessionState, EventHistory]:
    """Return the state and events after the first part is read."""
    history = read_history(Store.open(path, readonly=True), least)
    state = SessionState()
    assert history.digest is not None
    begin_after(state, settled(history.digest))
    for event in history:
        apply(state, event)
    return state, history


@pytest.fixture(scope="module")
def long_log(tmp_path_factory) -> tuple[list[EventBase], Path]:
    return session(60, tmp_path_factory.mktemp("log"))


def number_of(item: Item | None) -> int:
    return item.number if isinstance(item, ActionItem) else 0


def without_run(item: Item) -> dict[str, object]:
    """Return an item without what its run has changed, which is not known before the beginning of the run is read."""
    values = asdict(item)
    return {name: values[name] for name in values if name not in ("facts", "has_changes", "run")}


@pytest.mark.parametrize("least", [20, 55, 90, 130, 333, 700])
def test_first_screenful_knows_the_totals_of_the_whole_session(long_log, least):
    events, path = long_log
    whole = fold(events)
    state, _ = end_of(path, least)
    assert {name: getattr(state, name) for name in _SUMS} == {
        name: pytest.approx(value) if name == "cost" else value
        for name, value in ((name, getattr(whole, name)) for name in _SUMS)
    }
    assert least <= events[-1].seq + 1 - state.first_seq < len(events) / 2 + least
    ends = whole.items[-len(state.items) :]
    assert [without_run(item) for item in state.items] == [without_run(item) for item in ends]
    ends = [item for item in state.items if isinstance(item, NoticeItem) and item.run is not None]
    unread = [item for item in ends if item.run is not None and item.run.began is None]
    assert len(unread) <= 1  # only the first of the runs may have begun earlier
    assert not any(item.facts or item.has_changes for item in unread)


@pytest.mark.parametrize("least", [20, 55, 130, 333])
def test_session_read_in_parts_equals_the_whole(long_log, least):
    events, path = long_log
    whole = fold(events)
    state, history = end_of(path, least)
    assert history.past is not None
    count = 0
    while state.first_seq > 1:
        before = list(state.items)
        part = folded(history.past.part(state.first_seq), state.actions_before)
        changed = put_before(state, part)
        assert state.items == [*changed.earlier, *before]
        count += 1

    assert count > 1
    assert [asdict(item) for item in state.items] == [asdict(item) for item in whole.items]
    assert list(state.actions) == list(whole.actions)
    assert state.actions_before == 0


def test_short_and_damaged_sessions_are_read_at_once(tmp_path):
    events, path = session(2, tmp_path)
    history = read_history(Store.open(path, readonly=True), len(events))
    assert history.digest is None
    assert [event.seq for event in history] == [event.seq for event in events]

    with Store.open(path) as store:
        store.append(*Script().start().events)
        store._db.execute("UPDATE events SET json = 'x' WHERE seq = 5")
    history = read_history(Store.open(path, readonly=True), 10)
    assert history.digest is None
    assert [event.seq for event in history] == [number for number in range(1, len(events) + 2) if number != 5]


class FileClient(FakeClient):
    held = 0
    """The number of events in the file when it is opened, of which no part is omitted; 0 means all of the file."""

    def __init__(self, path: Path, least: int) -> None:
        super().__init__()
        self._path, self._least = path, least

    def history(self):
        if not self.held:
            return read_history(Store.open(self._path, readonly=True), self._least)
        with Store.open(self._path, readonly=True) as store:
            return EventHistory(list(store.events(limit=self.held)), FilePast(self._path, self._least))


async def test_older_parts_are_loaded_on_scrolling_up(long_log):
    events, path = long_log
    whole = fold(events)
    app = workbench_app(FileClient(path, 150))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.last_seq == len(events) and app.state.items)
        screen, timeline = app.screen, app.screen.query_one(Timeline)
        first = app.state.first_seq
        assert first > 1
        assert str(whole.action_count) in timeline.border_title

        conversation = screen.query_one(Conversation)
        conversation.focus()
        for _ in range(60):
            await pilot.press("pageup")
            await pilot.pause(0.02)
            if app.state.first_seq < first:
                break
        await wait_until(pilot, lambda: app.state.first_seq < first)
        assert app.state.items[0].seq >= app.state.first_seq

        screen.query_one(TaskPanel).focus()
        await pilot.press("down", "enter")  # the first step of a task, far above
        await wait_until(pilot, lambda: timeline.has_focus)
        steps = whole.tasks[1].steps
        await wait_until(pilot, lambda: number_of(timeline.rows.at(timeline.cursor)) == steps[0])

        await pilot.press("home")
        await wait_until(pilot, lambda: app.state.first_seq == 1)
        await wait_until(pilot, lambda: timeline.cursor == 0 and "message 0" in timeline.render_line(0).text)
        await pilot.press("down")
        assert await wait_until(pilot, lambda: number_of(timeline.rows.at(timeline.cursor)) == 1)
        assert len(app.state.actions) == whole.action_count


@pytest.mark.parametrize("focus", ["prompt", "conversation"])
async def test_one_press_loads_the_session_and_goes_to_its_start(long_log, focus):
    events, path = long_log
    app = workbench_app(FileClient(path, 150))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.last_seq == len(events) and app.state.items)
        conversation = app.screen.query_one(Conversation)
        assert app.state.first_seq > 1
        app.screen.query_one(f"#{focus}").focus()
        await pilot.press("ctrl+home" if focus == "prompt" else "home")
        await wait_until(
            pilot, lambda: app.state.first_seq == 1 and conversation.first_in_sight() is app.state.items[0]
        )
        assert conversation.scroll_y == 0
        assert not conversation.follows
        await pilot.press("ctrl+end")
        await wait_until(pilot, lambda: conversation.follows and conversation.is_vertical_scroll_end)


async def test_search_and_filter_cover_the_whole_session(long_log):
    events, path = long_log
    app = workbench_app(FileClient(path, 150))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.last_seq == len(events) and app.state.items)
        assert app.state.first_seq > 1
        await pilot.press("ctrl+f", *"answer 0.2")
        status = app.screen.query_one("#search-found", Static)
        await wait_until(pilot, lambda: "1/1" in str(status.content))

    app = workbench_app(FileClient(path, 150))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.last_seq == len(events) and app.state.items)
        timeline = app.screen.query_one(Timeline)
        timeline.filter("tool:editor")
        await wait_until(pilot, lambda: timeline.virtual_size.height == 60)


async def test_items_far_above_the_followed_end_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(event_feed, "MAX_EVENTS", 900)
    monkeypatch.setattr(event_feed, "RETRY", 0)
    events, path = session(60, tmp_path)
    whole = fold(events)
    client = FileClient(path, 600)
    client.held = 700
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.last_seq == 700 and app.state.items)
        client.bring(*events[700:])
        await wait_until(pilot, lambda: app.state.last_seq == len(events))
        await wait_until(pilot, lambda: app.state.first_seq > len(events) - 900)
        timeline, conversation = app.screen.query_one(Timeline), app.screen.query_one(Conversation)
        assert len(app.state.actions) < whole.action_count / 2
        assert timeline.cursor == timeline.virtual_size.height - 1
        assert conversation.follows
        held = [asdict(item) for item in app.state.items]
        assert held == [asdict(item) for item in whole.items[-len(held) :]]

        timeline.focus()
        await pilot.press("home")  # all of it can be read again
        await wait_until(pilot, lambda: app.state.first_seq == 1 and "message 0" in timeline.render_line(0).text)
        assert [asdict(item) for item in app.state.items] == [asdict(item) for item in whole.items]
        assert timeline.virtual_size.height == sum(map(has_row, whole.items))
