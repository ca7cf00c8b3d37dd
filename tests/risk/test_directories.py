"""A change of directory that may fail, and variables that set where code is loaded from."""

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")


def rated(command: str) -> str:
    return assess_command(command, PLACES).risk


@pytest.mark.parametrize(
    "line",
    [
        "cd build; rm -rf *",
        "cd build\nrm -rf *",
        "cd build && ls; rm -rf *",
        "(cd build; rm -rf *)",
        "cd build && cd obj; rm -rf *",
        "cd build || cd dist; rm -rf *",
        "cd build || (exit 1); rm -rf *",
        "pushd build; rm -rf *",
        "bash -c 'cd build; rm -rf *'",
        "set -e; cd build; set +x; cd ..; cd ..; rm -rf x",
        "cd a; cd ../..; rm -rf x",
        "cd a/b; echo x > ../../c",
    ],
)
def test_commands_after_cd_are_rated_as_if_it_failed_too(line):
    assert rated(line) == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "cd build && rm -rf *",
        "cd build && ls && rm -rf *",
        "cd build || exit 1; rm -rf *",
        "cd build || { echo no; exit 1; }\nrm -rf *",
        "f() { cd build || return; }; ls",
        "set -e; cd build; rm -rf *",
        "set -euo pipefail\ncd build\nrm -rf *",
        "(cd build && make); rm -rf node_modules",
        "cd /home/u/proj; rm -rf build",
        "cd build; cd obj && rm -rf *",
        "cd src; git status; pytest -q",
        "cd src; echo x > out.txt",
    ],
)
def test_cd_that_must_have_succeeded_is_certain(line):
    assert rated(line) == "MEDIUM"


def test_reason_names_the_failing_change_of_directory():
    assessment = assess_command("cd build; rm -rf *", PLACES)
    assert assessment.reasons == ("deletes the workspace, if the change of directory before it fails",)
    removed = next(part for part in assessment.parts if part.words[:1] == ("rm",))
    assert set(removed.deletes) == {"/home/u/proj/build/*", "/home/u/proj/*"}


@pytest.mark.parametrize(
    "value",
    ["src", ".", "src:tests", "src:$PYTHONPATH", '"$PWD/src"', "$(pwd)", "./src:${PYTHONPATH:-}", "${PYTHONPATH}:lib"],
)
def test_python_path_inside_the_workspace_is_medium(value):
    assert rated(f"PYTHONPATH={value} pytest -q") == rated(f"export PYTHONPATH={value}") == "MEDIUM"


@pytest.mark.parametrize("value", ["/tmp/x", "../x", "src/../../x", "src:/tmp", "~/x", "$X", "$(cat a)", "src:$(id)"])
def test_python_path_elsewhere_is_high(value):
    assert rated(f"PYTHONPATH={value} pytest -q") == rated(f"export PYTHONPATH={value}") == "HIGH"
    assert rated("cd /tmp && PYTHONPATH=. pytest") == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        ": ${CC:=x}; make",
        ": ${CC=x}; make",
        'echo "${PATH:=x}"',
        "((CC=1)); make",
        "echo $((CC=1))",
        "echo $((PATH++))",
        "echo ${a[IFS=1]}",
        "for ((CC=1;CC<2;CC++)); do ls; done",
        "for PATH in a; do ls; done",
        "select BASH_ENV in a; do ls; done",
        "let CC=1",
        "export PATH=/tmp:$PATH",
        "export PATH=$PATH:/tmp",
        "export PATH=$PATH:/usr/../tmp",
        'NODE_OPTIONS="--require ./x" npm test',
    ],
)
def test_variable_that_changes_other_commands_is_detected_however_it_is_set(line):
    assert rated(line) == "HIGH"


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("for ((i=0;i<3;i++)); do echo $i; done", "LOW"),
        ("i=0; ((i++)); echo $((i+1))", "LOW"),
        ("((i++)); echo $((i+1))", "MEDIUM"),
        ("echo ${x:-CC=1} ${y:=2}", "LOW"),
        ("export PATH=$PATH:/usr/local/go/bin", "MEDIUM"),
        ('export PATH="$PATH:$HOME/.local/bin"', "MEDIUM"),
        ("NODE_OPTIONS=--experimental-vm-modules npx jest", "MEDIUM"),
    ],
)
def test_arithmetic_and_harmless_variables_do_not_raise_the_risk(line, risk):
    assert rated(line) == risk


def test_parent_of_a_linked_directory_counts_as_unknown(tmp_path):
    inside = tmp_path / "proj"
    (inside / "a/b").mkdir(parents=True)
    (tmp_path / "far/deep").mkdir(parents=True)
    (inside / "link").symlink_to(tmp_path / "far/deep")
    places = PathContext(str(inside), str(tmp_path))
    assert assess_command("cd a/b && cd .. && rm x", places).risk == "MEDIUM"
    for line in ("cd link && cd .. && rm x", "cd link/.. && rm x", "pushd link && cd ../a; rm x"):
        assert assess_command(line, places).risk == "HIGH", line
