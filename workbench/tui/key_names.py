"""Names of keys as shown on screen, and the lists of active keys in the help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any, Final, NamedTuple

from rich.cells import cell_len
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input, OptionList, TextArea

from workbench.lazy_pattern import lazy_pattern

_SYMBOLS: Final = {
    "slash": "/",
    "question_mark": "?",
    "full_stop": ".",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "underscore": "_",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}
_HINTED_KEY: Final = lazy_pattern(r"\{([a-z.-]+)=([a-zA-Z0-9_+]+)\}")
"""A key in a line of hints: the id of a binding, and its default key."""
_ARROW_NAMES: Final = {"↑": "Up", "↓": "Down", "←": "Left", "→": "Right"}
_ARROWS: Final = lazy_pattern(r"[↑↓←→]([ /]?[↑↓←→])*")


def key_of(app: App[Any], name: str, usual: str) -> str:
    """Return the first key of the binding `name` as the screen shows it: the user's own key, or else the default
    `usual`.
    """
    own: Mapping[str, str] = getattr(app, "keymap", {})
    return key_name(own.get(name, usual).split(",")[0].strip())


def with_keys(app: App[Any], hints: str) -> str:
    """Return a line of hints with the current key in place of each pair of a binding and its default in braces."""
    return spelled(app, _HINTED_KEY.sub(lambda match: key_of(app, match[1], match[2]), hints))


def spelled(app: App[Any], hint: str) -> str:
    """Return a hint with the arrow keys by name on a terminal without Unicode, where `^V` would be read as Ctrl+V."""
    if getattr(getattr(app, "terminal", None), "is_ascii", False):
        return _ARROWS.sub(lambda match: "/".join(_ARROW_NAMES[arrow] for arrow in match[0] if arrow not in " /"), hint)
    return hint


def hint_content(app: App[Any], hints: str) -> Content:
    """Return a line of hints as `with_keys` does, with the keys in their color; each hint follows three spaces."""
    parts = (hint.partition(" ") for hint in with_keys(app, hints).split("   "))
    return Content("   ").join(
        Content.assemble((key, "$footer-key-foreground"), (space + words, "$dim")) for key, space, words in parts
    )


_AROUND_HINTS: Final = 6
"""Columns of a page's lower border that hold no hints: its corners, and a line and a space at both ends."""


def page_hints(app: App[Any], hints: str, width: int) -> Content:
    """Return the hints that fit in the lower border of a page of `width` cells, as `hint_content` does.

    If some do not fit, the key of the help, which shows them all, is added; it stays, and so does the last hint, which
    is how the page is closed.
    """
    *names, last = with_keys(app, hints).split("   ")
    available = width - _AROUND_HINTS
    if cell_len("   ".join([*names, last])) <= available:
        return hint_content(app, hints)
    ends = list(dict.fromkeys([last, f"{key_of(app, 'help', 'f1')} Help"]))
    while names and cell_len("   ".join([*names, *ends])) > available:
        names.pop()
    return hint_content(app, "   ".join([*names, *ends]))


def key_name(key: str) -> str:
    """Return a key as the screen shows it, such as `F1`, `Ctrl+S`, `Esc`, `/` for `slash`, and `y` for itself."""
    *held, last = key.split("+") if len(key) > 1 else [key]
    name = _SYMBOLS.get(last) or (last.capitalize() if held or len(last) > 1 else last)
    return "+".join([*map(str.capitalize, held), name])


_WIDGET_NAMES: Final = {
    "prompt": "the prompt",
    "timeline": "the timeline",
    "tasks": "the plan",
    "changes": "the changes",
    "queue": "the queue",
    "filter": "the filter",
    "conversation": "the conversation",
    "viewer-diff": "the diff",
    "pager-text": "the text",
}
"""How the help names a widget, by its id; any other is called "the line" or "the list"."""
_MOVES: Final = frozenset(
    (
        *("up", "down", "page up", "page down", "first", "last", "top", "end", "next", "previous"),
        *("line up", "line down", "first line", "last line", "eight on", "eight back"),
    )
)
_OF_A_LIST: Final = ("Up", "Down", "PgUp", "PgDn", "Home", "End")
_COLUMN: Final = 16
_LAST_FUNCTION: Final = 24


