"""The hints in the last line of a panel: keys, their effects, and which of them fit on the line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len

from workbench.view.wrapping import clip


class KeyHint(NamedTuple):
    """A key and its effect; a hint without a key is a remark."""

    key: str
    words: str
    rank: int = 0
    """The order in which hints are omitted if they do not fit, highest first."""
    is_possible: bool = True
    """Whether the key has an effect now; if not, it is dim."""
    short: str | None = None
    """The words if hints up to the rank `LAST_NEEDED` would have to be omitted otherwise; None if they stay."""

    @property
    def text(self) -> str:
        """The hint as it is shown."""
        return f"{self.key} {self.words}" if self.key and self.words else self.key or self.words


MOST_HINTS: Final = 8
"""The most hints shown at once, besides the one that shows all."""
LAST_NEEDED: Final = 3
"""Hints up to this rank are shown with their short words rather than omitted."""
WIDE_GAP: Final = 3
_NARROW_GAP: Final = 2
_LEAST_REASON: Final = 16
"""The fewest cells in which the start of a reason is worth showing."""


def fitting(hints: Sequence[KeyHint], width: int) -> list[KeyHint]:
    """Return as many of the hints as fit on one line, at most `MOST_HINTS` and the one that shows all of them.

    A reason in brackets takes the place of hints that rank below its own, if that makes room for the start of it.
    """
    chosen = _chosen(hints, width)
    if all(hint in chosen for hint in hints if hint.rank <= LAST_NEEDED) and hints_width(chosen) <= width:
        return chosen
    shorter = [hint if hint.short is None else hint._replace(words=hint.short) for hint in hints]
    chosen = _chosen(shorter, width)
    return chosen if len(chosen) > 1 else [_clipped(hint, width) for hint in chosen]


def _clipped(hint: KeyHint, width: int) -> KeyHint:
    free = width - (cell_len(hint.key) + 1 if hint.key else 0)
    return hint._replace(words=clip(hint.words, max(1, free)))


def _chosen(hints: Sequence[KeyHint], width: int) -> list[KeyHint]:
    ranked = sorted(range(len(hints)), key=lambda at: hints[at].rank)[: MOST_HINTS + 1]
    ranked = _beside_reason(hints, ranked, width)
    chosen = {at: hints[at] for at in ranked}
    if hints_width(chosen.values()) > width:  # a reason in brackets is cut, or goes first
        chosen = {at: hint._replace(words=hint.words.partition(" (")[0]) for at, hint in chosen.items() if hint.key}
        chosen |= {at: hints[at] for at in ranked if not hints[at].key}
        free = width - hints_width(chosen.values())
        for at, hint in chosen.items():
            if free >= _LEAST_REASON and hint != hints[at]:
                reason = hints[at].words[len(hint.words) : -1]
                chosen[at] = hint._replace(words=f"{hint.words}{clip(reason, free - 1)})")
                free = 0
    while len(chosen) > 1 and hints_width(chosen.values()) > width:
        del chosen[ranked.pop()]
    return [chosen[at] for at in sorted(chosen)]


def _beside_reason(hints: Sequence[KeyHint], ranked: list[int], width: int) -> list[int]:
    """Return the hints to show if one of them has a reason in brackets.

    Those of the lowest rank are omitted if that makes room for the start of the reason; otherwise none is.
    """
    for at in ranked:
        verb, bracket, reason = hints[at].words.partition(" (")
        if hints[at].key and bracket:
            part = hints[at]._replace(words=verb + " " * min(_LEAST_REASON, len(reason) + 2))
            for end in range(len(ranked), ranked.index(at), -1):
                if hints_width([part if each == at else hints[each] for each in ranked[:end]]) <= width:
                    return ranked[:end]
    return ranked


def hints_width(hints: Collection[KeyHint], gap: int = _NARROW_GAP) -> int:
    """Return the width of hints on one line with gaps of `gap` cells between them."""
    return sum(cell_len(hint.text) for hint in hints) + gap * (len(hints) - 1)


def gap_between(hints: Collection[KeyHint], width: int) -> int:
    """Return the gap between hints on one line: wide if that fits."""
    return WIDE_GAP if hints_width(hints, WIDE_GAP) <= width else _NARROW_GAP
