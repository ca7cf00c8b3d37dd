"""Edits of text: pure functions that change nothing outside the edit.

A line ends at a newline, with or without a carriage return before it. Searched and inserted text may be written with
plain newlines: it matches any line endings, and inserted lines get the line endings around them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from difflib import SequenceMatcher

import msgspec

from workbench.files.text_file import EditorError
from workbench.lazy_pattern import lazy_pattern
from workbench.tools.str_replace_editor.difference import shared_ends
from workbench.tools.str_replace_editor.nearest import describe_nearest

_MANY = 50
_LINE = lazy_pattern(r"[^\n]*\n|[^\n]+")


class Edited(msgspec.Struct, frozen=True):
    """The text after an edit; its new part is `text[start:stop]`."""

    text: str
    start: int
    stop: int

    @classmethod
    def between(cls, before: str, after: str) -> Edited:
        """Return `after`, marking the part that differs from `before`."""
        head, tail = shared_ends(before, after)
        return cls(after, head, len(after) - tail)


def line_count(text: str) -> int:
    """Return the number of lines; text after the last newline is a line too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def replace_once(text: str, old: str, new: str) -> Edited:
    """Replace the only occurrence of `old`.

    If it is not there exactly once, raises an EditorError with the nearest passage or the lines of all occurrences.
    """
    if not old:
        raise EditorError("`old_str` is empty. Use `insert` to add text, or `create` for a new file.")
    flat = _Flat(text)
    old, new = _plain_ends(old), _plain_ends(new)
    if old == new:
        raise EditorError("`old_str` and `new_str` are the same; there is nothing to replace.")
    offsets = _occurrences(flat.text, old)
    if not offsets:
        raise EditorError(f"`old_str` does not appear in the file word for word. {describe_nearest(flat.text, old)}")
    if len(offsets) > 1:
        raise EditorError(_ambiguous(flat.text, offsets))
    return _spliced(flat, offsets[0], old, new)


def insert_after(text: str, line: int, new: str) -> Edited:
    """Insert `new` as separate lines after line `line` (0: before the first). Raises EditorError."""
    count = line_count(text)
    if line > count:
        raise EditorError(f"`insert_line` is {line}, but the file has {count} lines; use 0 to {count}.")
    flat = _Flat(text)
    new = new or "\n"
    at = _start_of_line(flat.text, line + 1)
    added = _plain_ends(new)
    if at and flat.text[at - 1] != "\n":  # after a last line without newline; the new last line has none either
        added = "\n" + added
    elif not added.endswith("\n"):
        added += "\n"
    edited = flat.splice(at, at, added)
    return Edited(edited.text, edited.start + added.startswith("\n") if at else edited.start, edited.stop)


def replace_lines(text: str, first: int, last: int, new: str) -> Edited:
    """Replace lines `first` to `last` with `new`; unchanged lines keep their line endings. Raises EditorError."""
    start, stop = (_start_of_line(text, line) for line in (max(1, first - 1), last + 1))
    part = text[start:stop]  # with the line before, whose line ending is used if the range has none
    before = part[: _start_of_line(part, 2)] if first > 1 else ""
    desired = _plain_ends(before + new) + ("" if part and not part.endswith("\n") else "\n")
    changed = _rewritten(part, desired)
    if changed == part:
        raise EditorError("The draft changes nothing in these lines.")
    return Edited.between(text, "".join((text[:start], changed, text[stop:])))


def _rewritten(part: str, desired: str, near: str = "\n") -> str:
    """Return the desired lines: unchanged ones keep their line endings, and others get those of the lines that they
    replace.

    `near` is the line ending used if the part has none.
    """
    raw, new = _LINE.findall(part), _LINE.findall(desired)
    old = [_plain_ends(line) for line in raw]
    result: list[str] = []
    for kind, first, end, from_, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            result += raw[first:end]
            continue
        for number, line in enumerate(new[from_:to]):
            index = min(first + number, max(end - 1, first))
            result.append(line.replace("\n", _end_at(raw, index, near)))
    return "".join(result)


