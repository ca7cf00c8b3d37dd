"""Placeholder lines, which an event contains in place of file contents that it does not store."""

from __future__ import annotations

from typing import Final

from workbench.lazy_pattern import lazy_pattern

TOO_LARGE: Final = "too large"
NOT_STORED: Final = "in the file versions"
READABLE: Final = frozenset({TOO_LARGE, NOT_STORED})
"""The values of `FileDelta.cut` for which a snapshot may contain the text that is missing in the event."""
_ID_LENGTH: Final = 12
_LINE: Final = lazy_pattern(rf"\([a-z ]+, [0-9,]+ bytes, ([0-9a-f]{{{_ID_LENGTH}}})\)\n")


def placeholder(cut: str, size: int, blob: str) -> str:
    """Return the placeholder for content that an event does not store.

    `cut` is the reason, `size` the size in bytes, and `blob` the ID of its git blob, which makes the line unique to the
    content.
    """
    return f"({cut}, {size:,} bytes, {blob[:_ID_LENGTH]})\n"


def is_placeholder_of(line: str | None, blob: str) -> bool:
    """Return whether this line is the placeholder for the content of the blob."""
    return line is not None and line.endswith(f" bytes, {blob[:_ID_LENGTH]})\n")


def blob_in_placeholder(line: str | None) -> str:
    """Return the start of the blob ID in a placeholder; empty if the line is not a placeholder."""
    match = _LINE.fullmatch(line or "")
    return match[1] if match else ""
