"""Reads and writes the small JSON files that keep a review for the next screen."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError

_LARGEST: Final = 4 << 20


def read_json(path: Path) -> object:
    """Return the content of the file; None if it is missing, damaged or larger than 4 MB."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError, RecursionError):
        return None


def keep_json(path: Path, content: Any) -> None:
    """Write the file atomically, for this user only, or delete it if `content` is empty.

    If that fails, for example because the disk is full, nothing is raised and the file stays unchanged.
    """
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError, WorkbenchError):
        if not content:
            path.unlink(missing_ok=True)
            return
        private_directory(path.parent)
        text = json.dumps(content)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
