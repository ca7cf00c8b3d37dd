"""A protected path that any program writes, named in whatever way its words allow, is asked about in every mode."""

from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.rules.protected_writes import unplaced_write
from workbench.rules.subject import subject_of

LINES = (Path(__file__).parent / "data/protected_writes.txt").read_text().splitlines()
W, HOME = "/home/u/proj", "/home/u"


def asks(line: str) -> bool:
    assessment = assess_command(line, PathContext(W, HOME))
    subject = subject_of("execute_bash", {"command": line}, assessment, W, HOME)
    return bool(subject.protected or unplaced_write(subject))


@pytest.mark.parametrize("line", LINES, ids=[f"{line.split()[0]}-{number}" for number, line in enumerate(LINES)])
def test_write_to_a_protected_path_is_asked_about(line: str):
    assert asks(line)


@pytest.mark.parametrize(
    "line",
    [
        "foo -m 'describe .git/hooks/pre-commit'",
        "foo --run 'save out/pre-commit'",
        "sqlite3 a.db 'select a/b from t'",
        "sqlite3 a.db '.output out/x' 'select 1'",
        "vim -es -c 'w out/x' -c q y",
    ],
)
def test_other_paths_in_commands_are_not(line: str):
    assert not asks(line)
