"""Brace expansion, which bash does before all others: `{a,b}` and `{1..3}` become several words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, product

from workbench.risk.shell.words import UNKNOWN, Word

_MOST = 64
"""Words that one word may become; more are left as they are, which makes them unknown."""
_NOT_PLAIN = re.compile(r"[\\'\"`$\s]|" + UNKNOWN)
_LIVE = re.compile(r"\{[^\s]*?(?:,|\.\.)")
_RANGE = re.compile(r"(?:(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,6}))?\Z")
_GLOB = re.compile(r"[*?\[]")


def spread(words: Sequence[Word], home: str = "~") -> list[Word]:
    """Return the words with braces expanded, where no quote, escape or variable stands in the same word.

    `home` is what a tilde in front of the results stands for, which bash expands behind the braces.
    """
    if not any(word.is_pattern and "{" in word.raw for word in words):
        return list(words)
    found: list[Word] = []
    for word in words:
        texts = _expanded(word, home)
        found += [word] if texts is None else [Word(text, word.raw, bool(_GLOB.search(text))) for text in texts]
    return found


def is_open(word: Word) -> bool:
    """Return whether braces are left in a word that bash may expand."""
    return word.is_pattern and bool(_LIVE.search(word.raw))


def _expanded(word: Word, home: str) -> list[str] | None:
    if not is_open(word) or _NOT_PLAIN.search(word.raw) or len(word.raw) > 1_000 or word.raw.count("{") > 8:
        return None
    try:
        return [_at_home(text, home) for text in _texts(word.raw) if text]
    except _TooMany:
        return None


def _at_home(text: str, home: str) -> str:
    """The text with its tilde expanded; the home directory of another user is not known."""
    name, slash, rest = text.partition("/")
    if not name.startswith("~"):
        return text
    return f"{home if name == '~' else UNKNOWN}{slash}{rest}"


class _TooMany(Exception):
    """More words than are looked at."""


def _texts(text: str) -> list[str]:
    """All words that a text becomes; raises _TooMany."""
    start = text.find("{", 2 if text.startswith("{}") else 0)
    while start >= 0:
        end, commas = _group(text, start)
        if end > 0:
            choices = _choices(text[start + 1 : end], [at - start - 1 for at in commas])
            if choices is not None:
                rest = _texts(text[end + 1 :])
                if len(choices) * len(rest) > _MOST:
                    raise _TooMany
                return [text[:start] + one + other for one, other in product(choices, rest)]
        start = text.find("{", start + 1)
    return [text]


def _group(text: str, start: int) -> tuple[int, list[int]]:
    """The end of the group that begins at `start`, 0 where it does not end, and its own commas.

    As in bash a closing brace counts only behind a comma or two dots of the group: `{a},b}` is `a}` and `b`.
    """
    depth = parts = 0
    commas: list[int] = []
    for at in range(start + 1, len(text)):
        sign = text[at]
        if sign == "}" and not depth and parts:
            return at, commas
        if sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        elif not depth and sign == ",":
            commas.append(at)
            parts += 1
        elif not depth and text.startswith("..", at) and text[at + 2 : at + 3] != "}":
            parts += 1
    return 0, []


def _choices(inside: str, commas: list[int]) -> list[str] | None:
    if not commas:
        return _sequence(inside)
    bounds = [-1, *commas, len(inside)]
    pieces = [inside[one + 1 : other] for one, other in pairwise(bounds)]
    found = [text for piece in pieces for text in _texts(piece)]
    if len(found) > _MOST:
        raise _TooMany
    return found


def _sequence(inside: str) -> list[str] | None:
    found = _RANGE.match(inside)
    if found is None:
        return None
    numbers = found[1] is not None
    first, last = (int(found[1]), int(found[2])) if numbers else (ord(found[3]), ord(found[4]))
    step = abs(int(found[5] or 1)) or 1
    span = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(span) > _MOST:
        raise _TooMany
    width = max(len(found[1]), len(found[2])) if numbers and re.match(r"-?0\d", found[1] + " " + found[2]) else 0
    return [str(each).zfill(width) if numbers else chr(each) for each in span]
