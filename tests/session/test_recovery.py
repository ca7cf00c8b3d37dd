import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from tests.session.fake_agent import calls, faults_of, says
from workbench.session.storage.event_rows import checksum
from workbench.session.storage.store import StoreError

NOTE = ("note", {"text": "one"}, "HIGH")
DIES = """
import os, signal, sys
from pathlib import Path
from tests.session.fake_agent import Harness, calls, says

moment, directory, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
script = calls(("note", {"text": "one"}, "HIGH"), ("note", {"text": "two"}, "HIGH")), says("ok")
made = Harness(directory, *script, mode=mode)

def die(event):
    if event.kind == moment:
        os.kill(os.getpid(), signal.SIGKILL)

made.hook = die
if moment == "inside":
    real = type(made.tools["note"].executor).__call__
    def call(self, action):
        real(self, action)
        os.kill(os.getpid(), signal.SIGKILL)
    type(made.tools["note"].executor).__call__ = call
made.session.send("go")
made.run()
made.answer()
made.close()
"""


def killed_at(moment: str, directory: Path, mode: str = "medium") -> None:
    """Run a session in a process of its own that is killed right after this event is on disk."""
    done = subprocess.run([sys.executable, "-c", DIES, moment, str(directory), mode], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("moment", ["action_decided", "action_started", "inside"])
def test_decided_action_is_abandoned_after_a_kill_and_never_run_again(harness, tmp_path, moment):
    killed_at(moment, tmp_path)
    d = harness(says("I look first."))
    d.run()
    before = list(d.notes)
    assert d.kinds().count("action_abandoned") == 1
    assert d.session.question.proposed.arguments == {"text": "two"}, "the question that was open beside it still is"
    d.answer("rejected")
    assert d.notes == before == (["one"] if moment == "inside" else [])
    first, second = [m["content"] for m in d.agent.requests[0] if m["role"] == "tool"]
    assert "unknown" in first
    assert "rejected" in second
    assert faults_of(d.agent.requests[0]) == []


def test_restart_does_not_run_actions_approved_ahead(harness):
    d = harness(calls(NOTE, ("note", {"text": "two"}, "HIGH")), says("ok"))
    d.session.send("go")
    d.run()
    for action in d.waiting():
        d.decide(action)
    d.reopen()
    d.run()
    assert (d.session.phase, d.session.ended, d.notes) == ("idle", "interrupted", [])
    d.session.send("go on")
    d.run()
    first, second = [m["content"] for m in d.agent.requests[-1] if m["role"] == "tool"]
    assert "unknown" in first
    assert "not run" in second
    assert d.notes == []


@pytest.mark.parametrize("moment", ["action_proposed", "action_assessed"])
def test_open_question_is_shown_again_after_a_kill(harness, tmp_path, moment):
    killed_at(moment, tmp_path)
    d = harness(says("ok"))
    d.run()
    assert d.session.phase == "deciding"
    assert d.notes == []
    d.answer()
    assert d.notes == ["one"]
    d.answer("rejected")
    assert d.notes == ["one"]
    assert d.session.ended == "waiting"


def test_model_is_called_after_a_kill_only_once_the_user_sends_a_message(harness, tmp_path):
    killed_at("user_message", tmp_path)
    d = harness(says("here I am"))
    d.run()
    assert (d.session.ended, d.agent.requests) == ("interrupted", [])
    d.session.send("still there?")
    d.run()
    assert [m["content"] for m in d.agent.requests[0]] == ["go", "still there?"]


@pytest.mark.parametrize("mode", ["medium", "never"])
def test_restart_alone_runs_nothing(harness, tmp_path, mode):
    killed_at("action_observed", tmp_path, mode)
    d = harness(says("ok"))
    d.run()
    assert d.notes == ["one"]
    if mode == "medium":
        assert d.session.phase == "deciding", "the second was asked about ahead, and still is"
        d.session.interrupt()
    assert (d.session.phase, d.session.ended) == ("idle", "interrupted")
    d.session.send("go on")
    d.run()
    assert d.notes == ["one"]
    assert next(m["content"] for m in d.agent.requests[0] if m["role"] == "tool") == "noted one"
    assert faults_of(d.agent.requests[0]) == []


def test_recovery_of_an_intact_session_writes_nothing(harness):
    d = harness(says("hi"))
    d.session.send("go")
    d.run()
    before = d.store.last_seq
    d.reopen()
    d.reopen()
    assert d.store.last_seq == before


def test_log_with_a_gap_in_the_middle_can_be_continued(harness, tmp_path):
    d = harness(calls(("look", {})), says("hi"), says("ok"))
    d.session.send("go")
    d.run()
    with closing(sqlite3.connect(d.path)) as db, db:
        (row,) = db.execute("SELECT seq, kind, at, parts FROM events WHERE kind = 'action_observed'").fetchall()
        seq, kind, at, parts = row
        crc = checksum((seq, kind, at, "{}", parts))
        db.execute("UPDATE events SET json = '{}', crc = ? WHERE seq = ?", (crc, seq))
    d.reopen()
    d.session.send("and now?")
    d.run()
    assert faults_of(d.agent.requests[-1]) == []
    assert d.session.ended == "waiting"


def full_disk(path: Path) -> AbstractContextManager[None]:
    """Leave no room in the session's file."""
    return room_for(Path(f"{path}-wal").stat().st_size)


def test_full_disk_accepts_no_message_and_no_decision(harness):
    d = harness(calls(NOTE), says("ok"))
    d.session.send("go")
    d.run()
    with full_disk(d.path):
        with pytest.raises(StoreError):
            d.answer()
        with pytest.raises(StoreError):
            d.session.send("hello")
        d.run()
        assert "not saved" in d.session.state.detail
        assert "not saved" in getattr(d.live[-1], "detail", "")
    assert (d.session.phase, d.notes) == ("deciding", [])
    d.answer()
    assert d.notes == ["one"]
    assert (d.session.state.detail, getattr(d.live[-1], "detail", None)) == ("", "")


def test_events_during_a_full_disk_are_written_later_and_nothing_runs_meanwhile(harness):
    d = harness(calls(("look", {}), ("note", {"text": "late"})), says("ok"))
    d.session.send("go")
    with full_disk(d.path):
        d.run()
        assert "not saved" in d.session.unsaved
        assert any("not saved" in getattr(event, "detail", "") for event in d.live)
        d.run()
        assert d.kinds()[-1] == "user_message"
        assert len(d.agent.requests) == 1
    assert d.notes == []
    d.run()
    assert (d.session.unsaved, d.session.ended, d.notes) == ("", "waiting", ["late"])
    assert len(d.agent.requests) == 2, "the answer was kept, not asked for again"


def test_kill_at_any_commit_loses_nothing_and_repeats_nothing(harness, tmp_path):
    copies = tmp_path / "copies"
    copies.mkdir()
    d = harness(
        calls(NOTE, ("look", {}), ("note", {"text": "two"})), calls(("note", {"text": "three"}, "HIGH")), says("ok")
    )

    def keep(event):
        directory = copies / f"{event.seq:03}"
        directory.mkdir()
        for file in (d.path, Path(f"{d.path}-wal"), tmp_path / "notes.txt"):
            if file.exists():
                shutil.copy(file, directory)

    d.hook = keep
    d.session.send("go")
    d.run()
    d.answer()
    d.answer()
    assert d.notes == ["one", "two", "three"]
    for directory in sorted(copies.iterdir()):
        again = type(d)(directory, says("ok"), says("ok"))
        assert [e.seq for e in again.log()] == list(range(1, again.store.last_seq + 1))
        again.run()
        for _ in range(5):
            if again.session.phase == "deciding":
                again.answer()
        assert sorted(set(again.notes)) == sorted(again.notes)
        assert undecided_starts(again.log()) == []
        again.session.send("more")
        again.run()
        assert faults_of(again.agent.requests[-1]) == []
        again.close()


def undecided_starts(log) -> list[str]:
    decided, wrong = set(), []
    for event in log:
        if event.kind == "action_assessed":
            decided.discard(event.action_id)
        if event.kind == "action_decided" and event.verdict != "rejected":
            decided.add(event.action_id)
        if event.kind == "action_started" and event.action_id not in decided:
            wrong.append(event.action_id)
    return wrong
