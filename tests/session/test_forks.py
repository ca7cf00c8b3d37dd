"""Forks: a new session shares the history of another one, reads it from there, and is whole without it."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.protocol.events import (
    Event,
    Forked,
    ModelResponded,
    RunEnded,
    SessionStarted,
    SettingsChanged,
    UserMessage,
)
from workbench.protocol.usage import Usage
from workbench.session.forks import fork_at
from workbench.session.session_names import session_path
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.permissions import permissions_in
from workbench.session.storage.session_list import delete, find_session, list_sessions
from workbench.session.storage.store import DamagedFile, Store, StoreError
from workbench.session.storage.usage_log import all_calls, session_calls

LONG = "a long answer " * 2_000


@pytest.fixture
def locations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Locations:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    where = Locations.from_environment()
    where.sessions.mkdir(parents=True, mode=0o700)
    return where


def written(locations: Locations, name: str, *events: Event) -> str:
    start = SessionStarted(id=name, workspace=str(locations.data), model="scripted/x", mode="medium")
    with Store.create(session_path(locations, name)) as store:
        store.append(start, *events)
    return name


def turn(text: str, answer: str = "fine", cost: float = 1.0) -> tuple[Event, ...]:
    response = ModelResponded(response_id="r", model="m", text=answer, usage=Usage(input=10, output=5), cost=cost)
    return UserMessage(text=text), response, RunEnded(reason="finished")


@pytest.fixture
def parent(locations: Locations) -> str:
    """A session with three turns of three events each, after its first event."""
    return written(locations, "20260101-parent", *turn("one"), *turn("two", LONG), *turn("three"))


def forked(locations: Locations, session: str, at: int | None = None) -> str:
    return fork_at(locations, session, at).id


def why_not_forked(locations: Locations, session: str) -> str:
    """Fork a session; return why that failed, empty if it did not."""
    try:
        forked(locations, session)
    except StoreError as error:
        return str(error)
    return ""


def events_of(locations: Locations, session: str) -> list[Event]:
    with Store.open(session_path(locations, session)) as store:
        events = list(store.events())
        assert not store.gaps
        return events


def said(locations: Locations, session: str) -> list[str]:
    return [event.text for event in events_of(locations, session) if isinstance(event, UserMessage)]


def go_on(locations: Locations, session: str, *events: Event) -> None:
    with Store.open(session_path(locations, session)) as store:
        store.append(*events)


def own_rows(locations: Locations, session: str) -> list[int]:
    with closing(sqlite3.connect(session_path(locations, session))) as db:
        return [seq for (seq,) in db.execute("SELECT seq FROM main.events ORDER BY seq")]


def test_fork_has_the_history_up_to_its_event_and_goes_on_alone(locations: Locations, parent: str):
    fork = forked(locations, parent, 5)
    go_on(locations, fork, *turn("another two"))
    go_on(locations, parent, *turn("four"))
    assert said(locations, fork) == ["one", "another two"]
    assert said(locations, parent) == ["one", "two", "three", "four"]
    events = events_of(locations, fork)
    assert [event.seq for event in events] == list(range(1, 9))
    assert events[0].id == fork
    assert events[4] == Forked(seq=5, at=events[4].at, session=parent, target=4, workspace=events[0].workspace)
    assert own_rows(locations, fork) == [1, 5, 6, 7, 8]


def test_long_text_of_the_shared_part_is_read_from_the_parent(locations: Locations, parent: str):
    fork = forked(locations, parent)
    assert [event.text for event in events_of(locations, fork) if isinstance(event, ModelResponded)][1] == LONG


def test_fork_of_a_fork_reads_from_both(locations: Locations, parent: str):
    first = forked(locations, parent, 5)
    go_on(locations, first, *turn("fork one"), *turn("fork two"))
    second = forked(locations, first, 9)
    assert said(locations, second) == ["one", "fork one"]
    earlier = forked(locations, first, 4)
    assert said(locations, earlier) == ["one"]
    assert find_session(locations, earlier).forked_from == parent
    assert find_session(locations, second).forked_from == first


@pytest.mark.parametrize("event", [0, -1, 99])
def test_unknown_event_is_refused(locations: Locations, parent: str, event: int):
    with pytest.raises(UsageError, match=f"there is no event {event} in this session; it has 10"):
        forked(locations, parent, event)
    assert [each.id for each in list_sessions(locations)] == [parent]


def test_event_that_is_no_checkpoint_is_refused(locations: Locations, parent: str):
    with pytest.raises(UsageError, match=f"event 3 is no checkpoint; `ohw rewind {parent}` lists them"):
        forked(locations, parent, 3)


def test_forks_keep_their_history_when_the_parent_is_deleted(locations: Locations, parent: str):
    short, long = forked(locations, parent, 5), forked(locations, parent, 8)
    before = {name: events_of(locations, name) for name in (short, long)}
    delete(locations, parent)
    assert {name: events_of(locations, name) for name in (short, long)} == before
    assert own_rows(locations, long) == list(range(1, 9))
    assert own_rows(locations, short) == [1, 5]
    with Store.open(session_path(locations, long), readonly=True) as store:
        assert store.search("two")
    delete(locations, long)
    assert events_of(locations, short) == before[short]
    assert own_rows(locations, short) == [1, 2, 3, 4, 5]


def test_parent_of_an_open_fork_is_not_deleted(locations: Locations, parent: str):
    fork = forked(locations, parent)
    lock = SessionLock.acquire(session_path(locations, fork))
    try:
        with pytest.raises(StoreError, match=f"was not deleted: its fork {fork} is open"):
            delete(locations, parent)
    finally:
        lock.release()
    assert said(locations, fork) == said(locations, parent)


def test_fork_whose_parent_vanished_says_so_and_its_own_part_is_read(locations: Locations, parent: str):
    fork = forked(locations, parent, 5)
    go_on(locations, fork, *turn("mine"))
    session_path(locations, parent).unlink()
    with pytest.raises(DamagedFile, match=f"events 2 to 4 are in the session {parent}, which was deleted or replaced"):
        Store.open(session_path(locations, fork))
    with Store.open(session_path(locations, fork), readonly=True) as store:
        assert [event.text for event in store.events() if isinstance(event, UserMessage)] == ["mine"]
        assert [(gap.first, gap.last) for gap in store.gaps] == [(2, 4)]


def test_another_session_in_the_place_of_the_parent_is_not_taken_for_it(locations: Locations, parent: str):
    fork = forked(locations, parent, 5)
    session_path(locations, parent).unlink()
    written(locations, parent, *turn("somebody else's"), *turn("more"))
    with pytest.raises(DamagedFile, match="deleted or replaced"):
        Store.open(session_path(locations, fork))


def test_shared_calls_count_once_in_the_usage_of_all_sessions(locations: Locations, parent: str):
    fork = forked(locations, parent)
    go_on(locations, fork, *turn("more", cost=0.5))
    assert sum(call.cost or 0 for call in all_calls(locations)) == 3.5
    assert sum(call.cost or 0 for call in session_calls(locations, fork)) == 3.5
    assert find_session(locations, fork).cost == 0.5
    assert find_session(locations, parent).cost == 3.0
    delete(locations, parent)
    assert sum(call.cost or 0 for call in all_calls(locations)) == 3.5


def test_rules_stay_and_the_mode_that_never_asks_does_not(locations: Locations):
    rule = "allow execute_bash(ls)"
    parent = written(locations, "20260101-parent", SettingsChanged(rule=rule), SettingsChanged(mode="never"))
    go_on(locations, parent, *turn("one"))
    granted = permissions_in(session_path(locations, forked(locations, parent)))
    assert granted.signed_rules == {rule}
    assert granted.mode == Settings().mode


def test_rule_that_nobody_signed_is_not_signed_by_a_fork(locations: Locations, parent: str):
    with closing(sqlite3.connect(session_path(locations, parent))) as db, db:
        line = json.dumps({"seq": 11, "kind": "settings_changed", "rule": "allow execute_bash(rm)"})
        db.execute(
            "INSERT INTO events VALUES (11, 'settings_changed', '2026-01-01T00:00:00+00:00', ?, NULL, -1)", [line]
        )
    assert not permissions_in(session_path(locations, forked(locations, parent))).signed_rules


def test_fork_that_does_not_fit_on_the_disk_leaves_nothing(locations: Locations, parent: str):
    reasons = []
    for size in range(4_000, 100_000, 4_000):
        with room_for(size):
            reasons.append(why_not_forked(locations, parent))
        stems = [path.stem for path in locations.sessions.glob("*.session")]
        assert len(stems) == (1 if reasons[-1] else 2)
        if not reasons[-1]:
            break
    assert reasons[-1] == ""
    assert all("disk" in reason for reason in reasons[:-1])
    assert len(reasons) > 2


def test_worktree_goes_when_the_fork_cannot_be_written(locations: Locations, tmp_path: Path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("a\n")
    for words in (["init", "-qb", "main"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=project, check=True)
    start = SessionStarted(id="20260101-p", workspace=str(project), model="scripted/x", mode="medium")
    with Store.create(session_path(locations, "20260101-p")) as store:
        store.append(start, *turn("one"))
    with room_for(16_000), pytest.raises(StoreError, match="disk"):
        fork_at(locations, "20260101-p", directory=tmp_path / "other")
    assert not (tmp_path / "other").exists()
    answer = subprocess.run(["git", "branch", "--list"], cwd=project, check=True, capture_output=True, text=True)
    assert answer.stdout == "* main\n"
    fork = fork_at(locations, "20260101-p", directory=tmp_path / "other")
    assert (Path(fork.workspace) / "a.txt").read_text() == "a\n"


def test_fork_is_small(locations: Locations):
    parent = written(locations, "20260101-parent", *(event for n in range(1_000) for event in turn(f"message {n}")))
    fork = forked(locations, parent)
    sizes = [session_path(locations, name).stat().st_size for name in (parent, fork)]
    assert sizes[1] < 0.05 * sizes[0]


def test_copied_fork_without_its_parent_is_refused_not_mixed_up(locations: Locations, parent: str, tmp_path: Path):
    fork = forked(locations, parent, 5)
    elsewhere = Path(shutil.copy(session_path(locations, fork), tmp_path))
    with pytest.raises(DamagedFile, match=parent):
        Store.open(elsewhere)
