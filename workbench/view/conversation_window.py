"""Decides which items of a long conversation are mounted: a contiguous run within a budget of nodes.

The conversation asks it what to mount and what to unmount. New items enter at the end while the user follows it, older
ones when the user scrolls to the top, later ones on the way back down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.manifest import kind_of
from workbench.view.formatting.cards import card
from workbench.view.read_groups import is_hidden
from workbench.view.state import ActionItem, AgentItem, Item, UserItem

MAX_NODES: Final = 320
MAX_ITEMS: Final = 40
CHUNK: Final = 12
"""How many items are mounted at once when the user scrolls to an end of the run."""
MARKDOWN_NODES: Final = 8
"""The least weight of a message, so that at most 40 Markdown widgets are mounted."""
LONGEST: Final = 200
"""The most nodes that one message may show; the pager has the rest."""
LEAST_ROWS: Final = 40
"""The fewest rows mounted while the end is followed."""

_FENCES: Final = ("```", "~~~")
_LIST = lazy_pattern(r"\s*([-*+]|\d+[.)])\s")


class WindowStep(Struct, frozen=True):
    """Half-open ranges of items to mount and to unmount."""

    mount: range = range(0)
    unmount: range = range(0)


class Window:
    """The mounted run `first` to `last` (half open) of a list that grows at its end."""

    def __init__(
        self, weight: Callable[[int], int], max_items: int = MAX_ITEMS, rows: Callable[[int], int] = lambda _: 1
    ) -> None:
        """`weight` returns the nodes of an item, 0 if it is hidden, `rows` the fewest rows in which it is shown."""
        self._weight = weight
        self._rows = rows
        self.max_items = max_items
        self.height = 0
        """Rows of the panel; while it is 0, the run is not limited by rows."""
        self.first = 0
        self.last = 0

    def reset(self, total: int, most: int | None = None) -> range:
        """Start over; return the run that shows the end of `total` items, at most `most` of them."""
        self.last = total
        self.first = self._first_that_fits(0 if most is None else max(0, total - most), self._most_rows)
        return range(self.first, self.last)

    def shift(self, count: int) -> None:
        """Shift the run after `count` items were inserted before the first one or, if negative, removed there."""
        self.first = max(0, self.first + count)
        self.last = max(0, self.last + count)

    def cut(self, total: int) -> None:
        """End the run with the last of `total` items, because the items after it were removed."""
        self.last = min(self.last, total)
        self.first = min(self.first, self.last)

    def around(self, index: int, total: int) -> range:
        """Start over; return a run that begins shortly before item `index`."""
        self.first = self.last = max(0, index - 2)
        weight = 0
        while self.last < total and self._visible_count(self.first, self.last) < self.max_items:
            weight += self._weight(self.last)
            if weight > MAX_NODES and self.last > index:
                break
            self.last += 1
        if self.last == total:
            self.first = self._first_that_fits(0)
        return range(self.first, self.last)

    def append(self, total: int, *, follows: bool) -> WindowStep:
        """Mount added items. If the end is followed, they replace the oldest; otherwise they only fill free space."""
        if follows:
            return self._down(total, self._most_rows)
        start = self.last
        weight = self._sum(self.first, self.last)
        while self.last < total and self._visible_count(self.first, self.last) < self.max_items:
            weight += self._weight(self.last)
            if weight > MAX_NODES:
                break
            self.last += 1
        return WindowStep(mount=range(start, self.last))

    def drop(self, count: int) -> range:
        """Remove the first `count` items from the run and return their range."""
        before, self.first = self.first, min(self.last, self.first + count)
        return range(before, self.first)

    def fill(self, count: int = CHUNK) -> WindowStep:
        """Mount up to `count` items before the run, as far as there is room; unmount nothing."""
        start = self.first
        self.first = min(start, self._first_that_fits(self._chunk_before(start, count)))
        return WindowStep(mount=range(self.first, start))

    def older(self) -> WindowStep:
        """Mount a chunk before the run, and unmount items at its end to make room."""
        start, end = self.first, self.last
        self.first = self._chunk_before(start)
        weight, visible_items = self._sum(self.first, self.last), self._visible_count(self.first, self.last)
        while self.last > start + 1 and (weight > MAX_NODES or visible_items > self.max_items):
            self.last -= 1
            weight -= self._weight(self.last)
            visible_items -= bool(self._weight(self.last))
        return WindowStep(range(self.first, start), range(self.last, end))

    def newer(self, total: int) -> WindowStep:
        """Mount a chunk after the run, and unmount items at its beginning to make room."""
        return self._down(min(total, self._chunk_after(self.last, total)))

    @property
    def _most_rows(self) -> float:
        return mounted_rows(self.height) if self.height else math.inf

    def _down(self, end: int, most_rows: float = math.inf) -> WindowStep:
        first, start = self.first, self.last
        self.last = end
        self.first = self._first_that_fits(first, most_rows)
        return WindowStep(range(max(start, self.first), end), range(first, min(self.first, start)))

    def _first_that_fits(self, lowest: int, most_rows: float = math.inf) -> int:
        first = self.last
        weight = rows = visible_items = 0
        while first > lowest and visible_items < self.max_items and rows < most_rows:
            rows += self._rows(first - 1)
            weight += self._weight(first - 1)
            visible_items += bool(self._weight(first - 1))
            if weight > MAX_NODES and first < self.last:
                break
            first -= 1
        return first

    def _chunk_before(self, end: int, count: int = CHUNK) -> int:
        """Return the start of a chunk of shown items before `end`."""
        start, visible_items = end, 0
        while start > 0 and visible_items < count:
            start -= 1
            visible_items += bool(self._weight(start))
        return start

    def _chunk_after(self, start: int, total: int) -> int:
        """Return the end of a chunk of shown items from `start` on."""
        end, visible_items = start, 0
        while end < total and visible_items < CHUNK:
            visible_items += bool(self._weight(end))
            end += 1
        return end

    def _visible_count(self, first: int, last: int) -> int:
        return sum(bool(self._weight(index)) for index in range(first, last))

    def _sum(self, first: int, last: int) -> int:
        return sum(self._weight(index) for index in range(first, last))


def mounted_rows(height: int) -> int:
    """Return how many rows stay mounted at the end of a panel in a terminal of that height.

    The panel takes about three quarters of the terminal, so that a page up shows something. Each row costs about
    0.1 MB, because an item takes few rows and many widgets.
    """
    return max(LEAST_ROWS, 5 * height // 4)


def nodes_of(item: Item) -> int:
    """Estimate how many widgets an item needs; Markdown makes one or more for each block, a hidden item none."""
    if is_hidden(item):
        return 0
    if isinstance(item, AgentItem):
        return max(MARKDOWN_NODES, 4 + min(LONGEST, markdown_nodes(item.text)))
    if isinstance(item, ActionItem) and _is_markdown(item):
        return max(MARKDOWN_NODES, 4 + min(LONGEST, markdown_nodes(str(item.arguments.get("message", "")))))
    return 1


def _is_markdown(item: ActionItem) -> bool:
    return kind_of(item.tool) == "final" and not item.agent


def least_rows(item: Item) -> int:
    """Return a lower bound of the rows of an item in the widest panel; a card has the same number at every width."""
    if is_hidden(item):
        return 0
    if isinstance(item, AgentItem):
        return _markdown_rows(item.text)
    if isinstance(item, UserItem):
        return 3
    if isinstance(item, ActionItem) and _is_markdown(item):
        return _markdown_rows(str(item.arguments.get("message", "")))
    return len(card(item, 80)) if isinstance(item, ActionItem) else 1


def _markdown_rows(text: str) -> int:
    """Return a lower bound of the rows: one for each line of a list or of code, and one for each (joined) paragraph."""
    rows, is_fenced, is_joined = 0, False, False
    for line in head_of(text).splitlines():
        if line.lstrip().startswith(_FENCES):
            is_fenced = not is_fenced
        elif is_fenced or (line.strip() and (not is_joined or _LIST.match(line))):
            rows += 1
        is_joined = not is_fenced and bool(line.strip())
    return rows


def markdown_nodes(text: str) -> int:
    """Return an upper bound of the number of blocks in a Markdown text, without parsing it."""
    return sum(_line_nodes(text))


def head_of(text: str, nodes: int = LONGEST) -> str:
    """Return the first lines of a Markdown text that need at most `nodes` nodes in total."""
    total = 0
    lines = text.splitlines(keepends=True)
    for number, weight in enumerate(_line_nodes(text)):
        total += weight
        if total > nodes:
            return "".join(lines[:number])
    return text


def _line_nodes(text: str) -> Iterator[int]:
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(_FENCES):
            fenced = not fenced
            yield 2
        elif fenced or not line.strip():
            yield 0
        else:
            yield 4 if _LIST.match(line) else 1
