"""Searches the items of a session for words, and returns the text around each match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from workbench.text import visible
from workbench.view.state import ActionItem, AgentItem, Item, UserItem

_BEFORE: Final = 24
_EXCERPT_CHARACTERS: Final = 160


class ItemMatch(NamedTuple):
    """An item that contains the words: where in it, and the text around the first match (one line, safe to show)."""

    item: Item
    where: str
    excerpt: str


def find_in(items: Iterable[Item], words: str) -> list[ItemMatch]:
    """Return the items that contain the words exactly as written, in order, ignoring case."""
    needle = words.casefold()
    if not needle.strip():
        return []
    return [match for item in items if (match := _first(item, needle)) is not None]


def _first(item: Item, needle: str) -> ItemMatch | None:
    for where, text in labeled_strings(item):
        at = text.casefold().find(needle)
        if at >= 0:
            start = max(0, at - _BEFORE)
            cut = text[start : start + _EXCERPT_CHARACTERS].replace("\n", " ")
            return ItemMatch(item, where, visible(f"{'…' if start else ''}{cut}", lines=False))
    return None


def labeled_strings(item: Item) -> Iterator[tuple[str, str]]:
    """Yield each text of an item, preceded by its label."""
    if isinstance(item, UserItem):
        yield "you", item.text
    elif isinstance(item, AgentItem):
        yield "agent", item.text
        yield "reasoning", item.reasoning
    elif isinstance(item, ActionItem):
        yield from _labeled_action_strings(item)
    else:
        yield "notice", item.text
        yield item.title.casefold(), item.detail


def _labeled_action_strings(item: ActionItem) -> Iterator[tuple[str, str]]:
    number = f"action {item.number}"
    for name, value in item.arguments.items():
        yield f"{number}, {visible(name[:40], lines=False)}", value if isinstance(value, str) else str(value)
    yield f"{number}, result", item.output
    yield f"{number}, note", item.note
    yield f"{number}, summary", f"{item.summary}\n{item.thought}"
    yield number, item.error
