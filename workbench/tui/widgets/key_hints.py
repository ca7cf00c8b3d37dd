"""The last line of the screen: the active keys, read from the active bindings."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.key_names import key_name, spelled
from workbench.tui.textual_seam.screen import own_bindings
from workbench.tui.widgets.prompt import Prompt, send_label
from workbench.tui.widgets.timeline import Timeline
from workbench.view.state import SessionState

Hint = tuple[str, str]
"""A key and its effect."""

_MOST_HINTS = 8
_LAST = (("palette", "Palette"), ("help", "Help"))


class KeyHints(Widget):
    """Shows as many hints as fit, at most `_MOST_HINTS`, the most important first."""

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
        """Return as many hints as fit, closer to each other if they do not all fit; Esc and the help go last."""
        hints = list(self._hints[:_MOST_HINTS])
        line = _line(hints, 3)
        while hints and line.cell_length > self.size.width:
            line = _line(hints, 2)
            optional = [hint for hint in hints if hint[0] != "Esc" and hint[1] != "Help"]
            hints.remove((optional or hints)[-1])
        return line if line.cell_length <= self.size.width else Content("")


def _line(hints: Iterable[Hint], gap: int) -> Content:
    parts = [
        Content.assemble((visible(key, lines=False), "$footer-key-foreground"), (f" {words}", "$dim"))
        for key, words in hints
    ]
    return Content(" " * gap).join(parts)


def hints_now(screen: Screen[Any], state: SessionState, prompt: Prompt, *, has_model: bool = True) -> list[Hint]:
    """Return the active keys, including the user's own; without a model or control, only commands can be sent."""
    keys, in_prompt = bound_keys(screen), prompt.has_focus
    if screen.app.screen is not screen:  # behind a question or a page only the help keeps its key
        return [(keys["help"], "Help")] if "help" in keys else []
    if in_prompt and "take" in keys:  # the completion list is open
        return [
            (spelled(screen.app, "↑↓"), "Choose"),
            (keys["take"], "Accept"),
            (keys["close-list"], "Close"),
            (keys["send"], send_label(prompt)),
        ]
    names = _in_prompt(state, prompt, has_model=has_model) if in_prompt else _in_panel(screen)
    return [(keys[name], words) for name, words in [*names, *_LAST] if name in keys]


def bound_keys(screen: Screen[Any]) -> dict[str, str]:
    """Return the first key bound to each binding id, as shown on the screen."""
    keys: dict[str, str] = {}
    for active in screen.active_bindings.values():
        if active.binding.id and active.enabled:
            keys.setdefault(active.binding.id, key_name(active.binding.key))
    return keys


def _in_prompt(state: SessionState, prompt: Prompt, *, has_model: bool) -> list[Hint]:
    names = [("question", "Answer")] if state.waiting else []
    if not has_model or state.is_over or not state.has_control:
        names += [("send", "Run command")]
    else:
        names += [("send", _send_words(state, prompt)), ("mode", "Mode")]
    return [*names, ("timeline", "Timeline"), ("diff", "Review")]


def _send_words(state: SessionState, prompt: Prompt) -> str:
    """Return what the send key does with a message."""
    if state.queues:
        return "Queue"
    if state.can_retry and not prompt.text:
        return "Replace key" if state.rejected_key else "Retry"
    return "Send"


def _idle_keys(focused: Widget | None) -> Collection[str]:
    """Return the keys that do nothing for the row at the cursor; they are not offered, but not typed either."""
    if not isinstance(focused, Timeline) or focused.rows.has_diff(focused.cursor):
        return ()
    return ("timeline.diff",)


def _in_panel(screen: Screen[Any]) -> list[Hint]:
    focused = screen.focused
    own = own_bindings(focused).values() if focused is not None else ()
    names = [(binding.id, binding.description) for bindings in own for binding in bindings if binding.show]
    idle = _idle_keys(focused)
    named = [(name, words) for name, words in dict(names).items() if name and words and name not in idle]
    return [*named[:4], ("leave", "Prompt"), ("zoom", "Maximize")]
