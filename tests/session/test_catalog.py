"""Names, locks and the list of sessions."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.protocol.events import ModelResponded, RunEnded, SessionStarted, UserMessage
from workbench.session.session_names import new_id, session_path
from workbench.session.storage.lock import SessionInUse, SessionLock, holder
from workbench.session.storage.session_list import find_session, last_session, list_sessions
from workbench.session.storage.store import Store
from workbench.session.workspace_check import checked_workspace


def places(home: Path) -> Locations:
    return Locations(home / "c", home / "d", home / "s", home / "r")


def written(where: Locations, name: str, *more: object, workspace: str = "/w") -> Path:
    path = session_path(where, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.create(path) as store:
        store.append(SessionStarted(id=name, workspace=workspace, model="m", mode="medium"), *more)
    return path


def test_ids_are_readable_and_safe():
    day = datetime(2026, 11, 21)
    assert new_id("Fix the parser!", day).startswith("20261121-fix-the-parser-")
    assert new_id("\u4fee\u6b63", day).startswith("20261121-session-")
    assert len(new_id("x" * 500, day)) < 60
    for bad in ("../x", "", "A", "a/b", "a\n"):
        with pytest.raises(UsageError):
            session_path(places(Path("/nowhere")), bad)


def test_lock_has_one_holder_and_names_it(tmp_path: Path):
    path = tmp_path / "a.session"
    lock = SessionLock.acquire(path)
    with pytest.raises(SessionInUse, match="in use by process"):
        SessionLock.acquire(path)
    assert holder(path)
    lock.release()
    lock.release()
    assert holder(path) is None
    SessionLock.acquire(path).release()
    assert list(tmp_path.iterdir()) == []


def test_list_contains_every_session_and_marks_damaged_ones(tmp_path: Path):
    where = places(tmp_path)
    answer = ModelResponded(response_id="r", model="m", text="hello", cost=0.25)
    written(where, "20260101-a-1111", UserMessage(text="fix\nit"), answer, answer, RunEnded(reason="finished"))
    unpriced = replace(answer, cost=None)
    written(where, "20260102-b-2222", UserMessage(text="x" * 500_000), unpriced, workspace="/other")
    session_path(where, "20260103-c-3333").write_bytes(b"junk" * 1000)
    written(where, "20260104-d-4444", UserMessage(text="words"))
    with sqlite3.connect(session_path(where, "20260104-d-4444")) as db:
        db.execute("DELETE FROM events WHERE seq = 1")
    db.close()
    listed = {entry.id[-4:]: entry for entry in list_sessions(where)}
    assert set(listed) == {"1111", "2222", "3333", "4444"}
    first = listed["1111"]
    assert (first.title, first.cost, first.ended, first.events) == ("fix", 0.5, "finished", 5)
    assert (listed["2222"].cost, listed["2222"].ended, listed["2222"].workspace) == (None, "", "/other")
    assert listed["2222"].title.startswith("xxx")
    assert listed["3333"].damaged
    assert listed["4444"].damaged
    assert find_session(where, "20260101").id == "20260101-a-1111"
    with pytest.raises(UsageError, match="could be"):
        find_session(where, "2026")
    with pytest.raises(UsageError, match="no session"):
        find_session(where, "1999")
    chosen = last_session(where, Path("/other"))
    assert chosen is not None
    assert chosen.id == "20260102-b-2222"


def test_workspace_must_be_a_writable_directory(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    assert checked_workspace(tmp_path) == tmp_path.resolve()
    for bad, message in (
        (tmp_path / "no", "does not exist"),
        (file, "not a directory"),
        (Path("/proc/self"), "be written"),
    ):
        with pytest.raises(UsageError, match=message):
            checked_workspace(bad)
