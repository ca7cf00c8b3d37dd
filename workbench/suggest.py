"""Suggests the intended name for a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable


def near(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Return `; did you mean 'NAME'?` with the nearest of `names`, or an empty string if none is close to `name`.

    `least` is the minimum similarity, from 0 (none) to 1 (equal).
    """
    suggestion = nearest(name, names, least)
    return f"; did you mean {suggestion!r}?" if suggestion else ""


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Return the name at the smallest edit distance, or an empty string if no name is close; ties go to an anagram.

    `least` is the minimum similarity, from 0 (none) to 1 (equal).
    """
    from difflib import SequenceMatcher, get_close_matches

    plain = {each.casefold(): each for each in names}
    meant = name.casefold()

    def rank(other: str) -> tuple[int, bool, float, str]:
        alike = SequenceMatcher(None, meant, other).ratio()
        return edit_distance(meant, other), sorted(meant) != sorted(other), -alike, other

    match = min(get_close_matches(meant, plain, max(1, len(plain)), least), key=rank, default="")
    return plain.get(match, "")


def edit_distance(one: str, other: str) -> int:
    """Return the Damerau-Levenshtein distance by optimal string alignment, which edits no substring twice."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, expected in enumerate(other, 1):
            fewest = min(above[column] + 1, now[-1] + 1, above[column - 1] + (letter != expected))
            if column > 1 < row and letter == other[column - 2] and expected == one[row - 2]:
                fewest = min(fewest, before[column - 2] + 1)
            now.append(fewest)
        before, above = above, now
    return above[-1]
