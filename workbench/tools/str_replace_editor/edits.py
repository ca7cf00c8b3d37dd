"""The edits themselves: text in, text out, nothing touched outside the edit; pure, used by `planning`.

A line ends at a newline, with or without a carriage return before it. What is searched for and what is put in may be
written with plain newlines: it matches and takes over the line ends of the place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher

from workbench.files.text_file import EditorError
from workbench.tools.str_replace_editor.difference import shared_ends
from workbench.tools.str_replace_editor.nearest import describe_nearest

_MANY = 50
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class Edited:
    """The text after an edit; what is new in it stands from `start` to before `stop`."""

    text: str
    start: int
    stop: int

    @classmethod
    def between(cls, before: str, after: str) -> Edited:
        """`after`, with the part in which it differs from `before`."""
        head, tail = shared_ends(before, after)
        return cls(after, head, len(after) - tail)


def line_count(text: str) -> int:
    """How many lines; text behind the last newline is a line too."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def replace_once(text: str, old: str, new: str) -> Edited:
    """The text with its only `old` turned into `new`; raises EditorError that helps to find the right place."""
    if not old:
        raise EditorError("`old_str` is empty. Use `insert` to add text, or `create` for a new file.")
    flat = _Flat(text)
    old, new = _plain_ends(old), _plain_ends(new)
    if old == new:
        raise EditorError("`old_str` and `new_str` are the same; there is nothing to replace.")
    places = _places(flat.text, old)
    if not places:
        raise EditorError(f"`old_str` does not appear in the file word for word. {describe_nearest(flat.text, old)}")
    if len(places) > 1:
        raise EditorError(_ambiguous(flat.text, places))
    return _spliced(flat, places[0], old, new)


def insert_after(text: str, line: int, new: str) -> Edited:
    """The text with `new` as lines of its own behind line `line` (0: before the first)."""
    count = line_count(text)
    if line > count:
        raise EditorError(f"`insert_line` is {line}, but the file has {count} lines; use 0 to {count}.")
    flat = _Flat(text)
    new = new or "\n"
    at = _start_of_line(flat.text, line + 1)
    added = _plain_ends(new)
    if at and flat.text[at - 1] != "\n":  # behind a last line without newline, which the file then has again
        added = "\n" + added
    elif not added.endswith("\n"):
        added += "\n"
    edited = flat.splice(at, at, added)
    return Edited(edited.text, edited.start + added.startswith("\n") if at else edited.start, edited.stop)


def replace_lines(text: str, first: int, last: int, new: str) -> Edited:
    """The text with lines `first` to `last` reading `new`; those that stay keep their line ends. Raises EditorError."""
    start, stop = (_start_of_line(text, line) for line in (max(1, first - 1), last + 1))
    part = text[start:stop]  # with the line before, whose line end is taken over where the range has none
    before = part[: _start_of_line(part, 2)] if first > 1 else ""
    wanted = _plain_ends(before + new) + ("" if part and not part.endswith("\n") else "\n")
    changed = _rewritten(part, wanted)
    if changed == part:
        raise EditorError("The draft changes nothing in these lines.")
    return Edited.between(text, "".join((text[:start], changed, text[stop:])))


def _rewritten(part: str, wanted: str, near: str = "\n") -> str:
    """The part with its lines as wanted: those that stay keep their ends, new ones take the ends of those they replace.

    `near` is the line end where the part has none.
    """
    raw, new = _LINE.findall(part), _LINE.findall(wanted)
    old = [_plain_ends(line) for line in raw]
    made: list[str] = []
    for kind, first, end, from_, to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            made += raw[first:end]
            continue
        for number, line in enumerate(new[from_:to]):
            place = min(first + number, max(end - 1, first))
            made.append(line.replace("\n", _end_at(raw, place, near)))
    return "".join(made)


def _end_at(lines: list[str], place: int, near: str) -> str:
    """The end of the line at a place, or of the nearest one before it that has an end."""
    line = next((line for line in lines[place::-1] if line.endswith("\n")), "")
    return "\r\n" if line.endswith("\r\n") else "\n" if line else near


class _Flat:
    """A text with all line ends plain, which knows where everything was."""

    def __init__(self, text: str) -> None:
        self._raw = text
        self._ends: list[int] = []
        self.text = text
        if "\r" in text and "\r\n" in text:
            # the places, in the plain text, of the newlines that had a carriage return
            starts = [match.start() for match in re.finditer("\r\n", text)]
            self._ends = [start - number for number, start in enumerate(starts)]
            self.text = text.replace("\r\n", "\n")

    @property
    def has_carriage_returns(self) -> bool:
        """Whether a line ends with one, so that the text is another than the plain one."""
        return bool(self._ends)

    def raw_place(self, place: int) -> int:
        return place + bisect_left(self._ends, place)

    def is_mixed(self, first: int, end: int) -> bool:
        """Whether lines end in both ways between these places of the plain text."""
        part = self._raw[self.raw_place(first) : self.raw_place(end)] if self._ends else ""
        return 0 < part.count("\r\n") < part.count("\n")

    def splice(self, first: int, end: int, new: str) -> Edited:
        """The text with `new` in the place of what stands from `first` to `end` in the plain text."""
        start, stop = self.raw_place(first), self.raw_place(end)
        if "\n" in new and self._ends:
            near = self._newline_near(first)
            is_mixed = self.is_mixed(first, end)
            new = _rewritten(self._raw[start:stop], new, near) if is_mixed else new.replace("\n", near)
        return Edited("".join((self._raw[:start], new, self._raw[stop:])), start, start + len(new))

    def _newline_near(self, place: int) -> str:
        """The line end of the line at `place`, or of the one before where that has none."""
        near = self.text.find("\n", place)
        if near < 0:
            near = self.text.rfind("\n", 0, place)
        return "\r\n" if self._raw[self.raw_place(near)] == "\r" else "\n"


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n")


def _places(text: str, wanted: str) -> list[int]:
    found: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(found) <= _MANY:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _ambiguous(text: str, places: list[int]) -> str:
    lines = list(dict.fromkeys(text.count("\n", 0, place) + 1 for place in places))
    more = " and more" if len(places) > _MANY else ""
    where = f"lines {', '.join(map(str, lines))}{more}" if len(lines) > 1 else f"line {lines[0]}, more than once"
    return f"`old_str` is not unique: it appears in {where}. Take in more of the text around the place you mean."


def _spliced(flat: _Flat, place: int, old: str, new: str) -> Edited:
    """Only what differs between old and new is touched, so that the lines around it keep their line ends."""
    if not flat.has_carriage_returns:
        # its only place; one pass costs half of three slices
        return Edited(flat.text.replace(old, new, 1), place, place + len(new))
    if flat.is_mixed(place, place + len(old)):
        return flat.splice(place, place + len(old), new)  # line by line
    head, tail = shared_ends(old, new)
    edited = flat.splice(place + head, place + len(old) - tail, new[head : len(new) - tail])
    start = flat.raw_place(place)
    behind = flat.raw_place(place + len(old)) - flat.raw_place(place + len(old) - tail)
    return Edited(edited.text, start, edited.stop + behind)


def _start_of_line(text: str, line: int) -> int:
    """Where line `line` (from 1) begins; the end of the text behind the last one."""
    at = 0
    for _ in range(line - 1):
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        at = end + 1
    return at
