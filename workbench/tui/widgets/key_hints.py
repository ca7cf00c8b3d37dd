"""The last line of the screen: the active keys, read from the active bindings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.key_names import key_name
from workbench.tui.textual_seam.screen import own_bindings
from workbench.tui.widgets.activity import is_working
from workbench.view.state import SessionState

Hint = tuple[str, str]
"""A key and what it does."""

_ELSEWHERE = (("mode", "mode"), ("diff", "diff"), ("zoom", "maximize"), ("palette", "palette"), ("quit", "quit"))


class KeyHints(Widget):
    """Shows as many hints as fit, the most important first."""

    def __init__(self) -> None:
        super().__init__(id="hints")
        self._hints: tuple[Hint, ...] = ()

    def show(self, hints: Iterable[Hint]) -> None:
        """Show these hints."""
        new_hints = tuple(hints)
        if new_hints != self._hints:
            self._hints = new_hints
            self.refresh()

    def render(self) -> Content:
        """Return as many hints as fit."""
        line = Content("")
        for key, words in self._hints:
            part = Content.assemble((visible(key, lines=False), "bold $footer-key-foreground"), (f" {words}", "$dim"))
            longer = part if not line.plain else Content.assemble(line, "  ", part)
            if longer.cell_length > self.size.width:
                break
            line = longer
        return line


def hints_now(screen: Screen[Any], state: SessionState, in_prompt: bool) -> list[Hint]:
    """Return the active keys, including the user's own."""
    keys = bound_keys(screen)
    if screen.app.screen is not screen:  # behind a question or a page only the help keeps its key
        return [(keys["help"], "help")] if "help" in keys else []
    if in_prompt and "take" in keys:  # the completion list is open
        return [
            ("↑↓", "choose"),
            (keys["take"], "take"),
            (keys["close-list"], "close"),
            (keys["send"], "complete and continue"),
        ]
    names = _in_prompt(state) if in_prompt else _in_panel(screen)
    hints = [(keys[name], words) for name, words in [*names, ("help", "help")] if name in keys]
    panels = [keys[name] for name in ("timeline", "tasks", "changes") if name in keys]
    if panels:
        hints.append((joined_keys(panels), "panels"))
    return hints + [(keys[name], words) for name, words in _ELSEWHERE if name in keys]


def bound_keys(screen: Screen[Any]) -> dict[str, str]:
    """Return the first key bound to each binding id, as shown on the screen."""
    keys: dict[str, str] = {}
    for active in screen.active_bindings.values():
        if active.binding.id and active.enabled:
            keys.setdefault(active.binding.id, key_name(active.binding.key))
    return keys


def _in_prompt(state: SessionState) -> list[Hint]:
    names = [("question", "answer")] if state.waiting else []
    names += [("send", "queue" if state.is_running else "send"), ("newline", "newline")]
    return names + ([("leave", "stop")] if is_working(state) else [])


def _in_panel(screen: Screen[Any]) -> list[Hint]:
    focused = screen.focused
    own = own_bindings(focused).values() if focused is not None else ()
    names = [(binding.id, binding.description.lower()) for bindings in own for binding in bindings if binding.show]
    named = [(name, words) for name, words in dict(names).items() if name and words]
    return [*named[:4], ("leave", "prompt")]


def joined_keys(keys: list[str]) -> str:
    """Return the keys in one part; a dash joins the ends only of function keys that follow each other."""
    numbers = [int(key[1:]) if re.fullmatch(r"F\d+", key) else 0 for key in keys]
    is_run = len(keys) > 2 and numbers[0] > 0 and numbers == list(range(numbers[0], numbers[0] + len(keys)))
    return f"{keys[0]}–{keys[-1]}" if is_run else " ".join(keys)
