"""Files as text, the way ripgrep reads them: UTF-8, or what a byte order mark says; None for binary files.

Standard library only: the search process imports this.
"""

from __future__ import annotations

import os
import re
import stat

_BROKEN = re.compile("[\ud800-\udfff]")
_BOMS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def read_text(path: str, largest: int) -> str | None:
    """The text of a regular file, bytes that are no UTF-8 as lone surrogates; None when it is not to be searched."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with os.fdopen(opened, "rb", buffering=0) as file:
        try:
            found = os.fstat(opened)
            raw = file.read(largest + 1) if stat.S_ISREG(found.st_mode) and found.st_size <= largest else None
        except OSError:
            return None
    if raw is None or len(raw) > largest:
        return None
    return _decoded(raw)


def _decoded(raw: bytes) -> str | None:
    for bom, encoding in _BOMS:
        if raw.startswith(bom):
            text = raw[2:].decode(encoding, "replace")
            return None if "\0" in text else text
    if b"\0" in raw:
        return None
    return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")


def lines_of(text: str) -> list[str]:
    """The lines without their ends; a last line without an end is one too."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def has_broken_bytes(text: str) -> bool:
    """Whether some of it was no UTF-8."""
    return not text.isascii() and _BROKEN.search(text) is not None
