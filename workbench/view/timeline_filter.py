"""The filter of the timeline: words, and terms like `failed`, `risk:high`, `tool:bash`, `file:calc`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from workbench.view.state import ActionItem, Item, NoticeItem, UserItem

Test: TypeAlias = Callable[[Item], bool]
HELP: Final = "words, failed, pending, risk:high, tool:bash, file:calc"
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
    "pending": ("waiting",),
    "running": ("running",),
    "rejected": ("rejected", "skipped"),
}
_KINDS: Final[Mapping[str, Callable[[ActionItem], Iterator[str]]]] = {
    "risk": lambda item: iter((item.risk,)),
    "tool": lambda item: iter((item.tool,)),
    "file": _files,
}