def _end_at(lines: list[str], index: int, near: str) -> str:
    """Return the line ending of the line at an index, or of the nearest line before it that has one; else `near`."""
    line = next((line for line in lines[index::-1] if line.endswith("\n")), "")
    return "\r\n" if line.endswith("\r\n") else "\n" if line else near


class _Flat:
    """A text with plain newlines that maps its offsets to those of the original text."""

    def __init__(self, text: str) -> None:
        self._raw = text
        self._ends: list[int] = []
        self.text = text
        if "\r" in text and "\r\n" in text:
            # Offsets in the plain text of the newlines that had a carriage return.
            starts = [match.start() for match in re.finditer("\r\n", text)]
            self._ends = [start - number for number, start in enumerate(starts)]
            self.text = text.replace("\r\n", "\n")

    @property
    def has_carriage_returns(self) -> bool:
        """Whether any line ends with a carriage return, so the original text differs from the plain one."""
        return bool(self._ends)

    def raw_offset(self, offset: int) -> int:
        return offset + bisect_left(self._ends, offset)

    def is_mixed(self, first: int, end: int) -> bool:
        """Return whether both kinds of line ending occur between these offsets of the plain text."""
        part = self._raw[self.raw_offset(first) : self.raw_offset(end)] if self._ends else ""
        return 0 < part.count("\r\n") < part.count("\n")

    def splice(self, first: int, end: int, new: str) -> Edited:
        """Replace the part from `first` to `end` of the plain text with `new`."""
        start, stop = self.raw_offset(first), self.raw_offset(end)
        if "\n" in new and self._ends:
            near = self._newline_near(first)
            is_mixed = self.is_mixed(first, end)
            new = _rewritten(self._raw[start:stop], new, near) if is_mixed else new.replace("\n", near)
        return Edited("".join((self._raw[:start], new, self._raw[stop:])), start, start + len(new))

    def _newline_near(self, offset: int) -> str:
        """Return the line ending of the line at `offset`, or of the line before if it has none."""
        near = self.text.find("\n", offset)
        if near < 0:
            near = self.text.rfind("\n", 0, offset)
        return "\r\n" if self._raw[self.raw_offset(near)] == "\r" else "\n"


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def _occurrences(text: str, part: str) -> list[int]:
    offsets: list[int] = []
    at = text.find(part)
    while at >= 0 and len(offsets) <= _MANY:
        offsets.append(at)
        at = text.find(part, at + 1)
    return offsets


def _ambiguous(text: str, offsets: list[int]) -> str:
    lines = list(dict.fromkeys(text.count("\n", 0, offset) + 1 for offset in offsets))
    more = " and more" if len(offsets) > _MANY else ""
    where = f"lines {', '.join(map(str, lines))}{more}" if len(lines) > 1 else f"line {lines[0]}, more than once"
    return f"`old_str` is not unique: it appears in {where}. Include more of the text around the place you mean."


def _spliced(flat: _Flat, offset: int, old: str, new: str) -> Edited:
    """Replace `old` at `offset`; only the differing part is touched, so the lines around it keep their line endings."""
    if not flat.has_carriage_returns:
        # There is only one occurrence, and one pass costs half as much as three slices.
        return Edited(flat.text.replace(old, new, 1), offset, offset + len(new))
    if flat.is_mixed(offset, offset + len(old)):
        return flat.splice(offset, offset + len(old), new)  # line by line
    head, tail = shared_ends(old, new)
    edited = flat.splice(offset + head, offset + len(old) - tail, new[head : len(new) - tail])
    start = flat.raw_offset(offset)
    behind = flat.raw_offset(offset + len(old)) - flat.raw_offset(offset + len(old) - tail)
    return Edited(edited.text, start, edited.stop + behind)


def _start_of_line(text: str, line: int) -> int:
    """Return the offset where line `line` (from 1) starts; the length of the text after the last line."""
    at = 0
    for _ in range(line - 1):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at
