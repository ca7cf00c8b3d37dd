"""Rewinds: conversation and files return to an earlier state and on again, and the user's own changes stay (R14)."""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace

from tests.session.fake_agent import Harness, calls, faults_of, says
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionProposed,
    ModelResponded,
    Rewound,
    SessionStarted,
    SettingsChanged,
    UserMessage,
)
from workbench.protocol.rewind import RewoundFile
from workbench.session.forks import fork_at
from workbench.session.rewind.file_plan import write_files
from workbench.session.session_names import session_path
from workbench.session.storage.active_path import ActivePath, Rewind, still_in_effect
from workbench.session.storage.jsonl import without_powers
from workbench.session.storage.paging import digest, part
from workbench.session.storage.store import Store
from workbench.session.workspace import restore
from workbench.session.workspace.repository import LARGEST, SnapshotError, SnapshotRepository
from workbench.tools import BashTool
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition


class ChangeAction(Action):
    """One change: what to do, and to which paths of the workspace."""

    change: str
    path: str
    other: str = ""


class Changer(ToolExecutor[ChangeAction, Observation]):
    """Changes files in ways that no preview shows, as a shell does."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def __call__(self, action: ChangeAction) -> Observation:
        change(self.work, action.change, action.path, action.other)
        return Observation.from_text("done")


CHANGES = ("text", "binary", "delete", "rename", "private", "program", "link", "directory")


def change(work: Path, what: str, path: str, other: str) -> None:  # noqa: C901 - one change a line
    whole = work / path
    if what != "delete" and not os.path.lexists(whole.parent):
        whole.parent.mkdir(parents=True)
    is_file = whole.is_file() and not whole.is_symlink()
    match what:
        case "text" if not whole.is_symlink() and not whole.is_dir():
            whole.write_text(f"{whole.read_text() if is_file and not _is_binary(whole) else ''}{other}\n")
        case "binary" if not whole.is_symlink() and not whole.is_dir():
            whole.write_bytes(bytes(range(256)) + other.encode())
        case "delete" if os.path.lexists(whole):
            whole.unlink() if not whole.is_dir() or whole.is_symlink() else shutil.rmtree(whole)
        case "rename" if is_file and not os.path.lexists(work / other):
            whole.rename(work / other)
        case "private" if is_file:
            whole.chmod(0o600)
        case "program" if is_file:
            whole.chmod(0o755)
        case "link" if not os.path.lexists(whole):
            whole.symlink_to("a.txt")
        case "directory" if not os.path.lexists(whole):
            whole.mkdir(mode=0o755)


def _is_binary(path: Path) -> bool:
    return b"\0" in path.read_bytes()


def tree_of(directory: Path) -> dict[str, object]:
    """Every file with its bytes and permissions, every link with its target, and every empty directory."""
    entries: dict[str, object] = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            entries[name] = str(path.readlink())
        elif path.is_file():
            entries[name] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        elif not any(path.iterdir()):
            entries[name] = "empty directory"
    return entries


class RewindHarness(Harness):
    """A session whose workspace is the directory `work`."""

    work: Path


def harness_in(directory: Path, work: Path | None = None, path: Path | None = None) -> RewindHarness:
    """A session that takes snapshots; its workspace is the directory `work` unless another one is named."""
    work, path = work or directory / "work", path or directory / "one.ohw"
    work.mkdir(exist_ok=True)
    one = RewindHarness(
        directory,
        mode="never",
        workspace=work,
        path=path,
        repository=SnapshotRepository(locations_in(directory), work, path.stem),
        tools=[
            ToolDefinition(
                name="change",
                description="Changes files.",
                action_type=ChangeAction,
                observation_type=Observation,
                annotations=ToolAnnotations(title="Change"),
                executor=Changer(work),
            )
        ],
    )
    one.work = work
    return one


def locations_in(directory: Path) -> Locations:
    return Locations.from_environment({"HOME": str(directory / "home")})


@pytest.fixture
def one(tmp_path):
    made = harness_in(tmp_path)
    yield made
    made.close()


def tell(one: RewindHarness, text: str, *changes: tuple[str, str, str]) -> int:
    """Send a message that makes the agent change files; return the event before the message."""
    before = one.session._log.last_seq
    made = [("change", {"change": what, "path": path, "other": other}) for what, path, other in changes]
    one.agent.script += [*(calls(each) for each in made), says(f"done with {text}")]
    one.session.send(text)
    one.run()
    one.session.files.snapshot_now(Cancel())
    return before


def last_rewind(one: RewindHarness) -> Rewound:
    return [event for event in one.log() if event.kind == "rewound"][-1]


def sent(one: RewindHarness) -> str:
    """The text of what the model would be sent now."""
    messages = one.session._parts.context.history.request()
    assert faults_of(messages) == []
    return "\n".join(str(message["content"]) for message in messages)


def test_conversation_and_files_go_back_and_on_again(one):
    (one.work / "a.txt").write_text("mine\n")
    tell(one, "first", ("text", "a.txt", "one"))
    then = tree_of(one.work)
    target = tell(one, "second", ("text", "a.txt", "two"), ("text", "new/b.txt", "b"), ("delete", "a.txt", ""))
    later = tree_of(one.work)
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == then
    assert "first" in sent(one)
    assert "second" not in sent(one)
    one.session.rewinder.rewind(last_rewind(one).seq - 1)
    assert tree_of(one.work) == later
    assert "done with second" in sent(one)


def test_only_the_conversation_or_only_the_files_go_back(one):
    tell(one, "first", ("text", "a.txt", "one"))
    then = tree_of(one.work)
    target = tell(one, "second", ("text", "a.txt", "two"))
    later = tree_of(one.work)
    one.session.rewinder.rewind(target, "conversation")
    assert tree_of(one.work) == later
    assert "second" not in sent(one)
    one.session.rewinder.rewind(last_rewind(one).seq - 1, "conversation")
    one.session.rewinder.rewind(target, "files")
    assert tree_of(one.work) == then
    assert "done with second" in sent(one)
    assert "restored an earlier state of the files: a.txt" in sent(one)


def test_changes_by_the_user_since_then_are_kept(one):
    (one.work / "a.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    target = tell(one, "go", ("text", "a.txt", "agent's line"), ("text", "b.txt", "agent's"))
    text = (one.work / "a.txt").read_text()
    (one.work / "a.txt").write_text(text.replace("line 3\n", "my line 3\n"))
    (one.work / "mine.txt").write_text("mine")
    one.session.rewinder.rewind(target)
    assert (one.work / "a.txt").read_text() == text.replace("line 3\n", "my line 3\n").replace("agent's line\n", "")
    assert (one.work / "mine.txt").read_text() == "mine"
    assert not (one.work / "b.txt").exists()
    assert [file.path for file in last_rewind(one).files if file.is_merged] == ["a.txt"]


def test_change_by_the_user_between_two_actions_is_kept(one):
    before = "".join(f"line {number}\n" for number in range(20))
    (one.work / "a.txt").write_text(before)
    target = tell(one, "first", ("text", "a.txt", "one"))
    (one.work / "a.txt").write_text((one.work / "a.txt").read_text().replace("line 3\n", "my line 3\n"))
    one.session.files.snapshot_now(Cancel())
    tell(one, "second", ("text", "a.txt", "two"))
    preview, (file,) = one.session.rewinder.preview_with_deltas(target)
    one.session.rewinder.rewind(target, previewed=preview.seq)
    assert (one.work / "a.txt").read_text() == before.replace("line 3\n", "my line 3\n") == file.after


def test_what_the_users_own_command_changed_is_kept(one):
    shell = BashTool(working_dir=str(one.work))
    one.tools[shell.name] = shell
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    one.session.user_commands.add("echo mine > mine.txt; rm a.txt")
    one.run()
    mine = tree_of(one.work)
    assert "mine.txt" in mine
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == mine


@pytest.mark.parametrize("by_user", ["text", "binary", "delete"])
def test_a_file_in_which_both_changed_the_same_lines_is_left_alone_and_named(one, by_user):
    (one.work / "a.txt").write_text("one\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"), ("text", "b.txt", "agent's"))
    if by_user == "text":
        (one.work / "a.txt").write_text("one\nmine\n")
    else:
        change(one.work, by_user, "a.txt", "mine")
    mine = tree_of(one.work)
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == {name: entry for name, entry in mine.items() if name != "b.txt"}
    assert last_rewind(one).conflicts == ("a.txt",)


def in_shell(one: RewindHarness, command: str) -> int:
    """Let the agent run a command, long after the files were written; return the event before the message."""
    before = one.session._log.last_seq
    tool = one.tools.setdefault(SHELL, BashTool(working_dir=str(one.work)))
    one.agent.script += [calls((tool.name, {"command": command}, "MEDIUM")), says("done")]
    time.sleep(0.05)  # more than a tick of the clock that stamps the files
    one.session.send("go")
    one.run()
    one.session.files.snapshot_now(Cancel())
    return before


def test_files_that_an_action_only_stops_ignoring_are_not_deleted_and_keep_their_content(one):
    (one.work / ".gitignore").write_text("build/\n.env\n")
    (one.work / "build").mkdir()
    (one.work / "build/x").write_text("x\n")
    (one.work / ".env").write_text("SECRET=1\n")
    (one.work / ".env").chmod(0o600)
    mine = tree_of(one.work)
    target = in_shell(one, "rm .gitignore; echo new > build/y")
    in_shell(one, "echo changed >> .env; echo changed >> build/x")
    later = tree_of(one.work)
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == mine
    one.session.rewinder.rewind(last_rewind(one).seq - 1)
    assert tree_of(one.work) == later


def test_file_that_was_too_large_before_an_action_is_not_deleted(one):
    (one.work / "log").write_bytes(b"x" * (LARGEST + 1))
    target = in_shell(one, "echo short > log; echo new > other")
    one.session.rewinder.rewind(target)
    assert (one.work / "log").read_text() == "short\n"
    assert not (one.work / "other").exists()


@pytest.mark.parametrize(
    "command", ["mv d e", "mv d e; echo z > .gitignore", "mv ../outside e", "cp -rp d e", "ln d/x y"]
)
def test_old_files_in_new_places_are_changes_of_the_action(one, command):
    for directory in (one.work / "d", one.directory / "outside"):
        directory.mkdir()
        (directory / "x").write_text(f"{directory}\n")
    mine = tree_of(one.work)
    target = in_shell(one, command)
    assert tree_of(one.work) != mine
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == mine


def test_what_the_user_wrote_just_before_an_action_is_kept(one, monkeypatch):
    (one.work / "a.txt").write_text("one\n")
    tell(one, "first")
    monkeypatch.setattr(one.session.files._recorder, "_on_change", lambda: None)  # the watcher is late
    (one.work / "a.txt").write_text("mine\n")
    (one.work / "mine.txt").write_text("mine\n")
    mine = tree_of(one.work)
    target = in_shell(one, "echo new > b.txt")
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == mine


def test_files_that_no_snapshot_holds_are_named_as_not_covered(one):
    (one.work / ".gitignore").write_text("build/\n")
    (one.work / "build").mkdir()
    outside = one.directory / "outside.txt"
    one.agent.script += [
        calls(("write", {"path": str(one.work / "build/x"), "text": "x"})),
        calls(("write", {"path": str(outside), "text": "x"})),
        says("done"),
    ]
    target = one.session._log.last_seq
    one.session.send("go")
    one.run()
    one.session.rewinder.rewind(target)
    assert set(last_rewind(one).not_covered) == {str(one.work / "build/x"), str(outside)}
    assert outside.exists()


@pytest.mark.parametrize("mine", [b"one\nmine\n", b"\0mine\n", None])
def test_lines_that_the_user_gave_up_come_back_when_the_rewind_is_undone(one, mine):
    path = one.work / "a.txt"
    path.write_text("one\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    path.unlink() if mine is None else path.write_bytes(mine)
    before = tree_of(one.work)
    one.session.rewinder.rewind(target, "both", ["a.txt"])
    assert path.read_text() == "one\n"
    tell(one, "again", ("text", "b.txt", "b"))
    one.session.rewinder.rewind(last_rewind(one).seq - 1)
    assert tree_of(one.work) == before


def test_rewind_whose_snapshot_fails_changes_nothing(one, monkeypatch):
    (one.work / "a.txt").write_text("one\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    (one.work / "a.txt").write_text("mine\n")

    def fail(*arguments: object, **more: object) -> str:
        raise SnapshotError("the disk is full")

    monkeypatch.setattr(one.session.files.repository, "snapshot", fail)
    with pytest.raises(WorkbenchError, match="no snapshot of the files could be taken now"):
        one.session.rewinder.rewind(target, "both", ["a.txt"])
    assert (one.work / "a.txt").read_text() == "mine\n"
    assert "rewound" not in one.kinds()


def test_file_that_has_grown_too_large_is_left_alone_without_reading_it(one, monkeypatch):
    (one.work / "a.txt").write_text("one\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    with (one.work / "a.txt").open("r+b") as file:
        file.truncate(LARGEST + 1)
    monkeypatch.setattr("workbench.session.rewind.file_plan.bytes_at", _killed)
    assert one.session.rewinder.preview(target).conflicts == ("a.txt",)


@pytest.mark.parametrize("command", ["rm x; printf a.txt > x", "rm y; ln -s a.txt y"])
def test_link_and_file_with_the_same_text_are_told_apart(one, command):
    (one.work / "x").symlink_to("a.txt")
    (one.work / "y").write_text("a.txt")
    mine = tree_of(one.work)
    target = in_shell(one, command)
    later = tree_of(one.work)
    one.session.rewinder.rewind(target)
    assert tree_of(one.work) == mine
    one.session.rewinder.rewind(last_rewind(one).seq - 1)
    assert tree_of(one.work) == later


def test_directory_whose_place_the_user_took_keeps_nothing_else_from_going_back(one):
    (one.work / "d/e").mkdir(parents=True)
    target = in_shell(one, "rm -r d; echo x > new; cd /")
    (one.work / "d").write_text("mine\n")
    with pytest.raises(WorkbenchError, match=r"^moved, but d/e could not be put back: Not a directory"):
        one.session.rewinder.rewind(target)
    assert [*tree_of(one.work)] == ["d"]
    in_shell(one, "pwd")
    assert str(one.work) in one.results()[-1], "the shell was restarted"


def test_permissions_of_a_directory_go_back_and_on_again(one):
    (one.work / "d").mkdir(mode=0o755)
    (one.work / "d/x").write_text("x")
    target = in_shell(one, "chmod 700 d")
    one.session.rewinder.rewind(target)
    assert stat.S_IMODE((one.work / "d").stat().st_mode) == 0o755
    one.session.rewinder.rewind(last_rewind(one).seq - 1)
    assert stat.S_IMODE((one.work / "d").stat().st_mode) == 0o700


def test_file_that_the_agent_changed_back_itself_is_not_named_as_not_covered(one):
    (one.work / "a.txt").write_text("one\n")
    path = str(one.work / "a.txt")
    target = one.session._log.last_seq
    one.agent.script += [
        *(calls(("write", {"path": path, "text": text})) for text in ("two\n", "one\n")),
        says("done"),
    ]
    one.session.send("go")
    one.run()
    one.session.rewinder.rewind(target)
    assert last_rewind(one).not_covered == ()


def test_pruned_snapshot_leaves_the_conversation_to_be_moved(one):
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    for directory in (one.session.files.repository.directory / "objects").iterdir():
        shutil.rmtree(directory)
    with pytest.raises(WorkbenchError, match=r"a snapshot from then is gone, .* only the conversation can be moved"):
        one.session.rewinder.preview(target)
    one.session.rewinder.rewind(target, "conversation")
    assert "go" not in sent(one)


def test_cut_off_rewind_is_finished_at_the_next_start(one, monkeypatch):
    (one.work / "a.txt").write_text("mine\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"), ("text", "b.txt", "agent's"))
    monkeypatch.setattr("workbench.session.rewind.rewinder.write_files", _killed)
    with pytest.raises(KeyboardInterrupt):
        one.session.rewinder.rewind(target)
    monkeypatch.undo()
    one.session._log._listeners.clear()
    assert (one.work / "b.txt").exists()
    _without_versions_after(one)
    one.reopen()
    assert tree_of(one.work) == {"a.txt": (b"mine\n", stat.S_IMODE((one.work / "a.txt").stat().st_mode))}
    one.session.files.snapshot_now(Cancel())
    assert one.kinds().count("files_changed") == 0
    assert one.session._log.state.unfinished_rewind is None


def _killed(*arguments: object) -> list[str]:
    raise KeyboardInterrupt


def _without_versions_after(one: RewindHarness) -> None:
    """Remove the events after the rewind, which a killed process would not have written."""
    seq = last_rewind(one).seq
    one.session.close()
    one.store._db.execute("DELETE FROM events WHERE seq > ?", (seq,))


def test_rewind_is_refused_while_the_agent_works_and_for_an_event_that_does_not_exist(one):
    one.session.send("go")
    with pytest.raises(WorkbenchError, match="the agent is working; stop it first"):
        one.session.rewinder.rewind(1)
    one.run()
    with pytest.raises(WorkbenchError, match="there is no event 99"):
        one.session.rewinder.rewind(99)
    assert "rewound" not in one.kinds()


def test_rewind_is_refused_if_the_session_has_gone_on_since_its_preview(one):
    target = tell(one, "first", ("text", "a.txt", "one"))
    preview = one.session.rewinder.preview(target)
    tell(one, "second", ("text", "b.txt", "b"))
    later = tree_of(one.work)
    with pytest.raises(WorkbenchError, match="has changed since this preview; look at it again"):
        one.session.rewinder.rewind(target, previewed=preview.seq)
    assert tree_of(one.work) == later
    preview = one.session.rewinder.preview(target)
    one.session.set(mode="ask")
    (one.work / "mine.txt").write_text("mine\n")
    one.session.rewinder.rewind(target, previewed=preview.seq)
    assert [*tree_of(one.work)] == ["mine.txt"]


def test_file_that_changes_after_the_preview_is_not_overwritten(one):
    (one.work / "a.txt").write_text("one\n")
    target = tell(one, "go", ("text", "a.txt", "agent's"))
    (one.work / "a.txt").write_text("one\nmine\n")
    one.session.files.snapshot_now(Cancel())
    preview = one.session.rewinder.preview(target, "both", ["a.txt"])
    (one.work / "a.txt").write_text("one\nmine, and more\n")
    with pytest.raises(WorkbenchError, match="look at it again"):
        one.session.rewinder.rewind(target, "both", ["a.txt"], previewed=preview.seq)
    assert (one.work / "a.txt").read_text() == "one\nmine, and more\n"


def test_mode_rules_and_cost_stay_as_they_are_and_the_session_reopens_the_same(one):
    target = tell(one, "first", ("text", "a.txt", "one"))
    one.session.set(mode="ask")
    one.session.set(rule="deny $ curl *")
    one.session.rewinder.rewind(target)
    state = one.session._log.state
    assert (state.mode, state.rules, state.phase) == ("ask", ("deny $ curl *",), "idle")
    before = sent(one)
    one.reopen()
    state = one.session._log.state
    assert (state.mode, state.rules, state.phase) == ("ask", ("deny $ curl *",), "idle")
    assert sent(one) == before


def test_shell_is_restarted_when_files_go_back(tmp_path):
    one = harness_in(tmp_path)
    try:
        shell = BashTool(working_dir=str(one.work))
        one.tools[shell.name] = shell
        target = one.session._log.last_seq
        one.agent.script += [
            calls((shell.name, {"command": "mkdir d && cd d && echo x > f && export A=1"})),
            says("ok"),
        ]
        one.session.send("go")
        one.run()
        one.session.rewinder.rewind(target)
        assert tree_of(one.work) == {}
        one.agent.script += [calls((shell.name, {"command": "pwd; echo a=$A"})), says("ok")]
        one.session.send("again")
        one.run()
        assert f"{one.work}\na=" in one.results()[-1]
    finally:
        one.close()


def test_rewind_of_files_alone_is_undone_and_followed_by_others(one):
    (one.work / "a.txt").write_text("mine\n")
    first = tell(one, "first", ("text", "a.txt", "one"))
    second = tell(one, "second", ("text", "a.txt", "two"), ("text", "b.txt", "b"))
    later = tree_of(one.work)
    one.session.rewinder.rewind(second, "files")
    assert one.session.rewinder.rewind(last_rewind(one).seq - 1, "files").conflicts == ()
    assert tree_of(one.work) == later
    one.session.rewinder.rewind(second, "files")
    assert one.session.rewinder.rewind(first).conflicts == ()
    assert (one.work / "a.txt").read_text() == "mine\n"


def test_files_follow_after_a_rewind_of_the_conversation_alone(one):
    first = tell(one, "first", ("text", "a.txt", "one"))
    second = tell(one, "second", ("text", "b.txt", "b"))
    one.session.rewinder.rewind(second, "conversation")
    one.session.rewinder.rewind(first)
    assert tree_of(one.work) == {}


def test_refused_rewind_leaves_an_open_question_open_and_an_accepted_one_closes_it(one):
    target = tell(one, "first", ("text", "a.txt", "one"))
    one.session.set(mode="ask")
    one.agent.script += [calls(("change", {"change": "text", "path": "b.txt"})), says("ok")]
    one.session.send("go on")
    one.run()
    with pytest.raises(WorkbenchError, match="there is no event 999"):
        one.session.rewinder.rewind(999)
    assert one.session.phase == "deciding"
    one.session.rewinder.preview(target)
    one.session.rewinder.rewind(target)
    assert (one.session.phase, one.waiting()) == ("idle", [])
    assert "go on" not in sent(one)


def test_file_that_cannot_be_written_keeps_no_other_from_it_and_is_tried_again(one, monkeypatch):
    target = tell(one, "go", ("text", "a.txt", "x"), ("text", "b.txt", "x"), ("text", "c.txt", "x"))
    real = restore._remove

    def refused(root, path, before):
        if path == "b.txt":
            raise PermissionError(13, "Permission denied")
        real(root, path, before)

    monkeypatch.setattr(restore, "_remove", refused)
    with pytest.raises(WorkbenchError, match=r"moved, but b\.txt could not be put back: Permission denied"):
        one.session.rewinder.rewind(target)
    assert set(tree_of(one.work)) == {"b.txt"}
    monkeypatch.undo()
    one.reopen()
    assert tree_of(one.work) == {}


def test_model_that_was_chosen_on_another_branch_stays_and_gets_nothing_signed_by_the_earlier_one(one):
    target = tell(one, "first")
    tell(one, "second")
    one.session._parts.turn.check_model = lambda name: None
    one.session.set(model="other/model")
    one.session.rewinder.rewind(target)
    assert one.session._log.state.model == "other/model"
    assert one.session._parts.context.history._model == "other/model"


def test_what_preceded_the_target_is_still_sent(one):
    shell = BashTool(working_dir=str(one.work))
    one.tools[shell.name] = shell
    tell(one, "first")
    one.session.user_commands.add("echo from the user")
    one.run()
    target = tell(one, "second")
    one.session.rewinder.rewind(target)
    assert "The user ran a command of their own" in sent(one)


@pytest.mark.parametrize("path", ["../victim.txt", "/victim.txt", "d/../../victim.txt", ".git/hooks/x", "", "a//b"])
def test_rewind_in_a_log_cannot_name_a_file_outside_the_workspace_or_in_a_repository(one, path):
    victim = one.directory / "victim.txt"
    victim.write_text("keep\n")
    blob = restore.blob_id(b"keep\n")
    forged = Rewound(target=1, files=(RewoundFile(path=path, before=blob, after="", mode_before=0o100644),))
    forged = replace(forged, directories={"../made": 0o777})
    write_files(one.session.files.repository, forged)
    assert victim.read_text() == "keep\n"
    assert not (one.directory / "made").exists()


def test_imported_rewind_writes_nothing(one):
    event = Rewound(target=1, seq=9, files=(RewoundFile(path="a.txt", before="", after="1" * 40),))
    event = replace(event, directories={"d": 0o755})
    harmless = without_powers(event, "fake/one", "ask", str(one.work))
    assert (harmless.files, harmless.directories) == ((), {})


def test_protected_file_is_not_written_when_a_rewind_is_finished(one):
    (one.work / ".envrc").write_text("mine\n")
    blob = restore.blob_id(b"mine\n")
    forged = Rewound(target=1, files=(RewoundFile(path=".envrc", before=blob, after="", mode_before=0o100644),))
    one.session._log.commit(forged)
    one.reopen()
    assert (one.work / ".envrc").read_text() == "mine\n"
    notice = [event.notice for event in one.log() if event.kind == "version_taken"][-1]
    assert ".envrc was left alone, because such files are protected" in notice


def test_digest_of_a_long_log_follows_the_active_path_and_counts_the_cost_of_all(tmp_path):
    def answer(number: int) -> ModelResponded:
        return ModelResponded(response_id=f"r{number}", model="m", text=f"answer {number}", cost=1.0)

    def action(number: int) -> ActionProposed:
        return ActionProposed(action_id=f"a{number}", response_id=f"r{number}", call_id=f"c{number}", tool="note")

    with Store.create(tmp_path / "long.ohw") as store:
        store.append(
            SessionStarted(id="long", workspace=str(tmp_path), model="m", mode="ask"),
            *(UserMessage(text="first"), answer(1), action(1)),
            *(UserMessage(text="second"), answer(2), action(2)),
            SettingsChanged(mode="medium"),
            Rewound(target=4),
        )
        found = digest(store, store.last_seq + 1)
        kinds = [event.kind for event in found.relevant_events]
        shown = [event.kind for event in part(store, 5, store.last_seq + 1)]
    assert (found.actions, found.cost) == (1, 2.0)
    assert [event.text for event in found.relevant_events if event.kind == "model_responded"] == ["answer 1"]
    assert kinds == ["session_started", "user_message", "model_responded", "settings_changed", "rewound"]
    assert shown == ["model_asked", "settings_changed", "branch", "rewound"]


def test_returns_to_before_a_rewind_undo_it_part_by_part_and_those_after_it():
    first, second = Rewind(6, 3), Rewind(9, 2)
    assert still_in_effect([first, second]) == [first, second]
    assert still_in_effect([first, second, Rewind(12, 8)]) == [first]
    assert still_in_effect([first, second, Rewind(12, 8), Rewind(14, 5)]) == []
    assert still_in_effect([first, second, Rewind(12, 5)]) == []
    again = Rewind(16, 11)
    assert still_in_effect([first, second, Rewind(12, 8), again]) == [first, again]
    assert still_in_effect([first, Rewind(9, 5, "conversation")]) == [Rewind(6, 3, "files")]
    assert still_in_effect([first, Rewind(9, 5, "files")]) == [Rewind(6, 3, "conversation")]
    assert still_in_effect([first, Rewind(9, 5, "conversation"), Rewind(12, 5, "files")]) == []
    alone = Rewind(6, 3, "files")
    assert still_in_effect([alone, Rewind(9, 5, "conversation")]) == [alone]


def test_paths_of_a_log_follow_its_rewinds():
    rewinds = [Rewind(6, 3), Rewind(9, 7), Rewind(12, 5)]
    assert [seq for seq in range(1, 14) if seq in ActivePath(13, rewinds)] == [1, 2, 3, 4, 5, 12, 13]
    assert [seq for seq in range(1, 14) if seq in ActivePath(10, rewinds)] == [1, 2, 3, 6, 7, 9, 10]
    assert [seq for seq in range(1, 14) if seq in ActivePath(5, rewinds)] == [1, 2, 3, 4, 5]
    assert ActivePath(13, rewinds).condition == "seq NOT BETWEEN 6 AND 11"
    assert ActivePath(5, rewinds).condition == "1"


_AGENTS = st.sampled_from(["a.txt", "b.txt", "d/c", "d/e/f", "link", "ü b"])
_USERS = st.sampled_from(["mine", "d/mine", "own/x"])
_EFFECTS = st.tuples(st.sampled_from(CHANGES), _AGENTS, st.sampled_from(["d/c2", "g"]))


class Future:
    """One session of a family, with what its directory held after each run, and after the last step of any kind."""

    def __init__(self, one: RewindHarness) -> None:
        self.one = one
        self.states: dict[int, dict[str, object]] = {}
        self.ends: dict[int, int] = {}
        """The events that ended the runs which led to the states, where the session can be forked."""
        self.users: set[str] = set()
        self.tree = tree_of(one.work)

    def agents_tree(self) -> dict[str, object]:
        """The tree without the user's files and the directories that only they keep from being empty."""
        mine = {"mine", "d/mine", "own/x", "own", "d", "d/e"}
        return {name: entry for name, entry in tree_of(self.one.work).items() if name not in mine}

    def users_tree(self) -> dict[str, object]:
        return {name: entry for name, entry in tree_of(self.one.work).items() if name in self.users}

    def tell(self, effects: list[tuple[str, str, str]]) -> None:
        tell(self.one, "go", *effects)
        now = self.one.session._log.last_seq
        self.states[now] = self.agents_tree()
        self.ends[now] = next(event.seq for event in reversed(self.one.log()) if event.kind == "run_ended")

    def fork(self, at: int | None) -> "Future":
        """Fork the session at one of its states, or as it is now, into a directory of its own."""
        where = locations_in(self.one.directory)
        fork = fork_at(where, self.one.path.stem, None if at is None else self.ends[at], "")
        other = Future(harness_in(self.one.directory, Path(fork.workspace), session_path(where, fork.id)))
        other.one.session.set(mode="never")
        expected = self.agents_tree() if at is None else self.states[at]
        assert other.agents_tree() == expected
        earlier = [seq for seq in self.states if at is None or seq < at]
        now = other.one.session._log.last_seq
        other.states = {seq: self.states[seq] for seq in earlier} | {now: expected}
        other.ends = {seq: self.ends[seq] for seq in earlier if seq in self.ends}
        other.users = set(self.users)
        return other


