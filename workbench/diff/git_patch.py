"""Reads the patches that git writes: the part of each file, its path, and the hunks with their line numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern

_ESCAPE: Final = lazy_pattern(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_HUNK: Final = lazy_pattern(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


class PatchHunk(NamedTuple):
    """The lines of a hunk on both sides, context included; `old_start` and `new_start` count lines from 0."""

    old_start: int
    new_start: int
    old: list[bytes]
    new: list[bytes]


def sections(patch: bytes) -> Iterator[bytes]:
    """Yield the patch of each file.

    Each begins with a line `diff`; lines of content cannot, because they begin with a space, a sign or a backslash.
    """
    for part in (b"\n" + patch.removesuffix(b"\n")).split(b"\ndiff ")[1:]:
        if part.startswith(b"--git "):
            yield b"diff " + part.partition(b"\n* Unmerged path ")[0] + b"\n"


def name_in(section: bytes) -> bytes:
    """Return the path in the header, which has it twice, after `a/` and after `b/`."""
    names = section.split(b"\n", 1)[0].removeprefix(b"diff --git ")
    name = names[: len(names) // 2]
    return _unquoted(name[1:-1])[2:] if name.startswith(b'"') else name[2:]


def _unquoted(name: bytes) -> bytes:
    def character(match: object) -> bytes:
        code = match[1]  # type: ignore[index]
        return bytes([_ESCAPED[code[0]] if len(code) == 1 else int(code, 8)])

    return _ESCAPE.sub(character, name)


def hunks_in(section: bytes) -> Iterator[PatchHunk]:
    """Yield the hunks of a file's patch; the last line of a side may have no newline."""
    for part in section.split(b"\n@@ ")[1:]:
        header, _, body = part.partition(b"\n")
        match = _HUNK.match(b"@@ " + header)
        if match is not None:
            starts = [int(match[start]) - (match[start + 1] != b"0") for start in (1, 3)]
            yield PatchHunk(max(0, starts[0]), max(0, starts[1]), *lines_in(body))


def lines_in(body: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the lines of both sides below the header of a hunk, of which the last one may have no newline."""
    old: list[bytes] = []
    new: list[bytes] = []
    sides = {b" ": (old, new), b"-": (old,), b"+": (new,)}
    last: tuple[list[bytes], ...] = ()
    for line in body.removesuffix(b"\n").split(b"\n"):
        if line[:1] == b"\\":
            for side in last:
                side[-1] = side[-1][:-1]
        else:
            last = sides.get(line[:1], ())
            for side in last:
                side.append(line[1:] + b"\n")
    return old, new
