import sqlite3
from collections.abc import Iterable
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
from workbench.session.storage.permissions import permissions_in
from workbench.session.storage.signatures import key_path, settings_rows
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


def test_session_without_messages_leaves_nothing_behind(where, tmp_path):
    made = start_session(where, SETTINGS, tmp_path, NAME, on_event=lambda event: None, on_live=lambda event: None)
    made.session.set(mode="ask")
    made.close()
    assert list(session_path(where, NAME).parent.iterdir()) == []
    assert not state_directory(where, NAME).exists()


def unusable(notices: Iterable[str]) -> list[str]:
    return [line for line in notices if "no provider is known" in line]


def test_model_without_a_provider_is_named_when_a_session_starts_and_when_it_is_resumed(where, tmp_path):
    made = start_session(
        where, Settings(model="deepseek-chat"), tmp_path, NAME, on_event=lambda event: None, on_live=lambda event: None
    )
    made.session.send("work")
    made.close()
    again = opened(where)
    again.close()
    for session in (made, again):
        (line,) = unusable(session.notices)
        assert "'deepseek-chat'" in line
        assert "did you mean 'deepseek/deepseek-chat'?" in line
        assert "/model" in line


def test_fallback_model_without_a_provider_is_named_when_a_session_starts(where, tmp_path):
    models = {"main": {"model": "openai/x", "fallback_models": ["scripted/demo", "nope/x"]}}
    settings = Settings(model="main", models=models)
    made = start_session(where, settings, tmp_path, NAME, on_event=lambda event: None, on_live=lambda event: None)
    made.close()
    (line,) = unusable(made.notices)
    assert "'nope/x'" in line


def test_usable_model_gets_no_notice(where, tmp_path):
    for name, settings in enumerate(
        [SETTINGS, Settings(model="openai/x"), Settings(model="x", api_base="http://h/v1")]
    ):
        made = start_session(
            where, settings, tmp_path, f"{NAME}{name}", on_event=lambda event: None, on_live=lambda event: None
        )
        made.close()
        assert unusable(made.notices) == []


def test_session_with_a_late_first_message_is_kept(where, tmp_path):
    changes = [SettingsChanged(mode="ask") for _ in range(40)]
    path = write_session(where, tmp_path, *changes, UserMessage(text="at last"))
    opened(where).close()
    assert path.exists()


def test_partly_unreadable_session_is_kept(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="words"))
    with closing(sqlite3.connect(path)) as db, db:
        rewrite(db, 2, "{}")
    opened(where).close()
    assert path.exists()


def test_unreadable_settings_change_is_skipped(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="go"), SettingsChanged(model="scripted/none"))
    with closing(sqlite3.connect(path)) as db, db:
        rewrite(db, 3, '{"kind": "settings_changed", "later": 1}')
    again = opened(where)
    assert again.profile.model == "scripted/demo"
    again.close()


def test_later_model_is_not_called_at_the_first_models_url(where, tmp_path, monkeypatch):
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


def test_full_disk_does_not_prevent_locking_a_session(tmp_path):
    path = tmp_path / "a.session"
    with room_for(0):
        lock = SessionLock.acquire(path)
        assert holder(path) == 0
        lock.release()
    assert holder(path) is None


def test_session_without_a_model_runs_commands_and_says_what_a_message_needs(where, tmp_path):
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


BROUGHT = (SettingsChanged(rule="allow execute_bash make 1"), SettingsChanged(mode="never"))


