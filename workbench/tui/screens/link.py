"""Asks before a link in a message is opened in the browser, and shows the complete URL."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.processes.browser import open_in_browser
from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import SIDES, DockedPanel, hint_line
from workbench.tui.widgets.strips import css_beside, update_content
from workbench.view.formatting.key_hints import KeyHint

Opener = Callable[[str], bool]


class LinkScreen(QuestionScreen[None]):
    """Shows the links of a message one after the other; opens or copies the one that is shown."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "open", "Open", id="link.open"),
        Binding("c", "copy", "Copy", id="link.copy"),
        Binding("right,n", "turn(1)", "Next link", id="link.next"),
        Binding("left", "turn(-1)", "Previous link", show=False, id="link.previous"),
        Binding("escape", "back", "Back", id="link.back"),
    ]

    def __init__(
        self, urls: Sequence[str], opener: Opener = open_in_browser, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`urls` are printable ASCII; `opener` opens one and returns whether it could."""
        super().__init__(clock)
        self._urls = tuple(urls)
        self._opener = opener
        self._current = 0
        self._title, self._text, self._keys = Static(id="title"), Static(id="text"), Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the URL and the key hints."""
        with DockedPanel():
            yield self._title
            yield self._text
            yield self._keys

    def no_answer(self) -> None:
        """Open nothing."""

    def on_resize(self) -> None:
        """Adapt the key hints to the width."""
        self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """During the quiet time, stop the key that opens the link; every key restarts the quiet time."""
        bound = self.active_bindings.get(event.key)
        if not self.quiet.accepts(event) and bound is not None and bound.binding.action == "open":
            event.stop()
        self.call_after_refresh(self.show_keys)

    def show_keys(self) -> None:
        """Show the current URL and the active keys."""
        count = len(self._urls)
        position = f"{self._current + 1} of {count}  " if count > 1 else ""
        title = Content.assemble((position, "$dim"), ("Open this link in the browser?", "bold"))
        update_content(self._title, title)
        update_content(self._text, Content(self._urls[self._current]))
        others = (KeyHint("← →", "Others", 3),) if count > 1 else ()
        key, copy, back = (
            key_of(self.app, name, usual)
            for name, usual in (("link.open", "y"), ("link.copy", "c"), ("link.back", "escape"))
        )
        ready = KeyHint(key, "Open") if self.quiet.check() else KeyHint("", f"{key} (ready in 0.5s)")
        hints = (ready, KeyHint(copy, "Copy", 2), *others, KeyHint(back, "Back", 1))
        update_content(self._keys, hint_line(self.app, hints, max(4, self.size.width - SIDES)))

    def action_open(self) -> None:
        """Open the URL; if there is no browser, copy it."""
        url = self._urls[self._current]
        if not self._opener(url):
            self.app.copy_to_clipboard(url)
            self.app.notify("No browser here; the link was copied", severity="warning", timeout=4)
        self.finish(None)

    def action_copy(self) -> None:
        """Copy the URL."""
        self.app.copy_to_clipboard(self._urls[self._current])
        self.app.notify("Copied: the link", timeout=2)
        self.finish(None)

    def action_turn(self, by: int) -> None:
        """Show the next or previous URL."""
        self._current = (self._current + by) % len(self._urls)
        self.show_keys()

    def action_back(self) -> None:
        """Close without opening anything."""
        self.finish(None)
