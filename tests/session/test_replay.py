"""Replays: what ran runs again in a scratch directory and is compared; nothing else is touched or asked."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from tests.fakes.model_turns import Called, Turn
from tests.session.recording import Recording, bash, differences, edit, go_on, tree
from workbench.errors import UsageError, WorkbenchError
from workbench.llm.model import Cancel
from workbench.session.forks import fork_at
from workbench.session.session_factory import OpenedSession
from workbench.session.state import OpenAction
from workbench.session.storage.session_list import delete
from workbench.session.storage.store import Store, StoreError
from workbench.tools.executor import ToolExecutor as Executor
from workbench.tools.registry import register_tool, unregister_tool
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolDefinition


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    recording = Recording(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    return recording


def test_edits_are_made_again_and_nothing_else_is_touched(recording: Recording):
    path = str(recording.work / "a.txt")
    recording.run(
        edit(command="create", path=path, file_text="one\ntwo\n"),
        edit(command="str_replace", path=path, old_str="two", new_str="three"),
        edit(command="str_replace", path=path, old_str="no such text", new_str="x"),
        edit(command="insert", path=path, insert_line=1, new_str=f"see {recording.work}/b.txt"),
        edit(command="view", path=path),
        edit(command="undo_edit", path=path),
    )
    files, home, log = tree(recording.work), tree(recording.where.data), recording.path.read_bytes()
    result = recording.replayed()
    assert differences(result) == []
    assert (result.ran, result.recorded, result.not_run) == (5, {}, 1)
    assert tree(recording.work) == files
    assert recording.path.read_bytes() == log
    assert tree(recording.where.data) == home


def test_commands_that_create_delete_and_rename_run_again(recording: Recording):
    (recording.work / "old.txt").write_text("old\n")
    recording.run(
        bash("mkdir -p d/empty; date > time.txt; echo new > d/new.txt; chmod 600 old.txt; echo $$"),
        bash(f"cd {recording.work}/d && mv new.txt newer.txt && ln -s newer.txt link && pwd"),
        bash("rm ../old.txt; X=5; head -c 100 /dev/zero > zeros; false"),
        bash("echo $X; ls -la; mktemp; sleep 1 & echo started"),
        bash("read -p 'name? ' name; echo hello $name > greeting; cat greeting", timeout=1),
        bash("me", is_input=True),
    )
    (recording.work / "d/greeting").write_text("something else\n")
    result = recording.replayed()
    assert differences(result) == []
    assert (result.ran, result.recorded) == (6, {})


def test_cells_and_scripts_of_python_run_again(recording: Recording):
    recording.run(
        Turn(calls=[Called("execute_ipython_cell", {"code": "x = 20\nopen('x.txt', 'w').write(str(x))"})]),
        Turn(calls=[Called("execute_ipython_cell", {"code": "x += 1\nprint(x)\nobject()"})]),
        Turn(calls=[Called("execute_ipython_cell", {"code": "1 / 0"})]),
        Turn(calls=[Called("python_execute", {"code": "import os\nprint(os.getcwd(), os.getpid() > 0)"})]),
    )
    result = recording.replayed()
    assert differences(result) == []
    assert result.ran == 4


def test_shell_and_interpreter_start_anew_where_the_session_was_opened_again(recording: Recording):
    cell = Turn(calls=[Called("execute_ipython_cell", {"code": "x = globals().get('x', 0) + 1\nx"})])
    recording.run(bash("mkdir -p d; cd d; X=1"), bash("echo [$X]; pwd"), cell, cell)
    recording.run(bash("echo [$X]; pwd"), cell)
    result = recording.replayed()
    assert differences(result) == []
    assert result.ran == 6


def test_program_of_several_processes_and_long_output_run_again(recording: Recording):
    (recording.work / "m.py").write_text(
        "import multiprocessing\nif __name__ == '__main__':\n"
        "    with multiprocessing.Pool(2) as pool:\n        print(pool.map(abs, [-1, 2]))\n"
    )
    recording.run(bash("python3 m.py"), bash("seq 1 20000"))
    assert differences(recording.replayed()) == []


def test_git_has_the_settings_of_the_user(recording: Recording):
    Path.home().joinpath(".gitconfig").write_text("[user]\nname = me\nemail = me@example.org\n")
    recording.run(bash("git init -qb main; echo one > a.txt; git add a.txt; git commit -m first; git log"))
    assert differences(recording.replayed()) == []


def test_calls_side_by_side_and_unreadable_ones_are_compared(recording: Recording):
    (recording.work / "a.py").write_text("print(1)\n")
    recording.run(
        Turn(
            calls=[
                Called("glob", {"pattern": "*.py"}),
                Called("grep", {"pattern": "print"}),
                Called("think", {"thought": "hm"}),
            ]
        ),
        Turn(calls=[Called("execute_bash", '{"command": 1'), Called("no_such_tool", {})]),
        Turn(calls=[Called("task_tracker", {"command": "plan", "task_list": [{"title": "one", "status": "todo"}]})]),
    )
    result = recording.replayed()
    assert differences(result) == []
    assert (result.ran, result.not_run) == (4, 2)


def test_decisions_are_those_of_the_record(recording: Recording):
    letters = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
    (recording.work / "a.txt").write_text(letters)
    path = str(recording.work / "a.txt")

    def decide(opened: OpenedSession, action: OpenAction) -> None:
        proposed, assessed = action.proposed, action.assessed
        command = action.arguments.get("command", "")
        print_ = {"fingerprint": assessed.fingerprint}
        if "reject" in command:
            opened.session.decide(proposed.action_id, "rejected", note="no", **print_)
        elif command == "touch edit.txt":
            opened.session.decide(proposed.action_id, "edited", edited={"command": "touch edited.txt"}, **print_)
        elif assessed.preview:
            opened.session.decide(proposed.action_id, "approved", hunks=(0,), **print_)
        else:
            opened.session.decide(proposed.action_id, "approved", **print_)

    recording.run(
        bash("touch reject.txt"),
        bash("touch edit.txt"),
        edit(command="str_replace", path=path, old_str=letters, new_str=letters.replace("a", "A").replace("h", "H")),
        mode="medium",
        decide=decide,
    )
    assert {path.name for path in recording.work.iterdir()} == {"a.txt", "edited.txt"}
    assert (recording.work / "a.txt").read_text() == letters.replace("a", "A")
    result = recording.replayed()
    assert differences(result) == []
    assert (result.ran, result.not_run) == (2, 1)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("curl -s --max-time 1 http://192.0.2.1/; echo page > result", "the network"),
        ("echo x > {outside}/new; echo page > result", "files outside the directory"),
        ("cat {outside}/file > result", "files outside the directory"),
        ("kill -0 999999; echo page > result", "other processes"),
        ("cd {outside}; echo page > {work}/result", "files outside the directory"),
    ],
)
def test_what_reaches_outside_is_not_run_again_but_its_result_is_used(
    recording: Recording, tmp_path: Path, command: str, reason: str
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("page\n")
    recording.run(bash(command.format(outside=outside, work=recording.work)), bash(f"cat {recording.work}/result"))
    shutil.rmtree(outside)
    outside.mkdir()
    result = recording.replayed()
    assert differences(result) == []
    assert result.recorded[reason] >= 1
    assert list(outside.iterdir()) == []


def test_live_replay_reaches_outside_again(recording: Recording, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    recording.run(bash(f"echo x > {outside}/new"))
    (outside / "new").unlink()
    assert recording.replayed().recorded == {"files outside the directory": 1}
    assert list(outside.iterdir()) == []
    result = recording.replayed(is_live=True)
    assert (differences(result), result.ran, result.recorded) == ([], 1, {})
    assert (outside / "new").read_text() == "x\n"


def test_sub_agents_questions_and_tools_that_are_gone_are_taken_from_the_record(recording: Recording):
    class Gone(Executor):
        def __call__(self, action: Action) -> Observation:
            (recording.work / "made.txt").write_text("made\n")
            return Observation.from_text("made")

    register_tool("gone", ToolDefinition(name="gone", description="g", action_type=Action, executor=Gone()))
    recording.settings = replace(recording.settings, tools={"gone": True})
    try:
        recording.run(
            Turn(calls=[Called("delegate", {"agent": "writer", "task": "write"})]),
            bash("echo sub > sub.txt"),
            Turn(calls=[Called("finish", {"message": "written"})]),
            Turn(calls=[Called("gone", {})]),
            bash("cat sub.txt made.txt"),
        )
    finally:
        unregister_tool("gone")
    recording.settings = replace(recording.settings, tools={})
    result = recording.replayed()
    assert differences(result) == []
    assert result.recorded == {"a sub-agent": 1, "a tool that is not here": 1}
    assert result.ran == 1


def test_changed_tool_is_reported_with_what_it_was_and_is(recording: Recording):
    class Counter(Executor):
        text = "one\ntwo\n"

        def __call__(self, action: Action) -> Observation:
            return Observation.from_text(self.text)

    register_tool("count", ToolDefinition(name="count", description="c", action_type=Action, executor=Counter()))
    recording.settings = replace(recording.settings, tools={"count": True})
    try:
        recording.run(bash("echo one > a.txt"), Turn(calls=[Called("count", {})]), bash("pwd; ls nothing"))
        assert recording.replayed().divergences == []
        Counter.text = "one\nthree\n"
        (divergence,) = recording.replayed(keeps_going=False).divergences
    finally:
        unregister_tool("count")
    assert (divergence.what, divergence.tool, divergence.diff) == ("result", "count", (" one", "-two", "+three"))
    assert recording.replayed(until=divergence.seq - 1).ran == 1


def test_protected_file_that_the_session_restored_is_no_difference(recording: Recording):
    (recording.work / "write.py").write_text(
        "import os\nos.makedirs('.vsc' + 'ode', exist_ok=True)\nopen('.vsc' + 'ode/tasks.json', 'w').write('{}')\n"
    )
    recording.run(bash("python3 write.py; echo one > a.txt"), bash("cat .vscode/tasks.json; cat a.txt"))
    with recording.opened() as opened:
        assert any(getattr(event, "guarded", ()) for event in opened.events()), "the guard restored it"
    assert differences(recording.replayed()) == []


def test_program_cannot_write_outside_even_if_nothing_tells_that_it_would(recording: Recording, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (recording.work / "write.py").write_text("import sys\nopen(sys.stdin.read().strip(), 'w').write('x')\n")
    recording.run(bash(f"echo {outside}/new | python3 write.py; echo $?"))
    assert (outside / "new").exists()
    (outside / "new").unlink()
    result = recording.replayed()
    assert not (outside / "new").exists()
    if result.is_confined:
        assert "Permission denied" in differences(result)[0]


def test_rewinds_and_changes_by_the_user_are_applied_where_they_happened(recording: Recording):
    recording.run(bash("echo one > a.txt; X=1"), bash("echo two > b.txt"))
    with recording.opened([bash("cat a.txt mine.txt; ls; echo three > c.txt; echo [$X]"), Turn("Done.")]) as opened:
        first = next(event.seq for event in opened.events() if event.kind == "action_observed")
        opened.session.rewinder.rewind(first)
        assert not (recording.work / "b.txt").exists()
        (recording.work / "mine.txt").write_text("mine\n")
        opened.session.send("again")
        go_on(opened)
        opened.session.rewinder.rewind(first)
        assert not (recording.work / "c.txt").exists()
        opened.session.files.snapshot_now(Cancel())
    result = recording.replayed()
    assert differences(result) == []
    assert result.ran == 3


def test_commands_of_the_user_run_again_in_the_same_shell(recording: Recording):
    with recording.opened([bash("echo $NAME; cat n.txt"), Turn("Done.")]) as opened:
        opened.session.user_commands.add("NAME=me; echo mine > n.txt")
        opened.session.send("go")
        go_on(opened)
    result = recording.replayed()
    assert differences(result) == []
    assert result.ran == 2


def test_fork_is_replayed_from_the_start_of_its_parent(recording: Recording, tmp_path: Path):
    recording.run(bash("echo one > a.txt; pwd"))
    parent = recording.id
    fork = fork_at(recording.where, parent, None, tmp_path / "beside")
    recording.id = fork.id
    recording.run(bash("cat a.txt; pwd; echo two > b.txt"))
    result = recording.replayed()
    assert differences(result) == []
    assert result.ran == 2
    delete(recording.where, parent)
    assert recording.replayed().ran == 2


def test_fork_whose_parent_is_gone_is_refused(recording: Recording):
    recording.run(bash("echo one > a.txt"))
    parent = recording.path
    recording.id = fork_at(recording.where, recording.id).id
    parent.unlink()
    with pytest.raises(WorkbenchError, match="was deleted or replaced"):
        recording.replayed()


def test_interrupted_action_is_not_run_again(recording: Recording):
    with recording.opened([bash("echo begun > a.txt; sleep 30"), bash("cat a.txt"), Turn("Done.")]) as opened:
        opened.session.send("go")
        threading.Timer(1.5, opened.session.interrupt).start()
        go_on(opened)
        opened.session.send("go on")
        go_on(opened)
    result = recording.replayed()
    assert differences(result) == []
    assert result.recorded == {"an interrupt": 1}
    assert result.ran == 1


def versions(recording: Recording) -> Path:
    """Return the directory of the snapshots."""
    (directory,) = (recording.where.data / "versions").iterdir()
    return directory


def remove_versions(recording: Recording) -> None:
    shutil.rmtree(versions(recording))


def remove_a_file(recording: Recording) -> None:
    """Remove the content of a file from the snapshots."""
    (recording.work / "same.txt").write_text("a content\n")
    name = hashlib.sha1(b"blob 10\0a content\n").hexdigest()
    (versions(recording) / "objects" / name[:2] / name[2:]).unlink()


def damage(recording: Recording) -> None:
    with closing(sqlite3.connect(recording.path)) as db:
        db.execute("DELETE FROM events WHERE seq = 3")
        db.commit()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (remove_versions, "the snapshot .{8} of this session is gone: it was pruned or deleted"),
        (remove_a_file, "a file of this version is gone"),
        (damage, "is damaged .*event 3"),
        (lambda recording: recording.path.unlink(), "there is no session"),
    ],
    ids=["pruned", "a blob is gone", "damaged", "no session"],
)
def test_session_that_cannot_be_replayed_says_why(recording: Recording, harm: Callable, message: str):
    (recording.work / "same.txt").write_text("a content\n")
    recording.run(bash("echo one > a.txt"))
    harm(recording)
    with pytest.raises(WorkbenchError, match=message):
        recording.replayed()


def test_unknown_event_is_refused(recording: Recording):
    recording.run(bash("echo one > a.txt"))
    with Store.open(recording.path, readonly=True) as store:
        last = store.last_seq
    for event in (0, -1, last + 1):
        with pytest.raises(UsageError, match=f"no event {event} in this session; it has {last}"):
            recording.replayed(until=event)


def test_full_disk_is_reported_and_leaves_nothing(recording: Recording, tmp_path: Path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (recording.work / "big.txt").write_text("x" * 100_000)
    recording.run(bash("echo one > a.txt"))
    with room_for(1_000), pytest.raises((WorkbenchError, OSError)):
        recording.replayed()
    assert list(scratch.iterdir()) == []


def test_session_in_use_by_another_program_is_reported(recording: Recording):
    recording.run(bash("echo one > a.txt"))
    with closing(sqlite3.connect(recording.path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        db.execute("DELETE FROM words WHERE 0")
        with pytest.raises(StoreError, match="in use by another program"):
            recording.replayed()


def test_file_of_another_origin_is_not_run(recording: Recording):
    recording.run(bash("echo one > a.txt"))
    other = recording.path.with_name("20260101-planted-2222.session")
    shutil.copy(recording.path, other)
    recording.id = other.stem
    with pytest.raises(UsageError, match="its actions are not run again"):
        recording.replayed()


def test_result_is_plain_data(recording: Recording):
    recording.run(bash("echo one > a.txt"))
    assert json.dumps(recording.replayed().recorded) == "{}"
