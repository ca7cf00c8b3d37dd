"""Patterns of rules for commands and for paths."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import lru_cache
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
        position = 0
        for piece in _PIECES.findall(rest):
            if piece == "**/":  # nothing, or anything up to a slash
                self._skips |= 1 << position
                self._stays |= 2 << position
                self._takes["/"] |= 2 << position
                position += 2
            elif piece == "**":
                self._stays |= 1 << position
            elif piece == "*":
                self._stays_in_name |= 1 << position
            else:
                if piece == "?":
                    self._any_sign |= 1 << position
                else:
                    self._takes[piece] |= 1 << position
                position += 1
        self._last = 1 << position

    def fullmatch(self, path: str) -> bool:
        """Whether it fits the whole path."""
        candidate = path.casefold() if self._folded else path
        if not candidate.startswith(self._start):
            return False
        rest = candidate[len(self._start) :]
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
            moves = self._takes.get(sign, 0) | (self._any_sign if sign != "/" else 0)
            stays = self._stays | (self._stays_in_name if sign != "/" else 0)
            places = self._without_skipped((places & moves) << 1 | places & stays)
        return bool(places & self._last) and self._below != "must"

    def _without_skipped(self, places: int) -> int:
        while more := (places & self._skips) << 1 | (places & self._skips) << 2:
            if more | places == places:
                break
            places |= more
        return places


def is_exact(pattern: str) -> bool:
    """Whether a command pattern matches only itself."""
    return "*" not in re.sub(r"\\.", "", pattern)


def escaped(command: str) -> str:
    """The pattern that fits this command alone."""
    return command.replace("\\", "\\\\").replace("*", "\\*")


@lru_cache(512)
def command_pattern(pattern: str) -> re.Pattern[str]:
    """`*` is anything, `\\*` a star; ` *` at the end also fits no more words at all."""
    body, rest = (pattern[:-2], r"(?: .*)?") if pattern.endswith(" *") and pattern != " *" else (pattern, "")
    pieces = re.findall(r"\\.|\*+|\s+|[^\\*\s]+|\\", body, re.DOTALL)
    first, *later = [_command_text(text) for text in _between_stars(pieces)]
    # The first place that fits a text is as good as any later one: no going back, so no command takes long.
    inner = "".join(f"(?>.*?{text})" for text in later[:-1])
    last = f".*{later[-1]}" if later else ""
    return re.compile(first + inner + last + rest, re.DOTALL)


def _between_stars(pieces: list[str]) -> list[list[str]]:
    """The pieces before, between and after the stars; a space beside a star is one, the star takes the others."""
    strings: list[list[str]] = [[]]
    for index, piece in enumerate(pieces):
        beside = [*pieces[max(index - 1, 0) : index], *pieces[index + 1 : index + 2]]
        if piece.startswith("*"):
            strings.append([])
        elif piece.isspace() and any(one.startswith("*") for one in beside):
            strings[-1].append(" ")
        else:
            strings[-1].append(piece if not piece.isspace() else "  ")
    return strings


def _command_text(pieces: list[str]) -> str:
    return "".join(_command_piece(piece) for piece in pieces)


def _command_piece(piece: str) -> str:
    if piece.isspace():
        return r"\s" if piece == " " else r"\s+"
    return re.escape(piece[1:] if len(piece) > 1 and piece[0] == "\\" else piece)


def is_address(text: str) -> bool:
    """Whether it is an address of the web, or a pattern for such."""
    return text.lower().startswith(("https://", "http://"))


@lru_cache(512)
def path_pattern(pattern: str, workspace: str, home: str, *, below: bool, folded: bool) -> PathPattern:
    """`*` is anything within a name, `**` also across folders, `/` at the end all that is below the folder.

    Addresses of the web are patterns too: `https://example.org/**`.

    With `below` a pattern fits what is below what it names; with `folded` upper and lower case are the same.
    """
    whole = f"{home}{pattern[1:]}" if pattern.startswith("~/") or pattern == "~" else pattern
    is_web = is_address(pattern)
    whole = whole if is_web or whole.startswith(("/", "**/")) else f"{workspace}/{whole}"
    is_folder = whole.endswith("/")
    whole = whole if is_web or "**" in whole else os.path.normpath(whole)
    end: Below = "may" if below else "must" if is_folder else "no"
    return PathPattern(whole.rstrip("/"), end, folded=folded)
