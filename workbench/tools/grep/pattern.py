r"""The regular expressions of `grep`, read once so that ripgrep and Python find the same lines.

Their language is that of the `regex` package, which means by `\w`, `\b` and the like what ripgrep means by them. A
pattern goes to ripgrep only when both read every sign of it alike; all others (lookaround, back references, classes
with signs that ripgrep joins sets with) are always searched by Python. Called by `impl`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import regex

_LONGEST = 10_000
_TOKEN = re.compile(
    r"""
      \\[pPN]\{[^}]*\}|\\.                                    # an escape
    | \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]                 # a class
    | \(\?(?:P<\w+>|.)?                                       # a group of some kind
    | (?:[*+?]|\{(?=\d|,\d)\d*,?\d*\})[?+]?                   # a repetition
    | .                                                       # a sign
    """,
    re.DOTALL | re.VERBOSE,
)
_COMMON = re.compile(
    r"""
      [^\\\[({}*+?\n]
    | \\[wWdDsSbBtr\\.+*?()|\[\]{}^$#&~-]
    | \[\^?(?:(?!&&|--|~~)[^\\\[\]\n]|\\[wWdDsSntr\\.+*?()|\[\]{}^$&~-])+\]
    | \((?:\?(?::|P<\w+>))?
    | (?:[*+?]|\{\d+(?:,\d*)?\})\??
    """,
    re.VERBOSE,
)
"""What both read alike."""
_NEEDLESS = re.compile(r"\\[!\"%',/:;<=>@_` ]")
_END = r"(?:\r??$)"
"""The end of a line, with and without a carriage return."""
_ANY = re.compile(r"\.|\\[WDS]|\[.+", re.DOTALL)
"""What could match a byte that is no UTF-8, which stands as half a surrogate pair in Python's text."""
_NO_BYTE = "(?![\ud800-\udfff])"


class PatternError(ValueError):
    """A pattern that cannot be searched for; the message says why."""


@dataclass(frozen=True)
class Pattern:
    """One expression, for lines without their ends.

    `broken` is the one for text with bytes that are no UTF-8 (nothing matches those), `ripgrep` is None where ripgrep
    may not search; `needed` is a text that every line that matches holds, perhaps empty.
    """

    python: str
    broken: str
    ripgrep: str | None
    needed: str
    ignore_case: bool


def read_pattern(text: str, ignore_case: bool = False) -> Pattern:
    """The pattern for both ways to search; raises PatternError that says what is wrong."""
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
    """The token without a needless escape, and with one for a brace that repeats nothing."""
    if token in ("{", "}"):
        return f"\\{token}"
    return token[1:] if _NEEDLESS.fullmatch(token) else token


def _check(python: str, given: str) -> None:
    try:
        regex.compile(python)
    except regex.error as error:
        said = str(error)
        raise PatternError(said if python == given else said.partition(" at position ")[0]) from error
    except (RecursionError, OverflowError, ValueError, MemoryError) as error:
        raise PatternError("it is nested too deep, or repeats too often") from error


def _needed(tokens: Iterable[str]) -> str:
    """The longest plain text that is in every match; only looked for where nothing is grouped or left open."""
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
