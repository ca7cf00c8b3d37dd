"""The detached engine through its real socket: it is started, gets commands, is killed, or loses its screens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.client.engine_client import EngineClient
from workbench.client.engine_connection import EngineConnection, EngineGone
from workbench.config.settings import Settings
from workbench.engine.launch import EngineRefused, Launch
from workbench.engine.sockets import connect
from workbench.protocol.commands import (
    AnswerQuestion,
    ApplyChanges,
    ChangeSettings,
    Decide,
    FindFiles,
    Interrupt,
    Leave,
    Message,
    Refused,
    RequestControl,
    RevertFiles,
    SendMessage,
)
from workbench.protocol.events import (
    ActionAssessed,
    ActionObserved,
    Event,
    FileDelta,
    FilesChanged,
    RunEnded,
    UserMessage,
)
from workbench.protocol.live import ChangesRated, ControlState, MatchingFiles, ToolOutput
from workbench.protocol.placeholders import placeholder
from workbench.session.session_names import session_path, socket_path
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store, StoreError
from workbench.session.workspace.restore import blob_id
from workbench.view.reducer import apply
from workbench.view.state import NoticeItem, SessionState

ID = "20260101-a-test-0001"


def launch(sandbox: Sandbox, model: str, *, is_new: bool = True, mode: str = "medium") -> Launch:
    return Launch(sandbox.locations, Settings(model=model, mode=mode, sandbox="off"), ID, str(sandbox.project), is_new)


def receive_until(connection: EngineConnection, is_last: Callable[[Message], bool]) -> list[Message]:
    received: list[Message] = []
    while not any(is_last(message) for message in received):
        received += connection.receive()
    return received


def refusal(connection: EngineConnection) -> Refused:
    """Return the first refusal that arrives; other messages may come before it."""
    received = receive_until(connection, lambda message: isinstance(message, Refused))
    return next(message for message in received if isinstance(message, Refused))


def seen_by(connection: EngineConnection, so_far: list[int]) -> list[int]:
    """Return the numbers of the events that arrived; a log that is still growing is compared once more."""
    so_far += [message.seq for message in connection.receive() if getattr(message, "seq", 0)]
    return so_far


def gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def log(sandbox: Sandbox) -> list[Event]:
    with Store.open(session_path(sandbox.locations, ID), readonly=True) as store:
        return list(store.events())


def has_ended(sandbox: Sandbox) -> bool:
    """Return whether the log says that the run has ended; it may not exist yet."""
    with suppress(StoreError):
        return any(isinstance(event, RunEnded) for event in log(sandbox))
    return False


def test_question_survives_sigkill_and_is_answered_later(local_sandbox: Sandbox):
    model = local_sandbox.script(bash("touch made-it", risk="HIGH"), finish("All done."))
    first = EngineConnection.open(launch(local_sandbox, model))
    assert socket_path(local_sandbox.locations, ID).stat().st_mode & 0o777 == 0o600
    first.send_command(SendMessage(text="make it"))
    asked = receive_until(first, lambda message: isinstance(message, ActionAssessed))
    os.kill(first.engine_pid, signal.SIGKILL)
    with pytest.raises(EngineGone):
        receive_until(first, lambda message: False)
    first.close()
    assert not (local_sandbox.project / "made-it").exists()

    second = EngineConnection.open(launch(local_sandbox, model, is_new=False))
    assert second.engine_pid != first.engine_pid
    again = receive_until(second, lambda message: isinstance(message, ActionAssessed))
    question = next(message for message in again if isinstance(message, ActionAssessed))
    assert question.needs_decision
    assert question == next(message for message in asked if isinstance(message, ActionAssessed))
    assert not (local_sandbox.project / "made-it").exists()
    second.send_command(Decide(action_id=question.action_id, verdict="approved", fingerprint=question.fingerprint))
    receive_until(second, lambda message: isinstance(message, RunEnded))
    assert (local_sandbox.project / "made-it").exists()
    second.close()
    wait_for(lambda: gone(second.engine_pid), "the engine to end when nobody watches")
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
    assert [event.reason for event in log(local_sandbox) if isinstance(event, RunEnded)] == ["finished"]


CREATED = """
import os, sys
from pathlib import Path
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store, StoreError
from workbench.session.workspace.restore import blob_id
path, moment = Path(sys.argv[1]), sys.argv[2]
path.parent.mkdir(parents=True)
lock = SessionLock.acquire(path)
if moment == "empty":
    path.touch()
