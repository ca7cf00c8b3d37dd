"""Blame of a long file whose every snapshot changed it, half of its lines older than the first session."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.bench.measure import Measure
from tests.session.long_run import locations
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.session.workspace.repository import SnapshotRepository
from workbench.view.blame import read_blame

LINES, SNAPSHOTS, LIMIT = 2_000, 500, 0.3
_EACH = LINES // 2 // SNAPSHOTS
"""The lines that each snapshot changes."""
_PROMPTS = 10


def measures() -> list[Measure]:
    """All measures of this file."""
    with tempfile.TemporaryDirectory(prefix="ohw-bench-") as name:
        workspace = Path(name).resolve() / "work"
        workspace.mkdir()
        _record(workspace)
        seconds = min(_timed(workspace) for _ in range(3))
        what = f"blame of {LINES:,} lines over {SNAPSHOTS} snapshots"
        return [Measure(what, seconds, "s", None, LIMIT, seconds <= LIMIT)]


def _timed(workspace: Path) -> float:
    began = time.perf_counter()
    view = read_blame(locations(workspace), workspace, "long.py")
    seconds = time.perf_counter() - began
    assert len(view.sources) == SNAPSHOTS + 1
    assert dict(view.counts()) == {"agent": LINES // 2, "before": LINES // 2}, view.counts()
    return seconds


def _record(workspace: Path) -> None:
    """Write the file, and the log of a session that changes two of its lines in each of its actions."""
    path = workspace / "long.py"
    lines = [f"    value_{number:04} = compute(number={number})\n" for number in range(LINES)]
    path.write_text("".join(lines))
    version = SnapshotRepository(locations(workspace), workspace, "one")
    version.prepare()
    session = session_path(locations(workspace), "one")
    session.parent.mkdir(parents=True, exist_ok=True)
    with Store.create(session) as store:
        started = ev.SessionStarted(id="one", workspace=str(workspace), model="m", mode="never")
        store.append(started, ev.VersionTaken(version=version.snapshot()), lasting=False)
        for number in range(SNAPSHOTS):
            before = "".join(lines)
            for at in range(_EACH):
                lines[2 * (number * _EACH + at)] = f"    changed_{number:03} = compute(again={at})\n"
            after = "".join(lines)
            store.append(*_action(number, ev.FileDelta(path=str(path), before=before, after=after)), lasting=False)
        path.write_text(after)


def _action(number: int, delta: ev.FileDelta) -> list[ev.Event]:
    name, message = (
        f"a{number}",
        [ev.UserMessage(text=f"task {number}")] if number % (SNAPSHOTS // _PROMPTS) == 0 else [],
    )
    arguments = {"command": f"sed -i s/value/changed/ {delta.path}"}
    return [
        *message,
        ev.ModelResponded(response_id=f"r{number}", model="provider/model", text="Next, the following lines."),
        ev.ActionProposed(
            action_id=name, response_id=f"r{number}", call_id=name, tool="execute_bash", arguments=arguments
        ),
        ev.ActionAssessed(action_id=name, risk="LOW"),
        ev.ActionDecided(action_id=name, verdict="approved", by="mode", rule="mode"),
        ev.ActionStarted(action_id=name),
        ev.ActionObserved(action_id=name, observation={"content": []}),
        ev.VersionTaken(action_id=name, version=f"{number:040x}", files=(delta,)),
    ]
