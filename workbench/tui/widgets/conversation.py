"""The conversation: messages, streaming answers, action cards and notices. The main screen calls `show`."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.timer import Timer
from textual.widget import Widget

from workbench.tui import keystrokes
from workbench.tui.key_names import key_of
from workbench.tui.messages import EarlierRequested, RedoRequested
from workbench.tui.textual_seam.memory import clear_layout_caches
from workbench.tui.widgets.mounted_items import FollowingScroll, MountedItems, drop_unseen_lines
from workbench.tui.widgets.strips import css_beside
from workbench.tui.widgets.ticker import SecondTicker, scroll_hint
from workbench.view.state import ActionItem, Changed, Item, SessionState

_REST: Final = 2.0
"""Seconds after a change or a scroll until items out of sight are dropped."""
_STOPS = "ActionCard, UserText, AgentText, FinalText, MoreText"


class Conversation(FollowingScroll):
    """All messages and actions, newest last; follows the end until the user scrolls up."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "focus_card(1)", "Next card", show=False, id="conversation.next"),
        Binding("k", "focus_card(-1)", "Previous card", show=False, id="conversation.previous"),
        Binding("z", "fold_all", "Fold all cards", show=False, id="conversation.fold-all"),
        Binding("u", "redo", "Undo the rewind", show=False, id="conversation.redo"),
    ]

    def __init__(
        self,
        show_hint: Callable[[Content], None] = lambda hint: None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """`show_hint` shows how to return to the end, and how much arrived there."""
        super().__init__(id=id, classes=classes)
        self._show_hint = show_hint
        self.mounted = MountedItems(self)
        self._ticker = SecondTicker(self, lambda: self.mounted.repaint(self.mounted.state.running.values()))
        self._cleanup: Timer | None = None
        self._unread = 0
        """Number of messages and cards that arrived while the user looked at earlier ones."""
        self.scroll_hint = Content("")
        """How to return to the end, and how much arrived there; empty while it is followed."""

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what has changed, or everything if `changed` is None."""
        self.mounted.show(state, changed)
        self._unread += len(changed.added) if changed is not None else 0
        self._show_scroll_hint()
        self._ticker.run(bool(state.running))
        self._clean_up_later()

    @property
    def is_behind(self) -> bool:
        """Whether widgets are still being mounted or removed; the caller should then collect further changes."""
        return self.mounted.is_pending

    def can_lose(self, count: int) -> bool:
        """Return whether the first `count` items can be dropped: the view is at the end and they are not mounted."""
        return self.follows and not self.mounted.is_loading and self.mounted.window.first > count

    def reveal(self, item: Item, *, takes_keys: bool = True) -> None:
        """Scroll to an item and stop following the end; with `takes_keys`, focus the item."""
        view = self.mounted.reveal(item)
        if view is not None and takes_keys:
            (view if view.can_focus else self).focus(scroll_visible=False)

    def mark(self, item: Item | None) -> None:
        """Mark this item, and no other, as the current match of the search."""
        self.mounted.mark(item)

    def first_in_sight(self) -> Item | None:
        """Return the topmost visible item."""
        views = self.mounted.views.values()
        return next((view.item for view in views if view.virtual_region.bottom > self.scroll_y), None)

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arrange; if the mounted items became smaller than the panel, by folding or a resize, mount older ones."""
        result = super().arrange(size, optimal)
        if not self.is_scrollable_now and self.mounted.window.first > 0:
            self.call_after_refresh(self.mounted.fill)
        return result

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Load more items if an end is reached; show whether the end is followed, because that may have changed."""
        super().watch_scroll_y(old_value, new_value)
        if self.is_mounted and self.max_scroll_y > 0:
            if new_value <= 0 < old_value:
                self._load_older()
            elif old_value < new_value >= self.max_scroll_y:
                self.mounted.load(older=False)
        self._show_scroll_hint()
        self._clean_up_later()

    def action_scroll_home(self) -> None:
        """Ask for the whole session, and go to its start."""
        self.post_message(EarlierRequested(all_of_it=True, then=self.show_start))

    def show_start(self) -> None:
        """Go to the first loaded item, and stop following the end."""
        self.release_anchor()
        self.mounted.show_start()
        self.scroll_home(animate=False)

    def action_scroll_end(self) -> None:
        """Scroll to the very end, and follow it."""
        if not self.mounted.is_at_end:
            self.mounted.show_end()
        super().action_scroll_end()

    def action_focus_card(self, by: int) -> None:
        """Focus the next or previous message or card."""
        stops: list[Widget] = [widget for widget in self.query(_STOPS) if widget.display]
        if not stops:
            return
        focused = self.screen.focused
        at = stops.index(focused) + by if focused in stops else (0 if by > 0 else len(stops) - 1)
        stops[max(0, min(len(stops) - 1, at))].focus()

    def action_fold_all(self) -> None:
        """Fold every card to one line, or unfold all if every card is folded."""
        actions = [item for item in self.mounted.state.items if isinstance(item, ActionItem)]
        folded = any(not item.folded for item in actions)
        for item in actions:
            item.folded = folded
        for view in self.mounted.views.values():
            view.show_item()

    def action_redo(self) -> None:
        """Undo the last rewind."""
        self.post_message(RedoRequested())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable undoing a rewind if there is none."""
        return self.mounted.state.was_rewound if action == "redo" else super().check_action(action, parameters)

    def _load_older(self) -> None:
        """Load older items; when few of the items that were read remain, ask for more of the session."""
        self.mounted.load(older=True)
        if self.mounted.wants_earlier:
            self.post_message(EarlierRequested())

    def _show_scroll_hint(self) -> None:
        words = ""
        if self.follows:
            self._unread = 0
        else:
            key = key_of(self.app, "scroll-end", "ctrl+end")
            words = f"{self._unread} new · {key}" if self._unread else f"{key} Jump to latest"
        hint = scroll_hint(words, "screen.ends(True)")
        if not hint.is_same(self.scroll_hint):
            self.scroll_hint = hint
            self._show_hint(hint)

    def _clean_up_later(self) -> None:
        if self._cleanup is None and self.is_mounted:
            self._cleanup = self.set_timer(_REST, self._clean_up)

    def _clean_up(self) -> None:
        """Drop items and lines out of sight, or wait while the user is typing."""
        self._cleanup = None
        if keystrokes.is_typing():
            self._clean_up_later()
        else:
            drop_unseen_lines(self)
            clear_layout_caches()
            self.mounted.trim()