elif moment == "page":
    import sqlite3
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN")
    db.execute("CREATE TABLE events(seq INTEGER PRIMARY KEY)")
else:
    Store.create(path)
if moment == "unlocked":
    lock.release()
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("moment", ["empty", "page", "tables", "unlocked"])
def test_message_starts_the_session_anew_if_its_engine_was_killed_while_it_created_the_file(
    local_sandbox: Sandbox, moment: str
):
    path = session_path(local_sandbox.locations, ID)
    client = EngineClient(launch(local_sandbox, local_sandbox.script(finish("Fine."))))
    subprocess.run([sys.executable, "-c", CREATED, str(path), moment], check=False)
    assert path.exists()
    client.history()
    client.send(SendMessage(text="go"))
    wait_for(lambda: has_ended(local_sandbox), "the run's end")
    assert [each.text for each in log(local_sandbox) if isinstance(each, UserMessage)] == ["go"]
    client.close()
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
    assert [each.name for each in path.parent.glob("*.session")] == [path.name]


def test_unattended_engine_finishes_its_run_and_exits(local_sandbox: Sandbox):
    hold = local_sandbox.project / "go"
    command = f"touch begun; while [ ! -e {hold} ]; do sleep 0.05; done; (setsid sleep 777 &)"
    connection = EngineConnection.open(
        launch(local_sandbox, local_sandbox.script(bash(command), finish("All done.")), mode="never")
    )
    connection.send_command(SendMessage(text="work"))
    wait_for((local_sandbox.project / "begun").exists, "the command to run")
    connection.close()
    hold.touch()
    wait_for(lambda: gone(connection.engine_pid), "the engine to end")
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
    assert any(isinstance(event, RunEnded) for event in log(local_sandbox))
    assert any(isinstance(event, ActionObserved) and event.ran for event in log(local_sandbox))
    assert not socket_path(local_sandbox.locations, ID).exists()


@pytest.mark.parametrize("pause", [0.0, 0.003, 0.095, 0.1, 0.105])
def test_no_command_is_lost_in_an_engine_that_is_about_to_end(local_sandbox: Sandbox, pause: float):
    started = launch(local_sandbox, local_sandbox.script(finish("Done.")))
    connection = EngineConnection.open(started)
    connection.send_command(SendMessage(text="begin"))
    receive_until(connection, lambda message: isinstance(message, RunEnded))
    for number in range(12):
        # The engine has nothing to do and ends unless the next connection comes first.
        connection.close()
        time.sleep(pause)
        connection = EngineConnection.open(replace(started, is_new=False))
        connection.send_command(ChangeSettings(title=f"title {number}"))
        titles = [getattr(message, "title", None) for message in receive_until(connection, _is_titled(number))]
        assert f"title {number}" in titles
    connection.close()


def test_a_connection_that_was_just_made_keeps_the_engine(local_sandbox: Sandbox):
    started = launch(local_sandbox, local_sandbox.script(finish("Done.")))
    connection = EngineConnection.open(started)
    engine = connection.engine_pid
    for _ in range(20):
        waiting = connect(socket_path(local_sandbox.locations, ID), 5)
        connection.close()
        assert waiting is not None
        connection = EngineConnection.open(replace(started, is_new=False))
        waiting.close()
        assert connection.engine_pid == engine
    connection.close()


def test_a_screen_that_waits_for_the_end_gets_every_event(local_sandbox: Sandbox):
    model = local_sandbox.script(bash("touch made-it"), finish("All done."))
    connection = EngineConnection.open(launch(local_sandbox, model, mode="never"))
    received: list[int] = []
    connection.send_command(SendMessage(text="begin"))
    received += [getattr(each, "seq", 0) for each in receive_until(connection, lambda each: isinstance(each, RunEnded))]
    connection.send_command(Leave(waits=True))
    with suppress(EngineGone):
        while True:
            seen_by(connection, received)
    assert [seq for seq in received if seq] == [event.seq for event in log(local_sandbox)]
    connection.close()


