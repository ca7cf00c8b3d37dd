"""The image files of a message, read when it is sent: the log holds what the model sees; used by the session."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files.images import HEAD, MOST_BYTES, is_named_so, kind_of

MOST = 10
"""Images of one message."""
_MOST_TOGETHER = 16_000_000


class UnusableImage(WorkbenchError):
    """An image cannot be sent; one line for the person."""


def read_images(workspace: str, mentions: Iterable[str]) -> dict[str, str]:
    """Data URLs of the mentioned files that are images, by path; raises UnusableImage.

    A path beside the workspace is read too: the person named the file, and only what is an image leaves it.
    """
    found: dict[str, str] = {}
    total = 0
    for path in dict.fromkeys(mentions):
        raw = _read(workspace, path) if is_named_so(path) else None
        kind = kind_of(raw[:HEAD]) if raw is not None else None
        if raw is None or kind is None:
            continue
        total += len(raw)
        if len(found) == MOST or total > _MOST_TOGETHER:
            raise UnusableImage(f"a message takes at most {MOST} images and {_MOST_TOGETHER // 10**6} MB of them")
        found[path] = f"data:{kind};base64,{base64.b64encode(raw).decode()}"
    return found


def names_told(names: Iterable[str]) -> str:
    """What the model is told of the files its images came from, in their order."""
    listed = ", ".join(names)
    return f"\n\n[Images with this message, in order: {listed}]" if listed else ""


def _read(workspace: str, path: str) -> bytes | None:
    place = Path(workspace) / path
    try:
        if not place.is_file():
            return None
        size = place.stat().st_size
        if size > MOST_BYTES:
            most = MOST_BYTES / 1e6
            raise UnusableImage(f"{path} has {size / 1e6:.1f} MB; an image of at most {most} MB can be sent")
        return place.read_bytes()
    except (OSError, ValueError) as error:
        raise UnusableImage(f"{path} cannot be read: {error}") from error
