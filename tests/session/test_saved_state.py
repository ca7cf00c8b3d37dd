"""The stored state of a session: the same as that of the whole log, and ignored whenever it does not fit."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench.opening_bench import write_session
from tests.session.random_logs import damaged_logs, logs
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.codec import encode, without_surrogates
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    ModelResponded,
    UserMessage,
    event_from_json,
)
from workbench.session import saved_state
from workbench.session.limits import TokenCount
from workbench.session.log import STEPS
from workbench.session.recalled_results import RecalledResults
from workbench.session.saved_state import NAME, Reducers, StateCache
from workbench.session.session_factory import OpenedSession, open_session
from workbench.session.session_names import session_path, state_directory
from workbench.session.state import State
from workbench.session.storage import signatures, store
from workbench.session.storage.event_rows import UNCHECKED, checksum
from workbench.session.storage.signatures import key_path, sign_content
from workbench.session.storage.store import Store, StoreError
from workbench.session.storage.store_files import log_of
from workbench.session.turn.context_window import ModelContext

LENGTH = 1_200
NAME_OF_SESSION = f"20260101-bench-{LENGTH}"


class Replayed:
    """Reducers that consume events as a log passes them on."""

    def __init__(self) -> None:
        self.context = ModelContext(1_000)
        self.all = Reducers.of(State(), TokenCount(), self.context, {})
        self.all.results = RecalledResults({"look": False, "ä b": True})

    def apply(self, events: list) -> Replayed:
        for event in events:
            self.all.state.apply(event)
            if event.kind not in STEPS:
                for part in (self.context, self.all.tokens, self.all.loops, self.all.failures, self.all.results):
                    part.apply(event)
        return self

    def restored(self) -> Replayed:
        """Return new reducers with the stored values of these."""
        again = Replayed()
        assert again.all.load(msgspec.Raw(saved_state._encoded(self.all)))
        return again


steps = st.builds(
    lambda make, action: make(action),
    st.sampled_from(
        [
            lambda action: ActionProposed(action_id=action, response_id="r", call_id=action, tool="look"),
            lambda action: ActionAssessed(action_id=action, risk="LOW"),
            lambda action: ActionDecided(action_id=action, verdict="rejected", by="person"),
            lambda action: ActionDecided(action_id=action, verdict="approved", by="rule"),
            lambda action: ActionStarted(action_id=action),
            lambda action: ActionObserved(action_id=action, observation={}),
            lambda action: ModelResponded(response_id="r", model="m", text=action),
        ]
    ),
    st.sampled_from(["a", "b"]),
)
"""Events of two actions, with or without a sub-agent's envelope."""
delegated = st.builds(
    lambda event, action: DelegateStep(action_id=action, agent="look", session="s", event=event), steps, st.just("a")
)
action_logs = st.lists(st.one_of(steps, steps, delegated), max_size=20).map(
    lambda events: [replace(event, seq=seq) for seq, event in enumerate(events, 1)]
)
all_logs = st.one_of(logs, damaged_logs(), action_logs)


def as_read(events: list) -> list:
    return [event_from_json(encode(without_surrogates(event))) for event in events]


@settings(max_examples=500)
@given(all_logs.map(as_read), st.data())
def test_stored_state_and_the_rest_are_the_same_as_the_whole_log(events, data):
    stored = data.draw(st.integers(0, len(events)))
    split = Replayed().apply(events[:stored]).restored().apply(events[stored:])
    whole = Replayed().apply(events)
    assert split.all == whole.all
    assert split.all.loops.loop == whole.all.loops.loop
    assert split.context.history.request() == whole.context.history.request()


@given(all_logs.map(as_read))
def test_state_stored_after_each_event_stays_the_same(events):
    stepwise = Replayed()
    for event in events:
        stepwise = stepwise.apply([event]).restored()
    assert stepwise.all == Replayed().apply(events).all


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    """A home with a session that was opened and closed, so that its state is stored."""
    locations = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")
    write_session(locations, tmp_path, LENGTH)
    opened(locations).close()
    assert stored_file(locations).exists()
    return locations