def test_a_screen_does_not_wait_for_an_end_that_another_one_prevents(local_sandbox: Sandbox):
    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish("All done."))))
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    receive_until(first, lambda each: isinstance(each, ControlState) and each.others == 1)
    first.send_command(Leave(waits=True))
    with pytest.raises(EngineGone):
        receive_until(first, lambda message: False)
    receive_until(second, lambda each: isinstance(each, ControlState) and each.has_control)
    second.send_command(SendMessage(text="begin"))
    receive_until(second, lambda message: isinstance(message, RunEnded))
    first.close()
    second.close()


@pytest.mark.parametrize("parting", [Leave(stop=True), Leave(waits=True)])
def test_a_view_cannot_end_the_run_however_it_leaves(local_sandbox: Sandbox, parting: Leave):
    model = local_sandbox.script(bash("touch begun; until test -e go; do sleep 0.01; done"), finish("All done."))
    owner = EngineConnection.open(launch(local_sandbox, model, mode="never"))
    owner.send_command(SendMessage(text="begin"))
    wait_for((local_sandbox.project / "begun").exists, "the command to run")
    view = EngineConnection.open(launch(local_sandbox, "", is_new=False), is_viewer=True)
    owner.close()
    receive_until(view, lambda each: isinstance(each, ControlState) and each.others == 0)
    view.send_command(parting)
    with pytest.raises(EngineGone):  # it is let go at once, and does not wait for the end
        receive_until(view, lambda message: False)
    (local_sandbox.project / "go").touch()
    wait_for(lambda: gone(view.engine_pid), "the engine to end after its run")
    view.close()
    assert [event.reason for event in log(local_sandbox) if isinstance(event, RunEnded)] == ["finished"]


def test_an_engine_does_not_stay_for_a_view(local_sandbox: Sandbox):
    owner = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish("All done."))))
    view = EngineConnection.open(launch(local_sandbox, "", is_new=False), is_viewer=True)
    owner.close()
    with pytest.raises(EngineGone):
        receive_until(view, lambda message: False)
    view.close()
    wait_for(lambda: not local_sandbox.engines(), "the engine to end")


def test_a_view_starts_no_engine(local_sandbox: Sandbox):
    with pytest.raises(EngineRefused, match="not running any more"):
        EngineConnection.open(launch(local_sandbox, "", is_new=False), is_viewer=True)
    assert not local_sandbox.processes()


def _is_titled(number: int) -> Callable[[Message], bool]:
    return lambda message: getattr(message, "title", None) == f"title {number}"


def test_second_screen_sees_everything_and_inherits_control(local_sandbox: Sandbox):
    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(bash("true", risk="HIGH"))))
    first.send_command(SendMessage(text="hello"))
    receive_until(first, lambda message: isinstance(message, ActionAssessed))
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    assert second.engine_pid == first.engine_pid
    seen: list[int] = []
    wait_for(lambda: seen_by(second, seen) == [event.seq for event in log(local_sandbox)], "all that is in the log")
    second.send_command(Interrupt())
    refused = refusal(second)
    assert "another screen" in refused.reason
    first.close()
    wait_for(lambda: _interrupted(second), "the second screen to hold the pen")
    second.close()
    wait_for(lambda: gone(second.engine_pid), "the engine to end")


def _interrupted(connection: EngineConnection) -> bool:
    connection.send_command(Interrupt())
    return any(isinstance(message, RunEnded) for message in connection.receive())


def test_change_is_reverted_once(local_sandbox: Sandbox):
    path = local_sandbox.project / "a.txt"
    path.write_text("new\n")
    command = RevertFiles(files=(FileDelta(path=str(path), before="new\n", after="old\n"),))
    screen = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish())))
    screen.send_command(command)
    receive_until(screen, lambda message: isinstance(message, FilesChanged) and message.by == "person")
    assert path.read_text() == "old\n"
    screen.send_command(command)
    refused = refusal(screen)
    assert "changed since it was shown" in refused.reason
    screen.close()
    wait_for(lambda: gone(screen.engine_pid), "the engine to end")


