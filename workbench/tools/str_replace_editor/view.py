"""What the command `view` shows: a file with line numbers, a folder, an image."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.files.images import HEAD, MOST_BYTES, kind_of
from workbench.files.text_file import Coding, EditorError
from workbench.text import cut_middle
from workbench.tools.schema import ImageContent
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.nearest import MAX_SHOWN, number_lines

_CONTEXT = 4
_MAX_ENTRIES = 5_000


def image_in(raw: bytes) -> ImageContent | None:
    """The image the bytes are, or None; raises EditorError for one that is too large to be sent to a model."""
    kind = kind_of(raw[:HEAD])
    if kind is None:
        return None
    if len(raw) > MOST_BYTES:
        raise EditorError(f"The image has {len(raw) / 1e6:.1f} MB; at most {MOST_BYTES / 1e6} can be shown.")
    return ImageContent(data=base64.b64encode(raw).decode(), mime_type=kind)


def show_file(path: str, text: str, coding: Coding, view_range: Sequence[int] | None) -> str:
    """The file as `cat -n` prints it, or the lines of the range."""
    lines = split_lines(text)
    first, last = _checked_range(view_range, len(lines)) if view_range is not None else (1, len(lines))
    body = number_lines(lines[first - 1 : last], first) if lines else "(the file is empty)"
    return f"Here's the result of running `cat -n` on {path}:\n{body}\n{_notes(text, coding)}"


def show_change(edited: Edited) -> str:
    """What an edit made, with four lines around it, numbered."""
    return f"Here's the result of running `cat -n` on the changed part:\n{_around(edited)}\n"


def _around(edited: Edited) -> str:
    """Looks at no more of the text than it shows."""
    text = edited.text
    start = text.rfind("\n", 0, edited.start) + 1
    stop = max(edited.stop - 1, start)
    above = 0
    while above < _CONTEXT and start > 0:
        start = text.rfind("\n", 0, start - 1) + 1
        above += 1
    for _ in range(_CONTEXT + 1):
        end = text.find("\n", stop)
        stop = len(text) if end < 0 else end + 1
    first = text.count("\n", 0, start) + 1
    return number_lines(split_lines(text[start:stop]), first) or "(the file is empty)"


def split_lines(text: str) -> list[str]:
    """The lines without their newline; a newline at the end begins no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _checked_range(view_range: Sequence[int], count: int) -> tuple[int, int]:
    said = f"`view_range` is {list(view_range)}"
    if len(view_range) != 2:
        raise EditorError(f"{said}, but it must be two numbers: [first, last].")
    first, last = view_range
    if not 1 <= first <= max(count, 1):
        raise EditorError(f"{said}, but the file has {count} lines: the first must be from 1 to {max(count, 1)}.")
    if last != -1 and last < first:
        raise EditorError(f"{said}: the last line is before the first one. Use -1 for the end of the file.")
    return first, count if last == -1 else min(last, count)


def _notes(text: str, coding: Coding) -> str:
    """What an editor of this file should know and cannot see."""
    crlf, newlines = text.count("\r\n"), text.count("\n")
    notes = [f"encoding {coding.encoding}"] if coding.encoding != "utf-8" else []
    if crlf:
        notes.append("CRLF line ends" if crlf == newlines else "mixed line ends")
    if newlines and not text.endswith("\n"):
        notes.append("no newline at the end")
    return f"[{', '.join(notes)}; edits keep that]\n" if notes else ""


def show_folder(path: Path, shown: str) -> str:
    """Files and folders two levels deep without the hidden ones, and how many those are at the top."""
    rows = list(_entries(path, 2))
    hidden = sum(entry.name.startswith(".") for entry in path.iterdir())
    text = "\n".join(rows[:_MAX_ENTRIES]) or "(nothing)"
    more = f"\n[{len(rows) - _MAX_ENTRIES} more left out]" if len(rows) > _MAX_ENTRIES else ""
    said = f"\n[{hidden} hidden {'entry is' if hidden == 1 else 'entries are'} not shown]" if hidden else ""
    return f"Files and folders in {shown}, two levels deep:\n{cut_middle(text, MAX_SHOWN)}{more}{said}\n"


def _entries(folder: Path, levels: int, indent: str = "") -> Iterator[str]:
    try:
        found = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield f"{indent}({error.strerror})"
        return
    for entry in found:
        if entry.name.startswith("."):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        yield f"{indent}{entry.name}{'/' if is_folder else ''}"
        if is_folder and levels > 1:
            yield from _entries(Path(entry.path), levels - 1, indent + "  ")
