"""Interrupts and deaths of the shell: nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.tools.shells import Bash, eventually, processes


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, no_change_timeout=20)
    yield shell
    shell.tool.close()


ESCAPES = [
    "sleep {mark} &",
    "nohup sleep {mark} >/dev/null 2>&1 &",
    "setsid sleep {mark} >/dev/null 2>&1 &",
    "(setsid nohup sleep {mark} </dev/null >/dev/null 2>&1 &)",
    "sleep {mark} & disown -a",
    "(trap '' HUP INT TERM; exec -a sleep sleep {mark}) &",
    "env -i setsid sleep {mark} &",
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_close_leaves_no_process(bash: Bash, mark: str, escape: str) -> None:
    bash(escape.format(mark=mark))
    eventually(lambda: processes(mark), "the process did not start")
    bash.tool.close()
    assert eventually(lambda: not processes(mark), "a process is left")


@pytest.mark.parametrize(
    ("ending", "code"),
    [("exit 3", 3), ("exec false", 1), ("kill -9 $$", 137), ("kill -HUP $$; sleep 20", 129), ("set -e; false", 1)],
)
def test_ended_shell_is_replaced_and_the_same_result_says_so(bash: Bash, ending: str, code: int) -> None:
    bash("A=1")
    seen = bash(f"echo before; {ending}")
    assert seen.exit_code == code
    assert seen.output.startswith("before\n")
    assert "A new shell was started" in seen.text
    assert bash("echo ${A-gone}").output == "gone\n"


def test_shell_that_ends_between_calls_is_replaced_with_the_next(bash: Bash) -> None:
    pid = bash("true").metadata.pid
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(pid), "the shell lives")
    eventually(lambda: "killed by signal 9" in bash("echo on").text, "nothing was said")
    assert bash("echo on").output == "on\n"


def test_killed_supervisor_takes_shell_and_escaped_processes_along(bash: Bash, mark: str) -> None:
    seen = bash(f"(setsid sleep {mark} &); sleep 0.1; kill -9 $PPID")
    assert "A new shell was started" in seen.text
    eventually(lambda: not processes(mark), "a process is left")
    assert bash("echo on").output == "on\n"


def test_supervisor_killed_between_calls_is_detected(bash: Bash, mark: str) -> None:
    pid = bash(f"setsid sleep {mark} & true").metadata.pid
    eventually(lambda: processes(mark), "the process did not start")
    psutil.Process(psutil.Process(pid).ppid()).kill()
    eventually(lambda: not psutil.pid_exists(pid), "the shell outlives its supervisor")
    bash("true")
    assert eventually(lambda: not processes(mark), "a process is left")


def test_stopped_supervisor_does_not_delay_the_end(bash: Bash, mark: str) -> None:
    bash(f"setsid sleep {mark} & sleep 0.1; kill -STOP $PPID", timeout=3)
    bash.tool.close()
    assert eventually(lambda: not processes(mark), "a process is left")


OWNER = """
import sys, time
from workbench.tools import BashTool
tool = BashTool(sys.argv[1])
tool(tool.action_type(command=f"setsid sleep {sys.argv[2]} & nohup sleep {sys.argv[2]} & (sleep {sys.argv[2]} &)"))
print("ready", flush=True)
tool(tool.action_type(command=f"sleep {sys.argv[2]}"))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_dying_owner_leaves_no_process_and_no_file(tmp_path: Path, mark: str, number: int) -> None:
    command = [sys.executable, "-c", OWNER, str(tmp_path), mark]
    temp = tmp_path / "temp"
    temp.mkdir()
    env = {**os.environ, "TMPDIR": str(temp)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        eventually(lambda: len(processes(mark, "sleep")) == 4, "not all started")
        assert list(temp.iterdir())
        owner.send_signal(number)
        owner.wait(20)
    eventually(lambda: not processes(mark), "a process is left")
    eventually(lambda: not list(temp.iterdir()), "a file is left")


def test_reset_ends_processes_of_the_old_shell(bash: Bash, mark: str) -> None:
    bash(f"setsid sleep {mark} & sleep {mark} & true")
    eventually(lambda: len(processes(mark, "sleep")) == 2, "not all started")
    assert bash("echo on", reset=True).output == "on\n"
    eventually(lambda: not processes(mark), "a process is left")


def test_reset_ends_a_running_command(bash: Bash, mark: str) -> None:
    assert bash(f"trap '' INT TERM; sleep {mark}", timeout=0.1).exit_code == -1
    seen = bash("", reset=True)
    assert (seen.exit_code, seen.is_error) == (0, False)
    assert "are gone" in seen.text
    assert bash("echo on").output == "on\n"
    eventually(lambda: not processes(mark), "a process is left")


def test_multiplying_processes_are_all_ended(bash: Bash, mark: str) -> None:
    bash(f"grow() {{ sleep {mark} & [ $1 -gt 0 ] && {{ grow $(($1-1)) & grow $(($1-1)) & }}; }}; grow 4", timeout=5)
    bash(f"(while :; do (setsid sleep {mark} &) ; sleep 0.01; done) & disown", timeout=5)
    eventually(lambda: len(processes(mark, "sleep")) > 30, "they did not start")
    bash.tool.close()
    assert eventually(lambda: not processes(mark), "a process is left")


def interrupted(bash: Bash, command: str, mark: str, ready: Path) -> str:
    """Run the command, interrupt it once it created `ready`; return the text of the result."""
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(bash(command).text))
    thread.start()
    eventually(ready.exists, "the command did not start")
    assert bash.tool.executor is not None
    bash.tool.executor.interrupt()
    thread.join(15)
    assert not thread.is_alive()
    eventually(lambda: not processes(mark), "it goes on")
    return results[0]