def test_change_of_another_session_is_rated_first_and_then_written(local_sandbox: Sandbox):
    path = local_sandbox.project / "a.txt"
    path.write_text("mine\n")
    command = ApplyChanges(
        files=(FileDelta(path=str(path), before="mine\n", after="theirs\n"),), session="20260101-other"
    )
    screen = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish())))
    screen.send_command(command)
    received = receive_until(screen, lambda message: isinstance(message, ChangesRated))
    rated = next(message for message in received if isinstance(message, ChangesRated))
    assert path.read_text() == "mine\n"
    screen.send_command(msgspec.structs.replace(command, risk=rated.risk))
    receive_until(screen, lambda message: isinstance(message, FilesChanged) and message.session == "20260101-other")
    assert path.read_text() == "theirs\n"
    screen.close()
    wait_for(lambda: gone(screen.engine_pid), "the engine to end")


def test_directory_of_another_session_takes_the_place_of_a_link_that_leads_out(local_sandbox: Sandbox):
    link = local_sandbox.project / "link"
    link.symlink_to("/etc")
    target = placeholder("a link", 4, blob_id(b"/etc"))
    files = (
        FileDelta(path=f"{link}/hosts", before=None, after="mine\n"),
        FileDelta(path=str(link), before=target, after=None, cut="a link"),
    )
    screen = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish())))
    screen.send_command(ApplyChanges(files=files[:1], session="other"))
    assert "is not in the workspace" in refusal(screen).reason
    screen.send_command(ApplyChanges(files=files, session="other"))
    received = receive_until(screen, lambda message: isinstance(message, ChangesRated))
    rated = next(message for message in received if isinstance(message, ChangesRated))
    assert link.is_symlink()
    screen.send_command(ApplyChanges(files=files, session="other", risk=rated.risk))
    receive_until(screen, lambda message: isinstance(message, FilesChanged))
    assert (link.is_symlink(), (link / "hosts").read_text()) == (False, "mine\n")
    screen.close()
    wait_for(lambda: gone(screen.engine_pid), "the engine to end")


def test_screen_without_control_finds_files_that_it_may_mention(local_sandbox: Sandbox):
    (local_sandbox.project / "notes.md").write_text("x\n")
    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish())))
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    second.send_command(FindFiles(query="note"))
    received = receive_until(second, lambda message: isinstance(message, MatchingFiles) and bool(message.paths))
    assert MatchingFiles(query="note", paths=("notes.md",)) in received
    assert not any(isinstance(message, Refused) for message in received)
    for screen in (first, second):
        screen.close()
    wait_for(lambda: gone(first.engine_pid), "the engine to end")


def test_engine_finds_what_a_message_mentions_if_the_screen_does_not(local_sandbox: Sandbox):
    for name in ("a.md", "b.md"):
        (local_sandbox.project / name).write_text(f"{name}\n")
    screen = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish())))
    screen.send_command(SendMessage(text="see @a.md, @b.md and @c.md", mentions=None, written="see @a.md, [pasted]"))
    (message,) = [
        each
        for each in receive_until(screen, lambda message: isinstance(message, UserMessage))
        if isinstance(each, UserMessage)
    ]
    assert message.mentions == ("a.md",)
    assert [file.text for file in message.attached] == ["a.md\n"]
    screen.close()
    wait_for(lambda: gone(screen.engine_pid), "the engine to end")


def test_agents_question_is_answered_by_the_controlling_screen(local_sandbox: Sandbox):
    ask = {"tool": "ask_human", "arguments": {"question": "Which?", "options": ["red", "blue"]}}
    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(ask, finish("All done."))))
    first.send_command(SendMessage(text="paint it"))
    asked = receive_until(first, lambda message: isinstance(message, ActionAssessed))
    question = next(message for message in asked if isinstance(message, ActionAssessed))
    assert (question.needs_decision, question.needs_answer) == (False, True)
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    receive_until(second, lambda message: isinstance(message, ActionAssessed))
    second.send_command(AnswerQuestion(action_id=question.action_id, text="blue"))
    assert "another screen" in refusal(second).reason
    first.send_command(Decide(action_id=question.action_id, verdict="approved", fingerprint=question.fingerprint))
    assert "takes an answer" in refusal(first).reason
    first.send_command(AnswerQuestion(action_id=question.action_id, text="red"))
    for connection in (first, second):
        seen = receive_until(connection, lambda message: isinstance(message, RunEnded))
        results = [message.observation["content"] for message in seen if isinstance(message, ActionObserved)]
        assert results[0][0]["text"] == "red"
        connection.close()
    wait_for(lambda: gone(first.engine_pid), "the engine to end")


