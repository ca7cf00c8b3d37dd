"""After code that may set any variable or change the directory, neither is treated as known."""

from itertools import product
from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")
SOURCES = ("source ./s.sh", ". ./s.sh", ". s.sh", "source s.sh a b", "source .venv/bin/activate")
SAME_SHELL = (
    "{}",
    "builtin {}",
    "command {}",
    "time {}",
    "! {}",
    "{ {}; }",
    "if {}; then :; fi",
    "{} && :",
    "{} || :",
    "true && {}",
    "while {}; do break; done",
    "f() { {}; }; f",
    "eval '{}'",
    "{} > /dev/null",
)
SETS = (
    'eval "$y"',
    "eval x=/",
    "read x",
    "read -r a x < f",
    "IFS= read -ra x <<< /",
    "mapfile x < f",
    "mapfile -t x < f",
    "readarray x < f",
    "printf -v x /",
    'printf -v x %s "$y"',
    "declare x=$y",
    "typeset x=$y",
    "export x=$(cat f)",
    "readonly x=$y",
    'declare "$y"',
    'export "$y"',
    "let x=y",
    "((x=y))",
    ": $((x=y))",
    ": ${x:=/}",
    "x+=/..",
    "unset x",
    "for x in $y; do :; done",
    "select x in $y; do break; done",
    "getopts a: x",
    "wait -p x",
    "ls {x}>f",
    "f() { x=/; }; f",
    "f() { read x; }; f",
    "f() { printf -v x /; }; f",
    "trap x=/ USR1",
    "trap 'read x' USR1",
    "trap x=/ INT; x=build",
    "declare -n r=x; r=/",
)


@pytest.mark.parametrize(("source", "shell"), product(SOURCES, SAME_SHELL))
def test_sourced_script_may_set_any_variable(source, shell):
    line = shell.replace("{}", source, 1) if shell.startswith("{}") else shell.replace("{}", source)
    assert assess_command(f"x=build; {line}; rm -rf $x", PLACES).risk == "HIGH"


@pytest.mark.parametrize("setting", SETS)
def test_command_that_may_set_any_value_leaves_the_variable_unknown(setting):
    assert assess_command("x=build; rm -rf $x", PLACES).risk == "MEDIUM"
    assert assess_command(f"x=build; {setting}; rm -rf $x", PLACES).risk == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "x=build; (source ./s.sh); rm -rf $x",
        "source ./s.sh; x=build; rm -rf $x",
        "source ./s.sh; rm -rf build",
        "x=build; eval ls; rm -rf $x",
        "x=build; trap 'rc=1' EXIT; rm -rf $x",
        "source .venv/bin/activate && rm -rf build",
        "source .venv/bin/activate && pytest -q",
    ],
)
def test_value_set_later_or_in_a_subshell_is_unaffected(line):
    assert assess_command(line, PLACES).risk == "MEDIUM"


@pytest.mark.parametrize("name", ["TMPDIR", "HOME"])
def test_initial_variables_are_unknown_after_a_sourced_script(name, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/var/tmp/mine")
    assert assess_command('rm -rf "$TMPDIR/x"', PLACES).risk == "MEDIUM"
    for line in (f'source ./s.sh; rm -rf "${name}/x"', f'. ./s.sh; for i in a; do rm -rf "${name}/x"; done'):
        assert assess_command(line, PLACES).reasons == ("deletes a path only known at run time",)


@pytest.mark.parametrize(
    ("text", "risk"),
    [
        ("export A=1\n", "MEDIUM"),
        ("# go up\nx=1; echo cdrom scd\n", "MEDIUM"),
        ("cd ..\n", "HIGH"),
        ("if true; then pushd /; fi\n", "HIGH"),
        ("f() { cd /; }\n", "HIGH"),
        ('eval "$A"\n', "HIGH"),
        (". ./other.sh\n", "HIGH"),
        ("alias rm=x\n", "HIGH"),
        ("x" * 300_000, "HIGH"),
    ],
)
@pytest.mark.parametrize("shell", ["{}", "builtin {}", "{ {}; }", "f() { {}; }; f", "{} && true"])
def test_sourced_script_may_change_the_directory(tmp_path, text, risk, shell):
    (tmp_path / "s.sh").write_text(text)
    source = shell.replace("{}", ". ./s.sh") if not shell.startswith("{ ") else "{ . ./s.sh; }"
    if shell.startswith("f()"):
        source, risk = "f() { . ./s.sh; }; f", "HIGH"  # where a function runs is unknown at its definition
    assert assess_command(f"{source}; rm -rf build", PathContext(str(tmp_path), "/home/u")).risk == risk


def test_text_written_to_a_sourced_script_is_taken_into_account(tmp_path):
    places = PathContext(str(Path(tmp_path)), "/home/u")
    assert assess_command("echo 'cd ..' > s.sh; . ./s.sh; rm -rf build", places).risk == "HIGH"


@pytest.mark.parametrize("name", ["z", "j", "workon", "autojump"])
def test_directory_jumping_functions_lead_to_an_unknown_directory(name):
    assert assess_command(f"{name} web; rm -rf build", PLACES).risk == "HIGH"
    assert assess_command(f"{name} web", PLACES).risk == "MEDIUM"
