"""Pieces turned into what Textual paints: strips for line-API widgets, content for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip

from workbench.tui.pieces import Line

STYLE_NAMES: Final = (
    "dim",
    "ok",
    "failed",
    "running",
    "waiting",
    "risk-low",
    "risk-medium",
    "risk-high",
    "risk-unknown",
    "added",
    "removed",
    "accent",
    "tool",
    "bold",
    "match",
    "match-now",
    "cursor",
)
"""Each has a component class `line--NAME` in line_list.tcss."""

OWN_GROUND: Final = frozenset({"match", "match-now", "cursor"})
"""Styles that bring a background; the others stand on that of their line."""

CONTENT_STYLES: Final = {
    "dim": "$dim",
    "ok": "$sign-ok",
    "failed": "bold $sign-failed",
    "running": "bold $sign-running",
    "waiting": "bold $sign-waiting",
    "risk-low": "$risk-low",
    "risk-medium": "$risk-medium",
    "risk-high": "bold $risk-high",
    "risk-unknown": "$risk-unknown",
    "added": "$sign-ok",
    "removed": "$sign-failed",
    "accent": "$primary",
    "tool": "$secondary",
    "bold": "bold",
    "diff-added": "on $diff-added",
    "diff-removed": "on $diff-removed",
}
"""The same names as styles of `Content`."""


def as_content(lines: Iterable[Line]) -> Content:
    """Lines of pieces as content; nothing in them is read as markup."""
    return Content("\n").join(
        Content.assemble(*((piece.text, CONTENT_STYLES.get(piece.style, "")) for piece in line)) for line in lines
    )


def as_strip(line: Line, width: int, styles: Mapping[str, Style], base: Style) -> Strip:
    """One line as a strip of exactly `width` cells that paints its own background."""
    plain = Style()
    segments = [Segment(piece.text, base + styles.get(piece.style, plain)) for piece in line if piece.text]
    return Strip(segments).adjust_cell_length(width, base)


def css_beside(module: str) -> str:
    """The style sheet that lies beside a widget's module."""
    return Path(module).with_suffix(".tcss").read_text(encoding="utf-8")
