"""The check of a directory before a session works in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from workbench.errors import UsageError


def checked_workspace(directory: Path) -> Path:
    """Return the resolved path of the directory. Raises UsageError if it does not exist or cannot be written."""
    path = directory.expanduser().absolute()
    if not path.exists():
        raise UsageError(f"the directory {path} does not exist; give another one with --workspace")
    if not path.is_dir():
        raise UsageError(f"{path} is not a directory; give one with --workspace")
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            f"the directory {path} cannot be written ({why}); give another one with --workspace"
        ) from error
    return path.resolve()
