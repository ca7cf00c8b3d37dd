"""The format and dimensions of images, read from the first bytes of a file; for tools, the session and front ends."""

from __future__ import annotations

import re
import struct
from typing import Final

from workbench.lazy_pattern import lazy_pattern

MOST_BYTES: Final = 3_500_000
"""The size, in bytes, of the largest image that providers accept; their limits apply to base64, a third larger."""
HEAD: Final = 128 * 1024
"""How many bytes at the beginning of a file identify its format and usually its dimensions."""
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_NAMED: Final = lazy_pattern(r"\.(png|jpe?g|gif|webp)$", re.IGNORECASE)


def is_named_so(path: str) -> bool:
    """Return whether the file name has the extension of an image format that models accept."""
    return _NAMED.search(path) is not None


def kind_of(head: bytes) -> str | None:
    """Return the media type of an image in a format that models accept, or None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def pixels_of(head: bytes) -> tuple[int, int] | None:
    """Return the width and height in pixels, or None if the bytes do not contain them."""
    kind = kind_of(head)
    try:
        if kind == "image/png":
            return struct.unpack(">II", head[16:24])
        if kind == "image/gif":
            return struct.unpack("<HH", head[6:10])
        if kind == "image/webp":
            return _of_webp(head)
        return _of_jpeg(head) if kind == "image/jpeg" else None
    except (struct.error, IndexError):
        # Truncated.
        return None


def _of_webp(head: bytes) -> tuple[int, int] | None:
    form = head[12:16]
    if form == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if form == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _of_jpeg(head: bytes) -> tuple[int, int] | None:
    """Read the dimensions from the frame header, which follows tables and comments of any length."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        mark = head[at + 1]
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + (0 if mark == 0xFF or 0xD0 <= mark <= 0xD8 else int.from_bytes(head[at + 2 : at + 4], "big"))
    return None
