"""The title of the diff viewer: the scope, what is left to review, the file and hunk, and who edited the file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from textual.content import Content
from textual.widgets import Static

from workbench.diff.hunks import FileDiff
from workbench.text import counted, visible

_NARROWER: Final = (
    {"has_directory": False},
    {"remaining": ""},
    {"has_hunk": False},
    {"scope": ""},
)
"""The parts that a title omits, in this order, until it fits: first what the list of files shows too."""


@dataclass(frozen=True, slots=True)
class ViewerTitle:
    """What the title says of a file; without a `diff`, only the scope."""

    scope: str
    diff: FileDiff | None = None
    hunk: int = -1
    """The number of the hunk, counted from 0; -1 at none."""
    remaining: str = ""
    """How many files are left to review."""
    authorship: str = ""
    """Who edited the file."""
    has_directory: bool = True
    has_hunk: bool = True

    def fitting(self, width: int) -> Content:
        """Return the fullest text that has at most `width` cells; if there is none, the shortest."""
        title = self
        for less in _NARROWER:
            if title.content.cell_length <= width:
                break
            title = replace(title, **less)
        return title.content

    @property
    def content(self) -> Content:
        """The whole text."""
        if self.diff is None:
            return Content.styled(self.scope or "Changes", "bold $panel-title-focus")
        scope = Content.assemble((f"{self.scope} ", "bold $panel-title-focus"), ("│ ", "$dim"))
        named = scope if self.scope else Content("")
        if self.remaining:
            named = Content.assemble(named, (self.remaining, "$primary"), (" │ ", "$dim"))
        by = (f"   {self.authorship}" if self.authorship else "", "$dim")
        return Content.assemble(named, *self._file(self.diff), by)

    def _file(self, diff: FileDiff) -> list[tuple[str, str]]:
        path = PurePath(visible(diff.path, lines=False))
        directory = "" if str(path.parent) == "." or not self.has_directory else f"{path.parent}/"
        sign = "M" if diff.note else diff.sign
        name = [(f"{sign} ", "bold $primary"), (directory, "$dim"), (path.name, "bold")]
        if diff.note:
            return name
        added = f"  +{diff.added}" if diff.added or not diff.removed else " "
        removed = f" −{diff.removed}" if diff.removed else ""
        hunks = _hunks(self.hunk, len(diff.hunks)) if self.has_hunk else ""
        return [*name, (added, "$sign-ok"), (removed, "$sign-failed"), (hunks, "$dim")]


def _hunks(hunk: int, count: int) -> str:
    if hunk >= 0:
        return f"   hunk {hunk + 1} of {count}"
    return f"   {counted(count, 'hunk')}"


class TitleLine(Static):
    """Shows a title in one line, as much of it as fits."""

    def __init__(self) -> None:
        super().__init__(id="viewer-title")
        self._title = ViewerTitle("")

    def on_resize(self) -> None:
        """Fit the title to the new width."""
        self.show(self._title)

    def show(self, title: ViewerTitle) -> None:
        """Show another title."""
        self._title = title
        self.update(title.fitting(self.content_size.width))
