"""Asks whether to apply changes of another session to the workspace, and shows their risk."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.protocol.live import ChangesRated
from workbench.text import visible
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import SIDES, DockedPanel, hint_line
from workbench.tui.widgets.strips import as_content, css_beside, update_content
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.review.apply_text import apply_lines
from workbench.view.review.revert_text import FileRevert, what_of


class ApplyChangesScreen(QuestionScreen[bool]):
    """Asks about changes; dismisses with whether the user accepts it, which takes `y` after the quiet time."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", "Not now", id="apply.no")]

    def __init__(
        self,
        changes: Sequence[FileRevert],
        source: str,
        rated: ChangesRated,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`source` is the ID or name of what the changes come from."""
        super().__init__(clock)
        self._title = f"Apply {what_of(changes)} from {source}?"
        self._lines = apply_lines(changes, rated)
        self._risk = rated.risk
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the question, the risk and the key hints."""
        with DockedPanel(classes=f"-{self._risk.lower()}"):
            yield Static(Content.styled(visible(self._title, lines=False), "bold"), id="title")
            yield Static(as_content(self._lines), id="text")
            yield self._keys

    def show_keys(self) -> None:
        """Show the active keys."""
        confirm = KeyHint("y", "Apply") if self.quiet.check() else KeyHint("", "y (ready in 0.5s)")
        hints = (confirm, KeyHint("n", "Do not apply"))
        update_content(self._keys, hint_line(self.app, hints, max(4, self.size.width - SIDES)))

    def on_resize(self) -> None:
        """Adapt the key hints to the width."""
        self.show_keys()

    def no_answer(self) -> bool:
        """Return False: nothing is written."""
        return False

    def on_key(self, event: events.Key) -> None:
        """Accept with `y` after the quiet time, refuse with `n` at any time; other letters restart the quiet time."""
        may_answer = self.quiet.accepts(event)
        if event.key == "n":
            self.finish(False)
        elif event.key == "y" and may_answer:
            self.finish(True)
        elif event.is_printable:
            self.quiet.restart()
            self.show_keys()
        else:
            return
        event.stop()

    def action_refuse(self) -> None:
        """Close without applying."""
        self.finish(False)
