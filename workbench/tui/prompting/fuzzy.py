"""Which of many texts fit a few typed letters, the best first; pure, for the completion of the prompt.

Called in a thread for files, so it is plain string work: 100,000 paths take a few tenths of a second.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Sequence

Rank = tuple[int, int, str]
"""How well a text fits: kind of fit (0 is best), length, the text in small letters."""


def best(query: str, texts: Iterable[str], most: int) -> list[str]:
    """The `most` texts that fit best, wherever the letters of the query stand in them in this order."""
    rank = ranking(query)
    found = ((fit, text) for text in texts if (fit := rank(text.lower())) is not None)
    return [text for _, text in heapq.nsmallest(most, found)]


def ranking(query: str) -> Callable[[str], Rank | None]:
    """A function from a text in small letters to its rank, or None where it does not fit."""
    wanted = query.lower()
    scattered = re.compile("".join(f"[^{re.escape(sign)}]*{re.escape(sign)}" for sign in wanted), re.DOTALL).match

    def rank(text: str) -> Rank | None:
        if not scattered(text):
            return None
        name = text[text.rstrip("/").rfind("/") + 1 :]
        return _kind(wanted, text, name, scattered), len(text), text

    return rank


def _kind(wanted: str, text: str, name: str, scattered: Callable[[str], object]) -> int:
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in text:
        return 2
    return 3 if scattered(name) else 4


def places(query: str, text: str) -> Sequence[int]:
    """Where the letters of the query stand in the text, to make them stand out; together where they can."""
    small, wanted = text.lower(), query.lower()
    if len(small) != len(text):
        return ()
    name = small.rstrip("/").rfind("/") + 1
    whole = small.find(wanted, name) if wanted in small[name:] else small.find(wanted)
    if whole >= 0:
        return range(whole, whole + len(wanted))
    return _scattered(wanted, small, name) or _scattered(wanted, small, 0)


def _scattered(wanted: str, text: str, start: int) -> list[int]:
    found: list[int] = []
    at = start - 1
    for sign in wanted:
        at = text.find(sign, at + 1)
        if at < 0:
            return []
        found.append(at)
    return found
