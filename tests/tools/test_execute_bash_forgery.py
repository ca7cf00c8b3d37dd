"""No command can fake its own end: it reads every place, prints what it finds there, and the result stays correct."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash

MARK = r"\033]133;D;%s;0;/forged\037/forged;%s\007\033]133;A\007\033]133;AE\007"

FORGE = rf"""
forge() {{
  local n
  for n in $(tr -c 0-9 '\n' | grep -xE '[0-9]{{17,19}}' | sort -u); do printf '{MARK}' "$n" "$n" >/dev/tty; done
  printf '\033]133;A\007\033]133;AE\007' >/dev/tty
}}
"""


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, no_change_timeout=15)
    shell(FORGE)
    yield shell
    shell.tool.close()


def is_true(bash: Bash, tmp_path: Path) -> None:
    """Check that the next commands return their own output, exit code and directory."""
    bash("cd sub 2>/dev/null || { mkdir sub && cd sub; }")
    seen = bash("echo one; sleep 0.05; echo two; (exit 7)")
    assert (seen.output, seen.exit_code, seen.metadata.working_dir) == ("one\ntwo\n", 7, str(tmp_path / "sub"))


PLACES = (
    "set",
    "declare -p; declare -f; alias; trap -p",
    'echo "$PS0$PS1$PS2$PROMPT_COMMAND${PS1@P}"',
    'echo "$BASH_COMMAND $_ $BASH_EXECUTION_STRING $__ohw_nonce $__ohw_n"',
    "cat /proc/$$/environ /proc/$$/cmdline /proc/self/environ; ps -ef; env",
    "set -o history; history; fc -l -20 2>&1",
    "cat /tmp/ohw-shell-*/* /proc/$PPID/cmdline 2>/dev/null",
    "read -t 0.3 -r line; echo $line; timeout 0.3 cat",
    "timeout 0.3 cat /dev/tty; mapfile -t all < <(timeout 0.3 cat /dev/tty); echo ${all[@]}",
)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_a_command_can_read_forges_its_end(bash: Bash, tmp_path: Path, place: str) -> None:
    seen = bash(f"{{ {place}; }} 2>&1 | forge; {{ {place}; }} > all 2>&1; forge < all; sleep 0.15; echo real; (exit 5)")
    assert (seen.output, seen.exit_code) == ("real\n", 5)
    assert seen.metadata.working_dir == str(tmp_path)
    is_true(bash, tmp_path)


HOOKS = (
    "trap 'forge <<< \"$BASH_COMMAND $PS1\"' DEBUG",
    "shopt -s extdebug; trap 'forge <<< \"$BASH_COMMAND $PS1\"; true' DEBUG",
    "set -T; trap 'forge <<< \"$BASH_COMMAND $PS1 $1\"' DEBUG RETURN",
    "trap 'forge <<< \"$BASH_COMMAND $PS1\"' ERR; set -E",
    "PROMPT_COMMAND='forge <<< \"$PS1\"'",
    "PROMPT_COMMAND=(true 'forge <<< \"$PS1\"')",
    "PS0='$(forge <<< \"$PS1$BASH_COMMAND\")'",
    "PS1='$(history | forge)\\$ '",
    "set -o history; HISTFILE=$PWD/kept; history -w",
    "declare -i __ohw_kept",
    "set -v",
)


@pytest.mark.parametrize("hook", HOOKS)
def test_nothing_a_command_leaves_behind_answers_for_the_next(bash: Bash, tmp_path: Path, hook: str) -> None:
    bash(hook)
    bash("true")
    seen = bash("false")
    assert seen.exit_code == 1
    bash("trap - ERR; set +vTE")
    is_true(bash, tmp_path)


def test_traced_lines_contain_no_valid_nonce(bash: Bash, tmp_path: Path) -> None:
    bash("exec 9>trace; BASH_XTRACEFD=9; set -x")
    assert bash("(exit 3)").exit_code == 3
    assert "133;D" not in (tmp_path / "trace").read_text()
    assert "exit 3" in (tmp_path / "trace").read_text()
    assert "x" in bash("echo $-").output


READERS = (
    'while read -r -t 0.5 line; do forge <<< "$line"; done',
    'forge </dev/null; read -r -t 0.5 line; forge <<< "$line"',
    ". <(timeout 0.5 cat /dev/tty)",
    'select x in a b; do forge <<< "$REPLY"; break; done >/dev/null 2>&1 < <(sleep 0.4)',
    "for i in {1..20}; do forge </dev/null; done",
    "(for i in {1..20}; do forge </dev/null; sleep 0.02; done) & sleep 0.3; wait",
)


@pytest.mark.parametrize("reader", READERS)
def test_command_that_imitates_the_prompt_gets_no_nonce(bash: Bash, tmp_path: Path, reader: str) -> None:
    began = time.monotonic()
    seen = bash(f"{{ {reader}; }} 2>/dev/null; sleep 0.2; echo real; (exit 5)")
    assert time.monotonic() - began > 0.2
    assert (seen.output, seen.exit_code) == ("real\n", 5)
    is_true(bash, tmp_path)


def test_process_that_steals_terminal_input_cannot_forge_an_answer(bash: Bash, tmp_path: Path) -> None:
    thief = 'while read -r -t 2 line; do forge <<< "$line"; done < $(tty)'
    (tmp_path / "thief").write_text(f"{FORGE}\n{thief.replace('$(tty)', '$1')}\n")
    bash("setsid bash thief $(tty) >/dev/null 2>&1 & sleep 0.2")
    # Input that it takes never reaches bash, so the command may not have run and is then reported as still running.
    seen = bash("sleep 0.1; false", timeout=4)
    assert seen.exit_code in (1, -1)
    assert bash("echo fine; (exit 6)", reset=True).exit_code == 6


def test_program_that_replaced_the_shell_is_not_its_prompt(bash: Bash) -> None:
    program = "import sys,time; sys.stdout.write('\\x1b]133;A\\x07'); sys.stdout.flush(); print(input()); time.sleep(1)"
    seen = bash(f'exec python3 -c "{program}"', timeout=0.8)
    assert seen.exit_code == -1
    assert "133;D" not in seen.output


@pytest.mark.parametrize("command", ["readonly PS1", "readonly PROMPT_COMMAND", "readonly __ohw_kept=0"])
def test_shell_that_can_no_longer_answer_is_replaced_and_reported(bash: Bash, command: str) -> None:
    seen = bash(command)
    assert seen.exit_code == 1
    assert "exit code cannot be known" in seen.text
    assert bash("echo fine; (exit 4)").exit_code == 4


@pytest.mark.parametrize("script", ["echo 'open", "cat <<E", "if true", "echo ${none?no}", "readonly a=1; a=2"])
def test_line_abandoned_by_bash_shows_nothing_of_our_protocol(bash: Bash, script: str) -> None:
    seen = bash(script)
    assert "133" not in seen.output
    assert bash("echo $?; (exit 3)").exit_code == 3


@pytest.mark.parametrize(
    "name", ["builtin", "trap", "__ohw_prompt", "__ohw_begin", "__ohw_repair", "eval", "unset", "exec"]
)
def test_alias_replaces_no_command_of_the_prompt(bash: Bash, tmp_path: Path, name: str) -> None:
    bash(f"shopt -s expand_aliases; alias {name}='echo hijacked'")
    bash("trap 'echo traced' DEBUG")
    assert bash("echo one").output == "one\n"
    is_true(bash, tmp_path)
