"""Lines with their numbers, as `cat -n` prints them, cut in the middle where there are too many."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, ndiff

from workbench.tools.str_replace_editor.difference import shared_start

MAX_SHOWN = 16_000
"""Characters of one view."""


def number_lines(lines: Sequence[str], first: int) -> str:
    """The lines numbered from `first`; what is cut from the middle is named, numbers behind it stay true."""
    head = _fitting(lines, MAX_SHOWN // 2)
    if head == len(lines):
        return "\n".join(_row(number, line) for number, line in enumerate(lines, first))
    tail = min(_fitting(reversed(lines), MAX_SHOWN - MAX_SHOWN // 2), len(lines) - head)
    kept_head = [_row(first + number, line) for number, line in enumerate(lines[:head])]
    start = len(lines) - tail
    kept_tail = [_row(first + start + number, line) for number, line in enumerate(lines[start:])]
    return "\n".join([*kept_head, *_notice(lines, head, start, first), *kept_tail])


def _fitting(lines: Iterable[str], room: int) -> int:
    """How many of the lines, from their beginning, have room."""
    count = 0
    for line in lines:
        room -= len(line) + 8
        if room < 0:
            break
        count += 1
    return count


def _notice(lines: Sequence[str], head: int, start: int, first: int) -> list[str]:
    if start - head == 1:
        return [_row(first + head, _shortened(lines[head]))]
    if start == head:
        return []
    lost = f"lines {first + head} to {first + start - 1}"
    return [f"[… {lost} left out; view them with view_range …]"]


def _shortened(line: str) -> str:
    room = MAX_SHOWN // 4
    if len(line) <= 2 * room:
        return line
    return f"{line[:room]}[… {len(line) - 2 * room} characters of this line left out …]{line[-room:]}"


def _row(number: int, line: str) -> str:
    return f"{number:6d}\t{line.removesuffix(chr(13))}"


_SHOWN_LINES = 12
_LONG = 300
_COMPARED = 3_000
_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


def describe_nearest(text: str, wanted: str) -> str:
    """The passage of the text that is most like `wanted`, with line numbers and what differs."""
    lines, asked = text.split("\n"), wanted.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in asked) and _NUMBERED.sub("", wanted) in text:
        return "It holds the line numbers of a view; leave the numbers and the tab behind them out."
    start = _best_start(lines, asked)
    if start is None:
        return "Nothing in the file is like it; view the file and copy the text from there."
    found = lines[start : start + len(asked)]
    where = f"line {start + 1}" if len(found) == 1 else f"lines {start + 1} to {start + len(found)}"
    first = max(0, _first_difference(asked, found) - _SHOWN_LINES // 3)
    shown = number_lines([line[:_LONG] for line in found[first : first + _SHOWN_LINES]], start + first + 1)
    return f"The nearest passage is in {where}:\n{shown}\n{_difference(asked, found)}"


def _first_difference(asked: list[str], found: list[str]) -> int:
    pairs = enumerate(zip(asked, found, strict=False))
    return next((number for number, (one, other) in pairs if one != other), len(found))


def _difference(asked: list[str], found: list[str]) -> str:
    if [line.split() for line in asked] == [line.split() for line in found]:
        tabs = "\t" in "".join(found) and "\t" not in "".join(asked)
        return f"Only blanks differ{' (the file has tabs)' if tabs else ''}. Copy them exactly as the file has them."
    first = _first_difference(asked, found)
    old, new = asked[first : first + _SHOWN_LINES], found[first : first + _SHOWN_LINES]
    for number, pair in enumerate(zip(old, new, strict=False)):
        old[number], new[number] = _around_difference(*pair)
    rows = [row[:_LONG] for row in ndiff(old, new) if row[0] in "-+"]
    return "What differs (- in old_str, + in the file):\n" + "\n".join(rows)


def _around_difference(one: str, other: str) -> tuple[str, str]:
    """Two lines, cut where they are long to the part in which they begin to differ."""
    if max(len(one), len(other)) <= _LONG:
        return one, other
    start = max(0, shared_start(one, other) - _LONG // 4)
    sign = "…" if start else ""
    return sign + one[start : start + _LONG], sign + other[start : start + _LONG]


def _best_start(lines: list[str], asked: list[str]) -> int | None:
    """The first line of the passage that shares most with what was asked for."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(asked):
        if line.strip():
            places.setdefault(" ".join(line.split()), []).append(number)
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines):
        words = " ".join(line.split())
        for place in places.get(words, ()):
            votes[max(0, number - place)] += len(words)
    return votes.most_common(1)[0][0] if votes else _most_alike(lines, places)


def _most_alike(lines: list[str], places: dict[str, list[int]]) -> int | None:
    """By the longest line asked for, where no line is in the file as it is."""
    if not places:
        return None
    wanted = max(places, key=len)[:_LONG]
    matcher = SequenceMatcher(None, "", wanted, autojunk=False)
    best, best_ratio = None, 0.55
    likely = [(number, line) for number, line in enumerate(lines) if _similar_length(line, wanted)]
    for number, line in likely[:_COMPARED]:
        matcher.set_seq1(" ".join(line.split())[:_LONG])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = number, ratio
    return None if best is None else max(0, best - places[max(places, key=len)][0])


def _similar_length(line: str, wanted: str) -> bool:
    return len(wanted) / 3 <= len(line.strip()[:_LONG]) <= len(wanted) * 3
