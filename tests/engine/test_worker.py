"""The worker of an engine, what it broadcasts, and how it is launched."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.broadcast import Broadcast
from workbench.engine.launch import Launch
from workbench.engine.logs import prune
from workbench.engine.worker import Worker
from workbench.protocol.events import RunEnded
from workbench.protocol.live import TextDelta, ToolOutput


def places(home: Path) -> Locations:
    return Locations(home / "c", home / "d", home / "s", home / "r")


def test_launch_survives_a_round_trip_through_the_pipe(tmp_path: Path):
    launch = Launch(places(tmp_path), Settings(api_key="k", keys={"a": "b"}, from_flags=("model",)), "id", "/w", True)
    assert Launch.from_json(launch.to_json()) == launch


def test_old_logs_are_deleted(tmp_path: Path):
    for number in range(6):
        (tmp_path / f"{number}.log").write_text("")
    prune(tmp_path, keep=2)
    assert len(list(tmp_path.iterdir())) == 2


async def test_deltas_are_joined_and_events_keep_their_order():
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


def test_worker_survives_an_exception_and_logs_it(caplog: pytest.LogCaptureFixture):
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
