"""How the parts of a diff look, in the words of a style; read by DiffView.

A table and no style sheet: Textual works out every class of a widget's parts each time the widget is mounted or its
styles are applied, and a question would wait for that. Of these only what is painted is worked out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView

from workbench.diff.hunks import FileDiff
from workbench.view.diff.document import Document
from workbench.view.diff.geometry import Geometries, Geometry, Look
from workbench.view.diff.rows import FoldId, LineId

_TEXT: Final = "$foreground"
LOOKS: Final = {
    "same": _TEXT,
    "added": f"{_TEXT} on $diff-added",
    "removed": f"{_TEXT} on $diff-removed",
    "added-word": "bold on $diff-added-word",
    "removed-word": "bold on $diff-removed-word",
    "gutter": "$diff-gutter",
    "gutter-same": "$diff-gutter",
    "gutter-added": "$diff-gutter on $diff-added",
    "gutter-removed": "$diff-gutter on $diff-removed",
    "sign-same": "$diff-gutter",
    "sign-added": "bold $sign-ok on $diff-added",
    "sign-removed": "bold $sign-failed on $diff-removed",
    "stays": "$dim",
    "left-out": "strike $dim",
    "gutter-stays": "$diff-gutter",
    "gutter-left-out": "$diff-gutter",
    "sign-stays": "$dim",
    "sign-left-out": "bold $sign-failed",
    "nothing": "on $panel",
    "fold": "$diff-gutter on $panel",
    "file": "bold $panel-title on $panel",
    "note": "italic $diff-gutter",
    "mark": "bold $primary",
    "cursor": "bold $background on $primary",
    "match": "underline $text-warning on $warning-muted",
    "match-now": "bold $background on $warning",
    "remark": "$primary on $panel",
    "comment": "italic $diff-gutter",
    "keyword": "$text-accent",
    "string": "$text-success",
    "number": "$text-warning",
    "builtin": "$text-secondary",
    "definition": "bold $text-primary",
}
"""Signs of a line, its numbers (`gutter`) and its sign, by what became of it; then what stands out, and syntax."""


WIDE = 140
"""From this width of the screen on a diff is shown side by side."""


class DiffPage(ScrollView):
    """Files compared, laid out for the width there is; DiffView paints them and takes the keys."""

    DEFAULT_CSS = ""

    def __init__(self, files: Sequence[FileDiff], *, wrapped: bool, id: str | None) -> None:
        super().__init__(id=id)
        self.document = Document(files)
        self.wrapped = wrapped
        self.beside: bool | None = None
        """Chosen by the person; None lets the width of the screen decide."""
        self.comments: dict[LineId, str] = {}
        self._opened: set[FoldId] = set()
        self._look: Look | None = None
        self._geometries = Geometries()

    @property
    def geometry(self) -> Geometry:
        """Rows and columns for the width there is now."""
        look = Look(max(20, self.scrollable_content_region.width or self.size.width), self.is_beside, self.wrapped)
        if self._look not in (None, look):
            self.call_later(self.lay_out, anew=False)  # a scroll bar came or went: the height may be another one
        self._look = look
        return self._geometries.at(look, self.document, self._opened, self.comments)

    @property
    def is_beside(self) -> bool:
        """Whether old and new stand side by side now."""
        return self.beside if self.beside is not None else self.app.size.width >= WIDE

    def rows_at(self, width: int) -> int:
        """How many rows everything takes at a width."""
        return self._at(width).height

    def _at(self, width: int) -> Geometry:
        look = Look(width, self.is_beside, self.wrapped)
        return self._geometries.at(look, self.document, self._opened, self.comments)

    def foresee(self, width: int, most: int) -> int:
        """Lay out for the width, its scroll bar counted, and the most rows it is going to get; the rows it takes.

        What is laid out before it is shown is painted once.
        """
        is_long = len(self.document.rows(self._opened, beside=self.is_beside)) > most or self.rows_at(width) > most
        self._lay(self._at(width - 1 if is_long else width))
        self.show_vertical_scrollbar = is_long
        return min(most, max(1, self.virtual_size.height))

    def _lay(self, geometry: Geometry, *, anew: bool = False) -> None:
        size = Size(geometry.look.width + geometry.overhang, geometry.height)
        if anew or size != self.virtual_size:
            self.virtual_size = size
            self.refresh()

    def lay_out(self, *, anew: bool = True) -> None:
        """Lay out for the width there is now; `anew` when there are other rows."""
        if anew:
            self._geometries.clear()
        self._look = None
        self._lay(self.geometry, anew=anew)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the width there is now."""
        self.lay_out(anew=False)
