"""Snapshots of a session: changes on disk by actions, their shells and other programs are recorded."""

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import calls, says
from workbench.config.locations import Locations
from workbench.llm.model import Cancel
from workbench.protocol.events import FileDelta
from workbench.session.workspace import files, snapshots
from workbench.session.workspace.index_file import read_index
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.watcher import native_changes
from workbench.tools import BashTool


class ScriptedWatcher:
    """A watcher that reports the batches it was given."""

    def __init__(self) -> None:
        self.batches: list[set[str]] = []
        self.fails = ""
        self.asked = threading.Event()

    def __call__(self, workspace: Path, marks: Path, stop: threading.Event) -> Iterator[set[str]]:
        yield set()
        self.asked.set()
        while not stop.wait(0.02):
            if self.fails:
                raise OSError(28, self.fails)
            if self.batches:
                yield self.batches.pop()


@pytest.fixture
def recorded(harness, tmp_path):
    """A harness whose session has versions; its workspace is the directory `work`."""

    def make(*script, changes=None, **more):
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        repository = SnapshotRepository(Locations.from_environment(), work, "one")
        one = harness(*script, mode="never", repository=repository, changes=changes or ScriptedWatcher(), **more)
        one.work, one.repository = work, repository
        return one

    return make


def idle(one) -> None:
    """Wait until every requested snapshot is taken."""
    assert one.session.files._recorder.wait(Cancel(), 30)


def versions(one) -> list:
    return [event for event in one.log() if event.kind == "version_taken"]


def others(one) -> list:
    return [event for event in one.log() if event.kind == "files_changed" and event.by == "other"]


def write(one, name: str, text: str):
    return calls(("write", {"path": str(one.work / name), "text": text}))


def test_changes_beyond_the_preview_of_an_action_are_reported(recorded, tmp_path):
    one = recorded()
    (one.work / "old.txt").write_text("before\n")

    def act(messages, on_delta, cancel):
        return calls(("note", {"text": "x"}), ("look", {}))

    one.tools["note"].executor.path = one.work / "old.txt"
    one.agent.script += [act, says("done")]
    one.session.send("go")
    one.run()
    wait_for(lambda: len(versions(one)) == 2, "the version after the action")
    first, after = versions(one)
    (file,) = after.files
    assert (first.action_id, first.files) == ("", ())
    assert (file.path, file.before, file.after) == (str(one.work / "old.txt"), "before\n", "before\nx\n")
    assert after.action_id in {event.action_id for event in one.log() if event.kind == "action_observed"}
    assert after.version not in ("", first.version)


def test_changes_in_the_result_are_not_reported_twice(recorded):
    one = recorded()
    one.agent.script += [write(one, "a.txt", "new\n"), says("done")]
    one.session.send("go")
    one.run()
    wait_for(lambda: len(versions(one)) == 2, "the version after the action")
    assert versions(one)[1].files == ()


