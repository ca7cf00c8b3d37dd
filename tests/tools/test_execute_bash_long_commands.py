"""A command that runs longer than the call: waiting, typed input, keys, passwords."""

import inspect
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash, assert_idle, eventually, until_printed
from workbench.tools import BashTool
from workbench.tools.execute_bash.definition import ExecuteBashAction
from workbench.tools.execute_bash.messages import KEYS


@pytest.fixture(scope="module")
def shared_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bash]:
    shell = Bash(tmp_path_factory.mktemp("work"), no_change_timeout=20)
    yield shell
    shell.tool.close()


@pytest.fixture
def bash(shared_shell: Bash) -> Iterator[Bash]:
    """One shell for all tests here; each test leaves it idle."""
    yield shared_shell
    assert_idle(shared_shell)


def until_it_ends(bash: Bash) -> str:
    """Wait for the running command; return all that it printed meanwhile."""
    printed = ""
    for _ in range(60):
        now = bash("", timeout=10)
        printed += now.output
        if now.exit_code != -1:
            return printed
    raise AssertionError(f"it does not end: {printed[-300:]}")


def test_description_names_the_silence_that_ends_a_call(tmp_path: Path) -> None:
    assert inspect.signature(BashTool.__init__).parameters["no_change_timeout"].default == 30
    with BashTool(tmp_path) as usual:
        assert "30 seconds" in usual.description
        assert "30 s " in usual.short_description
    with BashTool(tmp_path, no_change_timeout=0.7) as quick:
        seen = quick(ExecuteBashAction(command="sleep 20"))
        assert "no new output for 0.7 seconds" in seen.text
        assert "0.7 seconds" in quick.description
        assert "0.7 s " in quick.short_description


def test_early_return_says_how_to_continue(bash: Bash) -> None:
    seen = bash("sleep 60", timeout=0.2)
    for advice in ("empty command", "is_input=true", "`C-c`", "reset=true"):
        assert advice in seen.text
    assert bash("C-c", is_input=True).exit_code == 130


def test_each_poll_returns_only_new_output(bash: Bash, tmp_path: Path) -> None:
    script = "; ".join(f"until [ -e {tmp_path}/{n} ]; do sleep 0.02; done; echo part{n}" for n in range(3))
    bash(script, timeout=0.1)
    for number in range(3):
        (tmp_path / str(number)).touch()
        seen = bash("", timeout=0.5)
        while not seen.output:
            seen = bash("", timeout=0.5)
        assert seen.output == f"part{number}\n"
        assert seen.text.startswith("[Below is the output of the previous command.]\npart")
    if seen.exit_code == -1:
        until_it_ends(bash)


@pytest.mark.parametrize(("text", "is_input"), [("true", True), ("false", False), ("True", True), ("False", False)])
def test_is_input_may_be_a_word(bash: Bash, text: str, is_input: bool) -> None:
    assert bash.tool.action_from_arguments({"command": "x", "is_input": text}).is_input is is_input


def test_every_named_key_is_sent_as_a_terminal_does(bash: Bash, tmp_path: Path) -> None:
    sent = {**KEYS, "ENTER": b"\r"}
    program = tmp_path / "keys.py"
    program.write_text(
        "import os, sys, tty\n"
        "tty.setraw(0)\n"
        "print('ready', end='', flush=True)\n"
        "got = b''\n"
        f"while len(got) < {sum(map(len, sent.values()))}:\n"
        "    got += os.read(0, 100)\n"
        "print('got', got.hex())\n"
    )
    seen = bash(f"{sys.executable} {program}; stty sane")
    printed = seen.output
    while "ready" not in printed:
        printed += bash("", timeout=1).output
    for name in sent:
        seen = bash(name, is_input=True, timeout=0.01)
        printed += seen.output
    # The program's last line may come before its end.
    if seen.exit_code == -1:
        printed += until_it_ends(bash)
    assert printed.split("got ")[1].strip() == b"".join(sent.values()).hex()


def test_text_is_typed_with_enter(bash: Bash) -> None:
    bash("head -n 2 | od -An -c", timeout=0.1)
    bash("one", is_input=True, timeout=0.1)
    seen = bash("true false", is_input="true", timeout=20)
    printed = seen.output if seen.exit_code != -1 else seen.output + until_it_ends(bash)
    assert printed.split() == [*"one", "\\n", *"true", *"false", "\\n"]


