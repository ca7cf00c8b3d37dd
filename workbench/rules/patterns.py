"""Patterns for commands and paths in rules."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import lru_cache
from typing import Literal, TypeAlias

from workbench.lazy_pattern import lazy_pattern

Descendants: TypeAlias = Literal["no", "may", "must"]
_PIECES = lazy_pattern(r"\*\*/|\*\*|\*|.", re.DOTALL)
_SIGN = lazy_pattern(r"[*?]")


class PathPattern:
    """A pattern for paths: `*` matches within a name, `**` across directories, `?` one character.

    `descendants` says whether paths below a match also match ("may"), only they match ("must"), or they do not match
    ("no"). The pattern is a nondeterministic automaton whose states are the bits of an integer, so matching never
    backtracks.
    """

    def __init__(self, pattern: str, descendants: Descendants, *, folded: bool) -> None:
        self._pattern = pattern.casefold() if folded else pattern
        self._folded = folded
        self._descendants = descendants
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
        """Return whether the pattern matches the whole path."""
        candidate = path.casefold() if self._folded else path
        if not candidate.startswith(self._start):
            return False
        rest = candidate[len(self._start) :]
        if self._is_plain:
            return (not rest and self._descendants != "must") or (rest.startswith("/") and self._descendants != "no")
        return self._fits(rest)

    def _fits(self, rest: str) -> bool:
        states = self._without_skipped(1)
        for character in rest:
            if character == "/" and states & self._last and self._descendants != "no":
                return True
            if not states:
                return False
            moves = self._takes.get(character, 0) | (self._any_sign if character != "/" else 0)
            stays = self._stays | (self._stays_in_name if character != "/" else 0)
            states = self._without_skipped((states & moves) << 1 | states & stays)
        return bool(states & self._last) and self._descendants != "must"

    def _without_skipped(self, states: int) -> int:
        while more := (states & self._skips) << 1 | (states & self._skips) << 2:
            if more | states == states:
                break
            states |= more
        return states


def is_exact(pattern: str) -> bool:
    """Return whether a command pattern has no wildcard."""
    return "*" not in re.sub(r"\\.", "", pattern)


def escaped(command: str) -> str:
    """Return a pattern that matches only this command."""
    return command.replace("\\", "\\\\").replace("*", "\\*")


@lru_cache(512)
def command_pattern(pattern: str) -> re.Pattern[str]:
    r"""Return a regular expression for a command pattern.

    `*` matches anything, `\*` a literal star; a ` *` at the end also matches the command without arguments.
    """
    body, rest = (pattern[:-2], r"(?: .*)?") if pattern.endswith(" *") and pattern != " *" else (pattern, "")
    pieces = re.findall(r"\\.|\*+|\s+|[^\\*\s]+|\\", body, re.DOTALL)
    first, *later = [_command_text(text) for text in _between_stars(pieces)]
    # The first match of each part is as good as any later one, so atomic groups can rule out backtracking.
    inner = "".join(f"(?>.*?{text})" for text in later[:-1])
    last = f".*{later[-1]}" if later else ""
    return re.compile(first + inner + last + rest, re.DOTALL)


def _between_stars(pieces: list[str]) -> list[list[str]]:
    """Split the pieces at stars; whitespace next to a star becomes one space, because the star matches any more of
    it.
    """
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


def is_url(text: str) -> bool:
    """Return whether the text is a URL with http or https, or a pattern for one."""
    return text.lower().startswith(("https://", "http://"))


@lru_cache(512)
def path_pattern(pattern: str, workspace: str, home: str, *, descendants: bool, folded: bool) -> PathPattern:
    """Return a pattern for absolute paths or URLs.

    `*` matches within a name, `**` across directories, and a trailing `/` everything below a directory. Relative
    patterns start at the workspace. With `descendants`, the result also matches paths below a match; with `folded`, it
    ignores case.
    """
    whole = f"{home}{pattern[1:]}" if pattern.startswith("~/") or pattern == "~" else pattern
    is_web = is_url(pattern)
    whole = whole if is_web or whole.startswith(("/", "**/")) else f"{workspace}/{whole}"
    is_directory = whole.endswith("/")
    whole = whole if is_web or "**" in whole else os.path.normpath(whole)
    end: Descendants = "may" if descendants else "must" if is_directory else "no"
    return PathPattern(whole.rstrip("/"), end, folded=folded)
