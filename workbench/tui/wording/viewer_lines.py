"""The lines around the diff in the viewer: its title and what is said below."""

from __future__ import annotations

from pathlib import PurePath

from textual.content import Content

from workbench.diff.hunks import FileDiff
from workbench.text import visible


def viewer_title(scope: str, diff: FileDiff | None, hunk: int, place: int, count: int) -> Content:
    """Scope, file, counts, and which hunk of how many and which file of how many (from 0) one is at."""
    named = Content.assemble((f"{scope} ", "bold $panel-title-focus"), ("│ ", "$dim")) if scope else Content("")
    if diff is None:
        return named if scope else Content.styled("Changes", "bold $panel-title-focus")
    path = PurePath(visible(diff.path, lines=False))
    folder = "" if str(path.parent) == "." else f"{path.parent}/"
    return Content.assemble(
        named,
        (f"{diff.sign} ", "bold $primary"),
        (folder, "$dim"),
        (path.name, "bold"),
        (f"  +{diff.added}" if diff.added or not diff.removed else " ", "$sign-ok"),
        (f" −{diff.removed}" if diff.removed else "", "$sign-failed"),
        (_hunks(hunk, len(diff.hunks)) + (f"   file {place + 1} of {count}" if count > 1 else ""), "$dim"),
    )


def _hunks(hunk: int, count: int) -> str:
    if hunk >= 0:
        return f"   hunk {hunk + 1} of {count}"
    return f"   {count} hunk{'s' if count != 1 else ''}"


def comments_waiting(count: int, key: str) -> str:
    """That comments are not sent yet."""
    return f"{count} comment{'s' if count != 1 else ''} not sent · {key} sends" if count else ""
