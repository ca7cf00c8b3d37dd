"""A long offline run of the real session with condensing on, for a test and a benchmark."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.protocol.events import Event
from workbench.session.session_factory import OpenedSession, start_session

NAME = "20260101-long-1111"
WINDOW = 60
"""Messages above which the history is condensed."""
_THOUGHT = "I look at the next part and keep in mind what it says. " * 60
_SCRIPT = f"""
[[turn]]
name = "again"
after = ["start", "again"]
text = "On with it."
[[turn.call]]
tool = "think"
summary = "Think"
arguments = {{ thought = "{_THOUGHT}" }}

[[turn]]
name = "sum"
after = "summary"
text = "GOAL: go on. DONE: some parts."
usage = {{ input = 500, output = 20 }}
"""


@dataclass
class LongRun:
    """The measurements of a run; a step is a model's answer with its calls."""

    step_times: list[float] = field(default_factory=list)
    """Seconds of CPU of each step without a condensation."""
    kept: list[tuple[int, int]] = field(default_factory=list)
    """The step of each condensation, and the traced bytes alive after it."""

    def cost(self, begin: int, end: int) -> float:
        """Return the CPU seconds of a step in this range: the lower quartile, which load affects least."""
        return statistics.quantiles(self.step_times[begin:end], n=4)[0]


def script(directory: Path) -> str:
    """Return the name of an offline model that repeats one step forever and summarises when asked."""
    path = directory / "long.toml"
    path.write_text(_SCRIPT)
    return f"scripted/{path}"


def locations(directory: Path) -> Locations:
    """Create a home of its own, beside the workspace."""
    home = directory.with_name(f"{directory.name}-home")
    return Locations(home / "c", home / "d", home / "s", home / "r")


@contextmanager
def session(directory: Path, steps: int, events: list[str], *, window: int = WINDOW) -> Iterator[OpenedSession]:
    """Yield a session limited to so many steps; the kinds of its events are appended to `events`."""

    def heard(event: Event) -> None:
        events.append(event.kind)

    settings = Settings(
        model=script(directory), max_steps=steps, stop_loops=False, condense_events=window, condense_percent=0
    )
    made = start_session(locations(directory), settings, directory, NAME, on_event=heard, on_live=lambda event: None)
    try:
        yield made
    finally:
        made.close()


def drive(made: OpenedSession, events: list[str], trace_from: int | None = None) -> LongRun:
    """Run to the end; memory is traced from one step on, which makes later steps slower."""
    run = LongRun()
    made.session.send("go through it all")
    began, is_on = time.process_time(), True
    while is_on:
        events.clear()
        is_on = made.session.step()
        if "history_condensed" in events:
            _look(run)
            began = time.process_time()
        elif "action_observed" in events:
            run.step_times.append(time.process_time() - began)
            if len(run.step_times) == trace_from:
                tracemalloc.start()
            began = time.process_time()
    tracemalloc.stop()
    return run


def _look(run: LongRun) -> None:
    if tracemalloc.is_tracing():
        gc.collect()
        run.kept.append((len(run.step_times), tracemalloc.get_traced_memory()[0]))