@pytest.fixture
def loaded(monkeypatch) -> list[int]:
    """The number of stored events of each session that is opened."""
    numbers: list[int] = []
    load = StateCache.load
    monkeypatch.setattr(StateCache, "load", lambda self, parts: numbers.append(load(self, parts)) or numbers[-1])
    return numbers


def opened(where: Locations, **fields) -> OpenedSession:
    chosen = Settings(**{"model": "scripted/demo", **fields})
    return open_session(where, chosen, NAME_OF_SESSION, on_event=lambda event: None, on_live=lambda event: None)


def stored_file(where: Locations) -> Path:
    return state_directory(where, NAME_OF_SESSION) / NAME


def log(where: Locations) -> Path:
    return session_path(where, NAME_OF_SESSION)


def reducers(where: Locations, **fields) -> Reducers:
    session = opened(where, **fields)
    try:
        return session.session._parts.reducers
    finally:
        session.close()


def append(where: Locations) -> None:
    with Store.open(log(where)) as store:
        store.append(UserMessage(text="from another program"))


def change_event(where: Locations) -> None:
    with closing(sqlite3.connect(log(where))) as db, db:
        row = db.execute("SELECT seq, kind, at, json, parts FROM events WHERE kind = 'action_observed'").fetchone()
        line = row[3].replace("some line", "other line")
        crc = checksum((*row[:3], line, row[4]))
        db.execute("UPDATE events SET json = ?, crc = ? WHERE seq = ?", (line, crc, row[0]))


def drop_last_events(where: Locations) -> None:
    with closing(sqlite3.connect(log(where))) as db, db:
        seq = db.execute("SELECT max(seq) FROM events WHERE kind = 'action_observed'").fetchone()[0]
        assert db.execute("DELETE FROM events WHERE seq > ?", (seq,)).rowcount


def copy_log(where: Locations) -> None:
    copy = log(where).with_suffix(".copy")
    shutil.copy(log(where), copy)
    copy.replace(log(where))


def remove_checksum(where: Locations) -> None:
    with closing(sqlite3.connect(log(where))) as db, db:
        db.execute("UPDATE events SET crc = ? WHERE seq = 5", (UNCHECKED,))


def use_file_of_another_session(where: Locations) -> None:
    content = stored_file(where).read_bytes().partition(b"\n")[2]
    stored_file(where).write_bytes(sign_content("another", content).encode() + b"\n" + content)


def flip_bit(where: Locations) -> None:
    content = bytearray(stored_file(where).read_bytes())
    content[len(content) // 2] ^= 1
    stored_file(where).write_bytes(content)


def cut(where: Locations) -> None:
    stored_file(where).write_bytes(stored_file(where).read_bytes()[:-100])


def empty(where: Locations) -> None:
    stored_file(where).write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "is_used"),
    [
        (lambda where: None, True),
        (append, True),
        (copy_log, True),
        (change_event, False),
        (drop_last_events, False),
        (flip_bit, False),
        (cut, False),
        (empty, False),
        (lambda where: stored_file(where).unlink(), False),
        (remove_checksum, False),
        (use_file_of_another_session, False),
    ],
)
def test_stored_state_is_used_only_if_it_fits_the_log(where, loaded, change: Callable[[Locations], None], is_used):
    before = reducers(where).state.call_ids
    change(where)
    split = reducers(where)
    assert [bool(number) for number in loaded] == [True, is_used]
    stored_file(where).unlink(missing_ok=True)
    assert split == reducers(where)
    assert split.state.call_ids <= before


