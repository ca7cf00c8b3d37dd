"""Which files and resources a message mentions with `@`, before it is sent; used by screens, plain mode and `run`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from workbench.tools.image_files import is_named_so

_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@(?:"([^"\n]+)"|([^\s"]+))""", re.MULTILINE)
BEHIND: Final = ".,;:!?)]}>'"
"""Signs that end a sentence, and no path as a rule."""


def mentioned(text: str, folder: Path, is_resource: Callable[[str], bool] | None = None) -> tuple[str, ...]:
    """What a message names with `@`, in order, each once: files and folders below the folder, images anywhere.

    `is_resource` knows what servers offer beside those.
    """
    named = (path for found in _MENTION.finditer(text) for path in _existing(found, folder, is_resource))
    return tuple(dict.fromkeys(named))


def mention_names(text: str) -> Iterator[str]:
    """What a text mentions, without the signs that end a sentence; nothing is looked up."""
    return (found[1] or found[2].rstrip(BEHIND) for found in _MENTION.finditer(text))


def _existing(found: re.Match[str], folder: Path, is_resource: Callable[[str], bool] | None) -> Iterator[str]:
    """The path, without the stop that ends a sentence where only so it exists."""
    for written in (found[1],) if found[1] else (found[2], found[2].rstrip(BEHIND)):
        if written and (is_below(folder, written) or _is_image(folder, written)):
            yield written.rstrip("/") or written
            return
    short = found[1] or found[2].rstrip(BEHIND)
    if is_resource is not None and is_resource(short):
        yield short


def _is_image(folder: Path, written: str) -> bool:
    """Whether it is an image, which may be anywhere: nothing else of it goes with a message than the image."""
    try:
        return is_named_so(written) and (folder / written).is_file()
    except (OSError, ValueError):
        return False


def is_below(folder: Path, written: str) -> bool:
    """Whether there is such a file or folder below the folder, links followed."""
    try:
        place = (folder / written).resolve(strict=True)
        return place.is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False
