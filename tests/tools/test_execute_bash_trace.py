"""`set -x` and `set -v` show the agent's commands as bash itself does, and no command of the tool."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash

OURS = re.compile(r"ohw|POSIXLY|builtin|posix|PROMPT_COMMAND|BASH_XTRACEFD|133")

MODES = ("-x", "-v", "-xv", "-xT", "-xu", "-vo physical", "-xo posix")

SCRIPTS = {
    "plain": "echo hi",
    "lines": "echo one\necho two",
    "failing": "false",
    "code": "(exit 3)",
    "function": "f() { local a=1; echo in $a; return 4; }; f",
    "subshell": "(echo sub; (echo deeper)); echo $(echo substituted)",
    "heredoc": "cat <<E\nbody $((1 + 1))\nE",
    "quotes": "echo 'a  b' \"$'c'\" \\d",
    "loop": "for i in 1 2; do echo $i; done",
    "comment": "# nothing",
    "case": "case a in a) echo matched ;; esac",
    "source": "echo 'echo sourced' > sourced; . ./sourced",
    "long": f": {'a' * 4000}\necho long",
}


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, no_change_timeout=15)
    yield shell
    shell.tool.close()


def plain_bash(directory: Path, setup: str, script: str) -> tuple[str, int]:
    """Return what bash prints for the script, evaluated after the setup, and its exit code."""
    argv = ["bash", "--norc", "-c", 'eval "$1"', "bash", f"{setup}\n{script}"]
    done = subprocess.run(argv, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout, done.returncode


@pytest.mark.parametrize("mode", MODES)
def test_options_set_before_show_each_command_as_bash_does(bash: Bash, tmp_path: Path, mode: str) -> None:
    bash(f"set {mode}; set +m")
    for name, script in SCRIPTS.items():
        seen = bash(script)
        assert (seen.output, seen.exit_code) == plain_bash(tmp_path, f"set {mode}", script), name
    assert not OURS.search(bash("set +xv").output)


@pytest.mark.parametrize("prompt", ["+[$LINENO] ", "$BASH_COMMAND: ", "$(echo sub) ", "${FUNCNAME[0]}@ ", "", "\\u> "])
def test_own_ps4_shows_only_the_commands_of_the_agent(bash: Bash, prompt: str) -> None:
    outputs = [bash(f"PS4='{prompt}'; set -x; echo one").output]
    outputs += [bash(script).output for script in ("f() { echo two; }; f", "false", "(echo sub)", "set +x; echo off")]
    assert not [output for output in outputs if OURS.search(output)]
    assert outputs[0].endswith("echo one\none\n")
    assert bash("echo $-").output == "himBPs\n"


@pytest.mark.parametrize("before", ["echo ${none?no}", "set -u; echo $none", "echo )", "exec 2>errors", "exec >out"])
@pytest.mark.parametrize("mode", ["-x", "-xv"])
def test_line_that_bash_abandons_keeps_the_trace_and_shows_nothing_of_ours(
    bash: Bash, tmp_path: Path, mode: str, before: str
) -> None:
    bash(f"set {mode}")
    assert not OURS.search(bash(before).output)
    bash("exec >/dev/tty")
    assert bash("(exit 5)").exit_code == 5
    assert "++ echo here\nhere\n" in bash("echo here").output
    files = [path.read_text() for path in tmp_path.glob("[eo]*")]
    assert not [content for content in files if OURS.search(content)]


@pytest.mark.parametrize("declaration", ["", "export "], ids=["variable", "exported"])
def test_descriptor_for_the_trace_gets_only_the_commands_of_the_agent(
    bash: Bash, tmp_path: Path, declaration: str
) -> None:
    bash("exec 7>trace; ls /proc/$BASHPID/fd > before")
    bash(f"{declaration}BASH_XTRACEFD=7; set -x; echo one")
    assert bash("f() { false; }; f").exit_code == 1
    bash("(echo sub)")
    seen = bash("set +x; ls /proc/$BASHPID/fd > after; declare -p BASH_XTRACEFD")
    assert seen.output == f'declare {"-x" if declaration else "--"} BASH_XTRACEFD="7"\n'
    trace = (tmp_path / "trace").read_text().splitlines()
    assert trace == ["++ echo one", "++ f", "++ false", "++ echo sub", "++ set +x"]
    assert (tmp_path / "after").read_text() == (tmp_path / "before").read_text()


@pytest.mark.parametrize("value", ["abc", "99", "readonly", "2"])
def test_unusable_descriptor_for_the_trace_changes_no_exit_code(bash: Bash, value: str) -> None:
    bash("readonly BASH_XTRACEFD" if value == "readonly" else f"BASH_XTRACEFD={value}")
    bash("set -x")
    seen = [bash(command) for command in ("true", "false", "(exit 7)", "echo hi")]
    assert [one.exit_code for one in seen] == [0, 1, 7, 0]
    assert seen[-1].output == "++ echo hi\nhi\n"


@pytest.mark.parametrize("trap", ["DEBUG", "RETURN", "ERR"])
@pytest.mark.parametrize("option", ["+T", "-TE"])
def test_trap_shows_no_command_of_ours(bash: Bash, trap: str, option: str) -> None:
    bash(f"set {option}; g() {{ false; }}")
    seen = bash(f"trap 'echo \"trap $BASH_COMMAND\"' {trap}; echo hi; g || true")
    assert "hi\n" in seen.output
    assert not re.search("ohw|posix|POSIX|-t 2", seen.output)


@pytest.mark.parametrize("name", ["__ohw_end", "__ohw_trace", "__ohw_kept", "BASH_XTRACEFD"])
@pytest.mark.parametrize("how", ["readonly", "declare -i", "declare -ir", "declare -A", "declare -n", "export"])
def test_spoilt_variable_of_the_trace_never_leads_to_a_wrong_result(bash: Bash, how: str, name: str) -> None:
    bash(f"{how} {name}")
    first = bash("echo hi; (exit 3)")
    assert first.exit_code == 3 or "exit code cannot be known" in first.text or first.is_error
    assert bash("echo ho; (exit 4)").exit_code == 4
    assert bash("echo hu").output == "hu\n"
