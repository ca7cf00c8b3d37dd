"""Whose changes a file holds, in words and as a sign; used by the Changes panel, the diff viewer and plain mode."""

from __future__ import annotations

from typing import Final

from workbench.tui.fold.state import FileState, Hand

_NAMES: Final[dict[Hand, str]] = {"agent": "the agent", "person": "you", "others": "others"}


def whose(file: FileState) -> str:
    """Who changed it, as `by the agent and others`; empty where it was the agent alone or nobody knows."""
    if file.by <= {"agent"}:
        return ""
    *first, last = (name for hand, name in _NAMES.items() if hand in file.by)
    return f"by {', '.join(first)} and {last}" if first else f"by {last}"


def whose_sign(file: FileState) -> str:
    """One cell: half filled where a part is the agent's, empty where none is; a blank where all of it is."""
    if not whose(file):
        return " "
    return "◐" if "agent" in file.by else "○"


def in_groups(files: list[FileState]) -> list[FileState | str]:
    """The agent's own first, then each group below a line that says whose it is; the agent's part before all else."""
    rows: list[FileState | str] = []
    shares = sorted({(bool(file.by) and "agent" not in file.by, whose(file)) for file in files})
    for _, words in shares:
        rows += [words[0].upper() + words[1:]] if words else []
        rows += [file for file in files if whose(file) == words]
    return rows
