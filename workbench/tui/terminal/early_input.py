"""Holds keys and pastes that follow a key which opens a screen or moves the focus, until that is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final

from textual import events
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input, TextArea

from workbench.tui import keystrokes
from workbench.tui.textual_seam.screen import binding_owner, own_bindings

_ROUNDS: Final = 2
"""Round trips from the focused widget up to the app: one for the key, one for the messages that its action sent."""
_PATIENCE: Final = 1.0
"""Seconds after which held input is delivered, in case the widget that had the focus is gone."""


class EarlyInput:
    """Holds input while a screen opens or an earlier key is still being handled, and delivers it in order.

    The app passes every event to `receive`, and reports each screen that it opens or closes; `deliver` is the app's own
    handling of an event.
    """

    def __init__(self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._opening: Screen[Any] | None = None
        # Input that may move the focus; set until all its effects are done.
        self._pending: events.Key | events.Paste | None = None
        self._held: tuple[events.Key | events.Paste, ...] = ()

    def hold_until_painted(self, screen: Screen[Any]) -> None:
        """Hold input until this screen, which is opening, has been painted once."""
        self._opening = screen
        screen.call_after_refresh(self._app.call_later, self._release, screen)

    def screen_closed(self) -> None:
        """If a screen closed before it was painted, deliver the input held for it to the screen below."""
        if self._opening not in self._app.screen_stack:
            self._app.call_later(self._release, self._opening)

    async def receive(self, event: events.Event) -> None:
        """Deliver an event, or hold it if it comes too early."""
        if isinstance(event, events.Key):
            keystrokes.note_key()
            if event.key.startswith("alt+"):
                # Textual gives such a key the character of its letter: a field or a question would take it for that.
                event.character = None
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await self._deliver(event)
        elif self._pending is not None or self._is_opening:
            self._held = (*self._held, event)
        else:
            await self._release(self._opening)
            await self._pass_on(event)

    @property
    def _is_opening(self) -> bool:
        return self._opening is not None and self._opening is self._app.screen

    async def _pass_on(self, event: events.Key | events.Paste) -> None:
        """Deliver input to the focused widget; if it may move the focus, hold the input that follows."""
        if self._may_move_focus(event):
            self._pending = event
            await self._deliver(event)
            self._app.set_timer(_PATIENCE, partial(self._finish, event))
            self._wait_behind(event, self._app.focused or self._app.screen, _ROUNDS)
        else:
            await self._deliver(event)

    def _may_move_focus(self, event: events.Key | events.Paste) -> bool:
        """Return whether the input is for a binding that runs later, or for the prompt from a panel.

        The input that follows could overtake it.
        """
        focused = self._app.focused
        is_field = isinstance(focused, Input | TextArea)
        if isinstance(event, events.Paste) or (is_field and event.is_printable):
            return not is_field
        owner = binding_owner(self._app.screen, event.key)
        if owner is None:
            return event.is_printable
        return owner is not focused or not _runs_at_once(focused, event.key)

    def _wait_behind(self, key: events.Key | events.Paste, node: DOMNode, rounds: int) -> None:
        """Wait until a node has handled its queued messages, then continue with its parent."""
        if not node.call_later(self._climb, key, node, rounds):
            self._climb(key, node, rounds)

    def _climb(self, key: events.Key | events.Paste, node: DOMNode, rounds: int) -> None:
        """Wait for the parent; at the top, begin the next round or finish."""
        parent = node.parent
        if parent is not None:
            self._wait_behind(key, parent, rounds)
        elif rounds > 1:
            self._wait_behind(key, self._app.focused or self._app.screen, rounds - 1)
        else:
            self._app.call_later(self._finish, key)

    async def _finish(self, key: events.Key | events.Paste) -> None:
        """Deliver the input held after this key, if the key is still pending."""
        if key is self._pending:
            self._pending = None
            if not self._is_opening:
                await self._release(self._opening)

    async def _release(self, opened: Screen[Any] | None) -> None:
        """Deliver the input held for a screen that is painted or closed; one of the keys may open another screen."""
        if opened is not self._opening:
            return
        self._opening, held, self._held = None, self._held, ()
        for event in held:
            await self.receive(event)


def _runs_at_once(node: DOMNode, key: str) -> bool:
    """Return whether a node itself runs its binding of a key and keeps the focus.

    A disabled action is left to an ancestor, and the up key in an empty prompt may lead to the queued messages.
    """
    actions = [each.action for each in own_bindings(node).get(key, ()) if node.check_action(each.action, ())]
    leads_away = "cursor_up" in actions and isinstance(node, TextArea) and not node.text
    return bool(actions) and not leads_away and getattr(node, "runs_own_bindings", False)
