"""Where words stand in a session: in messages, commands, results and notes, mounted or not. Pure; run in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from workbench.text import visible
from workbench.tui.fold.state import ActionItem, AgentItem, Item, UserItem

_BEFORE: Final = 24
_MOST: Final = 160


class Found(NamedTuple):
    """An item that holds the words: where in it, and what stands around their first place (safe, one line)."""

    item: Item
    where: str
    excerpt: str


def find_in(items: Iterable[Item], words: str) -> list[Found]:
    """The items that hold the words as they are written, in order; upper and lower case are the same."""
    wanted = words.casefold()
    if not wanted.strip():
        return []
    return [found for item in items if (found := _first(item, wanted)) is not None]


def _first(item: Item, wanted: str) -> Found | None:
    for where, text in texts_of(item):
        at = text.casefold().find(wanted)
        if at >= 0:
            start = max(0, at - _BEFORE)
            cut = text[start : start + _MOST].replace("\n", " ")
            return Found(item, where, visible(f"{'…' if start else ''}{cut}", lines=False))
    return None


def texts_of(item: Item) -> Iterator[tuple[str, str]]:
    """All texts of an item, each with what it is."""
    if isinstance(item, UserItem):
        yield "you", item.text
    elif isinstance(item, AgentItem):
        yield "agent", item.text
        yield "reasoning", item.reasoning
    elif isinstance(item, ActionItem):
        yield from _texts_of_action(item)
    else:
        yield "notice", item.text
        yield item.title.casefold(), item.detail


def _texts_of_action(item: ActionItem) -> Iterator[tuple[str, str]]:
    number = f"action {item.number}"
    for name, value in item.arguments.items():
        yield f"{number}, {visible(name[:40], lines=False)}", value if isinstance(value, str) else str(value)
    yield f"{number}, result", item.output
    yield f"{number}, note", item.note
    yield f"{number}, summary", f"{item.summary}\n{item.thought}"
    yield number, item.error
