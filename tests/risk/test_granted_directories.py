"""How commands are rated that write directories which the user lets commands write besides the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext


@pytest.fixture
def context(tmp_path: Path) -> PathContext:
    for name in ("project", "notes", "other", ".config/autostart"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "notes/link").symlink_to(tmp_path / "other")
    home = str(tmp_path)
    return PathContext(f"{home}/project", home).granting((f"{home}/notes",))


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("cp out.txt ~/notes/", "MEDIUM"),
        ("echo text > ~/notes/new", "MEDIUM"),
        ("mkdir -p ~/notes/a/b && touch ~/notes/a/b/c", "MEDIUM"),
        ("cd ../notes && echo text > new", "MEDIUM"),
        ("echo text > ~/other/new", "HIGH"),
        ("echo text > ~/notes/../other/new", "HIGH"),
        ("echo text > ~/notes/link/new", "HIGH"),
        ("echo text > ~/notes2", "HIGH"),
        ("echo text > ~/notes/.git/hooks/pre-commit", "HIGH"),
        ("echo text > ~/notes/.envrc", "HIGH"),
        ("echo text > ~/notes/.env", "HIGH"),
        ("rm ~/notes/new", "HIGH"),
        ("rm -r ~/notes/a", "HIGH"),
    ],
)
def test_writing_is_medium_there_and_deleting_stays_high(
    command: str, risk: str, context: PathContext, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", context.home)
    assert assess_command(command, context, context.workspace).risk == risk
