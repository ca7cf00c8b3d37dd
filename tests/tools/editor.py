"""A helper for the tests of the editor: runs commands the way a model's calls run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.tools import FileChange, FileEditorTool


class Editor:
    def __init__(self, directory: Path, state_dir: Path | None = None) -> None:
        self.tool = FileEditorTool(str(directory), state_dir)

    def run(self, command: str, path: Path | str, **arguments: Any) -> Any:
        return self.tool(self.tool.action_from_arguments({"command": command, "path": str(path), **arguments}))

    def done(self, command: str, path: Path | str, **arguments: Any) -> str:
        result = self.run(command, path, **arguments)
        assert not result.is_error, result.text
        return str(result.text)

    def refused(self, command: str, path: Path | str, **arguments: Any) -> str:
        result = self.run(command, path, **arguments)
        assert result.is_error, result.text
        return str(result.text)

    def preview(self, command: str, path: Path | str, **arguments: Any) -> Sequence[FileChange]:
        return self.tool.preview(self.tool.action_from_arguments({"command": command, "path": str(path), **arguments}))
