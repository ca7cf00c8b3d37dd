"""Every way in which an output stream fails ends the run at the next decision, and the reason is in the log."""

import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios

import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from workbench.errors import describe_fault
from workbench.protocol.events import ActionProposed, Event, RunEnded
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store


def shell(sandbox: Sandbox, line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which `ohw` is the command."""
    ohw = f"{sys.executable} -m workbench"
    return subprocess.run(
        ["bash", "-c", f'set -o pipefail; ohw() {{ {ohw} "$@"; }}; {line}'],
        capture_output=True,
        text=True,
        cwd=sandbox.project,
        env=sandbox.env,
        timeout=60,
    )


def recorded(sandbox: Sandbox) -> list[Event]:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def end_of(sandbox: Sandbox) -> RunEnded:
    (end,) = (event for event in recorded(sandbox) if isinstance(event, RunEnded))
    return end


def model(sandbox: Sandbox) -> str:
    return sandbox.script(*[bash(f"touch made-{number}") for number in range(3)], finish())


@pytest.mark.parametrize(
    ("redirection", "code", "why"),
    [
        ("2>/dev/full", 1, "standard error cannot be written: No space left on device"),
        ("--json >/dev/full", 1, "standard output cannot be written: No space left on device"),
        ("--json 2>/dev/full", 1, "standard error cannot be written: No space left on device"),
        ("| head -c0", 141, "standard output cannot be written: its reader has gone"),
        ("--json | head -c0", 141, "standard output cannot be written: its reader has gone"),
        ("2>&1 >/dev/null | head -c0", 141, "standard error cannot be written: its reader has gone"),
    ],
)
def test_run_nobody_can_follow_ends_before_its_first_action(sandbox: Sandbox, redirection, code, why):
    done = shell(sandbox, f"ohw run 'make files' --model {model(sandbox)} --mode never {redirection}")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    end = end_of(sandbox)
    assert (end.reason, end.detail) == ("interrupted", f"stopped, since {why}")
    assert list(sandbox.project.iterdir()) == []


def test_closed_pipe_in_the_middle_ends_the_run_at_the_next_decision(sandbox: Sandbox):
    first = "touch begun; until [ -e ../reader-gone ]; do sleep 0.05; done; touch made-0"
    waits = [bash(first), bash("touch made-1"), finish()]
    process = sandbox.start("run", "go", "--model", sandbox.script(*waits), "--mode", "never", stderr=subprocess.STDOUT)
    assert process.stdout is not None
    wait_for((sandbox.project / "begun").exists, "the first action")
    process.stdout.close()
    (sandbox.project.parent / "reader-gone").touch()
    assert process.wait(30) == 141
    assert sorted(path.name for path in sandbox.project.iterdir()) == ["begun", "made-0"]
    assert "its reader has gone" in end_of(sandbox).detail
    assert len([event for event in recorded(sandbox) if isinstance(event, ActionProposed)]) == 1


def test_unwritable_answer_is_reported_on_stderr(sandbox: Sandbox):
    done = shell(sandbox, f"ohw run go --model {sandbox.script(finish('All done.'))} --mode never >/dev/full")
    assert done.returncode == 1
    assert "standard output cannot be written: No space left on device" in done.stderr
    assert "resume with: ohw resume" in done.stderr


@pytest.mark.parametrize("command", ["run go --model scripted/demo --mode never", "sessions", "risk ls", "locate"])
def test_closed_stdout_is_refused_and_no_file_gets_its_descriptor(sandbox: Sandbox, command):
    done = shell(sandbox, f"ohw {command} >&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ohw: standard output is closed")
    assert list_sessions(sandbox.locations) == []


def test_closed_stderr_is_refused_if_the_run_could_not_be_followed(sandbox: Sandbox):
    done = shell(sandbox, f"ohw run go --model {model(sandbox)} --mode never 2>&-")
    assert done.returncode == 2
    assert done.stdout.startswith("ohw: standard error is closed")
    assert list(sandbox.project.iterdir()) == []


def test_json_lines_need_no_stderr_and_nothing_else_gets_its_descriptor(sandbox: Sandbox):
    done = shell(sandbox, f"ohw run go --model {model(sandbox)} --mode never --json 2>&- <&-")
    assert done.returncode == 0
    assert done.stdout.count('"kind": "run_ended"') == 1
    assert len(recorded(sandbox)) == len(done.stdout.splitlines())


@pytest.mark.parametrize("command", ["sessions", "locate", "risk ls", "tools", "--help", "run --help"])
def test_full_disk_behind_stdout_is_one_line(sandbox: Sandbox, command):
    done = shell(sandbox, f"ohw {command} >/dev/full")
    assert done.returncode == 1
    assert re.fullmatch(r"ohw: (standard output cannot be written: No space|the disk is full).*\n", done.stderr)


@pytest.mark.parametrize("command", ["--help", "run --help", "--version", "sessions", "config"])
def test_closed_pipe_ends_a_command_silently(sandbox: Sandbox, command):
    # a pipe whose reader has exited before anything is written
    done = shell(sandbox, f"{{ sleep 0.2; ohw {command}; }} | :")
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("command", ["resume nothing", "run", "--plain go", "export nothing"])
@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&1 | :"])
def test_unreportable_error_has_its_own_exit_code(sandbox: Sandbox, command, redirection):
    done = shell(sandbox, f"{{ sleep 0.2; ohw {command} </dev/null; }} {redirection}")
    assert (done.returncode, done.stderr) == (2, "")


def test_stalled_reader_does_not_block_an_interrupted_run(sandbox: Sandbox):
    """The pipe is full and nobody empties it: the run waits for its reader, and a signal still ends it."""
    script = sandbox.script({**bash("touch made-0"), "text": "words " * 15_000}, finish())
    run = ("run", "go", "--model", script, "--mode", "never", "--json")
    process = sandbox.start(*run, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    try:
        wait_for(lambda: _is_full(descriptor), "a full pipe")
        process.send_signal(signal.SIGTERM)
        assert process.wait(8) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.communicate()


def _is_full(descriptor: int) -> bool:
    waiting = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    return struct.unpack("i", waiting)[0] >= 60_000


def with_context(error: Exception, context: Exception) -> Exception:
    """Return an error that was raised while another one was handled."""
    error.__context__ = context
    return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "the system refused more memory"),
        (RuntimeError("can't start new thread"), "the system refused more memory"),
        (ImportError("x.so: failed to map segment from shared object"), "the system refused more memory"),
        (ImportError("no module x"), "a fault of the workbench itself"),
        (with_context(ModuleNotFoundError("no module x"), MemoryError()), "the system refused more memory"),
        (OSError(12, os.strerror(12)), "the system refused more memory"),
        (OSError(24, os.strerror(24)), "too many files are open"),
        (OSError(28, os.strerror(28), "/x"), "the disk is full; free some space (/x)"),
        (OSError(30, os.strerror(30)), "the disk is read-only"),
        (ValueError("odd"), "a fault of the workbench itself, see its log: ValueError: odd"),
    ],
)
def test_exhausted_resources_are_not_reported_as_a_bug(error, message):
    assert describe_fault(error).startswith(message)
