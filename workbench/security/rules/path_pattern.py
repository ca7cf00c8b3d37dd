"""A pattern for paths, held against a path in one go, sign by sign: it never goes back, so no path takes long."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal, TypeAlias

Below: TypeAlias = Literal["no", "may", "must"]
_PIECES = re.compile(r"\*\*/|\*\*|\*|.", re.DOTALL)
_SIGN = re.compile(r"[*?]")


class PathPattern:
    """`*` is anything within a name, `**` also across folders, `?` one sign; `below` says whether what lies below what
    it names fits too, or it alone.

    Each bit of a number is a place in the pattern that the signs so far may have led to.
    """

    def __init__(self, pattern: str, below: Below, *, folded: bool) -> None:
        self._pattern = pattern.casefold() if folded else pattern
        self._folded = folded
        self._below = below
        sign = _SIGN.search(self._pattern)
        self._start = self._pattern[: sign.start()] if sign else self._pattern
        self._is_plain = sign is None
        self._takes: defaultdict[str, int] = defaultdict(int)
        self._any_sign = self._stays_in_name = self._stays = self._skips = 0
        self._last = 0
        self._read(self._pattern[len(self._start) :])

    def _read(self, rest: str) -> None:
        place = 0
        for piece in _PIECES.findall(rest):
            if piece == "**/":  # nothing, or anything up to a slash
                self._skips |= 1 << place
                self._stays |= 2 << place
                self._takes["/"] |= 2 << place
                place += 2
            elif piece == "**":
                self._stays |= 1 << place
            elif piece == "*":
                self._stays_in_name |= 1 << place
            else:
                if piece == "?":
                    self._any_sign |= 1 << place
                else:
                    self._takes[piece] |= 1 << place
                place += 1
        self._last = 1 << place

    def fullmatch(self, path: str) -> bool:
        """Whether it fits the whole path."""
        given = path.casefold() if self._folded else path
        if not given.startswith(self._start):
            return False
        rest = given[len(self._start) :]
        if self._is_plain:
            return (not rest and self._below != "must") or (rest.startswith("/") and self._below != "no")
        return self._fits(rest)

    def _fits(self, rest: str) -> bool:
        places = self._without_skipped(1)
        for sign in rest:
            if sign == "/" and places & self._last and self._below != "no":
                return True
            if not places:
                return False
            known = self._takes.get(sign, 0) | (self._any_sign if sign != "/" else 0)
            stays = self._stays | (self._stays_in_name if sign != "/" else 0)
            places = self._without_skipped((places & known) << 1 | places & stays)
        return bool(places & self._last) and self._below != "must"

    def _without_skipped(self, places: int) -> int:
        while more := (places & self._skips) << 1 | (places & self._skips) << 2:
            if more | places == places:
                break
            places |= more
        return places
