"""What the text before the cursor asks to be completed, and which files a message mentions; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.tools.image_files import is_named_so

Kind = Literal["command", "argument", "file", "history"]

_COMMAND = re.compile(r"/([\w.:-]*)")
_ARGUMENT = re.compile(r"/([\w-]+) (\S*)")
_OPEN_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@("[^"]*|[^\s"]*)$""")
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<,;:='"]))@(?:"([^"\n]+)"|([^\s"]+))""", re.MULTILINE)
_BEHIND = ".,;:!?)]}>'"


@dataclass(frozen=True)
class Wish:
    """The part of the line from `start` to the cursor is to become something; `of` is the command of an argument."""

    kind: Kind
    query: str
    start: int
    of: str = ""


def wish_at(lines: list[str], row: int, column: int) -> Wish | None:
    """What is asked for where the cursor stands."""
    before = lines[row][:column]
    if row == 0 and len(lines) == 1 and before.startswith("/"):
        if found := _COMMAND.fullmatch(before):
            return Wish("command", found[1], 0)
        if found := _ARGUMENT.fullmatch(before):
            return Wish("argument", found[2], found.start(2), found[1])
    if found := _OPEN_MENTION.search(before):
        return Wish("file", found[1].lstrip('"'), found.start())
    return None


def mention_of(path: str) -> str:
    """How a path is written in a message."""
    return f'@"{path}"' if re.search(r"[\s\"]", path) or path[-1:] in _BEHIND else f"@{path}"


def _none(written: str) -> bool:
    return False


def mentioned(text: str, folder: Path, is_resource: Callable[[str], bool] = _none) -> tuple[str, ...]:
    """What a message names with `@`, in order, each once: files and folders below the folder, images anywhere.

    `is_resource` knows what servers offer beside those.
    """
    named = (path for found in _MENTION.finditer(text) for path in _existing(found, folder, is_resource))
    return tuple(dict.fromkeys(named))


def mention_names(text: str) -> Iterator[str]:
    """What a text mentions, without the signs that end a sentence; nothing is looked up."""
    return (found[1] or found[2].rstrip(_BEHIND) for found in _MENTION.finditer(text))


def _existing(found: re.Match[str], folder: Path, is_resource: Callable[[str], bool]) -> Iterator[str]:
    """The path, without the stop that ends a sentence where only so it exists."""
    for written in (found[1],) if found[1] else (found[2], found[2].rstrip(_BEHIND)):
        if written and (is_below(folder, written) or _is_image(folder, written)):
            yield written.rstrip("/") or written
            return
    short = found[1] or found[2].rstrip(_BEHIND)
    if is_resource(short):
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
