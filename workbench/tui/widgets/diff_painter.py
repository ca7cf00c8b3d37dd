"""Paints single rows of a diff as segments, and holds the styles of their parts. Used by DiffView alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.widgets.strips import style_of
from workbench.view.diff.geometry import LONGEST, Geometry
from workbench.view.diff.lines import Marks, cut_cells
from workbench.view.diff.rows import DiffRow, Side

# The look of the parts of a diff is a table, not a style sheet: Textual computes every component class of a widget
# each time it is mounted or restyled, and a question would have to wait for that. With the table, only the styles that
# are painted are computed.
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
    "accepted": "bold $sign-ok",
    "edited": "bold $primary",
    "skipped": "$dim",
    "skipped-sign": "bold $sign-failed",
    "skipped-hint": "italic $dim",
    "nothing": "on $panel",
    "fold": "$diff-gutter on $panel",
    "fold-line": "$diff-gutter",
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
"""Styles by name: characters, numbers (`gutter`) and sign of each kind of line, then marks, then syntax."""

_MARKERS = {"removed": "−", "added": "+"}
_STATES = {"A": "new file", "D": "deleted", "M": "changed", "=": "unchanged"}
_Painted = list[tuple[int, int, str]]


class DiffStyles:
    """The Rich styles of the names in `LOOKS`, each computed only once per theme because that is slow."""

    def __init__(self) -> None:
        self._styles: dict[str, Style] = {}

    def clear(self) -> None:
        """Forget the styles, because the theme has changed."""
        self._styles.clear()

    def named(self, widget: Widget, name: str) -> Style:
        """Return the style of a part; the name "" means the style of the widget itself."""
        if name not in self._styles:
            self._styles[name] = style_of(widget.app, LOOKS[name]) if name else widget.rich_style
        return self._styles[name]


class Painter:
    """Paints rows of one geometry; `style` returns the Rich style of a name, `offset` is the first cell shown."""

    def __init__(
        self, geometry: Geometry, style: Callable[[str], Style], offset: int, current: int, marks: Marks | None = None
    ) -> None:
        self.geometry = geometry
        self.style = style
        self.offset = offset
        self.current = current
        """The current hunk, marked in the gutter."""
        self.marks = marks or Marks()

    def paint(self, index: int, part: int) -> list[Segment]:
        """Return the segments of one screen line: part `part` of a row."""
        row = self.geometry.rows[index]
        here = index == self.marks.cursor
        marked = self.current >= 0 and self.geometry.hunk_at(index) == self.current
        lead = self._lead(row, index, part) if self.geometry.lead else []
        if row.kind in ("file", "fold", "remark"):
            text = self._fold_text(row) if row.kind == "fold" else self._file_text(row)
            text = self._comment_text(row) if row.kind == "remark" else text
            mark = "❯" if here else "▌" if marked else " "
            return [
                *lead,
                Segment(mark, self.style("mark")),
                *self._whole(text, "fold-line" if lead and row.kind == "fold" else row.kind),
            ]
        if row.kind == "skipped":
            return [*lead, *self._skipped(row, marked)]
        return [*lead, *self._row(row, part, marked, here)]

    def _lead(self, row: DiffRow, index: int, part: int) -> list[Segment]:
        """Return the cells at the left: the state and the number of a hunk on its first line."""
        width = self.geometry.lead
        if row.kind == "fold":
            return [Segment("─" * width, self.style("fold-line"))]
        hunk = self.geometry.hunk_at(index)
        if hunk < 0 or part or index != self.geometry.hunk_row(hunk):
            return [Segment(" " * width, self.style("gutter"))]
        sign, name = ("✎", "edited") if hunk in self.marks.edited else ("✓", "accepted")
        sign, name = ("×", "skipped-sign") if row.kind == "skipped" else (sign, name)
        return [Segment(f"{sign}{hunk + 1:<{width - 1}}", self.style(name))]

    def _skipped(self, row: DiffRow, marked: bool) -> list[Segment]:
        """Return the one line of a skipped hunk: its first line, and the key that includes it again."""
        side: Side = "old" if row.old >= 0 else "new"
        width = self.geometry.options.width - self.geometry.lead - 1
        hint = f"skipped · {self.marks.include}" if marked and self.marks.include else "skipped"
        painted = self.geometry.document.painted(row.file, side, max(row.old, row.new))
        text = f"{self._numbers(row, side, 0)}· {painted.text}"
        free = max(0, width - cell_len(hint) - 2)
        mark = Segment("▌" if marked else " ", self.style("mark"))
        cut = set_cell_size(text[: self.geometry.options.width], free)
        tail = set_cell_size(f"  {hint}", width - free)
        return [mark, Segment(cut, self.style("skipped")), Segment(tail, self.style("skipped-hint"))]

    def _row(self, row: DiffRow, part: int, marked: bool, here: bool) -> list[Segment]:
        if not self.geometry.options.beside:
            side: Side = "old" if row.kind == "removed" or (row.kind == "no-newline" and row.new < 0) else "new"
            half = self._half(row, side, part, marked)
            return self._at_cursor(half, "❯") if here else half
        divider = Segment("│", self.style("gutter"))
        old_half, new_half = self._half(row, "old", part, marked), self._half(row, "new", part, False)
        if here:
            old_half = (
                self._at_cursor(old_half, "❯") if row.old >= 0 else [Segment("❯", self.style("mark")), *old_half[1:]]
            )
            new_half = self._at_cursor(new_half, " ") if row.new >= 0 else new_half
        return [*old_half, divider, *new_half]

    def _at_cursor(self, segments: list[Segment], mark: str) -> list[Segment]:
        """Return the segments of the cursor's line, with a sign and highlighted numbers."""
        _, numbers, *rest = segments
        return [Segment(mark, self.style("mark")), Segment(numbers.text, self.style("cursor")), *rest]

    def _whole(self, text: str, name: str) -> list[Segment]:
        return [Segment(set_cell_size(text, self.geometry.options.width - self.geometry.lead - 1), self.style(name))]

    def _file_text(self, row: DiffRow) -> str:
        diff = self.geometry.document.files[row.file]
        path = visible(diff.path, lines=False)
        reviewed = " · ✓ reviewed" if row.file in self.marks.reviewed else ""
        if diff.note:
            return f"M {path}  {visible(diff.note, lines=False)}{reviewed}"
        binary = " · binary" if diff.is_binary else ""
        empty = " · empty" if not diff.old and not diff.new else ""
        return f"{diff.sign} {path}  +{diff.added} −{diff.removed} · {_STATES[diff.sign]}{binary}{empty}{reviewed}"

    def _fold_text(self, row: DiffRow) -> str:
        if not self.geometry.lead:
            return f"{'⋯':>{self.geometry.digits}} {row.size} unchanged lines"
        text = f"{row.size} unchanged lines ──"
        is_near = self.current >= 0 and (row.file, row.old) in self.geometry.folds_around(self.current)
        return f"{text} {self.marks.expand}" if is_near and self.marks.expand else text

    def _comment_text(self, row: DiffRow) -> str:
        side: Side = "old" if row.new < 0 else "new"
        line = row.old if side == "old" else row.new
        first = "✎" if row.size == 0 else "┃"
        indent = " " * (self.geometry.numbers * (self.geometry.digits + 1))
        return f"{indent}{first} {self.geometry.comments[row.file, side, line][row.size]}"

    def _half(self, row: DiffRow, side: Side, part: int, marked: bool) -> list[Segment]:
        """Return one column of a row: mark, numbers, sign, text."""
        line = row.old if side == "old" else row.new
        mark = Segment("▌" if marked else " ", self.style("mark"))
        if line < 0:
            return [mark, Segment(" " * (self.geometry.column - 1), self.style("nothing"))]
        kind = ("removed" if side == "old" else "added") if row.kind == "changed" else row.kind
        if row.kind == "no-newline":
            padding = " " * (self.geometry.numbers * (self.geometry.digits + 1))
            text = set_cell_size("\\ No newline at end of file", self.geometry.text_width + 2)
            return [mark, Segment(padding, self.style("gutter")), Segment(text, self.style("note"))]
        numbers = Segment(self._numbers(row, side, part), self.style(f"gutter-{kind}"))
        sign = Segment(f"{_MARKERS.get(kind, ' ') if part == 0 else '↪'} ", self.style(f"sign-{kind}"))
        return [mark, numbers, sign, *self._text(row, side, part, kind), *self._rest_of_column()]

    def _rest_of_column(self) -> list[Segment]:
        geometry = self.geometry
        used = 3 + geometry.numbers * (geometry.digits + 1) + geometry.text_width
        spare = geometry.column - used
        return [Segment(" " * spare)] if spare > 0 else []

    def _numbers(self, row: DiffRow, side: Side, part: int) -> str:
        digits = self.geometry.digits
        lines = (row.old, row.new) if self.geometry.numbers == 2 else (row.old if side == "old" else row.new,)
        return "".join(f"{line + 1 if line >= 0 and part == 0 else '':>{digits}} " for line in lines)

    def _text(self, row: DiffRow, side: Side, part: int, kind: str) -> list[Segment]:
        line = row.old if side == "old" else row.new
        painted = self.geometry.document.painted(row.file, side, line)
        first, end, indent, more = self._cut(row, side, part, painted.text)
        styles = [
            (painted.offset(start), painted.offset(stop), name)
            for start, stop, name in self._spans(row, side, line, kind)
        ]
        base = self.style(kind)
        segments = self._styled(painted.text, first, end, styles, base)
        remaining = self.geometry.text_width - indent - cell_len(painted.text[first:end])
        if more and remaining < 1 and segments:
            last = segments.pop()
            segments += [Segment(last.text[:-1], last.style)] if len(last.text) > 1 else []
            remaining += cell_len(last.text[-1])
        tail = "…" + " " * (remaining - 1) if more and remaining > 0 else " " * max(0, remaining)
        return [Segment(" " * indent, base), *segments, Segment(tail, base)]

    def _cut(self, row: DiffRow, side: Side, part: int, text: str) -> tuple[int, int, int, bool]:
        """Return first character and end of the part shown, blank cells before it, and whether more is to its right."""
        if self.geometry.options.wrapped:
            breaks = [*self.geometry.wraps(row, side), len(text)]
            if part >= len(breaks) - 1:
                return len(text), len(text), 0, False
            return breaks[part], breaks[part + 1], 0, False
        head = text[:LONGEST]
        first, end, indent = cut_cells(head, self.offset, self.geometry.text_width)
        return first, end, indent, end < len(text)

    def _spans(self, row: DiffRow, side: Side, line: int, kind: str) -> _Painted:
        document = self.geometry.document
        spans: _Painted = [*document.syntax(row.file, side, line)]
        if row.hunk >= 0:
            words = document.words(row.file, row.hunk, side, line)
            spans += [(start, end, f"{kind}-word") for start, end in words]
        for start, end in self.marks.matches.get((row.file, side, line), ()):
            here = self.marks.here == ((row.file, side, line), start)
            spans.append((start, end, "match-now" if here else "match"))
        return spans

    def _styled(
        self, text: str, first: int, end: int, spans: Sequence[tuple[int, int, str]], base: Style
    ) -> list[Segment]:
        inside = [
            (max(first, start), min(end, stop), name) for start, stop, name in spans if start < end and stop > first
        ]
        if not inside:
            return [Segment(text[first:end], base)] if first < end else []
        cuts = sorted({first, end, *(offset for start, stop, _ in inside for offset in (start, stop))})
        segments = []
        for start, stop in pairwise(cuts):
            style = base
            for span_start, span_stop, name in inside:
                if span_start <= start and stop <= span_stop:
                    style += self.style(name)
            segments.append(Segment(text[start:stop], style))
        return segments
