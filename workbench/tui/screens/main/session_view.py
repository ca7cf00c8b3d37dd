"""The body of the main screen: the conversation and the side panels of one session, and their layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from workbench.client.client import Client, Past
from workbench.tui.focus import focus_now
from workbench.tui.messages import (
    EarlierRequested,
    ItemRequested,
    RowRequested,
    StepRequested,
    ViewChanged,
)
from workbench.tui.screens.main.borders import PanelBorders
from workbench.tui.screens.main.event_feed import ALL_EARLIER, SessionFeed
from workbench.tui.screens.main.search import SessionSearch
from workbench.tui.widgets.changes_panel import ChangesPanel
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side_panels import PANELS, PanelTabs, SidePanels, panel_titles
from workbench.tui.widgets.time_bar import TimeNote
from workbench.tui.widgets.timeline import Timeline
from workbench.tui.widgets.welcome import Welcome
from workbench.view.app_session import AppSession
from workbench.view.state import Changed, SessionState

PANEL_KEYS: Final[tuple[BindingType, ...]] = (
    Binding("f2", "panel('timeline')", "Timeline", id="timeline", priority=True),
    Binding("f3", "panel('tasks')", "Plan", id="tasks", priority=True),
    Binding("f4", "panel('changes')", "Changes", id="changes", priority=True),
    Binding("f6", "zoom", "Maximize a panel", id="zoom", priority=True),
    Binding("alt+left", "resize(4, 0)", "Wider panels", id="wider", priority=True, show=False),
    Binding("alt+right", "resize(-4, 0)", "Narrower panels", id="narrower", priority=True, show=False),
    Binding("alt+up", "resize(0, 2)", "Higher panel", id="higher", priority=True, show=False),
    Binding("alt+down", "resize(0, -2)", "Lower panel", id="lower", priority=True, show=False),
    Binding("ctrl+home", "ends(False)", "Start of the conversation", id="scroll-start", priority=True, show=False),
    Binding("ctrl+end", "ends(True)", "End of the conversation", id="scroll-end", priority=True, show=False),
    Binding("ctrl+up", "scroll(-3)", "Conversation up", id="scroll-up", priority=True, show=False),
    Binding("ctrl+down", "scroll(3)", "Conversation down", id="scroll-down", priority=True, show=False),
)
"""Bindings of the main screen for focusing, resizing and scrolling its panels."""


class SessionView(Horizontal):
    """The conversation, the side panels and the search; follows the session once `start` is called.

    On a narrow screen the side panels are folded into tabs, and one of them can be unfolded. A zoomed panel takes the
    whole width; the screen then has the class `-zoomed`, and `-zoomed-side` if it is a side panel.
    """

    def __init__(
        self,
        client: Client,
        state: SessionState,
        session: AppSession,
        show: Callable[[Changed | None], None],
        show_hint: Callable[[Content], None],
        *,
        composer: Callable[[], Composer],
        empty: TimeNote | None = None,
    ) -> None:
        """`show` repaints the screen, this view included.

        `show_hint` shows what is below the visible part of the conversation. `composer` returns what takes the text
        that is typed here. `empty` is shown in place of an empty conversation; by default, it says how to start.
        """
        super().__init__(id="body")
        self.conversation = Conversation(show_hint, id="conversation", classes="panel")
        self.side = SidePanels()
        self.talk = Vertical(id="talk")
        self._empty = empty or Welcome(state, session.client is not None, session.workspace)
        self._composer = composer
        self._borders = PanelBorders(self.side)
        self._state = state
        self._feed = SessionFeed(
            client,
            state,
            show,
            start_worker=self.run_worker,
            is_behind=lambda: self.conversation.is_attached and self.conversation.is_behind,
            can_drop=self._can_drop,
        )
        self.search = SessionSearch(state, self.conversation, self.side, self._feed.load_until)
        self._show = show

    def compose(self) -> ComposeResult:
        """Yield the conversation, on the left, and the side panels, on the right."""
        with self.talk:
            yield self._empty
            yield self.conversation
        yield self.side

    def show(self, changed: Changed | None, pending: Sequence[str]) -> None:
        """Repaint what has changed; `pending` are messages that are not in the log yet."""
        if changed is not None and changed.is_only_live:
            self._show_live(changed)
            return
        self.show_pending(pending)
        self.conversation.display = bool(self._state.items or self._state.live)
        self.conversation.show(self._state, changed)
        self.side.show(self._state, changed)
        self.side.entitle(panel_titles(self._state, self.side.query_one(Timeline)))
        self._feed.trim()

    def _show_live(self, changed: Changed) -> None:
        """Repaint only the streaming answer, which changes many times a second."""
        if not self.conversation.display:
            self._empty.show((), is_needed=False)
            self.conversation.display = True
        self.conversation.show(self._state, changed)

    def show_pending(self, pending: Sequence[str]) -> None:
        """Show the welcome text or the pending messages while the conversation is empty."""
        self._empty.show(pending, is_needed=not (self._state.items or self._state.live))

    def start(self) -> None:
        """Begin to follow the session."""
        self._feed.start()

    def replace(self, state: SessionState, past: Past | None) -> None:
        """Show another state of the session, whose older parts are read from `past`, from its end."""
        if not self.conversation.follows:
            self.conversation.action_scroll_end()
        self.side.query_one(Timeline).action_last()
        self._feed.replace(state, past)

    async def begin_search(self) -> None:
        """Show the input line of the search and focus it."""
        if self.screen.has_class("-zoomed-side"):
            self.zoom()
        if not self.search.is_attached:
            await self.talk.mount(self.search)
        self.search.begin()

    def open_panel(self, name: str) -> None:
        """Focus a panel; on a narrow screen unfold it, or fold it if it is unfolded already."""
        is_here = self.screen.has_class("-narrow") and self.side.opened == name
        self.side.open("" if is_here else name)
        if is_here:
            focus_now(next(iter(self.screen.query(Prompt)), self.conversation))
        else:
            focus_now(self.side.query_one(f"#{name}", Widget), self.side)

    def zoom(self) -> None:
        """Zoom the focused panel, or else the conversation, to the whole width; if a panel is zoomed, undo that."""
        zoomed, focused = not self.screen.has_class("-zoomed"), self.screen.focused
        panel = focused if focused is not None and focused.id in PANELS else self.conversation
        for each in self.query(".panel"):
            each.set_class(zoomed and each is panel, "-zoomed")
        self.screen.set_class(zoomed, "-zoomed")
        self.screen.set_class(zoomed and panel.id in PANELS, "-zoomed-side")

    def move_border(self, wider: int, higher: int) -> None:
        """Make the side panels wider by some columns, or the focused panel higher by some rows."""
        self._borders.move(wider, higher)

    def scroll_conversation(self, lines: int, pages: int = 0) -> None:
        """Scroll by lines, or by screenfuls that overlap by two lines; this also works behind a modal screen."""
        screenful = max(1, self.conversation.size.height - 2)
        self.conversation.scroll_relative(y=lines + pages * screenful, animate=False)

    def scroll_to_end(self, *, last: bool) -> None:
        """Go to the end of the conversation and follow it or, if not `last`, load all of it and go to its start."""
        if last:
            self.workers.cancel_group(self, ALL_EARLIER)
            self.conversation.action_scroll_end()
        else:
            self.conversation.action_scroll_home()

    @on(RowRequested)
    def on_row_requested(self, message: RowRequested) -> None:
        """Focus the row of an item on the timeline, which is unfolded if it is folded."""
        self._leave_zoom("timeline")
        if self.screen.has_class("-narrow") and self.side.opened != "timeline":
            self.side.open("timeline")
        self.call_after_refresh(self.side.reveal, message.item)

    @on(StepRequested)
    def on_step_requested(self, message: StepRequested) -> None:
        """Go to the timeline row of an action, loading it first if needed."""
        self.run_worker(self._show_step(message.number), group="step", exclusive=True)

    async def _show_step(self, number: int) -> None:
        await self._feed.load_until(lambda: self._state.actions_before < number)
        item = next((item for item in self._state.actions.values() if item.number == number), None)
        if item is not None:
            self.post_message(RowRequested(item))

    async def go_to_action(self, action_id: str, seq: int) -> None:
        """Go to an action in the conversation, loading it first if needed; event `seq` follows its proposal."""
        await self._feed.load_until(lambda: action_id in self._state.actions)
        earlier = [item for item in self._state.items if item.seq <= seq]
        item = self._state.actions.get(action_id) or (earlier[-1] if earlier else None)
        if item is not None:
            self.post_message(ItemRequested(item))

    @on(ItemRequested)
    def on_item_requested(self, message: ItemRequested) -> None:
        """Go to an item in the conversation."""
        self._leave_zoom("conversation")
        self.call_after_refresh(self.conversation.reveal, message.item)

    @on(EarlierRequested)
    def on_earlier_requested(self, message: EarlierRequested) -> None:
        """Load the part of the session before the first loaded event, or all of it."""
        self._feed.load(everything=message.all_of_it, then=message.then)

    @on(ViewChanged)
    def on_view_changed(self, message: ViewChanged) -> None:
        """Repaint what the user has folded or filtered, and the headings with their counts."""
        self._show(message.changed)

    @on(ChangesPanel.ScopeChanged)
    def on_scope_changed(self) -> None:
        """Toggle the changes panel between this turn and the whole session."""
        self._state.only_turn = not self._state.only_turn
        self._show(Changed(changes=True))

    @on(PanelTabs.Chosen)
    def on_tab_chosen(self, message: PanelTabs.Chosen) -> None:
        """Unfold the panel whose tab was clicked, or fold it if it is unfolded."""
        self.open_panel(message.panel)

    def on_key(self, event: events.Key) -> None:
        """Type a character that is no key of the focused panel into the prompt."""
        active = self.screen.active_bindings.get(event.key)
        is_key = active is not None and active.enabled
        if active is not None and active.binding.action.startswith("match("):
            is_key = bool(self.search.words)
        if event.is_printable and event.character and not is_key:
            event.stop()
            self._composer().type_in(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Paste into the prompt what was pasted into a panel."""
        event.stop()
        self._composer().paste(event.text)

    def on_resize(self) -> None:
        """Reset panel sizes that were chosen at another screen size."""
        self._borders.reset_after_resize()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Start dragging the border under the mouse, if there is one."""
        self._borders.grab(event.screen_x, event.screen_y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Move the border that is being dragged."""
        if self._borders.is_dragged:
            self.screen.clear_selection()
            self._borders.drag(event.screen_x, event.screen_y)

    def on_mouse_up(self) -> None:
        """Stop dragging the border."""
        if self._borders.is_dragged:
            self._borders.release()
            self.screen.clear_selection()

    def _can_drop(self, count: int) -> bool:
        """Return whether the first `count` items are out of sight and neither a filter nor a search is active."""
        timeline = self.side.query_one(Timeline)
        is_followed = self.conversation.can_lose(count) and timeline.is_at_end
        return is_followed and not timeline.rows.is_filtered and not self.search.words

    def _leave_zoom(self, name: str) -> None:
        """End the zoom unless the panel of this name is the zoomed one."""
        if any(panel.id != name for panel in self.query(".panel.-zoomed")):
            self.zoom()
