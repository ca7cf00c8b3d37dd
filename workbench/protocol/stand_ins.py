"""Lines that stand in an event for the content of a file, where the event does not hold it."""

from __future__ import annotations

import re
from typing import Final

TOO_LARGE: Final = "too large"
NOT_STORED: Final = "in the file versions"
READABLE: Final = frozenset({TOO_LARGE, NOT_STORED})
"""The values of `FileDelta.cut` with which the file versions may hold texts that the event does not."""
_ID_LENGTH: Final = 12
_LINE: Final = re.compile(rf"\([a-z ]+, [0-9,]+ bytes, ([0-9a-f]{{{_ID_LENGTH}}})\)\n")


def stand_in(cut: str, size: int, blob: str) -> str:
    """Return the line that replaces content that is not held; it differs for different content."""
    return f"({cut}, {size:,} bytes, {blob[:_ID_LENGTH]})\n"


def stands_for(line: str | None, blob: str) -> bool:
    """Return whether this line of a delta stands for the content of the blob."""
    return line is not None and line.endswith(f" bytes, {blob[:_ID_LENGTH]})\n")


def blob_named(line: str | None) -> str:
    """Return the beginning of the id of the blob that a line stands for; `""` if it is no such line."""
    match = _LINE.fullmatch(line or "")
    return match[1] if match else ""