def forge(path: Path, statement: str) -> None:
    """Change the file of a closed session as a program of the agent's could, checksums included."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        rows = db.execute("SELECT seq, kind, at, json, parts FROM events").fetchall()
        db.executemany("UPDATE events SET crc = ? WHERE seq = ?", [(checksum(row), row[0]) for row in rows])
        db.commit()


def permissions_after(where, path: Path, *modes: str) -> tuple[str, frozenset[str]]:
    """Open and close the session; return what its file allows then."""
    settings = Settings(model="scripted/demo", mode=modes[0], from_flags=("mode",)) if modes else SETTINGS
    open_session(where, settings, NAME, on_event=lambda event: None, on_live=lambda event: None).close()
    return permissions_in(path)[:2]


def test_settings_stored_by_us_apply_when_the_session_is_reopened(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="go"), *BROUGHT)
    for _ in range(2):
        again = opened(where)
        again.close()
        assert again.notices == ()
        assert permissions_in(path)[:2] == ("never", frozenset({"allow execute_bash make 1"}))


FORGED = {
    "mode": "UPDATE events SET json = replace(json, '\"ask\"', '\"never\"')",
    "rule": "UPDATE events SET json = replace(json, 'make 1', 'curl *')",
    "signatures": "DELETE FROM signatures",
    "signature": "UPDATE signatures SET signature = signature || '0'",
    "number": "UPDATE signatures SET signature = 7",
    "blob": "UPDATE signatures SET signature = x'ff'",
}


@pytest.mark.parametrize("way", FORGED)
def test_settings_written_by_another_process_are_ignored_and_named(where, tmp_path, way):
    mode = "ask" if way == "mode" else "never"
    events = SettingsChanged(rule="allow execute_bash make 1"), SettingsChanged(mode=mode)
    path = write_session(where, tmp_path, UserMessage(text="go"), *events)
    forge(path, FORGED[way])
    again = opened(where)
    again.close()
    (mode, rules), notices = permissions_in(path)[:2], " ".join(again.notices)
    assert (mode == "never") == (way == "rule"), notices
    assert (not rules) == (way != "mode"), notices
    assert notices.count("not written by ohw") == (1 if way in ("mode", "rule") else 2)
    assert "mode Don't ask" in notices or way == "rule"
    assert "allow execute_bash" in notices or way == "mode"
    again = opened(where)
    again.close()
    assert again.notices == ()


@pytest.mark.parametrize("way", ["signed", "changed", "unsigned", "chosen"])
def test_models_address_written_by_another_process_is_never_used(where, tmp_path, monkeypatch, way):
    asked = []

    def open_profile(profile, api_key):
        asked.append((profile.model, profile.api_base))
        return NamedModel(profile.model)

    monkeypatch.setattr(model_keys, "open_profile", open_profile)
    path = write_session(where, tmp_path, UserMessage(text="go"), model="local/a", api_base="http://[::1]:1")
    forge(path, {"signed": "SELECT 1", "unsigned": "DELETE FROM signatures"}.get(way, CHANGES_ADDRESS))
    flags = ("model",) if way == "chosen" else ()
    settings = Settings(model="groq/b", from_flags=flags)
    for _ in range(2):
        again = open_session(where, settings, NAME, on_event=lambda event: None, on_live=lambda event: None)
        again.close()
        settings = SETTINGS
    if way == "signed":
        assert set(asked) == {("local/a", "http://[::1]:1")}
        assert "not written by ohw" not in " ".join(again.notices)
    else:
        assert set(asked) == {("groq/b" if way == "chosen" else "none", None)}


CHANGES_ADDRESS = "UPDATE events SET json = replace(json, '[::1]:1', 'evil.example')"


def test_forged_address_is_named_once_and_leaves_the_session_without_a_model(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="go"), model="local/a", api_base="http://[::1]:1")
    forge(path, CHANGES_ADDRESS)
    first, second = (opened(where), None)
    first.close()
    second = opened(where)
    second.close()
    assert "(http://evil.example) was not written by ohw" in " ".join(first.notices)
    assert (first.profile.model, second.profile.model) == ("none", "none")
    assert second.notices == ()


def test_signature_is_bound_to_session_and_event(where, tmp_path):
    path = write_session(where, tmp_path, UserMessage(text="go"), *BROUGHT)
    with closing(sqlite3.connect(path)) as db:
        rows = settings_rows(db, path.stem)
        assert [is_signed for _, is_signed in rows] == [False, True, True]
        assert not any(is_signed for _, is_signed in settings_rows(db, "20260101-other-0001"))
        db.execute("UPDATE signatures SET seq = 9 - seq")
        assert not any(is_signed for _, is_signed in settings_rows(db, path.stem))


@pytest.mark.parametrize("key", [b"", b"x" * 31, b"y" * 32, None], ids=["empty", "short", "other", "gone"])
def test_stored_settings_are_ignored_with_another_key(where, tmp_path, monkeypatch, key):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "key"))
    path = write_session(where, tmp_path, UserMessage(text="go"), *BROUGHT)
    named = key_path(Locations.from_environment())
    assert named.stat().st_mode & 0o777 == 0o600
    named.unlink()
    if key is not None:
        named.write_bytes(key)
    monkeypatch.setattr("workbench.session.storage.signatures._keys", {})
    assert permissions_after(where, path) == ("medium", frozenset())


FLAGS = {
    "same model and mode": ({"model": "scripted/demo", "mode": "medium"}, []),
    "another mode": ({"model": "scripted/demo", "mode": "plan"}, [("mode", "plan")]),
    "limit of steps, set twice": ({"max_steps": 7}, [("max_steps", 7)]),
}


@pytest.mark.parametrize(("flags", "changes"), FLAGS.values(), ids=FLAGS)
def test_only_flags_that_change_a_setting_are_logged(where, tmp_path, flags, changes):
    path = write_session(where, tmp_path, UserMessage(text="go"), model="scripted/demo")
    settings = Settings(**{"model": "scripted/demo", **flags}, from_flags=tuple(flags))
    for _ in range(2):
        open_session(where, settings, NAME, on_event=lambda event: None, on_live=lambda event: None).close()
    with Store.open(path, readonly=True) as store:
        logged = [event for event in store.events() if isinstance(event, SettingsChanged)]
    names = ("model", "mode", "max_steps")
    assert [(name, value) for each in logged for name in names if (value := getattr(each, name)) is not None] == changes


@pytest.mark.parametrize(("mode", "expected"), [("never", "never"), ("ask", "ask")])
def test_mode_set_by_a_flag_applies(where, tmp_path, mode, expected):
    path = write_session(where, tmp_path, UserMessage(text="go"), SettingsChanged(mode="never"))
    forge(path, FORGED["signatures"])
    assert permissions_after(where, path, mode) == (expected, frozenset())


def test_first_of_many_ignored_rules_are_named(where, tmp_path):
    rules = [SettingsChanged(rule=f"allow execute_bash make {number}") for number in range(7)]
    path = write_session(
        where, tmp_path, UserMessage(text="go"), *rules, SettingsChanged(dropped_rule="allow execute_bash make 1")
    )
    forge(path, FORGED["signatures"])
    again = opened(where)
    again.close()
    (notice,) = again.notices
    assert "allow execute_bash make 0" in notice
    assert "make 1" not in notice
    assert "and 1 more" in notice