def test_sigterm_ends_engine_and_children_at_once_and_keeps_the_log(local_sandbox: Sandbox):
    connection = EngineConnection.open(
        launch(local_sandbox, local_sandbox.script(bash("touch begun; (setsid sleep 777 &); sleep 888")), mode="never")
    )
    connection.send_command(SendMessage(text="work"))
    wait_for((local_sandbox.project / "begun").exists, "the command to run")
    os.kill(connection.engine_pid, signal.SIGTERM)
    wait_for(lambda: gone(connection.engine_pid), "the engine to end")
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
    connection.close()
    (ended,) = [event for event in log(local_sandbox) if isinstance(event, RunEnded)]
    assert (ended.reason, ended.detail) == ("interrupted", "the agent process was ended by SIGTERM")
    state = SessionState()
    for event in log(local_sandbox):
        apply(state, event)
    (notice,) = [item for item in state.items if isinstance(item, NoticeItem) and item.run is not None]
    assert notice.text == "Stopped: the agent process was ended by SIGTERM"


def test_run_that_the_user_ends_with_its_screen_was_stopped_by_the_user(local_sandbox: Sandbox):
    model = local_sandbox.script(bash("touch begun; sleep 888"))
    connection = EngineConnection.open(launch(local_sandbox, model, mode="never"))
    connection.send_command(SendMessage(text="work"))
    wait_for((local_sandbox.project / "begun").exists, "the command to run")
    connection.send_command(Leave(stop=True))
    wait_for(lambda: gone(connection.engine_pid), "the engine to end")
    connection.close()
    (ended,) = [event for event in log(local_sandbox) if isinstance(event, RunEnded)]
    assert (ended.reason, ended.detail) == ("interrupted", "")


def test_step_that_does_not_end_after_sigterm_is_unknown_and_the_next_message_continues(local_sandbox: Sandbox):
    waits = Turn("", calls=[Called("execute_bash", {"command": "touch begun; sleep 777", "security_risk": "LOW"})])
    with ModelServer([waits, Turn("Still here.")]) as server:
        started = launch(local_sandbox, "openai/fake", mode="never")
        started = replace(started, settings=replace(started.settings, api_base=server.base_url))
        connection = EngineConnection.open(started)
        connection.send_command(SendMessage(text="work"))
        wait_for((local_sandbox.project / "begun").exists, "the command to run")
        engine = psutil.Process(connection.engine_pid)
        shell = next(each for each in engine.children(recursive=True) if each.cmdline()[:1] == ["sleep"]).parent()
        assert shell is not None
        supervisor = shell.parent()
        assert supervisor is not None
        supervisor.suspend()  # as on a machine that is too busy: nothing ends the command
        os.kill(connection.engine_pid, signal.SIGTERM)
        wait_for(lambda: gone(connection.engine_pid), "the engine to end")
        connection.close()
        again = EngineConnection.open(replace(started, is_new=False))
        again.send_command(SendMessage(text="go on"))
        receive_until(again, lambda message: isinstance(message, RunEnded) and message.reason == "waiting")
        again.close()
    wait_for(lambda: not local_sandbox.processes(), "every process to be gone")
    ends = [(event.reason, bool(event.detail)) for event in log(local_sandbox) if isinstance(event, RunEnded)]
    assert ends[-1] == ("waiting", False)
    assert ends[0] == ("interrupted", True)


def test_refused_session_is_reported_in_one_line(local_sandbox: Sandbox):
    path = session_path(local_sandbox.locations, ID)
    with pytest.raises(EngineRefused, match="no session"):
        EngineConnection.open(launch(local_sandbox, "scripted/demo", is_new=False))
    with pytest.raises(EngineRefused, match="there is no script"):
        EngineConnection.open(launch(local_sandbox, "scripted/none-such"))
    assert not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"this is not a database, however long one looks at it" * 50)
    with pytest.raises(EngineRefused, match="not a session file"):
        EngineConnection.open(launch(local_sandbox, "scripted/demo", is_new=False))
    lock = SessionLock.acquire(path)
    with pytest.raises(EngineRefused, match=f"in use by process {os.getpid()}"):
        EngineConnection.open(launch(local_sandbox, "scripted/demo", is_new=False))
    lock.release()


