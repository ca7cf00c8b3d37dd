"""Formats the results of `view` (a file with line numbers, a directory, an image) and of edits."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.files.encodings import Coding
from workbench.files.images import HEAD, MOST_BYTES, kind_of
from workbench.files.text_file import EditorError
from workbench.text import cut_middle
from workbench.tools.schema import ImageContent
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.nearest import MAX_CHARS, number_lines

_CONTEXT = 4
_MAX_ENTRIES = 5_000


def image_in(raw: bytes) -> ImageContent | None:
    """Return the bytes as an image, or None if they are not one. Raises EditorError for an image above the
    size limit.
    """
    kind = kind_of(raw[:HEAD])
    if kind is None:
        return None
    if len(raw) > MOST_BYTES:
        raise EditorError(f"The image has {len(raw) / 1e6:.1f} MB; at most {MOST_BYTES / 1e6} can be shown.")
    return ImageContent(data=base64.b64encode(raw).decode(), mime_type=kind)


def show_file(path: str, text: str, coding: Coding, view_range: Sequence[int] | None) -> str:
    """Return the file, or the lines of the range, as `cat -n` prints them. Raises EditorError for an invalid range."""
    lines = split_lines(text)
    first, last = _checked_range(view_range, len(lines)) if view_range is not None else (1, len(lines))
    body = number_lines(lines[first - 1 : last], first) if lines else "(the file is empty)"
    length = _beyond(view_range, len(lines))
    return f"Here's the result of running `cat -n` on {path}:\n{body}\n{length}{_notes(text, coding)}"


def show_change(edited: Edited) -> str:
    """Return the changed part with line numbers and four lines of context."""
    return f"Here's the result of running `cat -n` on the changed part:\n{_around(edited)}\n"


def _around(edited: Edited) -> str:
    """Return the numbered lines; reads only the part of the text that it returns, and counts the lines before it."""
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
    """Return the lines without newlines; a final newline starts no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _checked_range(view_range: Sequence[int], count: int) -> tuple[int, int]:
    argument = f"`view_range` is {list(view_range)}"
    if len(view_range) != 2:
        raise EditorError(f"{argument}, but it must be two numbers: [first, last].")
    first, last = view_range
    if not 1 <= first <= max(count, 1):
        if count == 0:
            raise EditorError(f"{argument}, but the file is empty (0 lines).")
        raise EditorError(f"{argument}, but the file has {_lines(count)}: the first must be from 1 to {count}.")
    if last != -1 and last < first:
        raise EditorError(f"{argument}: the last line is before the first one. Use -1 for the end of the file.")
    return first, count if last == -1 else min(last, count)


def _lines(count: int) -> str:
    return f"{count} line" if count == 1 else f"{count} lines"


def _beyond(view_range: Sequence[int] | None, count: int) -> str:
    """Return a line with the length of the file if the range ends after it; empty otherwise."""
    if view_range is None or view_range[1] <= count:
        return ""
    return f"[the file has {_lines(count)}]\n" if count else ""


def _notes(text: str, coding: Coding) -> str:
    """Return a line about invisible properties: encoding, line endings, missing final newline; else empty."""
    crlf, newlines = text.count("\r\n"), text.count("\n")
    source = f" ({coding.source})" if coding.source else ""
    notes = [f"encoding {coding.encoding}{source}"] if coding.encoding != "utf-8" else []
    if crlf:
        notes.append("CRLF line ends" if crlf == newlines else "mixed line ends")
    if newlines and not text.endswith("\n"):
        notes.append("no newline at the end")
    return f"[{', '.join(notes)}; edits keep that]\n" if notes else ""


def show_directory(path: Path, display_path: str) -> str:
    """Return the entries two levels deep without hidden ones, and the number of hidden ones at the top level."""
    rows = list(_entries(path, 2))
    hidden = sum(entry.name.startswith(".") for entry in path.iterdir())
    text = "\n".join(rows[:_MAX_ENTRIES]) or "(nothing)"
    more = f"\n[{len(rows) - _MAX_ENTRIES} more omitted]" if len(rows) > _MAX_ENTRIES else ""
    hidden_note = f"\n[{hidden} hidden {'entry is' if hidden == 1 else 'entries are'} not shown]" if hidden else ""
    return (
        f"Files and directories in {display_path}, two levels deep:\n{cut_middle(text, MAX_CHARS)}{more}{hidden_note}\n"
    )


def _entries(directory: Path, levels: int, indent: str = "") -> Iterator[str]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        yield f"{indent}({error.strerror})"
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        is_directory = entry.is_dir(follow_symlinks=False)
        yield f"{indent}{entry.name}{'/' if is_directory else ''}"
        if is_directory and levels > 1:
            yield from _entries(Path(entry.path), levels - 1, indent + "  ")
