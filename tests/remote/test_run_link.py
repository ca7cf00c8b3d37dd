"""The link of `ohw run` over ssh is cut: the task runs once, and a run that is left says how to continue."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path

import pytest

from tests.remote.far_machine import FarMachine
from tests.remote.screens import events_there, lines_here, lines_there, opened, quit_screen, session_here, session_there
from tests.sandbox import bash, finish, wait_for
from workbench.agent.custom_commands import CommandMessage
from workbench.client.remote_client import RemoteClient, Unanswered, new_session
from workbench.client.ssh_url import SshUrl
from workbench.errors import WorkbenchError
from workbench.plain.remote_run import run_remote
from workbench.protocol.commands import ChangeSettings, Command, SendMessage
from workbench.protocol.events import Event, RunEnded, SettingsChanged, UserMessage

LOST = "Connection to far lost, reconnecting"
WAITS = "touch begun; while [ ! -e go ]; do sleep 0.05; done"


@pytest.fixture
def connected(far: FarMachine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RemoteClient]:
    """A function that starts a session there with a scripted model, for a run in this process."""
    for name in ("PATH", "HOME"):
        monkeypatch.setenv(name, far.near.env[name])

    def connect(model: str) -> RemoteClient:
        url, flags = SshUrl.parse(far.url), {"model": model}
        return new_session(far.near.locations, url, "go", flags, may_ask=False, has_user=False)

    return connect


@contextmanager
def narrated_to(path: Path) -> Iterator[None]:
    """Write to a file what a run in this process writes to standard error."""
    with path.open("w") as stream, redirect_stderr(stream):
        yield


def meanwhile(work: Callable[[], object]) -> threading.Thread:
    """Do something while a run is driven in this thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def messages_there(far: FarMachine) -> list[str]:
    """Return the texts of the user's messages there."""
    return [event.text for event in events_there(far) if isinstance(event, UserMessage)]


def test_a_task_that_cannot_be_sent_is_sent_once_the_link_is_back(
    far: FarMachine, connected: Callable[..., RemoteClient], tmp_path: Path
):
    client, narration = connected(far.user.script(bash("touch it", risk="HIGH"), finish("All done."))), tmp_path / "err"
    far.link.cut()
    wait_for(lambda: not far.ssh_processes(), "ssh to end")

    def restore() -> None:
        wait_for(lambda: narration.exists() and LOST in narration.read_text(), "the loss to be reported")
        far.link.restore()

    restorer = meanwhile(restore)
    with narrated_to(narration):
        assert run_remote(client, CommandMessage("begin"), as_json=False, never_asks=True) == 0
    restorer.join()
    assert messages_there(far) == ["begin"]
    assert [event.mode for event in events_there(far) if isinstance(event, SettingsChanged)] == ["never"]
    assert (far.user.project / "it").exists()
    assert lines_here(far) == lines_there(far)


def test_a_task_that_was_lost_on_the_way_is_sent_again_and_runs_once(far: FarMachine):
    program = (far.programs / "ohw").read_text().partition("\n")[2].removeprefix("exec ").strip()
    # The first connection passes on the request alone.
    far.install(
        f'if [ "$1" = engine ] && mkdir "$HOME/first" 2>/dev/null; then read -r line; echo "$line" | {program}; '
        f"else exec {program}; fi"
    )
    model = far.user.script(bash("echo once >> it", risk="HIGH"), finish("All done."))
    process = far.near.start("run", "begin", far.url, "--model", model, "--mode", "high", "--json")
    assert process.stdout is not None
    assert process.stdout.readline().startswith('{"kind": "session_started"')
    far.link.cut()
    far.link.restore()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "Connected to far again" in err
    assert messages_there(far) == ["begin"]
    assert lines_here(far) == lines_there(far)


