"""Handles text that the user types or pastes while a form opens on its own, because it was meant for the prompt."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from workbench.secrets.pasted_keys import split_key


class FormEarlyInput:
    """Passes letters typed early on to the prompt, and closes the form; an API key that is pasted early stays in the
    form.
    """

    def __init__(
        self, typed: Callable[[str], None] | None, close: Callable[[], object], paste_key: Callable[[str], None]
    ) -> None:
        """`typed` inserts text into the prompt; without it, no input is early."""
        self._typed = typed
        self._close = close
        self._paste_key = paste_key

    @property
    def is_awaited(self) -> bool:
        """Whether input still counts as early."""
        return self._typed is not None

    def end(self) -> None:
        """Let the form keep all further input."""
        self._typed = None

    def key(self, event: events.Key) -> None:
        """Pass on a letter; other keys do nothing."""
        event.stop()
        if event.is_printable and event.character:
            self._pass_on(event.character)

    def paste(self, text: str) -> None:
        """Use a pasted key; pass on any other text."""
        key, _ = split_key(text)
        if key:
            self.end()
            self._paste_key(key)
        else:
            self._pass_on(text)

    def _pass_on(self, text: str) -> None:
        typed, self._typed = self._typed, None
        self._close()
        if typed is not None:
            typed(text)
