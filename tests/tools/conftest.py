import uuid
from pathlib import Path

import pytest

from tests.tools.editor import Editor


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    folder = tmp_path / "project"
    folder.mkdir()
    return Editor(folder, tmp_path / "state")


@pytest.fixture
def project(tmp_path: Path, editor: Editor) -> Path:
    return tmp_path / "project"


@pytest.fixture
def mark() -> str:
    """An argument of `sleep` that no other process has."""
    return f"9{uuid.uuid4().int % 10**9}"
