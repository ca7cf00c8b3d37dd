"""The last line of the screen: the active keys, read from the active bindings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from workbench.text import visible
from workbench.tui.key_names import BUILT_IN_KEYS, Hint, NamedHint, bound_keys, named_hints, spelled
from workbench.tui.textual_seam.screen import own_bindings
from workbench.tui.widgets.prompt import Prompt, send_label
from workbench.tui.widgets.timeline import Timeline
from workbench.tui.widgets.welcome import Welcome
from workbench.view.formatting.key_hints import MOST_HINTS, NARROW_GAP, WIDE_GAP
from workbench.view.state import SessionState

_LAST = (("palette", "Palette"), ("help", "Help"))
_LAST_OMITTED = ("Help", "Quit")
_SEARCH_HINTS = (("search.before search.after", "Move"), ("submit", "Go"), ("search.end", "End"))
_MATCH_HINTS = (("find.next", "Next match"), ("find.previous", "Previous"))


class KeyHints(Widget):
    """Shows as many hints as fit, at most `MOST_HINTS`, the most important first."""

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
        """Return as many hints as fit, closer to each other if they do not all fit; Esc, Quit and Help go last."""
        hints = list(self._hints)
        while len(hints) > MOST_HINTS:
            hints.remove(self._least_important(hints))
        line = hints_line(hints)
        while hints and line.cell_length > self.size.width:
            line = hints_line(hints, NARROW_GAP)
            hints.remove(self._least_important(hints))
        return line if line.cell_length <= self.size.width else Content("")

    def _least_important(self, hints: Sequence[Hint]) -> Hint:
        """Return the hint to omit first: the last one but for those that go last."""
        optional = [hint for hint in hints if hint[0] != "Esc" and hint[1] not in _LAST_OMITTED]
        return (optional or hints)[-1]


class PageHints(KeyHints):
    """The last line of a page: those of the named keys that work now, and the key of the help, which shows them all."""

    def __init__(
        self, names: Sequence[NamedHint] | Callable[[], Sequence[NamedHint]], *, has_help: bool = True
    ) -> None:
        """`names` are the hints, the most important first, or a function that returns the current ones."""
        super().__init__()
        self._names = names
        self._has_help = has_help

    def on_mount(self) -> None:
        """Show the hints now, and whenever the focus has moved or a key has been turned on or off."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.update())
        self.update()

    def update(self) -> None:
        """Show the current hints."""
        names = self._names() if callable(self._names) else self._names
        self.show(named_hints(self.screen, (*names, *(_LAST[-1:] if self._has_help else ()))))


def hints_line(hints: Iterable[Hint], gap: int = WIDE_GAP) -> Content:
    """Return the hints on one line, with `gap` spaces between them."""
    parts = [
        Content.assemble((visible(key, lines=False), "$footer-key-foreground"), (f" {words}", "$dim"))
        for key, words in hints
    ]
    return Content(" " * gap).join(parts)


def search_hints(screen: Screen[Any]) -> list[Hint]:
    """Return the keys of the line that searches the session, or nothing if it does not have the focus."""
    return named_hints(screen, (*_SEARCH_HINTS, *_LAST[-1:])) if "search.end" in bound_keys(screen) else []


def hints_now(screen: Screen[Any], state: SessionState, prompt: Prompt, *, has_model: bool = True) -> list[Hint]:
    """Return the active keys, including the user's own; without a model or control, only commands can be sent."""
    keys, in_prompt = bound_keys(screen), prompt.has_focus
    if screen.app.screen is not screen:  # behind a question or a page only the help keeps its key
        return [(keys["help"], "Help")] if "help" in keys else []
    if "search.end" in keys:
        return search_hints(screen)
    if in_prompt and "take" in keys:  # the completion list is open
        return [
            (spelled(screen.app, "↑↓"), "Choose"),
            (keys["take"], "Accept"),
            (keys["close-list"], "Close"),
            (keys["send"], send_label(prompt)),
        ]
    if in_prompt:
        names = _in_prompt(state, prompt, has_model=has_model, has_examples=_has_examples(screen))
    else:
        is_searching = any(line.display for line in screen.query("#search"))
        names = [*(_MATCH_HINTS if is_searching else ()), *_in_panel(screen)]
    keys |= BUILT_IN_KEYS
    return [(keys[name], words) for name, words in [*names, *_LAST] if name in keys]


def _in_prompt(state: SessionState, prompt: Prompt, *, has_model: bool, has_examples: bool) -> list[Hint]:
    names = [("question", "Answer")] if state.waiting else []
    if not has_model or state.is_over or not state.has_control:
        names += [("send", "Run command")]
    else:
        names += [("send", _send_words(state, prompt)), ("mode", "Mode")]
    # Nothing is to be reviewed on an empty screen with examples, and the hints of both would not fit into 80 columns.
    return [*names, ("timeline", "Timeline"), ("next-field", "Examples") if has_examples else ("diff", "Review")]


def _has_examples(screen: Screen[Any]) -> bool:
    """Return whether the empty conversation offers examples, which Tab goes to."""
    return any(welcome.has_entries for welcome in screen.query(Welcome))


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
