"""A file with two names: writing to the one in the workspace changes the other, wherever that is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.risk import Assessment
from workbench.risk.actions import assess_file
from workbench.risk.cells import assess_python
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.rules.rule import Rule
from workbench.rules.rule_set import guarded_by
from workbench.rules.subject import subject_of

LINES = ["echo evil > notes", "echo evil >> notes", "echo evil | tee notes", "cp new notes", "dd if=new of=notes"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace in which `notes` is also a start file of the home directory, and `alone` is not."""
    directory = tmp_path / "work"
    directory.mkdir()
    (tmp_path / ".bashrc").write_text("mine\n")
    for name in ("new", "alone"):
        (directory / name).write_text("text\n")
    os.link(tmp_path / ".bashrc", directory / "notes")
    return directory


def guarded(workspace: Path, tool: str, arguments: dict[str, str], rated: Assessment, *rules: Rule) -> str:
    subject = subject_of(tool, arguments, rated, str(workspace), str(workspace.parent))
    return guarded_by(rules, subject)


@pytest.mark.parametrize("line", LINES)
def test_command_that_writes_to_a_hard_link_is_asked_about_in_every_mode(workspace: Path, line: str) -> None:
    places = PathContext(str(workspace), str(workspace.parent))
    arguments = {"command": line}
    assert guarded(workspace, "execute_bash", arguments, assess_command(line, places)) == str(workspace / "notes")
    plain = line.replace("notes", "alone")
    assert not guarded(workspace, "execute_bash", {"command": plain}, assess_command(plain, places))


@pytest.mark.parametrize("operation", ["str_replace", "insert", "undo_edit", "edit"])
def test_edit_of_a_hard_link_is_asked_about_in_every_mode(workspace: Path, operation: str) -> None:
    places, path = PathContext(str(workspace), str(workspace.parent)), str(workspace / "notes")
    arguments = {"command": operation, "path": path}
    rated = assess_file(operation, path, places)
    assert rated.risk == "HIGH"
    assert guarded(workspace, "str_replace_editor", arguments, rated) == path
    allowed = Rule("allow", "str_replace_editor", path="notes")
    assert not guarded(workspace, "str_replace_editor", arguments, rated, allowed)
    other = str(workspace / "alone")
    assert not guarded(workspace, "str_replace_editor", arguments, assess_file(operation, other, places))


def test_python_that_writes_to_a_hard_link_is_asked_about_in_every_mode(workspace: Path) -> None:
    places = PathContext(str(workspace), str(workspace.parent))
    code = "from pathlib import Path\nPath('notes').write_text('evil')\n"
    assert guarded(workspace, "python_execute", {}, assess_python(code, places)) == str(workspace / "notes")
    assert not guarded(workspace, "python_execute", {}, assess_python(code.replace("notes", "alone"), places))


def test_reading_or_deleting_a_hard_link_is_rated_as_usual(workspace: Path) -> None:
    places = PathContext(str(workspace), str(workspace.parent))
    for line in ("cat notes", "rm notes", "python3 notes"):
        assert not guarded(workspace, "execute_bash", {"command": line}, assess_command(line, places))
    for operation in ("view", "delete"):
        assert not assess_file(operation, str(workspace / "notes"), places).parts[0].protected
