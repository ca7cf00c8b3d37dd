"""Cost of a session file: commits compared with bare SQLite, opening long sessions, its share of a step."""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from tests.bench.measure import Measure
from tests.session import long_run
from tests.session.fake_agent import FakeAgent, Harness, calls, says
from workbench.protocol.codec import encode
from workbench.protocol.events import ActionObserved, Event, ModelResponded, SessionStarted, UserMessage
from workbench.session.session import Session, SessionParts
from workbench.session.storage.store import Store

TEXT = "some words of a result, as a tool would print them; " * 8


def event(number: int) -> Event:
    match number % 3:
        case 0:
            return UserMessage(text=f"{number} {TEXT}")
        case 1:
            return ModelResponded(response_id=f"r{number}", model="m", text=TEXT)
    return ActionObserved(action_id=f"a{number}", observation={"content": [{"type": "text", "text": TEXT}]})


def median_ms(work: Callable[[int], object], times: int) -> float:
    took = []
    for number in range(times):
        began = time.perf_counter()
        work(number)
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1e3


def bare_insert(directory: Path, times: int) -> float:
    """Insert one row per transaction with the same settings; the row is made beforehand."""
    db = sqlite3.connect(directory / "bare.db", isolation_level=None)
    db.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE e(a INTEGER PRIMARY KEY, j TEXT)"
    )
    rows = [encode(event(number)).decode() for number in range(times)]

    def insert(number: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO e(j) VALUES (?)", (rows[number],))
        db.execute("COMMIT")

    median = median_ms(insert, times)
    db.close()
    return median


def commits(directory: Path, times: int = 1_000) -> Measure:
    events = [event(number) for number in range(times)]
    with Store.create(directory / "commit.ohw") as store:
        ours = median_ms(lambda number: store.append(events[number]), times)
    bare = bare_insert(directory, times)
    return Measure("commit an event", ours, "ms", bare, 2 * bare, ours <= 2 * bare)


def opening(directory: Path, count: int, budget: float) -> list[Measure]:
    path = directory / f"{count}.ohw"
    with Store.create(path) as store:
        store.append(SessionStarted(id="x", workspace="/", model="m", mode="medium"))
        for first in range(2, count + 1, 1_000):
            store.append(*(event(number) for number in range(first, min(first + 1_000, count + 1))))
    results = []
    for name, after in (("all events", 0), ("the last 500", count - 500)):
        began = time.perf_counter()
        with Store.open(path, readonly=True) as store:
            read = sum(1 for _ in store.events(after))
        took = time.perf_counter() - began
        assert read == count - after
        results.append(Measure(f"read {name} of {count:,}", took, "s", None, budget, took <= budget))
    with Store.open(path) as store:
        began = time.perf_counter()
        Session(SessionParts(store, FakeAgent(), {})).close()
        took = time.perf_counter() - began
    return [*results, Measure(f"session on {count:,} events", took, "s", None, None, True)]


def steps(directory: Path, times: int = 1_000) -> list[Measure]:
    """Measure a step with a model and a tool that take no time: from the answer to the next request, early and late."""
    directory = directory / "steps"
    directory.mkdir()
    script = (*(calls(("look", {})) for _ in range(times)), says("end"))
    harness = Harness(directory, *script, max_steps=2 * times, stop_loops=False, condense_events=0)
    starts: list[float] = []

    def respond(messages: list, on_delta: Callable, cancel: object) -> object:
        starts.append(time.perf_counter())
        harness.agent.requests.clear()
        return harness.agent.script.pop(0)

    harness.agent.respond = respond  # type: ignore[method-assign, assignment]
    harness.session.send("go")
    while harness.session.step():
        pass
    harness.close()
    took = [(after - before) * 1e3 for before, after in pairwise(starts)]
    early, late = statistics.median(took[:50]), statistics.median(took[-50:])
    budget = 1.4 * early
    return [
        Measure("session's share of a step, first 50", early, "ms", None, None, True),
        Measure(f"session's share of a step, at {times}", late, "ms", early, budget, late <= budget),
    ]


def long_run_steps(directory: Path, times: int = 1_000) -> list[Measure]:
    """Measure the CPU time of a step with the offline model, real tools and condensing on, without the condensing
    itself.
    """
    directory = directory / "long"
    directory.mkdir()
    events: list[str] = []
    with long_run.session(directory, times, events) as made:
        run = long_run.drive(made, events)
    early, late = run.cost(50, 250), run.cost(times - 200, times)
    return [
        Measure("a step with condensing on, 50 to 250", early * 1e3, "ms", None, None, True),
        Measure(
            f"a step with condensing on, at {times}", late * 1e3, "ms", early * 1e3, 1.4e3 * early, late <= 1.4 * early
        ),
    ]


def measures() -> list[Measure]:
    """All measures of this file."""
    os.environ["OHW_SCRIPT_PACE"] = "0"
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        directory = Path(name)
        return [
            commits(directory),
            *opening(directory, 10_000, 0.5),
            *opening(directory, 100_000, 1.0),
            *steps(directory),
            *long_run_steps(directory),
        ]


if __name__ == "__main__":
    for one in measures():
        print(one)
