import uuid
from pathlib import Path

import pytest

from tests.tools.editor import Editor


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    directory = tmp_path / "project"
    directory.mkdir()
    return Editor(directory, tmp_path / "state")


@pytest.fixture
def project(tmp_path: Path, editor: Editor) -> Path:
    return tmp_path / "project"


@pytest.fixture
def mark() -> str:
    """Return an argument for `sleep` that no other process has."""
    return f"9{uuid.uuid4().int % 10**9}"
