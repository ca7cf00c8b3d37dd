"""The lines around the diff in the viewer: its title, and the count of comments below it."""

from __future__ import annotations

from pathlib import PurePath

from textual.content import Content

from workbench.diff.hunks import FileDiff
from workbench.text import counted, visible


def viewer_title(scope: str, diff: FileDiff | None, hunk: int, index: int, count: int) -> Content:
    """Return the title: scope, file, counts, and the hunk's and the file's number; both indexes count from 0."""
    named = Content.assemble((f"{scope} ", "bold $panel-title-focus"), ("│ ", "$dim")) if scope else Content("")
    if diff is None:
        return named if scope else Content.styled("Changes", "bold $panel-title-focus")
    path = PurePath(visible(diff.path, lines=False))
    directory = "" if str(path.parent) == "." else f"{path.parent}/"
    counts = () if diff.note else _counts(diff)
    files = f"   file {index + 1} of {count}" if count > 1 else ""
    where = ("" if diff.note else _hunks(hunk, len(diff.hunks))) + files
    sign = "M" if diff.note else diff.sign
    parts = (f"{sign} ", "bold $primary"), (directory, "$dim"), (path.name, "bold"), *counts, (where, "$dim")
    return Content.assemble(named, *parts)


def _counts(diff: FileDiff) -> tuple[tuple[str, str], tuple[str, str]]:
    return (
        (f"  +{diff.added}" if diff.added or not diff.removed else " ", "$sign-ok"),
        (f" −{diff.removed}" if diff.removed else "", "$sign-failed"),
    )


def _hunks(hunk: int, count: int) -> str:
    if hunk >= 0:
        return f"   hunk {hunk + 1} of {count}"
    return f"   {counted(count, 'hunk')}"


def comments_waiting(count: int, key: str) -> str:
    """Return the line about unsent comments and the key that sends them; empty if there are none."""
    return f"{counted(count, 'comment')} unsent · {key} to send" if count else ""
