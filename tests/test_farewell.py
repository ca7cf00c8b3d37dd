"""The line that a closed screen leaves in the terminal: cost, working time, own files, and how to resume."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.session.storage.working_time import working_time
from workbench.view.farewell import farewell

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEPS = {
    "one run": ([(0, "message"), (70, "end")], 70),
    "a message during a run": ([(0, "message"), (30, "message"), (70, "end")], 70),
    "a pause between two runs": ([(0, "message"), (10, "end"), (500, "message"), (505, "end")], 15),
    "a run that goes on": ([(0, "message"), (10, "end"), (20, "message"), (50, "other")], 40),
    "no run": ([(0, "other")], 0),
}


def event(kind: str, second: int) -> ev.Event:
    kinds = {
        "message": ev.UserMessage(text="go"),
        "end": ev.RunEnded(reason="finished"),
        "other": ev.SettingsChanged(mode="high"),
    }
    return msgspec.structs.replace(kinds[kind], at=BEGAN + timedelta(seconds=second))


@pytest.mark.parametrize("name", STEPS)
def test_working_time_is_that_of_the_runs(tmp_path: Path, name: str):
    steps, expected = STEPS[name]
    with Store.create(tmp_path / "session.db") as store:
        store.append(*(event(kind, second) for second, kind in steps))
        assert working_time(store) == expected


def test_farewell_counts_only_files_that_the_session_changed(tmp_path: Path):
    where = Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state", tmp_path / "runtime")
    where.sessions.mkdir(parents=True)
    script = Script().start(workspace=str(tmp_path)).user("go").answer("Fine.")
    mine, others = (
        ev.FileDelta(path=str(tmp_path / name), before="", after="x\n") for name in ("mine.py", "theirs.py")
    )
    script.run("str_replace_editor", "edited", "MEDIUM", command="create", path=mine.path, _files=(mine,))
    script.add(ev.FilesChanged, by="others", files=(others,))
    script.add(ev.RunEnded, reason="finished")
    state = script.state()
    with Store.create(session_path(where, state.session_id)) as store:
        store.append(*script.events)
    line = farewell(where, state)
    assert "1 file changed" in line
    assert line.endswith(f"Resume with: ohw resume {state.session_id}")
