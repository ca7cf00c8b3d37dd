"""A worktree as one line of a list: its branch, what is only in it, its session, and its directory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.text import visible_path
from workbench.view.formatting.sessions import title
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.worktrees import Worktree
from workbench.view.wrapping import Line, Piece, clip, pad

_CHANGED: Final = 12
_AHEAD: Final = 6
_LEAST_NAME: Final = 12


def worktree_line(worktree: Worktree, names: int, width: int) -> Line:
    """Return one row of a list in which the longest name has `names` cells."""
    name = min(max(names, _LEAST_NAME), width // 3)
    rest = max(0, width - name - _CHANGED - _AHEAD - 8)
    mark = Piece("● " if worktree.is_here else "  ", "accent")
    changed, style = _state(worktree)
    ahead = "↑?" if worktree.ahead is None else f"↑{worktree.ahead}" if worktree.ahead else ""
    about = title(worktree.session) if worktree.session is not None else "no session yet"
    return [
        mark,
        Piece(pad(worktree.name, name)),
        Piece(f"  {pad(changed, _CHANGED)}", style),
        Piece(pad(ahead, _AHEAD), "accent"),
        Piece(clip(about, rest), "" if worktree.session is not None else "dim"),
    ]


def _state(worktree: Worktree) -> tuple[str, str]:
    """Return in a word or two whether anything in it is not committed, and its style."""
    if worktree.is_missing:
        return "missing", "failed"
    if worktree.work.problem:
        return "unknown", "failed"
    changed = worktree.work.changed
    return (f"{changed} changed", "waiting") if changed else ("clean", "dim")


def worktree_note(worktree: Worktree) -> str:
    """Return the line about the worktree under the cursor: its directory and what it is, safe to show."""
    path = visible_path(from_home(Path(worktree.path)))
    if worktree.is_missing:
        return f"{path} is missing; only git's entry remains"
    what = "this workspace" if worktree.is_here else "the directory of the repository" if worktree.is_main else ""
    session = f"session {worktree.session.id}" if worktree.session is not None else "no session yet"
    return " · ".join(filter(None, (path, what, session, worktree.own_work)))
