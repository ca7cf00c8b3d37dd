"""Reads what a search prints: records of a path, NUL and a line; used by `impl`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_BINARY = re.compile(
    rb"(.*?): (?:WARNING: stopped searching binary file after match|binary file matches) "
    rb'\(found "\\0" byte around offset \d+\)\n',
    re.DOTALL,
)


def records(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
    """Path and line; None for the line where the file turned out to be binary after some of its lines."""
    rest, path = b"", None
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        for piece in whole:
            if path is not None:
                line, _, piece = piece.partition(b"\n")
                yield path, line
            while found := _BINARY.match(piece):
                yield found[1][2:], None
                piece = piece[found.end() :]
            path = piece[2:]  # without the ./ that every one has
    if path is not None:
        line, _, rest = rest.partition(b"\n")
        yield path, line
        for found in _BINARY.finditer(rest):
            yield found[1][2:], None