def test_a_mode_that_was_lost_after_the_engine_had_sent_something_is_set_again(
    far: FarMachine, connected: Callable[..., RemoteClient], monkeypatch: pytest.MonkeyPatch
):
    client = connected(far.user.script(bash("echo once >> it", risk="HIGH"), finish("All done.")))
    send, lost = client.send, []

    def send_all_but_the_first_mode(command: Command) -> None:
        if isinstance(command, ChangeSettings) and not lost:
            # No refusal comes: the client has forgotten the command by then.
            lost.append(command)
            far.link.cut()
            far.link.restore()
        else:
            send(command)

    monkeypatch.setattr(client, "send", send_all_but_the_first_mode)
    assert run_remote(client, CommandMessage("begin"), as_json=False, never_asks=True) == 0
    assert messages_there(far) == ["begin"]
    assert (far.user.project / "it").read_text() == "once\n"
    assert lines_here(far) == lines_there(far)


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        (SendMessage(text="begin"), UserMessage(text="begin")),
        (ChangeSettings(mode="never", confirmed=True), SettingsChanged(mode="never")),
    ],
)
def test_a_command_whose_effect_comes_after_a_break_is_not_reported_as_lost(command: Command, effect: Event):
    unanswered = Unanswered()
    unanswered.add(command)
    unanswered.doubt()
    unanswered.note([effect], is_refused=False)
    assert not unanswered.lost(is_answer=True)


def test_a_lost_link_that_does_not_come_back_ends_the_run_here_and_not_there(
    far: FarMachine, connected: Callable[..., RemoteClient], tmp_path: Path
):
    client = connected(far.user.script(bash(WAITS), finish("All done.")))

    def cut() -> None:
        wait_for((far.user.project / "begun").exists, "the command to run")
        far.link.cut()

    meanwhile(cut)
    with narrated_to(tmp_path / "err"):
        assert run_remote(client, CommandMessage("begin"), as_json=False, never_asks=True, patience=0.5) == 1
    shown = (tmp_path / "err").read_text()
    assert "no connection to far for 0.5 s; the agent works there until its run ends or it has a question" in shown
    assert f"resume with: ohw resume {session_here(far).id}" in shown
    (far.user.project / "go").touch()
    wait_for(lambda: session_there(far).ended == "finished", "the run to end there")
    far.link.restore()
    with opened(far, "resume", session_here(far).id) as terminal:
        terminal.wait_for("✓ Finished")
        quit_screen(terminal)


def test_a_task_that_never_arrives_is_one_line_and_leaves_no_copy(
    far: FarMachine, connected: Callable[..., RemoteClient]
):
    client = connected(far.user.script(finish("All done.")))
    far.link.cut()
    with pytest.raises(WorkbenchError, match="the task did not reach far, so nothing has run there: no connection"):
        run_remote(client, CommandMessage("begin"), as_json=False, patience=0.5)
    assert not list(far.near.locations.sessions.glob("*.session"))


def test_a_standard_error_that_is_gone_at_the_end_of_a_lost_run_leaves_the_exit_code(
    far: FarMachine, connected: Callable[..., RemoteClient], monkeypatch: pytest.MonkeyPatch
):
    client = connected(far.user.script(bash(WAITS), finish("All done.")))
    reader, writer = os.pipe()
    close = client.close

    def close_after_the_reader(*, stop: bool) -> None:
        os.close(reader)
        close(stop=stop)

    def cut() -> None:
        wait_for((far.user.project / "begun").exists, "the command to run")
        far.link.cut()

    monkeypatch.setattr(client, "close", close_after_the_reader)
    meanwhile(cut)
    with os.fdopen(writer, "w") as stream, redirect_stderr(stream):
        assert run_remote(client, CommandMessage("begin"), as_json=False, never_asks=True, patience=0.5) == 1
    assert messages_there(far) == ["begin"]


def test_ctrl_c_without_a_link_says_that_the_agent_was_not_stopped(far: FarMachine):
    process = far.near.start("run", "go", far.url, "--model", far.user.script(bash(WAITS), finish()), "--mode", "never")
    assert process.stderr is not None
    wait_for((far.user.project / "begun").exists, "the command to run")
    far.link.cut()
    while LOST not in (line := process.stderr.readline()):
        assert line, "the run has ended"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the agent on far was not stopped: there is no connection" in err
    assert f"resume with: ohw resume {session_here(far).id}" in err
    (far.user.project / "go").touch()
    wait_for(lambda: session_there(far).ended == "finished", "the run to end there")
    assert [event.reason for event in events_there(far) if isinstance(event, RunEnded)] == ["finished"]
