"""Turns `Piece`s (styled text) into what Textual paints: strips for line-API widgets, content for the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.content import Content
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from workbench.lazy_pattern import lazy_pattern
from workbench.view.wrapping import Line

MARKS: Final = ("match", "match-now", "cursor")
"""Styles with a background, which are component classes `line--NAME` in line_list.tcss."""

STYLES: Final = {
    "dim": "$dim",
    "key": "$footer-key-foreground",
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
    "title": "$panel-title",
    "heading": "bold $primary",
    "diff-added": "on $diff-added",
    "diff-removed": "on $diff-removed",
}
"""The styles of all other names of a piece, painted on the background of its line."""


def as_content(lines: Iterable[Line]) -> Content:
    """Return lines of pieces as content; their text is never parsed as markup."""
    return Content("\n").join(
        Content.assemble(*((piece.text, STYLES.get(piece.style, "")) for piece in line)) for line in lines
    )


_RISK: Final = lazy_pattern(r"[\s!#\d]*([○◆▲?] (LOW|MEDIUM|HIGH|UNKNOWN))(?!\w)")
"""A risk with its sign at the start of a line, after a mark or the number of an action."""


def with_risk_color(line: str) -> Content:
    """Return a line that is safe to show; the risk at its start has its color."""
    match = _RISK.match(line)
    if match is None:
        return Content(line)
    return Content(line).stylize(STYLES[f"risk-{match[2].lower()}"], *match.span(1))


def update_content(widget: Static, content: Content) -> None:
    """Set the content of a widget; do nothing if it shows that already."""
    current = widget.content
    if not (isinstance(current, Content) and current.is_same(content)):
        widget.update(content)


def entitle(widget: Widget, title: Content, *, as_subtitle: bool = False) -> None:
    """Set the title of a widget's border, or its subtitle with `as_subtitle`; do nothing if it is the same."""
    current = widget.border_subtitle if as_subtitle else widget.border_title
    if current == title.markup:
        return
    if as_subtitle:
        widget.border_subtitle = title
    else:
        widget.border_title = title


def as_strip(line: Line, width: int, styles: Mapping[str, Style], base: Style) -> Strip:
    """Return one line as a strip of exactly `width` cells that paints its own background."""
    plain = Style()
    segments = [Segment(piece.text, base + styles.get(piece.style, plain)) for piece in line if piece.text]
    return Strip(segments).adjust_cell_length(width, base)


def style_of(app: App[Any], words: str) -> Style:
    """Return the Rich style that words such as "bold red" describe in the current theme; other attributes are unset."""
    return app.stylesheet.parse_style(words).rich_style


def line_styles(widget: Widget) -> dict[str, Style]:
    """Return the Rich style of every name in `STYLES` and `MARKS` in the current theme."""
    plain = {name: style_of(widget.app, words) for name, words in STYLES.items()}
    return plain | {name: widget.get_component_rich_style(f"line--{name}") for name in MARKS}


def css_beside(module: str) -> str:
    """Return the style sheet beside a widget's module."""
    return Path(module).with_suffix(".tcss").read_text(encoding="utf-8")
