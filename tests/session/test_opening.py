import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from tests.session.fake_agent import NamedModel
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import SessionStarted, SettingsChanged, UserMessage
from workbench.session import model_keys
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import session_path, state_directory
from workbench.session.storage.event_rows import checksum
from workbench.session.storage.lock import SessionLock, holder
from workbench.session.storage.store import Store

SETTINGS = Settings(model="scripted/demo")
NAME = "20260101-a-1111"


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")


def opened(where: Locations, **more) -> OpenedSession:
    return open_session(where, SETTINGS, NAME, on_event=lambda event: None, on_live=lambda event: None, **more)


def write_session(
    where: Locations, workspace: Path, *more: object, model: str = "scripted/demo", **fields: str
) -> Path:
    path = session_path(where, NAME)
    path.parent.mkdir(parents=True)
    with Store.create(path) as store:
        store.append(SessionStarted(id=NAME, workspace=str(workspace), model=model, mode="medium", **fields), *more)
    return path


def rewrite(db: sqlite3.Connection, number: int, line: str) -> None:
    """Give an event other JSON with a valid checksum: it is intact but cannot be decoded."""
    kind, at, parts = db.execute("SELECT kind, at, parts FROM events WHERE seq = ?", (number,)).fetchone()
    crc = checksum((number, kind, at, line, parts))
    db.execute("UPDATE events SET json = ?, crc = ? WHERE seq = ?", (line, crc, number))


def test_a_session_in_which_nobody_spoke_leaves_nothing_behind(where, tmp_path):
    made = start_session(where, SETTINGS, tmp_path, NAME, on_event=lambda event: None, on_live=lambda event: None)
    made.session.set(mode="ask")
    made.close()
    assert list(session_path(where, NAME).parent.iterdir()) == []
    assert not state_directory(where, NAME).exists()


def test_a_session_is_kept_however_late_its_first_message_came(where, tmp_path):
    changes = [SettingsChanged(mode="ask") for _ in range(40)]
    path = write_session(where, tmp_path, *changes, UserMessage(text="at last"))
    opened(where).close()
    assert path.exists()


def test_a_session_of_which_a_part_cannot_be_read_is_kept(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="words"))
    with closing(sqlite3.connect(path)) as db, db:
        rewrite(db, 2, "{}")
    opened(where).close()
    assert path.exists()


def test_a_change_of_settings_that_cannot_be_read_is_passed_over(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="go"), SettingsChanged(model="scripted/none"))
    with closing(sqlite3.connect(path)) as db, db:
        rewrite(db, 3, '{"kind": "settings_changed", "later": 1}')
    again = opened(where)
    assert again.profile.model == "scripted/demo"
    again.close()


def test_a_later_model_is_not_looked_for_at_the_address_of_the_first(where, tmp_path, monkeypatch):
    asked = []

    def open_profile(profile, api_key):
        asked.append((profile.model, profile.api_base))
        return NamedModel(profile.model)

    monkeypatch.setattr(model_keys, "open_profile", open_profile)
    path = write_session(where, tmp_path, UserMessage(text="go"), model="local/a", api_base="http://[::1]:1")
    opened(where).close()
    with Store.open(path) as store:
        store.append(SettingsChanged(model="far/b"))
    opened(where).close()
    assert asked == [("local/a", "http://[::1]:1"), ("far/b", None)]


def test_a_full_disk_does_not_keep_a_session_from_being_locked(tmp_path):
    path = tmp_path / "a.session"
    with room_for(0):
        lock = SessionLock.acquire(path)
        assert holder(path) == 0
        lock.release()
    assert holder(path) is None


def test_a_session_without_a_model_runs_commands_and_says_what_a_message_needs(where, tmp_path):
    settings, events = Settings(model="none"), []
    made = start_session(where, settings, tmp_path, NAME, on_event=events.append, on_live=lambda event: None)
    made.session.user_commands.add("echo here")
    while made.session.step():
        pass
    made.session.send("hello")
    while made.session.step():
        pass
    made.close()
    assert any(event.kind == "action_observed" and "here" in str(event.observation) for event in events)
    (ended,) = (event for event in events if event.kind == "run_ended")
    assert ended.reason == "error"
    assert "/model PROVIDER/NAME" in ended.detail