class Group(NamedTuple):
    """The keys of a widget, of a screen or of the app; each row has some keys and their effect."""

    title: str
    rows: list[tuple[str, str]]


def key_groups(screen: Screen[Any]) -> list[Group]:
    """Return the active keys in groups: the focused widget's, the screen's, the app's, then any others."""
    focused = screen.focused
    groups: dict[str, dict[str, list[str]]] = {}
    bindings = list(enumerate(screen.active_bindings.values()))
    for _, active in sorted(bindings, key=lambda each: _sort_key(each[1].binding, each[0])):
        binding = active.binding
        if binding.description and binding.id and active.enabled:
            rows = groups.setdefault(_title(active.node, screen), {})
            rows.setdefault(_words(binding), []).append(key_name(binding.key))
    if isinstance(focused, OptionList):
        own = groups.setdefault(_title(focused, screen), {})
        own["Move"] = [*own.get("Move", []), *_OF_A_LIST]
        own.setdefault("Choose", []).append("Enter")
    order = list(dict.fromkeys([_title(focused, screen) if focused else "", "On this screen", "Everywhere"]))
    titles = [*(title for title in order if title in groups), *(title for title in groups if title not in order)]
    return [Group(title, _rows(groups[title])) for title in titles]


def keys_lines(groups: Sequence[Group], guides: Mapping[str, str], width: int) -> list[Content]:
    """Return the lines of the help: groups and guides, with the keys in one column and long texts wrapped."""
    sections = [group for group in (*groups, Group("Guides", list(guides.items()))) if group.rows]
    if not sections:
        return [Content.styled("No match", "$dim")]
    column = min(_COLUMN, max(len(keys) for group in sections for keys, _ in group.rows))
    return [line for number, group in enumerate(sections) for line in _lines(group, number, column, width)]


def _lines(group: Group, number: int, column: int, width: int) -> Iterator[Content]:
    if number:
        yield Content("")
    yield Content.styled(group.title, "bold $primary")
    for keys, words in group.rows:
        key_lines, text_lines = wrap(keys, column), wrap(words, max(10, width - column - 5))
        if len(text_lines) == 1:
            text_lines *= len(key_lines)
        for key, text in zip_longest(key_lines, text_lines, fillvalue=""):
            yield Content.assemble((f"  {key:<{column}}  ", "bold $footer-key-foreground"), text)


def _rows(rows: dict[str, list[str]]) -> list[tuple[str, str]]:
    """Return the rows of a group; the last row holds all keys that move the cursor."""
    moves = rows.pop("Move", [])
    listed = [(" ".join(dict.fromkeys(keys)), words) for words, keys in rows.items()]
    return listed + ([(" ".join(dict.fromkeys(moves)), "Move")] if moves else [])


def _sort_key(binding: Binding, number: int) -> tuple[bool, int]:
    """Return a sort key: bindings shown in the footer first, function keys by number before others."""
    is_function = binding.key[:1] == "f" and binding.key[1:].isdigit()
    return not binding.show, int(binding.key[1:]) if is_function else _LAST_FUNCTION + number


def _words(binding: Binding) -> str:
    words = binding.description
    return "Move" if words.lower() in _MOVES else words[:1].upper() + words[1:]


def _title(node: DOMNode | None, screen: Screen[Any]) -> str:
    if isinstance(node, App):
        return "Everywhere"
    if node is screen or node is None:
        return "On this screen"
    within = next((_WIDGET_NAMES[each.id] for each in node.ancestors_with_self if each.id in _WIDGET_NAMES), "")
    if within:
        return f"In {within}"
    return "In the line" if isinstance(node, Input | TextArea) else "In the list"