@pytest.mark.parametrize(
    "command",
    [
        "touch ready; sleep {mark}",
        "touch ready; (trap '' INT TERM; sleep {mark})",
        "trap '' INT; touch ready; while :; do sleep {mark}; done",
        "touch ready; while :; do :; done",
        "stty -isig; touch ready; sleep {mark}",
        "touch ready; yes {mark}",
    ],
)
def test_interrupt_ends_the_call_whatever_runs(bash: Bash, tmp_path: Path, mark: str, command: str) -> None:
    text = interrupted(bash, command.format(mark=mark), mark, tmp_path / "ready")
    assert "interrupted by the user" in text
    assert bash("echo on").output == "on\n"


def test_interrupt_without_a_call_does_nothing(bash: Bash) -> None:
    assert bash.tool.executor is not None
    bash.tool.executor.interrupt()
    assert bash("echo on").exit_code == 0


def test_unread_input_does_not_hang(bash: Bash, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    bash(f"stty raw; touch {begun}; sleep 60", timeout=0.3)
    eventually(begun.exists, "it does not run")
    seen = bash("x" * 200_000, is_input=True, timeout=0.3)
    assert seen.is_error
    assert "does not read its input" in seen.text


def test_line_too_long_for_a_terminal_is_refused(bash: Bash) -> None:
    bash("cat > /dev/null", timeout=0.3)
    assert "4,000 bytes" in bash("x" * 5000, is_input=True).text


def test_large_output_needs_little_memory_and_is_complete_in_its_file(bash: Bash, tmp_path: Path) -> None:
    bash("true")
    before = psutil.Process().memory_info().rss
    seen = bash("head -c 60000000 /dev/zero | tr '\\0' x; echo")
    assert psutil.Process().memory_info().rss - before < 30_000_000
    assert seen.full_output is not None
    assert Path(seen.full_output).stat().st_size == 60_000_001
    assert len(seen.output) < 31_000


def test_close_may_be_called_twice_and_during_a_command(bash: Bash, mark: str) -> None:
    thread = threading.Thread(target=lambda: bash(f"sleep {mark}"))
    thread.start()
    eventually(lambda: processes(mark), "the process did not start")
    bash.tool.close()
    bash.tool.close()
    thread.join(15)
    assert not thread.is_alive()
    assert not processes(mark)
