"""The guarantees on which a model may rely when it uses the shell."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash, assert_idle, eventually
from workbench.tools.context import ToolContext
from workbench.tools.registry import open_tools


@pytest.fixture(scope="module")
def shared_shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bash]:
    shell = Bash(tmp_path_factory.mktemp("work"), no_change_timeout=3)
    yield shell
    shell.tool.close()


@pytest.fixture
def bash(shared_shell: Bash) -> Iterator[Bash]:
    """One shell for all tests here, as in a session; each test leaves it idle."""
    yield shared_shell
    assert_idle(shared_shell)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, state_dir=tmp_path / "state", no_change_timeout=3)
    yield shell
    shell.tool.close()


def test_command_returns_its_output_and_exit_code_once(bash: Bash) -> None:
    seen = bash("echo one; echo two >&2; (exit 3)")
    assert (seen.output, seen.exit_code, seen.timed_out, seen.is_error) == ("one\ntwo\n", 3, False, False)
    assert seen.text.count("exit code 3") == 1
    assert f"[Current working directory: {seen.metadata.working_dir}]" in seen.text


def test_directory_variables_functions_and_exit_code_persist(bash: Bash, tmp_path: Path) -> None:
    seen = bash(f"cd {tmp_path}; A=5; f() {{ echo f$1; }}; false")
    assert seen.metadata.working_dir == str(tmp_path)
    assert bash.tool.executor is not None
    assert bash.tool.executor.working_dir() == str(tmp_path)
    assert bash("echo $? $A; f 1; pwd").output == f"1 5\nf1\n{tmp_path}\n"


def test_odd_directory_name_neither_breaks_the_prompt_nor_appears_raw(bash: Bash, tmp_path: Path) -> None:
    seen = bash(f"cd {tmp_path} && mkdir $'a\\ab;\\n\\ec' && cd *; (exit 7)")
    assert seen.exit_code == 7
    assert seen.metadata.working_dir.endswith("/a\x07b;\n\x1bc")
    assert not {"\x07", "\x1b"} & set(seen.text)
    assert bash("cd ..; rmdir *").exit_code == 0


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("echo a\necho b\n\necho c", "a\nb\nc\n"),
        ("cat <<'END'\n  it's $HOME \"x\"\nEND\necho after", '  it\'s $HOME "x"\nafter\n'),
        ("for i in 1 2\ndo\n  echo $i\ndone", "1\n2\n"),
        ("g() {\n  echo g\n}\ng", "g\n"),
        ("echo 'a!b' \"c!d\" ü€\necho -e 'x\\ty'", "a!b c!d ü€\nx\ty\n"),
        ("# only a remark", ""),
        ("printf no-newline", "no-newline"),
        (f"echo {'x' * 20_000} | wc -c", "20001\n"),
        ("printf '%s' \"$-\" | tr -d a-gi-zA-Z", "h"),
    ],
)
def test_multi_line_script_runs_as_one_command(bash: Bash, script: str, output: str) -> None:
    seen = bash(script)
    assert (seen.output, seen.exit_code) == (output, 0)


@pytest.mark.parametrize("command", ['echo "open', "echo 'open", "if true; then", "echo $(", "echo ${x", "fi"])
def test_syntax_error_returns_at_once(bash: Bash, command: str) -> None:
    seen = bash(command)
    assert seen.exit_code not in (0, -1)
    assert not seen.timed_out
    assert bash("echo well; (exit 4)").exit_code == 4


def test_many_commands_in_one_shell_never_mix_up_their_results(bash: Bash) -> None:
    results = [(seen.output, seen.exit_code) for seen in (bash(f"echo {n}; (exit {n % 200})") for n in range(300))]
    assert results == [(f"{n}\n", n % 200) for n in range(300)]


def test_silence_ends_the_call_and_a_poll_continues(bash: Bash, tmp_path: Path) -> None:
    go = tmp_path / "go"
    seen = bash(f"echo first; until [ -e {go} ]; do sleep 0.05; done; echo second; (exit 6)")
    assert (seen.output, seen.exit_code, seen.timed_out) == ("first\n", -1, True)
    assert "no new output for 3 seconds" in seen.text
    refused = bash("touch never-run")
    assert refused.is_error
    assert "was not run" in refused.text
    go.touch()
    rest = bash("")
    assert rest.text.startswith("[Below is the output of the previous command.]\nsecond\n")
    assert (rest.output, rest.exit_code) == ("second\n", 6)
    assert bash("ls never-run").exit_code == 2


def test_hard_timeout_leaves_the_command_running(bash: Bash) -> None:
    seen = bash("while :; do echo tick; sleep 0.05; done", timeout=0.4)
    assert (seen.exit_code, seen.timed_out) == (-1, True)
    assert "within 0.4 seconds" in seen.text
    seen = bash("C-c", is_input=True, timeout=5)
    while seen.exit_code == -1:
        seen = bash("C-c", is_input=True, timeout=5)
    assert seen.exit_code == 130


def test_end_of_an_unawaited_command_is_reported_with_the_next(bash: Bash, tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"
    waits = f"until [ -e {go} ]; do sleep 0.02; done"
    assert bash(f"{waits}; echo late; touch {done}; (exit 9)", timeout=0.1).exit_code == -1
    go.touch()
    eventually(done.exists, "the command did not go on")
    seen = bash("echo next", timeout=20)
    if seen.is_error:  # the prompt had not returned yet
        eventually(lambda: not bash("", timeout=10).timed_out, "the command did not end")
        return
    assert "late\n[The command completed with exit code 9.]" in seen.text
    assert seen.output == "next\n"


@pytest.mark.parametrize(("command", "is_input"), [("", False), (" \n", "false"), ("y", True), ("C-c", "true")])
def test_waiting_and_typing_require_a_running_command(bash: Bash, command: str, is_input: object) -> None:
    seen = bash(command, is_input=is_input)
    assert seen.is_error
    assert "No command is running" in seen.text


def test_interactive_program_is_answered(bash: Bash) -> None:
    seen = bash("read -p 'Name: ' name; echo hello $name")
    assert seen.exit_code == -1
    assert seen.output == "Name: "
    assert bash("Ann Lee", is_input=True).output == "hello Ann Lee\n"


def test_python_prompt_takes_lines_and_ends_with_its_key(bash: Bash) -> None:
    seen = bash("python3 -q -c 'import code; code.interact(banner=\"\")'")
    while ">>>" not in seen.output:
        seen = bash("")
    assert seen.exit_code == -1
    seen = bash("6 * 7", is_input=True)
    while "42" not in seen.output:
        seen = bash("")
    seen = bash("C-d", is_input=True)
    while seen.exit_code == -1:
        seen = bash("")
    assert seen.exit_code == 0


def test_password_prompt_is_reported_and_no_text_is_typed_into_it(bash: Bash) -> None:
    seen = bash("read -sp '[sudo] password for ann: ' p </dev/tty; echo got $p")
    assert seen.exit_code == -1
    assert "asks for a password" in seen.text
    refused = bash("guess", is_input=True)
    assert refused.is_error
    assert "only the user" in refused.text
    ended = bash("C-c", is_input=True)
    assert ended.exit_code == 130
    assert "got" not in ended.output


def test_full_screen_program_is_recognized(bash: Bash) -> None:
    seen = bash("printf '\\033[?1049h\\033[2J~\\n'; cat")
    assert seen.exit_code == -1
    assert "full-screen program" in seen.text
    assert bash("C-c", is_input=True).exit_code == 130


def test_changed_terminal_modes_are_restored_before_the_next_command(bash: Bash) -> None:
    bash("stty raw -echo -isig; printf '\\033[?25l'")
    assert bash("stty -a | grep -ow -e '-echo' -e isig -e icanon | sort").output == "-echo\nicanon\nisig\n"
    assert bash("stty sane; echo a").exit_code == 0
    assert bash("echo b").output == "b\n"


@pytest.mark.parametrize(
    "game",
    [
        "PS1='$ '; PS0=; unset PROMPT_COMMAND",
        "PROMPT_COMMAND='echo noise'; PS1='> '",
        "exec 2>/dev/null",
        "set -u; set -x; set +x; set +u",
        "trap 'true' DEBUG; trap - DEBUG",
    ],
)
def test_command_cannot_remove_the_prompt(bash: Bash, game: str) -> None:
    assert bash(game).exit_code == 0
    assert bash("ls /does-not-exist").exit_code == 2
    seen = bash("echo fine")
    assert (seen.output, seen.exit_code) == ("fine\n", 0)


@pytest.mark.parametrize(
    "forgery",
    [
        r"printf '\033]133;D;0\007'",
        r"printf '\033]133;D;123456;1;0;/tmp\037/bin;1234560\007'",
        'echo "${PS1@P}"',
        r'printf "%b" "$PS1"',
        "set | grep -a ohw",
    ],
)
def test_forged_prompt_is_ignored(bash: Bash, forgery: str) -> None:
    seen = bash(f"{forgery}; sleep 0.2; echo real; (exit 5)")
    assert seen.output.endswith("real\n")
    assert (seen.exit_code, "\x1b" in seen.output) == (5, False)


def test_escapes_and_invalid_bytes_do_not_reach_the_result(bash: Bash) -> None:
    seen = bash(r"printf '\033[1;31mred\033[0m \377 10%%\r99%%\n\033]52;c;eA==\007x\n'")
    assert seen.output == "99% \ufffd 10%\nx\n"


def test_background_output_is_separate_and_labeled(bash: Bash, tmp_path: Path) -> None:
    mark = tmp_path / "wrote"
    bash(f"(sleep 0.2; echo from behind; touch {mark}) & disown")
    eventually(mark.exists, "the background job did not write")
    seen = bash("echo mine")
    assert seen.output == "mine\n"
    assert "background processes wrote since the last command:]\nfrom behind\n" in seen.text


def test_background_job_with_much_output_is_not_blocked(bash: Bash, tmp_path: Path) -> None:
    mark = tmp_path / "through"
    bash(f"(seq 200000; touch {mark}) & disown")
    eventually(mark.exists, "the job is stuck on a full terminal")
    assert "[… " in bash("true").text


def test_long_output_is_cut_in_the_middle_and_complete_in_its_file(fresh: Bash, tmp_path: Path) -> None:
    seen = fresh("seq 100000")
    assert len(seen.output) < 31_000
    assert seen.output.startswith("1\n2\n")
    assert seen.output.endswith("\n99999\n100000\n")
    assert seen.full_output is not None
    assert seen.full_output in seen.text
    assert Path(seen.full_output).read_text() == "".join(f"{n}\n" for n in range(1, 100_001))
    assert Path(seen.full_output).is_relative_to(tmp_path / "state")
    fresh.tool.close()
    assert Path(seen.full_output).exists()


def test_live_output_is_clean_and_complete(bash: Bash) -> None:
    heard: list[str] = []
    assert bash.tool.executor is not None
    bash.tool.executor.on_output = heard.append
    try:
        seen = bash("printf '\\033[31mone\\033[0m\\n'; sleep 0.2; printf half; sleep 0.2; printf ' done\\n'; seq 3000")
    finally:
        bash.tool.executor.on_output = None
    assert "".join(heard) == seen.output
    assert len(heard) > 1


def test_live_output_between_calls_waits_for_the_next_call(bash: Bash, tmp_path: Path) -> None:
    heard: list[str] = []
    assert bash.tool.executor is not None
    bash.tool.executor.on_output = heard.append
    go, done = tmp_path / "go", tmp_path / "done"
    waits = f"until [ -e {go} ]; do sleep 0.02; done"
    try:
        first = bash(f"echo one; {waits}; echo two; touch {done}; (exit 3)", timeout=0.1)
        before = "".join(heard)
        go.touch()
        eventually(done.exists, "the command did not go on")
        assert "".join(heard) == before == first.output
        second = bash("", timeout=20)
    finally:
        bash.tool.executor.on_output = None
    assert second.exit_code == 3
    assert "".join(heard) == "one\ntwo\n" == first.output + second.output


def test_reset_loses_the_state_and_says_so(fresh: Bash) -> None:
    fresh("A=1; cd /")
    seen = fresh("echo ${A-none}; pwd", reset=True)
    assert seen.output.startswith("none\n")
    assert seen.output != "none\n/\n"
    assert "variables, functions and the working directory of the old one are gone" in seen.text
    assert "are gone" in fresh("", reset=True).text
    assert fresh("x", reset=True, is_input=True).is_error


def test_shell_starts_without_the_users_configuration(
    fresh: Bash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".bashrc").write_text("echo loaded; FROM_RC=1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASH_ENV", str(tmp_path / ".bashrc"))
    monkeypatch.setenv("SOME_API_KEY", "secret-value")
    look = "echo ${FROM_RC-bare} $PAGER $GIT_PAGER $TERM; env | grep -c secret-value; bash -c 'echo ${FROM_RC-bare}'"
    seen = fresh(look)
    assert seen.output == "bare cat cat dumb\n0\nbare\n"


def test_metadata_names_where_the_command_ran(bash: Bash) -> None:
    seen = bash("echo $$; uname -n; id -un; command -v python")
    pid, host, user, *python = seen.output.splitlines()
    assert (seen.metadata.pid, seen.metadata.hostname, seen.metadata.username) == (int(pid), host, user)
    assert not python or seen.metadata.py_interpreter_path == python[0]


def test_deleted_directory_is_reported(tmp_path: Path) -> None:
    shell = Bash(tmp_path / "missing")
    seen = shell("true")
    shell.tool.close()
    assert seen.is_error
    assert "missing" in seen.text


def test_shell_is_one_of_the_built_in_tools(tmp_path: Path) -> None:
    tools = open_tools(ToolContext(str(tmp_path)), ["bash"])
    tool = tools["execute_bash"]
    try:
        seen = tool(tool.action_from_arguments({"command": "pwd"}))
        assert str(tmp_path) in seen.text
        assert tool.to_openai_tool()["function"]["parameters"]["required"] == ["security_risk", "command"]
        assert "30 seconds" in tool.description
    finally:
        tool.close()