@pytest.mark.parametrize("cause", ["code", "key", "limit", "foreign"])
def test_stored_state_of_other_code_or_settings_is_replaced(where, loaded, monkeypatch, cause):
    before, fields = stored_file(where).read_bytes(), {}
    match cause:
        case "code":
            monkeypatch.setattr(saved_state, "_code", lambda: "other")
        case "key":
            path = key_path(Locations.from_environment())
            monkeypatch.setattr(signatures, "_keys", {path: bytes(32)})
        case "limit":
            fields = {"max_observe": 100}
        case "foreign":
            fields = {"accepts_foreign": True}
            log(where).chmod(0o666)
    reducers(where, **fields)
    assert loaded == [0]
    assert (stored_file(where).read_bytes() == before) == (cause == "foreign")
    if cause != "foreign":
        reducers(where, **fields)
        assert loaded[1]


def test_state_is_not_stored_again_if_nothing_happened(where):
    before = stored_file(where).stat()
    reducers(where)
    assert stored_file(where).stat() == before


def test_killed_engine_leaves_a_state_that_later_events_are_added_to(where, loaded):
    session = opened(where)
    session.session.send("one more")
    files = (log(where), log_of(log(where)), stored_file(where))
    killed = [path.read_bytes() for path in files]
    session.close()
    for path, content in zip(files, killed, strict=True):
        path.write_bytes(content)
    turn = reducers(where).state.turn
    assert loaded[0] == loaded[1]
    stored_file(where).unlink()
    assert turn == reducers(where).state.turn > 1


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.session.test_saved_state import opened
from workbench.config.locations import Locations
opened(Locations(*(Path(sys.argv[1]) / name for name in "cdsr"))).session.send("one more")
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_engine(where: Locations) -> None:
    """Open the session in another process, send a message and kill the process."""
    command = [sys.executable, "-c", KILLED, str(where.config.parent)]
    assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == -signal.SIGKILL
    assert log_of(log(where)).stat().st_size


@pytest.fixture
def checks(monkeypatch) -> list[Path]:
    """The files that were checked as a whole."""
    paths: list[Path] = []
    real = store.check_whole
    monkeypatch.setattr(store, "check_whole", lambda path, db: (paths.append(path), real(path, db)))
    return paths


def test_after_a_kill_only_the_log_beside_the_file_is_checked(where, loaded, checks):
    kill_engine(where)
    turn = reducers(where).state.turn
    assert (checks, loaded[0] > 1_000) == ([], True)
    stored_file(where).unlink()
    assert turn == reducers(where).state.turn > 1
    assert checks == [log(where)]


def test_after_a_kill_a_damaged_log_beside_the_file_is_noticed(where):
    kill_engine(where)
    content = bytearray(log_of(log(where)).read_bytes())
    content[200] ^= 1
    log_of(log(where)).write_bytes(content)
    with pytest.raises(StoreError, match="cannot be read"):
        opened(where)


def test_after_a_kill_a_file_that_something_else_wrote_is_checked_as_a_whole(where, checks):
    kill_engine(where)
    with log(where).open("r+b") as file:
        file.seek(log(where).stat().st_size // 2)
        file.write(b"\0" * 10_000)
    with pytest.raises(StoreError, match="damaged"):
        opened(where)
    assert checks == [log(where)]


def test_short_session_has_no_stored_state(tmp_path):
    where = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")
    write_session(where, tmp_path, 900)
    session = open_session(
        where, Settings(model="scripted/demo"), "20260101-bench-900", on_event=print, on_live=lambda live: None
    )
    session.close()
    assert not (state_directory(where, "20260101-bench-900") / NAME).exists()


def test_state_with_a_value_that_cannot_be_stored_is_replayed(where, loaded):
    stored_file(where).unlink()
    with Store.open(log(where)) as store:
        store.append(
            UserMessage(text="go"),
            ModelResponded(response_id="r", model="m"),
            ActionProposed(action_id="a", response_id="r", call_id="a", tool="look", arguments={"big": 2**70}),
            ActionAssessed(action_id="a", risk="HIGH"),
        )
    assert reducers(where).state.batch["a"].arguments == {"big": 2**70}
    assert not stored_file(where).exists()
