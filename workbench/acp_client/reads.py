"""Files that another agent reads through the workbench: those of the workspace that its sandbox lets it read."""

from __future__ import annotations

from pathlib import Path

from workbench.files.hidden_directories import hidden_directory
from workbench.files.root_directory import Root, real_path
from workbench.files.text_file import EditorError, decoded, read_bytes
from workbench.risk.paths import within
from workbench.sandbox.secret_paths import secret_paths


def workspace_text(workspace: str, path: str) -> str:
    """Return the text of a file in the workspace. Raises EditorError, OSError or ValueError if it cannot be read.

    The workbench reads it, and not the agent in its sandbox, so links that lead out of the workspace are refused, and
    so is what the sandbox hides.
    """
    real = Path(real_path(Path(workspace, path)))
    root = Root.at(real_path(workspace))
    if not root.holds(real):
        raise EditorError(f"{path} is not in the workspace; read it yourself")
    if hidden_directory(str(real)) or any(within(str(real), secret) for secret in secret_paths(Path.home())):
        raise EditorError(f"{path} is not readable: the sandbox hides it")
    return decoded(real, read_bytes(real, root))[1]


def cut_to(text: str, line: int | None, limit: int | None) -> str:
    """Return at most `limit` lines of a text, from the line with the number `line` on, which starts at 1."""
    first = max((line or 1) - 1, 0)
    last = None if limit is None else first + max(limit, 0)
    return "".join(text.splitlines(keepends=True)[first:last]) if first or last is not None else text
