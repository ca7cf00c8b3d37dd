"""The files that the words of a command, or the texts of code, may name: what it might write over, for all that is
known of the program. Nothing is looked up on disk here; used by the ratings, and where copies are kept.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator
from typing import Literal

from workbench.risk.assessment import ANY, Part

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


_DELETES = re.compile(
    r"rmtree|removedirs|\bunlink\w*|\brmdir\w*|\brmSync|\brm_rf?\b|\bos\.remove|\bimport\b[^\n]*\bremove\b|"
    r"\bFile\.delete|\bFileUtils\.|\bfs\.rm\b|\bremove_(?:file|dir|tree)\b|\brm\b|\bshred\b|\bgit\s+clean\b|-delete\b"
)
_WRITES = re.compile(
    r"\btruncate\b|\bwrite_(?:text|bytes)\b|writeFile\w*|\bshutil\.(?:move|copy\w*|unpack_archive)|\bos\.(?:rename|replace)|"
    r"\bFile\.(?:rename|write)|\bextractall\b|\bmv\b|\bcp\b|open\s*\([^)]*[\"'][rbt]*[wx+]"
)


def loss_by(code: str) -> Literal["delete", "write", ""]:
    """What the code may do to files; empty where no word of it speaks of that."""
    if _DELETES.search(code):
        return "delete"
    return "write" if _WRITES.search(code) else ""


def losing(part: Part, code: str, workspace: str) -> Part:
    """The part with the files of the workspace that its code may delete or write over: any, or those it names."""
    use, everything = loss_by(code), (f"{workspace}{ANY}",)
    if use == "delete":
        return part._replace(deletes=everything)
    return part._replace(changes=everything) if use else part._replace(mentions=texts_of(code), folders=(workspace,))
