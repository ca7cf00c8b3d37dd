"""The conversation: messages, streaming answers, action cards and notices. The main screen feeds it `show`."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widget import Widget

from workbench.tui import keystrokes
from workbench.tui.key_names import key_of
from workbench.tui.widgets.conversation_window import ConversationWindow
from workbench.tui.widgets.painting import css_beside
from workbench.tui.widgets.ticker import show_below
from workbench.tui.widgets.unseen import forget_unseen
from workbench.view.state import ActionItem, Changed, SessionState

_REST: Final = 2.0
"""Seconds after something moved until what is out of sight is let go."""
_STOPS = "ActionCard, UserText, AgentText, FinalText, MoreText"


class Conversation(ConversationWindow):
    """Its keys: from one message or card to the next, folding; and the seconds of what runs."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "focus_card(1)", "Next card", show=False, id="conversation.next"),
        Binding("k", "focus_card(-1)", "Previous card", show=False, id="conversation.previous"),
        Binding("z", "fold_all", "Fold all cards", show=False, id="conversation.fold-all"),
    ]

    _timer: Timer | None = None
    _sweep: Timer | None = None
    _new_below = 0
    """Messages and cards that came while the person looked at earlier ones."""

    def on_mount(self) -> None:
        """One timer for all running cards; it sleeps while nothing runs."""
        self._timer = self.set_interval(1.0, self._tick, pause=True)
        self._wake()

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what changed; `None` means everything."""
        super().show(state, changed)
        self._new_below += len(changed.added) if changed is not None else 0
        self._say_below()
        self._wake()
        self._sweep_later()

    def can_lose(self, count: int) -> bool:
        """Whether so many items at the beginning are not wanted: the end is followed."""
        return self.follows and not self._is_loading and self._window.first > count

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Following may have ended, or begun again."""
        super().watch_scroll_y(old_value, new_value)
        self._say_below()
        self._sweep_later()

    def action_focus_card(self, by: int) -> None:
        """The next or previous message or card."""
        stops: list[Widget] = [widget for widget in self.query(_STOPS) if widget.display]
        if not stops:
            return
        focused = self.screen.focused
        at = stops.index(focused) + by if focused in stops else (0 if by > 0 else len(stops) - 1)
        stops[max(0, min(len(stops) - 1, at))].focus()

    def action_fold_all(self) -> None:
        """Every card so far to one line; all of them open again when none was open."""
        actions = [item for item in self._state.items if isinstance(item, ActionItem)]
        fold = any(not item.folded for item in actions)
        for item in actions:
            item.folded = fold
        for view in self._views.values():
            view.show_item()

    def _say_below(self) -> None:
        if self.follows:
            self._new_below = 0
            show_below(self, "", "")
            return
        key = key_of(self.app, "scroll-end", "ctrl+end")
        show_below(self, f"{self._new_below} new · {key}" if self._new_below else f"{key} follows", "screen.ends(True)")

    def _sweep_later(self) -> None:
        if self._sweep is None and self.is_mounted:
            self._sweep = self.set_timer(_REST, self._forget_unseen)

    def _forget_unseen(self) -> None:
        self._sweep = None
        if keystrokes.is_typing():
            self._sweep_later()
        else:
            forget_unseen(self)
            self._trim()

    def _wake(self) -> None:
        if self._timer is not None:
            (self._timer.resume if self._state.running else self._timer.pause)()

    def _tick(self) -> None:
        for item in self._state.running.values():
            if (view := self._views.get(id(item))) is not None:
                view.show_item()
