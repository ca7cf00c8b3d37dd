"""The fields for an API key: the masked key, and where it is saved."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from workbench.llm.key_store import Storage

_LONGEST: Final = 10_000
_MOST_DOTS: Final = 24
_SHORTEST_TAIL: Final = 12
"""A key shorter than this shows none of its characters."""


class KeyField(Widget, can_focus=True):
    """Takes a key typed or pasted; shows only its last four characters, and offers nothing to copy."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("backspace", "delete", "Delete", show=False, id="key-field.delete"),
        Binding("enter", "submit", "Submit", show=False, id="key-field.submit"),
        Binding("ctrl+u", "clear", "Clear", show=False, id="key-field.clear"),
    ]

    class Changed(Message):
        """Posted when the key has changed; `is_pasted` if all of it came in one paste."""

        def __init__(self, is_pasted: bool) -> None:
            super().__init__()
            self.is_pasted = is_pasted

    class Submitted(Message):
        """Posted when the user has pressed enter."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._key = ""
        self._is_rejected = False
        self._placeholder = ""

    @property
    def key(self) -> str:
        """The key as it was entered."""
        return self._key

    def start(self, placeholder: str) -> None:
        """Empty the field; the placeholder says which API key is used if none is entered."""
        self._key, self._placeholder, self._is_rejected = "", placeholder, False
        self.refresh()

    def reject(self) -> None:
        """Keep the rejected key visible; the next text that is typed or pasted replaces it."""
        self._is_rejected = True

    def render(self) -> Content:
        """Return dots and the last four characters, or the placeholder."""
        cursor = Content.styled(" ", "reverse") if self.has_focus else Content("")
        if not self._key:
            return cursor + Content.styled(self._placeholder, "$dim")
        tail = self._key[-4:] if len(self._key) >= _SHORTEST_TAIL else ""
        most = max(1, min(_MOST_DOTS, self.size.width - len(tail) - 1))
        return Content("•" * min(most, len(self._key) - len(tail)) + tail) + cursor

    def on_key(self, event: events.Key) -> None:
        """Add a character."""
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self._enter(event.character)
            self.post_message(self.Changed(False))

    def on_paste(self, event: events.Paste) -> None:
        """Add a pasted key, without the spaces and line ends around it."""
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Add a pasted key."""
        was_empty = self._is_rejected or not self._key
        self._enter("".join(text.split()))
        self.post_message(self.Changed(was_empty))

    def action_submit(self) -> None:
        """Submit the form."""
        self.post_message(self.Submitted())

    def action_delete(self) -> None:
        """Delete the last character, or all of a rejected key."""
        self._key = "" if self._is_rejected else self._key[:-1]
        self._is_rejected = False
        self.refresh()

    def action_clear(self) -> None:
        """Delete the whole key."""
        self._key, self._is_rejected = "", False
        self.refresh()

    def _enter(self, text: str) -> None:
        self._key = ("" if self._is_rejected else self._key) + "".join(filter(str.isprintable, text))
        self._key, self._is_rejected = self._key[:_LONGEST], False
        self.refresh()


class StorageField(Widget, can_focus=True):
    """Chooses between the system keyring, where there is one, and a private file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Submit", show=False, id="storage-field.submit"),
        Binding("left,right,space", "switch", "Change", show=False, id="storage-field.switch"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.storage: Storage = "file"
        self.can_focus = False

    def offer_keyring(self) -> None:
        """Offer the keyring, and choose it."""
        self.storage, self.can_focus = "keyring", True
        self.refresh(layout=True)

    def render(self) -> Content:
        """Return the choice."""
        if not self.can_focus:
            return Content.styled("save in: file, 0600", "$dim")
        in_keyring = self.storage == "keyring"
        style = "bold" if self.has_focus else "$dim"
        return Content.styled(
            f"save in: ({'•' if in_keyring else ' '}) system keyring  ({' ' if in_keyring else '•'}) file, 0600", style
        )

    def action_submit(self) -> None:
        """Submit the form."""
        self.post_message(KeyField.Submitted())

    def on_click(self) -> None:
        """Change the choice."""
        self.action_switch()

    def action_switch(self) -> None:
        """Choose the other one."""
        if self.can_focus:
            self.storage = "file" if self.storage == "keyring" else "keyring"
            self.refresh()
