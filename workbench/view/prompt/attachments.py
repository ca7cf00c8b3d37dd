"""Attachments of a message: image files that it mentions, or that are pasted as paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from workbench.files.images import HEAD, MOST_BYTES, is_named_so, kind_of
from workbench.session.mentions import mention_names
from workbench.text import size_of, visible_path
from workbench.view.attachment_chips import chip
from workbench.view.prompt.completion import mention_of

_LONGEST_PASTE = 4_000


class Attached(Struct, frozen=True):
    """The description of one image; with `is_refused`, it cannot be sent."""

    words: str
    is_refused: bool = False


def pasted_images(pasted: str, directory: Path) -> str:
    """Return mentions if the paste consists of image paths alone, as terminals write dropped files; otherwise ""."""
    if len(pasted) > _LONGEST_PASTE or not re.search(r"\.\w+['\"]?\s*$", pasted):
        return ""
    paths = [_path_of(word) for word in _words(pasted)]
    if not paths or not all(is_named_so(path) and _is_file(directory, path) for path in paths):
        return ""
    return "".join(f"{mention_of(_short(directory, path))} " for path in paths)


def describe_files(paths: Iterable[str], directory: Path) -> list[Attached]:
    """Describe each of these files that exists; call it in a thread."""
    return [_describe(path, directory / path) for path in paths if _is_file(directory, path)]


def images_named(text: str) -> list[str]:
    """Return the mentioned paths with names of images, without duplicates; whether they exist is not checked."""
    return [path for path in dict.fromkeys(mention_names(text)) if is_named_so(path)]


def _words(pasted: str) -> list[str]:
    text = pasted.strip()
    if "\n" not in text and is_named_so(text) and not re.search(r"[\\'\"]", text):
        return [text]  # the spaces are part of the name
    import shlex

    try:
        return shlex.split(text)
    except ValueError:
        return []


def _path_of(word: str) -> str:
    path = unquote(urlsplit(word).path) if word.startswith("file://") else word
    return str(Path(path).expanduser()) if path.startswith("~") else path


def _is_file(directory: Path, path: str) -> bool:
    try:
        return (directory / path).is_file()
    except (OSError, ValueError):
        return False


def _short(directory: Path, path: str) -> str:
    """Return the path, relative to the directory if it is inside it."""
    whole = Path(path)
    try:
        return str(whole.relative_to(directory)) if whole.is_absolute() and whole.is_relative_to(directory) else path
    except ValueError:
        return path


def _describe(path: str, location: Path) -> Attached:
    try:
        size = location.stat().st_size
        with location.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        return Attached(f"{visible_path(path)} cannot be read: {error.strerror or error}", True)
    if kind_of(head) is None:
        return Attached(f"{visible_path(path)} contains no image; it is only named", True)
    if size > MOST_BYTES:
        return Attached(f"{chip(path, size, head)}, too large: at most {size_of(MOST_BYTES)}", True)
    return Attached(chip(path, size, head))
