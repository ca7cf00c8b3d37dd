"""The name that was meant where one has a slip in it; for whoever reports it: settings, rules, tools, the prompt."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


def near(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """`; did you mean NAME?`, or nothing where no name is near."""
    found = nearest(name, known, least)
    return f"; did you mean {found!r}?" if found else ""


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """The name that the fewest slips of the fingers lead away from; of those, the one of the same letters.

    `least` says how alike it must be at least, from 0 (not at all) to 1; empty where none is.
    """
    plain = {each.casefold(): each for each in known}
    meant = name.casefold()

    def rank(other: str) -> tuple[int, bool, float, str]:
        alike = SequenceMatcher(None, meant, other).ratio()
        return _slips(meant, other), sorted(meant) != sorted(other), -alike, other

    found = min(get_close_matches(meant, plain, max(1, len(plain)), least), key=rank, default="")
    return plain.get(found, "")


def _slips(one: str, other: str) -> int:
    """Letters too many, missing, wrong, or changed with their neighbour (Damerau-Levenshtein, each place once)."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            fewest = min(above[column] + 1, now[-1] + 1, above[column - 1] + (letter != wanted))
            if column > 1 < row and letter == other[column - 2] and wanted == one[row - 2]:
                fewest = min(fewest, before[column - 2] + 1)
            now.append(fewest)
        before, above = above, now
    return above[-1]
