"""The docked panel that asks the user something, at the bottom of the screen, and its line of key hints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from textual.app import App
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.tui.key_names import spelled, with_keys
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.formatting.key_hints import KeyHint, fitting, gap_between

LOW: Final = 24
"""Screens with at most this many rows show a docked panel without blank lines."""
LOWEST_DOCKED: Final = 18
"""Screens with at least this many rows show the conversation above a docked panel."""
SIDES: Final = 4
"""Columns of the bar, the margins and the scrollbar of a text in a docked panel."""
LEAST_ROWS: Final = 5
"""The rows of a docked panel that covers the prompt and the lines around it."""
_FEWEST_ABOVE: Final = 7


class DockedPanel(Vertical):
    """A panel at the bottom of the screen, over its whole width; the bar at its left has the color of the risk."""

    DEFAULT_CSS = css_beside(__file__)


class ReservingPanel(DockedPanel):
    """A docked panel that is as high as its content, and keeps the rows that it covers free on the main screen."""

    DEFAULT_CSS = ""

    def __init__(self, reserve_rows: Callable[[int], None], *, id: str | None = None) -> None:
        """`reserve_rows` is called with the number of rows that the panel covers."""
        super().__init__(id=id)
        self._reserve_rows = reserve_rows

    def on_resize(self) -> None:
        """Keep the space that the panel covers free."""
        self._reserve_rows(self.outer_size.height)


def docked_rows(height: int, *, is_full: bool = False) -> int:
    """Return how many of the rows of the screen a docked panel may cover."""
    return height if is_full or height < LOWEST_DOCKED else height - max(_FEWEST_ABOVE, height // 4)


def hint_line(app: App[Any], hints: Sequence[KeyHint], width: int) -> Content:
    """Return the hints that fit on one line; a key that has no effect now is dim."""
    named = [hint._replace(key=spelled(app, hint.key)) for hint in hints]
    line = fitting(named, width)
    return Content(" " * gap_between(line, width)).join(map(_hint, line))


def show_hints(screen: Screen[Any], hints: str, remark: str = "") -> None:
    """Show a remark and the hints that fit in the last line of a docked panel. `hints` are as for `with_keys`.

    The last hint, which is how the panel is closed, stays.
    """
    parts = [hint.partition(" ") for hint in with_keys(screen.app, hints).split("   ") if hint]
    line = [KeyHint("", remark)] if remark else []
    line += (KeyHint(key, words, (rank + 1) % len(parts)) for rank, (key, _, words) in enumerate(parts))
    update_content(screen.query_one("#keys", Static), hint_line(screen.app, line, screen.size.width - SIDES))


def _hint(hint: KeyHint) -> Content:
    if not hint.key:
        return Content.styled(hint.words, "$sign-waiting")
    key = "bold $footer-key-foreground" if hint.is_possible else "$dim"
    words = f" {hint.words}" if hint.words else ""
    return Content.assemble((hint.key, key), (words, "$dim" if not hint.is_possible else "$foreground"))