_FUTURES = st.integers(0, 5)


class RewindMachine(RuleBasedStateMachine):
    """The agent changes its files and the user theirs, in any order, with rewinds, forks and restarts in between."""

    @initialize()
    def start(self):
        self.root = Path(tempfile.mkdtemp(prefix="ohw-rewind-"))
        path = session_path(locations_in(self.root), "20260101-one")
        path.parent.mkdir(parents=True, mode=0o700)
        self.futures = [Future(harness_in(self.root, path=path))]
        (self.futures[0].one.work / "base.txt").write_text("base\n")
        with self.acting(0) as future:
            future.tell([("text", "a.txt", "one")])
            future.tell([("text", "a.txt", "two"), ("text", "d/c", "new")])

    def teardown(self):
        if hasattr(self, "futures"):
            for future in self.futures:
                future.one.close()
            shutil.rmtree(self.root)

    @contextmanager
    def acting(self, number: int) -> Iterator[Future]:
        """Let something happen in one future; nothing else changes in the others."""
        chosen = self.futures[number % len(self.futures)]
        yield chosen
        chosen.tree = tree_of(chosen.one.work)
        for future in self.futures:
            assert tree_of(future.one.work) == future.tree

    @rule(number=_FUTURES, effects=st.lists(_EFFECTS, min_size=1, max_size=3))
    def the_agent_acts(self, number, effects):
        with self.acting(number) as future:
            future.tell(effects)

    @rule(number=_FUTURES, path=_USERS, text=st.sampled_from(["x", "y"]))
    def the_user_writes(self, number, path, text):
        with self.acting(number) as future:
            whole = future.one.work / path
            if whole.parent.is_dir():
                whole.write_text(text)
                future.users.add(path)

    @rule(number=_FUTURES, data=st.data())
    def the_session_goes_elsewhere(self, number, data):
        with self.acting(number) as future:
            rewinder = future.one.session.rewinder
            target = data.draw(st.sampled_from(sorted(future.states)))
            users, before = future.users_tree(), future.agents_tree()
            rewinder.rewind(target)
            assert future.agents_tree() == future.states[target]
            assert future.users_tree() == users
            rewinder.rewind(last_rewind(future.one).seq - 1)  # and where it was
            assert future.agents_tree() == before
            rewinder.rewind(target)
            assert future.agents_tree() == future.states[target]
            sent(future.one)

    @precondition(lambda self: len(self.futures) < 3)
    @rule(number=_FUTURES, data=st.data())
    def the_session_is_forked(self, number, data):
        with self.acting(number) as future:
            self.futures.append(future.fork(data.draw(st.sampled_from([None, *sorted(future.ends)]))))

    @rule(number=_FUTURES)
    def the_workbench_restarts(self, number):
        with self.acting(number) as future:
            future.one.reopen()


TestRewinds = RewindMachine.TestCase
TestRewinds.settings = settings(max_examples=5, stateful_step_count=6, deadline=None)
