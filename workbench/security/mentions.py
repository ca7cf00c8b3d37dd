"""The files that the words of a command, or the texts of code, may name: what it might write over, for all that is
known of the program. Nothing is looked up on disk here; used by the ratings, and where copies are kept."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator

from workbench.security.assessment import Part

_TEXT = re.compile(r"""(["'])((?:(?!\1)[^\\\n]){1,300})\1""")
_QUERY = re.compile(r"/*(?:\[?[?]|#|\Z)")
_UNKNOWN = "\0"
"""Stands in a word for what is not known before it runs."""
_MOST, _LONGEST = 60, 300


def mentioned(part: Part) -> list[str]:
    """Absolute paths that its words may stand for, but for those that it only reads; patterns of the shell as such."""
    bases = [folder.rstrip("/") for folder in part.folders]
    names = list(dict.fromkeys(name for word in part.mentions[:_MOST] for name in _names(word)))[:_MOST]
    paths = dict.fromkeys(name if name.startswith("/") else f"{base}/{name}" for base in bases for name in names)
    return [path for path in paths if path not in part.paths]


def texts_of(code: str) -> tuple[str, ...]:
    """The texts of code, each a pattern that fits only itself."""
    return tuple(glob.escape(found[2]) for found in _TEXT.finditer(code))[:_MOST]


def _names(word: str) -> Iterator[str]:
    """What in one word may be the name of a file: all of it, the value of a flag, a text of code, the end of a URL."""
    for piece in _pieces(word):
        name = piece.strip("<>+ ")  # as Perl opens it
        if name and len(name) <= _LONGEST and _UNKNOWN not in name and "\n" not in name:
            yield _QUERY.split(name, maxsplit=1)[0].rpartition("/")[2] if "://" in name else name


def _pieces(word: str) -> Iterator[str]:
    if not word.startswith("-"):
        yield word
    elif len(word) > 2 and word[1] != "-":
        yield word[2:]
    if "=" in word:
        yield word.partition("=")[2]
    if "'" in word or '"' in word:
        yield from (found[2] for found in _TEXT.finditer(word))
