"""The files a message mentions, read when it is sent: the log holds what the model gets; used by the session."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from workbench.files.images import is_named_so
from workbench.protocol.events import FileText, UserMessage
from workbench.session.images import read_images

MOST = 20
LONGEST = 60_000
"""Characters of one file, and of all together four times that; a larger one is only named."""


def read_mentions(workspace: str, mentions: Iterable[str]) -> tuple[FileText, ...]:
    """What each of them below the workspace holds: a file its text, a folder its names, `None` for the rest."""
    left = 4 * LONGEST
    found = []
    for path in list(dict.fromkeys(mentions))[:MOST]:
        place = _inside(workspace, path)
        if place is None:
            continue
        text = _text(place)
        text = text if text is None or len(text) <= min(left, LONGEST) else None
        left -= len(text or "")
        found.append(FileText(path=path, text=text))
    return tuple(found)


def message(workspace: str, text: str, mentions: Sequence[str]) -> UserMessage:
    """What is to be recorded of a message; raises UnusableImage."""
    images = read_images(workspace, mentions)
    attached = read_mentions(workspace, [path for path in mentions if path not in images])
    return UserMessage(
        text=text,
        mentions=tuple(mentions),
        attached=attached,
        images=tuple(images.values()),
        image_names=tuple(images),
    )


def told(files: Sequence[FileText]) -> str:
    """What the model is told of them, behind the person's words."""
    return "".join(f"\n\n{part}" for part in _parts(files))


def _parts(files: Sequence[FileText]) -> Iterator[str]:
    for file in files:
        if file.text is None:
            yield f"[The person mentions {file.path}. It is not shown here; read it with your tools.]"
        else:
            end = "" if file.text.endswith("\n") else "\n"
            yield f"[The person mentions {file.path}. It held this then:]\n{file.text}{end}[end of {file.path}]"


def _inside(workspace: str, path: str) -> Path | None:
    try:
        root = Path(workspace).resolve()
        place = (root / path).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return place if place.is_relative_to(root) else None


def _text(place: Path) -> str | None:
    try:
        if place.is_dir():
            return "".join(f"{each.name}{'/' if each.is_dir() else ''}\n" for each in sorted(place.iterdir())[:500])
        if not place.is_file() or place.stat().st_size > 4 * LONGEST:
            return None
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "\0" in text else text


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
