"""The parts of the engine and of the session's outside, each by itself."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.broadcast import Broadcast
from workbench.engine.launch import Launch
from workbench.engine.logs import prune
from workbench.engine.worker import Worker
from workbench.errors import UsageError
from workbench.protocol.events import ModelResponded, RunEnded, SessionStarted, UserMessage
from workbench.protocol.live import TextDelta, ToolOutput
from workbench.session.names import new_id, session_path
from workbench.session.opening import checked_workspace
from workbench.session.storage.catalog import find_session, last_session, list_sessions
from workbench.session.storage.lock import SessionInUse, SessionLock, holder
from workbench.session.storage.store import Store


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


def test_the_lock_is_held_by_one_and_names_its_holder(tmp_path: Path):
    path = tmp_path / "a.session"
    lock = SessionLock.take(path)
    with pytest.raises(SessionInUse, match="in use by process"):
        SessionLock.take(path)
    assert holder(path)
    lock.release()
    lock.release()
    assert holder(path) is None
    SessionLock.take(path).release()
    assert list(tmp_path.iterdir()) == []


def test_the_list_has_every_session_and_names_the_damaged(tmp_path: Path):
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


def test_a_workspace_must_be_a_folder_one_can_write(tmp_path: Path):
    file = tmp_path / "file"
    file.write_text("")
    assert checked_workspace(tmp_path) == tmp_path.resolve()
    for bad, told in ((tmp_path / "no", "does not exist"), (file, "not a folder"), (Path("/proc/self"), "be written")):
        with pytest.raises(UsageError, match=told):
            checked_workspace(bad)


def test_a_launch_survives_its_way_through_the_pipe(tmp_path: Path):
    launch = Launch(places(tmp_path), Settings(api_key="k", keys={"a": "b"}, from_flags=("model",)), "id", "/w", True)
    assert Launch.from_json(launch.to_json()) == launch


def test_old_logs_are_removed(tmp_path: Path):
    for number in range(6):
        (tmp_path / f"{number}.log").write_text("")
    prune(tmp_path, keep=2)
    assert len(list(tmp_path.iterdir())) == 2


async def test_deltas_are_joined_and_events_keep_their_place():
    delivered: list[list[object]] = []
    broadcast = Broadcast(asyncio.get_running_loop(), lambda messages: delivered.append(list(messages)))
    end = RunEnded(seq=9, reason="finished")

    def speak() -> None:
        for _ in range(1000):
            broadcast.live(TextDelta(text="ab"))
        broadcast.live(ToolOutput(action_id="a", text="1"))
        broadcast.live(ToolOutput(action_id="b", text="2"))
        broadcast.event(end)

    thread = threading.Thread(target=speak)
    thread.start()
    async with asyncio.timeout(20):
        while not delivered or delivered[-1][-1] != end:
            await asyncio.sleep(0.01)
    thread.join()
    messages = [message for batch in delivered for message in batch]
    text = [message.text for message in messages if isinstance(message, TextDelta)]
    assert "".join(text) == "ab" * 1000
    assert len(text) < 100
    assert [message.action_id for message in messages if isinstance(message, ToolOutput)] == ["a", "b"]
    assert messages[-1] is end


class Faulty:
    """Fails at its first step, works at the second."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> bool:
        self.steps += 1
        if self.steps == 1:
            raise LookupError("a defect")
        return False


def test_the_worker_outlives_a_fault_and_logs_it(caplog: pytest.LogCaptureFixture):
    rested, faults, session = threading.Semaphore(0), [], Faulty()
    worker = Worker(session, rested.release, faults.append)
    with caplog.at_level(logging.ERROR):
        worker.start()
        assert rested.acquire(timeout=60)
        worker.wake()
        assert rested.acquire(timeout=60)
    worker.stop()
    worker.join(60)
    assert not worker.is_alive()
    assert faults == ["a fault of the workbench itself, see its log: LookupError: a defect"]
    assert session.steps == 2
    assert "Traceback" in caplog.text
