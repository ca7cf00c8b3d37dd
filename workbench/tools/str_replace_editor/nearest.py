"""Numbered lines as `cat -n` prints them, and the passage of a file most similar to a text that was not found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, ndiff

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.str_replace_editor.difference import shared_start

MAX_CHARS = 16_000
"""The most characters of one view."""


def number_lines(lines: Sequence[str], first: int) -> str:
    """Return the lines numbered from `first`; a long middle part is replaced with a notice that gives its
    line numbers.
    """
    head = _fitting(lines, MAX_CHARS // 2)
    if head == len(lines):
        return "\n".join(_row(number, line) for number, line in enumerate(lines, first))
    tail = min(_fitting(reversed(lines), MAX_CHARS - MAX_CHARS // 2), len(lines) - head)
    head_rows = [_row(first + number, line) for number, line in enumerate(lines[:head])]
    start = len(lines) - tail
    tail_rows = [_row(first + start + number, line) for number, line in enumerate(lines[start:])]
    return "\n".join([*head_rows, *_notice(lines, head, start, first), *tail_rows])


def _fitting(lines: Iterable[str], budget: int) -> int:
    """Return how many of the first lines fit into the budget."""
    count = 0
    for line in lines:
        budget -= len(line) + 8
        if budget < 0:
            break
        count += 1
    return count


def _notice(lines: Sequence[str], head: int, start: int, first: int) -> list[str]:
    if start - head == 1:
        return [_row(first + head, _shortened(lines[head]))]
    if start == head:
        return []
    lost = f"lines {first + head} to {first + start - 1}"
    return [f"[… {lost} omitted; view them with view_range …]"]


def _shortened(line: str) -> str:
    budget = MAX_CHARS // 4
    if len(line) <= 2 * budget:
        return line
    return f"{line[:budget]}[… {len(line) - 2 * budget} characters of this line omitted …]{line[-budget:]}"


def _row(number: int, line: str) -> str:
    return f"{number:6d}\t{line.removesuffix(chr(13))}"


_EXCERPT_LINES = 12
_LONG = 300
_COMPARED = 3_000
_NUMBERED = lazy_pattern(r"^ *\d+\t", re.MULTILINE)


def describe_nearest(text: str, old: str) -> str:
    """Return a hint for a model whose `old` is not in the text: usually the most similar passage, with line numbers and
    the differences.
    """
    lines, asked = text.split("\n"), old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in asked) and _NUMBERED.sub("", old) in text:
        return "It contains the line numbers of a view; omit the numbers and the tab after them."
    start = _best_start(lines, asked)
    if start is None:
        return "Nothing in the file is like it; view the file and copy the text from there."
    passage = lines[start : start + len(asked)]
    where = f"line {start + 1}" if len(passage) == 1 else f"lines {start + 1} to {start + len(passage)}"
    first = max(0, _first_difference(asked, passage) - _EXCERPT_LINES // 3)
    excerpt = number_lines([line[:_LONG] for line in passage[first : first + _EXCERPT_LINES]], start + first + 1)
    return f"The nearest passage is in {where}:\n{excerpt}\n{_difference(asked, passage)}"


def _first_difference(asked: list[str], passage: list[str]) -> int:
    pairs = enumerate(zip(asked, passage, strict=False))
    return next((number for number, (one, other) in pairs if one != other), len(passage))


def _difference(asked: list[str], passage: list[str]) -> str:
    if [line.split() for line in asked] == [line.split() for line in passage]:
        tabs = "\t" in "".join(passage) and "\t" not in "".join(asked)
        return f"Only whitespace differs{' (the file has tabs)' if tabs else ''}. Copy it exactly from the file."
    first = _first_difference(asked, passage)
    old, new = asked[first : first + _EXCERPT_LINES], passage[first : first + _EXCERPT_LINES]
    for number, pair in enumerate(zip(old, new, strict=False)):
        old[number], new[number] = _around_difference(*pair)
    rows = [row[:_LONG] for row in ndiff(old, new) if row[0] in "-+"]
    return "What differs (- in old_str, + in the file):\n" + "\n".join(rows)


def _around_difference(one: str, other: str) -> tuple[str, str]:
    """Return two lines; long ones are cut to the part around their first difference."""
    if max(len(one), len(other)) <= _LONG:
        return one, other
    start = max(0, shared_start(one, other) - _LONG // 4)
    ellipsis = "…" if start else ""
    return ellipsis + one[start : start + _LONG], ellipsis + other[start : start + _LONG]


def _best_start(lines: list[str], asked: list[str]) -> int | None:
    """Return the index of the first line of the passage that shares most with `asked`; None if nothing is similar."""
    asked_numbers: dict[str, list[int]] = {}
    for number, line in enumerate(asked):
        if line.strip():
            asked_numbers.setdefault(" ".join(line.split()), []).append(number)
    votes: Counter[int] = Counter()
    for number, line in enumerate(lines):
        words = " ".join(line.split())
        for asked_number in asked_numbers.get(words, ()):
            votes[max(0, number - asked_number)] += len(words)
    return votes.most_common(1)[0][0] if votes else _most_alike(lines, asked_numbers)


def _most_alike(lines: list[str], asked_numbers: dict[str, list[int]]) -> int | None:
    """Return the start of the passage by similarity to the longest line asked for; None if nothing is similar."""
    if not asked_numbers:
        return None
    longest = max(asked_numbers, key=len)[:_LONG]
    matcher = SequenceMatcher(None, "", longest, autojunk=False)
    best, best_ratio = None, 0.55
    likely = [(number, line) for number, line in enumerate(lines) if _similar_length(line, longest)]
    for number, line in likely[:_COMPARED]:
        matcher.set_seq1(" ".join(line.split())[:_LONG])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best, best_ratio = number, ratio
    return None if best is None else max(0, best - asked_numbers[max(asked_numbers, key=len)][0])


def _similar_length(line: str, target: str) -> bool:
    return len(target) / 3 <= len(line.strip()[:_LONG]) <= len(target) * 3
