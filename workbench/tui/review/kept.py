"""Comments not sent yet, in a file beside the session's other state: they outlive the screen. Used by Review."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from workbench.config import private_folder
from workbench.errors import WorkbenchError
from workbench.tui.review.comments import Comment

FILE = "comments.json"
_LARGEST = 4 << 20


def read_comments(folder: Path) -> list[Comment]:
    """Those of the last screen; what is no comment is passed over."""
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= _LARGEST else []
    except (OSError, ValueError):
        return []
    return [comment for each in found if (comment := _comment(each))] if isinstance(found, list) else []


def keep_comments(folder: Path, comments: Sequence[Comment]) -> None:
    """Write them down for the next screen, or take the file away when there are none; the old file or the new one."""
    path = folder / FILE
    beside = path.with_name(f"{FILE}.{os.getpid()}")
    with suppress(OSError, WorkbenchError):  # a disk that is full takes no comment from this screen
        if not comments:
            path.unlink(missing_ok=True)
            return
        private_folder(folder)
        text = json.dumps([asdict(comment) for comment in comments])
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)


def _comment(data: object) -> Comment | None:
    if not isinstance(data, dict):
        return None
    path, side, line, quoted, text = (data.get(name) for name in ("path", "side", "line", "quoted", "text"))
    if not (isinstance(path, str) and isinstance(quoted, str) and isinstance(text, str) and text.strip()):
        return None
    if side not in ("old", "new") or not isinstance(line, int) or line < 0:
        return None
    return Comment(path, "old" if side == "old" else "new", line, quoted, text)