def test_session_without_messages_leaves_no_file(local_sandbox: Sandbox):
    connection = EngineConnection.open(launch(local_sandbox, "scripted/demo"))
    path = session_path(local_sandbox.locations, ID)
    assert path.exists()
    stale = socket_path(local_sandbox.locations, ID)
    connection.close()
    wait_for(lambda: gone(connection.engine_pid), "the engine to end")
    assert not path.exists()
    assert not stale.exists()


def test_screen_that_attaches_in_the_middle_gets_the_streams_so_far(local_sandbox: Sandbox):
    wait = bash("echo early; while [ ! -e go ]; do sleep 0.05; done; echo late")
    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(wait, finish("All done."))))
    first.send_command(SendMessage(text="begin"))
    receive_until(first, lambda message: isinstance(message, ToolOutput) and "early" in message.text)
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    receive_until(second, lambda message: isinstance(message, ToolOutput) and "early" in message.text)
    (local_sandbox.project / "go").touch()
    received = receive_until(second, lambda message: isinstance(message, RunEnded))
    assert not [message for message in received if isinstance(message, ToolOutput) and "early" in message.text]
    first.close()
    second.close()


def test_control_passes_on_request_and_returns_when_the_screen_leaves(local_sandbox: Sandbox):
    def control(connection: EngineConnection, is_last: Callable[[ControlState], bool]) -> ControlState:
        received = receive_until(connection, lambda each: isinstance(each, ControlState) and is_last(each))
        return [each for each in received if isinstance(each, ControlState)][-1]

    first = EngineConnection.open(launch(local_sandbox, local_sandbox.script(finish("All done."))))
    second = EngineConnection.open(launch(local_sandbox, "", is_new=False))
    assert not control(second, lambda each: not each.has_control).has_control
    assert control(first, lambda each: each.others == 1).has_control
    second.send_command(RequestControl())
    assert control(second, lambda each: each.has_control).others == 1
    assert not control(first, lambda each: not each.has_control).has_control
    first.send_command(SendMessage(text="too late"))
    assert "another screen" in refusal(first).reason
    second.close()
    assert control(first, lambda each: each.has_control).others == 0
    first.send_command(SendMessage(text="begin"))
    receive_until(first, lambda message: isinstance(message, RunEnded))
    assert [event.text for event in log(local_sandbox) if isinstance(event, UserMessage)] == ["begin"]
    first.close()


def is_open(path: Path) -> bool:
    """Return whether others may use the file or pass through the directory."""
    return bool(path.stat().st_mode & 0o077)


def within(path: Path, directory: Path) -> list[Path]:
    return [parent for parent in path.parents if parent.is_relative_to(directory)]


@pytest.mark.parametrize("mask", [0o022, 0o002])
def test_files_of_the_agent_get_the_permissions_that_the_user_has_set_for_new_files(local_sandbox: Sandbox, mask: int):
    before = os.umask(mask)
    try:
        made = local_sandbox.script(bash("mkdir made; touch made/file"), finish("All done."))
        connection = EngineConnection.open(launch(local_sandbox, made, mode="never"))
    finally:
        os.umask(before)
    connection.send_command(SendMessage(text="begin"))
    receive_until(connection, lambda message: isinstance(message, RunEnded))
    connection.close()
    directory = local_sandbox.project / "made"
    modes = [path.stat().st_mode & 0o777 for path in (directory, directory / "file")]
    assert modes == [0o777 & ~mask, 0o666 & ~mask]
    own = local_sandbox.home / ".local"
    reachable = [path for path in own.rglob("*") if path.is_file() and all(map(is_open, (path, *within(path, own))))]
    assert reachable == [], "what is ohw's own is the user's alone"
    assert session_path(local_sandbox.locations, ID).stat().st_mode & 0o777 == 0o600