def test_empty_input_waits_without_typing(bash: Bash) -> None:
    bash("read -p 'Delete all? [Y/n] ' answer; echo \"<$answer>\"")
    seen = bash("", is_input=True, timeout=0.2)
    assert (seen.exit_code, seen.is_error) == (-1, False)
    assert "<n>" in bash("n", is_input=True).output


def test_new_command_is_refused_while_one_runs(bash: Bash, tmp_path: Path) -> None:
    bash("sleep 60", timeout=0.1)
    seen = bash(f"touch {tmp_path}/run")
    assert seen.is_error
    assert "was not run" in seen.text
    assert "(sleep 60)" in seen.text
    assert bash("C-c", is_input=True).exit_code == 130
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("typed", ["touch typed", "UP", "TAB", "C-v", "C-d", "C-w"])
def test_unread_input_is_never_run_by_the_shell(bash: Bash, tmp_path: Path, typed: str) -> None:
    end = tmp_path / "end"
    bash(f"cd {tmp_path}; until [ -e {end} ]; do sleep 0.02; done", timeout=0.1)
    for _ in range(3):
        bash(typed, is_input=True, timeout=0.02)
    end.touch()
    until_it_ends(bash)
    seen = bash("ls; echo next")
    assert (seen.output, seen.exit_code) == ("end\nnext\n", 0)


def test_unread_input_of_a_raw_mode_program_is_not_run_either(bash: Bash, tmp_path: Path) -> None:
    end = tmp_path / "end"
    bash(f"cd {tmp_path}; stty raw; until [ -e {end} ]; do sleep 0.02; done", timeout=0.1)
    bash("touch typed", is_input=True, timeout=0.1)
    end.touch()
    until_it_ends(bash)
    assert bash("ls; echo next").output == "end\nnext\n"


@pytest.mark.parametrize(
    "prompt",
    [
        "[sudo] password for ann: ",
        "ann@host's password: ",
        "Enter passphrase for key '/home/ann/.ssh/id_ed25519': ",
        "Password for 'https://ann@example.org': ",
        "Username for 'https://example.org': ",
        "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
        "Enter PIN for authenticator: ",
        "Verification code: ",
        "Vault password: ",
    ],
)
def test_password_prompt_is_recognized_and_remains_one(bash: Bash, prompt: str) -> None:
    quoted = prompt.replace("'", "'\\''")
    seen = bash(f"read -sp '{quoted}' p </dev/tty; echo got $p")
    assert "The user must decide" in seen.text
    for _ in range(2):  # a password prompt stays one while the call waits
        bash("", timeout=0.05)
        refused = bash("guess", is_input=True, timeout=0.1)
        assert refused.is_error
        assert "not typed" in refused.text
    assert bash("C-c", is_input=True).exit_code == 130


def test_ordinary_question_after_a_password_may_be_answered(bash: Bash, tmp_path: Path) -> None:
    go = tmp_path / "go"
    bash(f"printf 'Password: '; until [ -e {go} ]; do sleep 0.02; done; printf '\\nYour name: '; read n; echo is $n")
    go.touch()
    printed = ""
    while "Your name" not in printed:
        printed += bash("", timeout=5).output
    assert "is Ann" in bash("Ann", is_input=True).output


def test_output_of_a_shell_that_died_between_calls_is_not_lost(tmp_path: Path) -> None:
    for command, arguments in (("", {}), ("x", {"is_input": True}), ("echo next", {})):
        shell = Bash(tmp_path, no_change_timeout=20)
        pid = shell("sleep 0.3; echo last words; exit 4", timeout=0.05).metadata.pid
        eventually(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "the shell did not end")
        seen = shell(command, **arguments)
        assert "last words" in seen.text
        assert "The shell ended with exit code 4" in seen.text
        assert shell("echo on").output == "on\n"
        shell.tool.close()


def test_process_with_many_open_files_can_use_the_shell(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    expected = 2000 if hard == resource.RLIM_INFINITY else min(hard, 2000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (expected, hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(min(1100, expected - 200))]
    shell = Bash(tmp_path, no_change_timeout=20)
    try:
        assert shell("cat", timeout=0.2).exit_code == -1
        until_printed(shell, "hello", shell("hello", is_input=True, timeout=2).output)
    finally:
        shell.tool.close()
        for number in files:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_closed_tool_runs_nothing(tmp_path: Path) -> None:
    shell = Bash(tmp_path)
    shell("true")
    shell.tool.close()
    seen = shell("touch run")
    assert seen.is_error
    assert "closed" in seen.text
    assert not (tmp_path / "run").exists()
