r"""Parses the regular expressions of `grep` so that ripgrep and Python find the same lines.

Their syntax is the `regex` package's, which agrees with ripgrep about `\w`, `\b` and the like. A pattern is passed to
ripgrep only if both interpret every token of it in the same way; all others (lookaround, back references, classes with
ripgrep's set operators) are searched by Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import regex

from workbench.lazy_pattern import lazy_pattern

_LONGEST = 10_000
_TOKEN = lazy_pattern(
    r"""
      \\[pPN]\{[^}]*\}|\\.                                    # an escape
    | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]                 # a class
    | \(\?(?:P<\w+>|.)?                                       # a group of some kind
    | (?:[*+?]|\{(?=\d|,\d)\d*,?\d*\})[?+]?                   # a repetition
    | .                                                       # a sign
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMON = lazy_pattern(
    r"""
      [^\\\[({}*+?\n]
    | \\[wWdDsSbBtr\\.+*?()|\[\]{}^$#&~-]
    | \[\^?(?:(?!&&|--|~~)[^\\\[\]\n]|\\[wWdDsSntr\\.+*?()|\[\]{}^$&~-])+\]
    | \((?:\?(?::|P<\w+>))?
    | (?:[*+?]|\{\d+(?:,\d*)?\})\??
    """,
    re.VERBOSE,
)
"""Tokens that ripgrep and `regex` interpret in the same way."""
_NEEDLESS = lazy_pattern(r"\\[!\"%',/:;<=>@_` ]")
_END = r"(?:\r??$)"
"""The end of a line, with or without a carriage return."""
_ANY = lazy_pattern(r"\.|\\[WDS]|\[.+", re.DOTALL)
"""Tokens that could match an invalid UTF-8 byte, which is a lone surrogate in Python's text."""
_NO_BYTE = "(?![\ud800-\udfff])"


class PatternError(ValueError):
    """The pattern cannot be searched for; the message says why."""


@dataclass(frozen=True)
class Pattern:
    """A parsed expression, for lines without line endings.

    `broken` is the expression for text with invalid UTF-8 (nothing matches those bytes); `ripgrep` is None if ripgrep
    must not be used; `needed` is a string that every matching line contains, possibly empty.
    """

    python: str
    broken: str
    ripgrep: str | None
    needed: str
    ignore_case: bool


def read_pattern(text: str, ignore_case: bool = False) -> Pattern:
    """Parse a regular expression. Raises PatternError if it is invalid, multi-line or too long."""
    if len(text) > _LONGEST:
        raise PatternError(f"it is longer than {_LONGEST:,} characters")
    rest = text.removeprefix("(?i)")
    ignore_case = ignore_case or rest != text
    tokens = [_plain(token) for token in _TOKEN.findall(rest)]
    if "\n" in tokens or r"\n" in tokens:
        raise PatternError("the search goes line by line: search for one of the lines and set `context`")
    is_common = all(map(_COMMON.fullmatch, tokens))
    needed = "" if ignore_case or not is_common else _needed(tokens)
    tokens = [_END if token == "$" else token for token in tokens]
    python = "".join(tokens)
    _check(python, text)
    broken = "".join(f"(?:{_NO_BYTE}{token})" if _ANY.fullmatch(token) else token for token in tokens)
    return Pattern(python, broken, python if is_common else None, needed, ignore_case)


def _plain(token: str) -> str:
    """Return the token without an unnecessary escape, and a literal brace with one."""
    if token in ("{", "}"):
        return f"\\{token}"
    return token[1:] if _NEEDLESS.fullmatch(token) else token


def _check(python: str, original: str) -> None:
    try:
        regex.compile(python)
    except regex.error as error:
        message = str(error)
        raise PatternError(message if python == original else message.partition(" at position ")[0]) from error
    except (RecursionError, OverflowError, ValueError, MemoryError) as error:
        raise PatternError("it is nested too deep, or repeats too often") from error


def _needed(tokens: Iterable[str]) -> str:
    """Return the longest literal that is part of every match; "" for patterns with groups or alternatives."""
    runs = [""]
    for token in tokens:
        if token[0] in "(|":
            return ""
        if token[0] in "*+?{":
            runs[-1] = runs[-1][:-1]
            runs.append("")
        elif len(token) == 1 and token not in "^$.":
            runs[-1] += token
        elif token[0] == "\\" and not token[1].isalnum():
            runs[-1] += token[1]
        else:
            runs.append("")
    return max(runs, key=len)
