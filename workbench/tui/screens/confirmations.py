"""Confirmations above a question or the main screen: to approve several actions, or to change to the mode that never
asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from workbench.config.modes import NEVER_MEANS
from workbench.tui.key_names import key_of
from workbench.tui.screens.question_base import QuestionScreen
from workbench.tui.widgets.dock import SIDES, DockedPanel, ReservingPanel, hint_line
from workbench.tui.widgets.question_text import QuestionText
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.questions import Bundle
from workbench.view.formatting.approval import all_of, bundle_title, bundle_words
from workbench.view.formatting.key_hints import KeyHint
from workbench.view.formatting.question import all_keys, styled_rows

_AROUND = 4  # title, gaps and keys


class ApproveAllScreen(QuestionScreen[bool]):
    """Shows several actions in full; dismisses with whether all of them are approved."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "approve", "Approve all of these", id="approval.all-of-these"),
        Binding("escape", "back", "Back", id="approval.back"),
        Binding("down", "move(1)", "Down", show=False, id="approval.all-down"),
        Binding("up", "move(-1)", "Up", show=False, id="approval.all-up"),
        Binding("pagedown,space", "move(10)", "Page down", show=False, id="approval.all-page-down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="approval.all-page-up"),
        Binding("end", "move(1000000)", "End", show=False, id="approval.all-end"),
        Binding("home", "move(-1000000)", "Top", show=False, id="approval.all-home"),
    ]

    def __init__(
        self,
        bundle: Bundle,
        *,
        reserve_rows: Callable[[int], None] = lambda rows: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reserve_rows` is called with the number of rows at the bottom of the screen that the panel covers."""
        super().__init__(clock)
        self._bundle = bundle
        lines = all_of(bundle)
        self._text = QuestionText(lambda width: styled_rows(lines, width), id="all")
        self._keys = Static(id="keys")
        self._box = ReservingPanel(reserve_rows, id="box")
        self._rows = 0
        self._is_read = False

    def compose(self) -> ComposeResult:
        """Yield the text and the key hints."""
        with self._box:
            yield Static(Content.styled(bundle_title(self._bundle), "bold"), id="title")
            yield self._text
            yield self._keys

    def no_answer(self) -> bool:
        """Return False: nothing is approved."""
        return False

    def on_resize(self) -> None:
        """Adapt to the size of the screen."""
        width = max(4, self.size.width - 4)
        self._rows = max(1, min(self._text.rows_at(width), self.size.height - _AROUND))
        self._text.styles.height = self._rows
        self._text.lay_out(width)
        self.call_after_refresh(self.show_keys)

    def on_key(self, event: events.Key) -> None:
        """Stop `Y` during the quiet time, which every key restarts."""
        if not self.quiet.accepts(event) and event.key == "Y":
            event.stop()
        self.call_after_refresh(self.show_keys)

    def show_keys(self) -> None:
        """Show the active keys."""
        text, height = self._text, self._text.size.height
        if 0 < height <= self._rows and text.scroll_offset.y + height >= text.virtual_size.height > 0:
            self._is_read = True
        words, key = bundle_words(self._bundle), partial(key_of, self.app)
        hints = all_keys(words, is_read=self._is_read, armed=self.quiet.check(), key=key)
        self._keys.update(hint_line(self.app, hints, self.size.width - 4))

    def action_approve(self) -> None:
        """Approve all actions, if the user has scrolled to the end."""
        self.show_keys()
        if self._is_read:
            self.finish(True)

    def action_back(self) -> None:
        """Close without approving."""
        self.finish(False)

    def action_move(self, lines: int) -> None:
        """Scroll the text by `lines`."""
        self._text.scroll_to(y=self._text.scroll_offset.y + lines, animate=False)


_KEEP = KeyHint("n", "Keep asking")


class NeverAskScreen(QuestionScreen[bool]):
    """Asks to confirm the mode that never asks; dismisses with the answer.

    Letters other than `y` and `n`, and these if they are typed too early, go to the prompt and restart the quiet time.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "refuse", "Keep asking", id="never-ask.no")]

    def __init__(self, typed: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        """`typed` is called with text that was meant for the prompt."""
        super().__init__(clock)
        self._typed = typed
        self._keys = Static(id="keys")

    def compose(self) -> ComposeResult:
        """Yield the meaning of the mode and the key hints."""
        with DockedPanel(classes="-high"):
            yield Static(Content.styled("Don't ask in this session?", "bold"), id="title")
            yield Static(Content("\n\n".join(NEVER_MEANS)), id="text")
            yield self._keys

    def show_keys(self) -> None:
        """Show the active keys."""
        hints = (KeyHint("y", "Don't ask"), _KEEP) if self.quiet.check() else (KeyHint("", "y, n (ready in 0.5s)"),)
        self._keys.update(hint_line(self.app, hints, max(4, self.size.width - SIDES)))

    def on_resize(self) -> None:
        """Adapt the key hints to the width."""
        self.show_keys()

    def no_answer(self) -> bool:
        """Return False: the mode is not changed."""
        return False

    def on_key(self, event: events.Key) -> None:
        """Confirm with `y` and refuse with `n` after the quiet time; pass other letters to the prompt."""
        may_answer = self.quiet.accepts(event)
        if event.key in ("y", "n") and may_answer:
            self.finish(event.key == "y")
        elif event.is_printable and event.character:
            self._pass_on(event.character)
        else:
            return
        event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Pass pasted text to the prompt."""
        event.stop()
        self._pass_on(event.text)

    def _pass_on(self, text: str) -> None:
        self._typed(text)
        self.quiet.restart()
        self.show_keys()

    def action_refuse(self) -> None:
        """Close without changing the mode."""
        self.finish(False)