def test_next_writing_action_waits_for_the_version_before_it(recorded, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE", 60.0)  # on a busy machine a version may take longer than an action waits
    one = recorded()
    one.agent.script += [write(one, "a.txt", "1"), write(one, "a.txt", "2"), write(one, "a.txt", "3"), says("done")]
    one.session.send("go")
    one.run()
    wait_for(lambda: len(versions(one)) == 4, "a version after each action")
    acted = [event.action_id for event in one.log() if event.kind == "action_observed"]
    assert [event.action_id for event in versions(one)] == ["", *acted]
    assert len({event.version for event in versions(one)}) == 4


def test_changes_of_a_stopped_command_are_recorded_before_the_end_of_its_run(recorded, monkeypatch):
    monkeypatch.setattr(files, "_STOP_PATIENCE", 60.0)  # on a busy machine a version may take longer than a stop waits
    one = recorded()
    one.tools["execute_bash"] = tool = BashTool(working_dir=str(one.work))
    one.agent.script += [calls(("execute_bash", {"command": "echo x > made; sleep 600"}))]
    one.session.send("go")
    runner = threading.Thread(target=one.run, daemon=True)
    runner.start()
    wait_for(lambda: (one.work / "made").exists() and (one.work / "made").read_text(), "the file")
    one.session.interrupt()
    runner.join(60)
    tool.close()
    kinds = one.kinds()
    assert one.session.ended == "interrupted"
    (taken,) = [each for each in versions(one) if each.action_id]
    assert [Path(file.path).name for file in taken.files] == ["made"]
    assert kinds.index("action_observed") < one.log().index(taken) < kinds.index("run_ended")


class Late(ScriptedWatcher):
    """A source that reports each change, in order, half a second after it was made."""

    def __call__(self, workspace: Path, marks: Path, stop: threading.Event) -> Iterator[set[str]]:
        seen: set[str] = set()
        yield set()
        while not stop.wait(0.05):
            new = {str(path) for directory in (workspace, marks) for path in directory.iterdir()} - seen
            stop.wait(0.5)
            yield new
            seen |= new


def test_slow_watcher_loses_no_change_of_an_action(recorded, monkeypatch):
    monkeypatch.setattr(snapshots, "_CHEAP", -1.0)  # as in a directory that is slow to scan
    one = recorded(changes=Late())
    one.agent.script += [write(one, "a.txt", "1"), write(one, "b.txt", "2"), says("done")]
    one.session.send("go")
    one.run()
    idle(one)
    trees = [
        one.repository.difference(*pair) for pair in pairwise(each.version for each in versions(one) if each.version)
    ]
    assert [[change.path for change in changes] for changes in trees] == [["a.txt"], ["b.txt"]]


def test_changes_by_others_are_separate_and_belong_to_no_action(recorded):
    listener = ScriptedWatcher()
    one = recorded(says("done"), changes=listener)
    (one.work / "a.txt").write_text("1\n")
    one.session.send("go")
    one.run()
    idle(one)
    (one.work / "a.txt").write_text("2\n")
    (one.work / ".gitignore").write_text("b.log\n")
    (one.work / "b.log").write_text("x")
    listener.batches.append({str(one.work / name) for name in ("a.txt", "b.log")})
    wait_for(lambda: others(one), "the change of another program")
    assert [(file.before, file.after) for file in others(one)[0].files] == [("1\n", "2\n")]


def test_users_revert_is_not_reported_as_a_change_by_others(recorded):
    listener = ScriptedWatcher()
    one = recorded(says("done"), changes=listener)
    path = one.work / "a.txt"
    path.write_text("new\n")
    one.session.send("go")
    one.run()
    wait_for(lambda: versions(one), "the first version")
    one.session.files.revert([FileDelta(path=str(path), before="new\n", after="old\n")])
    listener.batches.append({str(path)})
    wait_for(lambda: len(versions(one)) == 2, "the version after taking it back")
    one.session.close()
    assert others(one) == []


def test_changes_made_while_closed_are_reported_when_the_session_resumes(recorded, tmp_path):
    one = recorded(says("done"), says("again"))
    (one.work / "a.txt").write_text("1\n")
    one.session.send("go")
    one.run()
    wait_for(lambda: versions(one), "the first version")
    (one.work / "a.txt").write_text("2\n")
    repository = SnapshotRepository(Locations.from_environment(), one.work, "one")
    one.session.close()
    one.more |= {"repository": repository, "changes": ScriptedWatcher()}
    one.reopen()
    one.session.send("go on")
    one.run()
    wait_for(lambda: len(versions(one)) == 2, "the version to go on from")
    assert [file.after for event in others(one) for file in event.files] == ["2\n"]


def test_failing_watcher_is_replaced_by_regular_scans_with_a_notice(recorded):
    listener = ScriptedWatcher()
    listener.fails = "No space left on device"
    one = recorded(says("done"), says("done"), changes=listener)
    one.session.send("go")
    one.run()
    wait_for(lambda: versions(one), "the first version")
    (one.work / "a.txt").write_text("1\n")
    wait_for(lambda: others(one), "the change to be found without a watcher")
    notices = [event.notice for event in versions(one) if event.notice]
    assert any("are polled" in text and "No space left" in text for text in notices)


def test_watcher_that_misses_changes_is_replaced_too(recorded):
    listener = ScriptedWatcher()
    one = recorded(says("done"), says("done"), says("done"), changes=listener)
    one.session.send("go")
    one.run()
    assert listener.asked.wait(20)
    idle(one)
    one.session.send("again")
    one.run()
    idle(one)
    (one.work / "a.txt").write_text("1\n")  # no event reports it
    one.session.send("and again")
    one.run()
    wait_for(lambda: any("missed" in event.notice for event in versions(one)), "the lost change to be said")
    assert [file.after for event in others(one) for file in event.files] == ["1\n"]


def test_missing_git_means_no_versions_with_one_notice(recorded, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    one = recorded()
    one.agent.script += [write(one, "a.txt", "new\n"), says("done")]
    one.session.send("go")
    one.run()
    wait_for(lambda: versions(one), "a word about it")
    one.session.close()
    (version,) = versions(one)
    assert (version.version, "git is not installed" in version.notice) == ("", True)
    assert (one.work / "a.txt").read_text() == "new\n"


def test_omitted_files_are_reported_once(recorded):
    one = recorded(says("done"), says("done"))
    with (one.work / "large.bin").open("wb") as file:
        file.truncate(6_000_000)
    one.session.send("go")
    one.run()
    one.session.send("again")
    one.run()
    one.session.close()
    notices = [event.notice for event in versions(one) if "large.bin" in event.notice]
    assert len(notices) == 1


def test_directory_too_large_for_versions_delays_nothing_and_is_reported(recorded, monkeypatch):
    hold = threading.Event()
    monkeypatch.setattr(SnapshotRepository, "snapshot", lambda self, paths=None, *, timeout=30.0: hold.wait(60) and "")
    one = recorded()
    one.agent.script += [*(write(one, "a.txt", str(number)) for number in range(5)), says("done")]
    one.session.send("go")
    one.run()
    assert (one.work / "a.txt").read_text() == "4"
    notices = [event.notice for event in versions(one)]
    hold.set()
    assert len(notices) == 1
    assert "take long" in notices[0]


def test_after_a_late_first_version_each_action_has_its_own_again(recorded, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE", 0.5)
    snapshot, ready = SnapshotRepository.snapshot, threading.Event()

    def slow(self, paths=None, *, timeout=30.0):
        time.sleep(0.3) if ready.is_set() else ready.wait(60)  # a large directory, on a busy machine
        return snapshot(self, paths, timeout=timeout)

    def late(messages, on_delta, cancel):
        monkeypatch.setattr(files, "_PATIENCE", 60.0)
        ready.set()
        return write(one, "a.txt", "three")

    monkeypatch.setattr(SnapshotRepository, "snapshot", slow)
    one = recorded(changes=native_changes)
    one.agent.script += [write(one, "a.txt", "one"), write(one, "a.txt", "two"), late]
    one.agent.script += [*(write(one, "a.txt", str(number)) for number in range(5)), says("done")]
    one.session.send("go")
    one.run()
    idle(one)
    acted = [event.action_id for event in one.log() if event.kind == "action_observed"]
    assert [event.action_id for event in versions(one) if event.version][-5:] == acted[-5:]


def test_session_with_many_files_joins_its_index_at_the_end(recorded):
    """The next session reads from it which files are unchanged; while a session runs, only a small part is written."""
    one = recorded(changes=native_changes)
    for number in range(2_000):
        (one.work / f"{number}.txt").write_text(f"{number}\n")
    one.agent.script += [write(one, "1.txt", "one"), says("done")]
    one.session.send("go")
    one.run()
    idle(one)
    (index,) = one.repository.directory.glob("index-*")
    assert len(read_index(index)[0]) < 10
    one.session.close()
    assert len(read_index(index)[0]) == 2_000


def test_file_too_large_for_versions_does_not_make_the_watcher_look_broken(recorded):
    one = recorded(says("done"), says("done"), says("done"))
    with (one.work / "large.bin").open("wb") as file:
        file.truncate(6_000_000)
    for text in ("go", "again", "and again"):
        one.session.send(text)
        one.run()
        idle(one)
    assert [event.notice for event in versions(one) if "missed" in event.notice] == []


def test_session_resumed_with_an_open_question_has_versions(recorded, tmp_path):
    one = recorded()
    one.agent.script += [write(one, "a.txt", "mine\n"), says("done")]
    (one.work / "a.txt").write_text("1\n")
    one.session.set(mode="ask")
    one.session.send("go")
    one.run()
    assert one.session.question is not None
    repository = SnapshotRepository(Locations.from_environment(), one.work, "one")
    one.more |= {"repository": repository, "changes": ScriptedWatcher()}
    one.reopen()
    (one.work / "b.txt").write_text("made while nobody looked\n")
    one.answer()
    idle(one)
    acted = next(event.action_id for event in one.log() if event.kind == "action_observed")
    assert [event.files for event in versions(one) if event.action_id == acted] == [()]
    assert [file.path for event in others(one) for file in event.files] == [str(one.work / "b.txt")]


def test_changes_by_the_users_own_command_are_attributed_to_it(recorded):
    one = recorded()
    one.tools["execute_bash"] = tool = BashTool(working_dir=str(one.work))
    one.session.user_commands.add("echo by hand > made.txt")
    one.run()
    idle(one)
    tool.close()
    (command,) = [event for event in one.log() if event.kind == "person_command"]
    (version,) = [event for event in versions(one) if event.action_id]
    assert (version.action_id, [file.after for file in version.files]) == (command.action_id, ["by hand\n"])
    assert others(one) == []


def test_file_changed_constantly_by_others_is_omitted_with_one_notice(recorded):
    listener = ScriptedWatcher()
    one = recorded(says("done"), changes=listener)
    path = one.work / "busy.txt"
    path.write_text("0")
    one.session.send("go")
    one.run()
    idle(one)
    for number in range(1, 35):
        path.write_text(str(number))
        listener.batches.append({str(path)})
        wait_for(lambda: not listener.batches, "the change to be told")
        wait_for(lambda count=number: len(versions(one)) > count, "the version after it")
    assert len(others(one)) == 30
    notices = [event.notice for event in versions(one) if "all the time" in event.notice]
    assert [text.endswith("busy.txt") for text in notices] == [True]


def test_many_simultaneous_changes_are_found_by_a_full_scan(recorded):
    listener = ScriptedWatcher()
    one = recorded(says("done"), changes=listener)
    one.session.send("go")
    one.run()
    idle(one)
    names = {str(one.work / f"{'long' * 50}{number}") for number in range(1_500)}
    (one.work / "a.txt").write_text("new\n")
    listener.batches.append(names)
    wait_for(lambda: others(one), "the change to be found")
    assert [event.notice for event in versions(one) if event.notice] == []


def test_scan_that_fails_unexpectedly_blocks_no_action(recorded, monkeypatch):
    one = recorded()

    def broken(self, paths=None, *, timeout=30.0):
        raise ValueError("not what git says")

    monkeypatch.setattr(SnapshotRepository, "snapshot", broken)
    one.agent.script += [write(one, "a.txt", "new\n"), says("done")]
    one.session.send("go")
    one.run()
    idle(one)
    assert (one.work / "a.txt").read_text() == "new\n"
    assert ["there are no file versions" in event.notice for event in versions(one)] == [True]
