"""Searches within a session: a filter for timeline rows, and matches in the conversation.

A filter consists of words and of terms like `failed`, `risk:high`, `tool:bash`, `file:calc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from workbench.text import visible
from workbench.view.state import ActionItem, AgentItem, Item, NoticeItem, UserItem

Test: TypeAlias = Callable[[Item], bool]
HELP: Final = "words, failed, waiting, risk:high, tool:bash, file:calc"
_BEGUN: Final = 4
"""The fewest typed letters that match the beginning of a state's name."""
_SEARCHED_CHARACTERS: Final = 4_000
"""The most characters of an argument that are searched."""


class Filter:
    """A filter whose words must all match a row; without words, it matches every row."""

    def __init__(self, text: str = "") -> None:
        self.text = " ".join(text.split())
        self._tests = tuple(_test(word) for word in self.text.casefold().split())

    def fits(self, item: Item) -> bool:
        """Return whether the row is shown."""
        return all(test(item) for test in self._tests)


def _test(word: str) -> Test:
    kind, colon, value = word.partition(":")
    if colon and kind in _KINDS:
        of = _KINDS[kind]
        return lambda item: isinstance(item, ActionItem) and any(value in each.casefold() for each in of(item))
    if word in _STATES:
        phases = _STATES[word]
        return lambda item: _is_in(item, phases)
    begun = [phases for state, phases in _STATES.items() if len(word) >= _BEGUN and state.startswith(word)]
    prefixed = begun[0] if begun else ()
    return lambda item: _is_in(item, prefixed) or any(word in each.casefold() for each in _words(item))


def _is_in(item: Item, phases: tuple[str, ...]) -> bool:
    return isinstance(item, ActionItem) and item.phase in phases


def _words(item: Item) -> Iterator[str]:
    if isinstance(item, UserItem | NoticeItem):
        yield item.text[:_SEARCHED_CHARACTERS]
    elif isinstance(item, ActionItem):
        yield from (item.tool, item.summary, item.note, item.error)
        yield from _argument_strings(item.arguments)


def _files(item: ActionItem) -> Iterator[str]:
    yield str(item.arguments.get("path", ""))
    yield from (delta.path for delta in (*item.files, *item.preview))


def _argument_strings(arguments: Mapping[str, Any]) -> Iterator[str]:
    for value in arguments.values():
        yield (value if isinstance(value, str) else str(value))[:_SEARCHED_CHARACTERS]


_STATES: Final[Mapping[str, tuple[str, ...]]] = {
    "failed": ("failed", "lost"),
    "waiting": ("waiting",),
    "running": ("running",),
    "rejected": ("rejected", "skipped"),
}
_KINDS: Final[Mapping[str, Callable[[ActionItem], Iterator[str]]]] = {
    "risk": lambda item: iter((item.risk,)),
    "tool": lambda item: iter((item.tool,)),
    "file": _files,
}


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
