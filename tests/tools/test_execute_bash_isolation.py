"""Nothing that a command leaves in the shell is called by our own prompt code, or sees a later command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.shells import Bash
from workbench.risk.paths import words

STOLEN = '{ /bin/echo "$0 $* $BASH_COMMAND" >> "$STOLEN"; [[ $FAKE ]] && return $FAKE; } 2>/dev/null'
NAMES = sorted(
    words(
        "builtin command eval exec exit return set unset trap shopt export readonly local declare typeset read "
        "printf echo pwd cd test [ : . source break continue shift true false kill enable alias unalias type hash "
        "history fc command_not_found_handle /bin/echo2 __ohw_prompt __ohw_begin __ohw_repair __ohw_posix"
    )
)
BUILTINS = sorted(words("builtin eval exec exit return set unset trap shopt local read pwd enable"))


@pytest.fixture
def bash(tmp_path: Path) -> Iterator[Bash]:
    shell = Bash(tmp_path, no_change_timeout=15)
    shell(f"STOLEN={tmp_path}/stolen FAKE=0")
    yield shell
    shell.tool.close()


def later_commands(bash: Bash) -> list[tuple[str, int | None]]:
    """Run more commands; return their output and exit codes."""
    lines = [f"/bin/cat /dev/null; /usr/bin/printf 'one\\n'; (LATER=1; sh -c 'exit {code}')" for code in (7, 0, 3)]
    seen = [bash(line) for line in lines]
    assert bash("LATER=1 echo 'open").exit_code in (1, 2)
    seen.append(bash("LATER=1; sh -c 'exit 4'"))
    return [(each.output, each.exit_code) for each in seen]


OWN = [("one\n", 7), ("one\n", 0), ("one\n", 3), ("", 4)]
"""The output and exit codes of `later_commands` in a shell that nothing interferes with."""


def stolen(tmp_path: Path) -> str:
    """Return what the agent's functions wrote about later commands or about our own prompt code."""
    file = tmp_path / "stolen"
    text = file.read_text() if file.exists() else ""
    return text if any(word in text for word in ("LATER", "__ohw", "133;", "DEBUG", "promptvars")) else ""


@pytest.mark.parametrize("name", NAMES)
def test_function_named_like_a_builtin_sees_and_changes_no_later_command(bash, tmp_path, name):
    bash(f"function {name} {{ {STOLEN}; }}")
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


def test_functions_with_all_builtin_names_at_once_change_nothing(bash, tmp_path):
    bash("\n".join(f"function {name} {{ {STOLEN}; }}" for name in NAMES))
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


@pytest.mark.parametrize("name", [*NAMES, "{", "[[", "if", "while", "case", "((", "function", "2", "POSIXLY_CORRECT=y"])
def test_alias_is_not_expanded_in_our_lines(bash, tmp_path, name):
    bash(f"alias {name}='/bin/echo LATER __ohw >> \"$STOLEN\"; '")
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


@pytest.mark.parametrize("name", BUILTINS)
def test_disabled_builtin_is_not_replaced_by_a_function(bash, tmp_path, name):
    bash(f"enable -n {name}; builtin enable -n {name}; function {name} {{ {STOLEN}; }}")
    bash(f"function command_not_found_handle {{ {STOLEN}; }}")
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


VARIABLES = [
    *(f"declare -n {name}={to}" for name in ("__ohw_kept", "__ohw_folder", "PROMPT_COMMAND", "PS1", "PS0", "REPLY")
      for to in ("FORGED", "RANDOM", "'a[$(/bin/echo LATER >> $STOLEN)]'")),
    "declare -n POSIXLY_CORRECT=FORGED",
    *(f"declare {flag} POSIXLY_CORRECT" for flag in ("-i", "-a", "-A", "-u", "-l", "-x", "-t")),
    "readonly POSIXLY_CORRECT=''",
    "declare -ir POSIXLY_CORRECT=1",
    "FUNCNEST=1",
    "IFS=0123456789",
    "IFS=:",
    "PS4='$(/bin/echo LATER >> $STOLEN)'; set -x; set +x",
    "declare -i PROMPT_COMMAND",
    "declare -u PS1",
    "PROMPT_COMMAND=('/bin/echo $BASH_COMMAND >> $STOLEN' '/bin/echo x >> $STOLEN')",
    "TMOUT=100; SECONDS=1; BASH_COMPAT=4.2; GLOBIGNORE='*'; OPTIND=x",
    "shopt -s nocasematch extglob localvar_inherit localvar_unset",
    "set -o posix",
    "set -o posix; set +o posix",
    "export POSIXLY_CORRECT=1",
    "set -u; unset __ohw_kept __ohw_folder",
    "set -a",
    "set -k",
    "set -f",
    "set -B; set -C",
    "set -T; trap 'builtin() { /bin/echo \"$*\" >> $STOLEN; }' RETURN",
    "set -E; trap 'builtin() { /bin/echo \"$*\" >> $STOLEN; }' ERR",
    "set -T; trap '/bin/echo \"$BASH_COMMAND\" >> $STOLEN' DEBUG",
]  # fmt: skip


@pytest.mark.parametrize("setting", VARIABLES)
def test_variables_options_and_traps_of_a_command_do_not_affect_prompt_code(bash, tmp_path, setting):
    bash(setting)
    (tmp_path / "stolen").unlink(missing_ok=True)
    bash("trap - ERR")
    (tmp_path / "stolen").unlink(missing_ok=True)
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


COMBINED = [
    f"function builtin {{ {STOLEN}; }}; readonly -f builtin",
    f"function unset {{ {STOLEN}; }}; function builtin {{ {STOLEN}; }}; declare -n POSIXLY_CORRECT=FORGED",
    f"function unset {{ {STOLEN}; }}; function builtin {{ {STOLEN}; }}; readonly POSIXLY_CORRECT",
    f"function trap {{ unset -n POSIXLY_CORRECT; {STOLEN}; }}; declare -n POSIXLY_CORRECT=FORGED",
    f"function set {{ {STOLEN}; }}; function exit {{ {STOLEN}; }}; declare -i POSIXLY_CORRECT; set -u",
]


@pytest.mark.parametrize("attack", COMBINED)
def test_shell_with_an_unsafe_prompt_is_replaced(bash, tmp_path, attack):
    bash(attack)
    assert later_commands(bash) == OWN
    assert stolen(tmp_path) == ""


@pytest.mark.parametrize(
    "options", ["", "shopt -s inherit_errexit", "shopt -u expand_aliases", "shopt -s shift_verbose", "set -o posix"]
)
def test_shell_options_are_preserved(bash, options):
    show = "echo $- $SHELLOPTS $BASHOPTS ${POSIXLY_CORRECT+set}"
    bash(options)
    first = bash(f"{options or 'true'}; {show}").output
    assert bash(show).output == first
    bash("echo ${none?abandoned}")
    assert bash(show).output == first
    assert bash("shopt inherit_errexit").output.split()[1] == (
        "on" if "inherit" in options or "posix" in options else "off"
    )


def test_posix_mode_is_off_while_a_command_runs(bash):
    assert bash("function a-b { echo odd; }; a-b; [[ -o posix ]] || echo off").output == "odd\noff\n"
    assert bash("env | grep -c POSIXLY").output == "0\n"
    assert bash("set -a; true").exit_code == 0
    assert bash("env | grep -c POSIXLY").output == "0\n"
