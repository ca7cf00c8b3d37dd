"""Lines with their numbers, as `cat -n` prints them, cut in the middle where there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
