"""A setting as a row fitted to a width, and all there is to say of it below the rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from workbench.text import visible
from workbench.view.formatting.wrapping import Line, Piece, pad

if TYPE_CHECKING:
    from workbench.tui.settings.book import Held
    from workbench.tui.settings.entries import Entry

_GROUP, _TITLE, _SOURCE = 15, 22, 13
_WIDE: Final = 84


@dataclass(frozen=True)
class SettingRow:
    """A setting and what holds of it."""

    entry: Entry
    held: Held


def setting_row(row: SettingRow, width: int, *, with_group: bool) -> Line:
    """One row, exactly `width` cells."""
    entry, held = row.entry, row.held
    scale = 0 if width >= _WIDE else 4
    group = pad(visible(entry.group, lines=False) if with_group else "", _GROUP - scale)
    title = pad(visible(entry.title, lines=False), _TITLE - scale)
    room = max(0, width - len(group) - len(title) - _SOURCE - 4)
    value = visible(held.problem or entry.explained(held.text), lines=False)
    style = "failed" if held.problem else "bold" if held.is_yours else ""
    return [
        Piece(group, "heading"),
        Piece(f"{title}  "),
        Piece(pad(f"✗ {value}" if held.problem else value or "–", room), style),
        Piece("  "),
        Piece(pad(held.source, _SOURCE), "accent" if held.source != "usual" else "dim"),
    ]


def fitting(rows: Sequence[SettingRow], query: str) -> list[SettingRow]:
    """Those in which all the words stand, in a name, a title, a value or what is said of it."""
    words = query.lower().split()
    return [row for row in rows if all(word in _text(row) for word in words)]


def about(row: SettingRow) -> list[Line]:
    """What it means, its name in the file, the usual value, from when it counts, and what else is in force."""
    entry, held = row.entry, row.held
    usual = f" · usual: {visible(entry.explained(entry.usual), lines=False)}" if entry.usual else ""
    lines = [
        [Piece(visible(entry.words, lines=False))],
        [Piece(visible(entry.name, lines=False), "bold"), Piece(f"{usual} · counts {entry.when}", "dim")],
    ]
    lines += [[Piece(f"✗ {visible(held.problem, lines=False)}", "failed")]] if held.problem else []
    lines += [[Piece(visible(held.note, lines=False), "waiting")]] if held.note else []
    return lines


def _text(row: SettingRow) -> str:
    entry, value = row.entry, row.entry.explained(row.held.text)
    return f"{entry.name} {entry.group} {entry.title} {entry.words} {value} {row.held.source}".lower()
