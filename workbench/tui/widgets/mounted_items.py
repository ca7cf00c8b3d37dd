"""Mounts widgets for a window of consecutive items of the conversation (see `view.conversation_window`), in a scrolling
panel.

Older items are mounted when the user scrolls to the top, and the items around a match when it is revealed. Items out of
sight cost little: their painted lines are dropped soon. Their widgets are unmounted while the panel follows its end,
once they are several screens above it. Each line that Textual caches takes about 4 kB, each widget about 50 kB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.widget import Widget

from workbench.tools.manifest import kind_of
from workbench.tui.textual_seam.layout import SingleLayoutPass, anchor_when_scrollable, is_anchor_released
from workbench.tui.textual_seam.memory import drop_painted_lines
from workbench.tui.textual_seam.screen import widgets_in_sight
from workbench.view.conversation_window import CHUNK, MAX_ITEMS, Window, WindowStep, least_rows, mounted_rows, nodes_of
from workbench.view.read_groups import is_hidden, line_item_of
from workbench.view.state import ActionItem, AgentItem, Changed, Item, NoticeItem, SessionState, UserItem

if TYPE_CHECKING:  # Markdown is not needed before the first message
    from workbench.tui.widgets.card import ActionCard
    from workbench.tui.widgets.conversation_messages import AgentText, FinalText, NoticeText, OpenNotice, UserText

_RETRIES: Final = 6
"""Number of times to scroll again to a revealed item while its neighbors are laid out."""

_FEW: Final = 3
"""Older items that are mounted at once after some were removed at the end, as in the time view."""
_NEAR: Final = 4 * CHUNK
"""Earlier parts of the session are read once this many items or fewer remain above the mounted ones."""

ItemView: TypeAlias = "ActionCard | UserText | NoticeText | OpenNotice | AgentText | FinalText"


class FollowingScroll(VerticalScroll, SingleLayoutPass):
    """A container that stays at its end until the user scrolls up; the End key follows the end again."""

    is_scrollable_now = False
    """Whether there was something to scroll in the last layout."""

    def on_mount(self) -> None:
        """Begin at the end."""
        self.anchor()

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """Arrange; content that fits begins at the top."""
        result = super().arrange(size, optimal)
        hidden_rows = result.spatial_map.total_region.bottom - self.container_size.height
        self.is_scrollable_now = hidden_rows > 0
        anchor_when_scrollable(self, is_scrollable=self.is_scrollable_now)
        # Textual moves the bar of an anchored panel without painting it.
        if self.show_vertical_scrollbar and self.follows and self.vertical_scrollbar.position != hidden_rows:
            self.vertical_scrollbar.refresh()
        return result

    @property
    def follows(self) -> bool:
        """Whether the end is kept in sight."""
        return not is_anchor_released(self)


class MountedItems:
    """Mounts, updates and unmounts the widgets of the items in the window; the panel calls `load` at its ends."""

    def __init__(self, panel: FollowingScroll) -> None:
        self._panel = panel
        self.state = SessionState()
        self.window = Window(lambda at: nodes_of(self._items[at]), rows=partial(_rows_at, self))
        self.views: dict[int, ItemView] = {}
        """Widgets by the `id()` of their item, without the streaming answer's widget."""
        self.is_loading = False
        self._hides_waiting = False
        self._live: AgentText | None = None
        self._marked: Item | None = None

    @property
    def _items(self) -> Sequence[Item]:
        return self.state.items

    @property
    def is_pending(self) -> bool:
        """Whether widgets are still being mounted or removed; the caller should then collect further changes."""
        if len(self._panel.children) > len(self.views) + 1:
            return True
        return any(not each.is_mounted for each in self._panel.walk_children(Widget))

    @property
    def is_at_end(self) -> bool:
        """Whether the last item is mounted."""
        return self.window.last >= len(self._items)

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what has changed, or everything if `changed` is None."""
        self.state = state
        height = self._panel.app.size.height  # the height of the panel changes with each docked question
        self.window.max_items = max(MAX_ITEMS, height)
        self.window.height = 0 if is_in_use(self._panel) else height
        if changed is None or (changed.removed and self.is_loading):
            self.show_end()
            return
        if changed.gone:
            self.window.shift(-len(changed.gone))
        if changed.earlier:
            self._prepend(len(changed.earlier))
        if changed.removed:
            self.window.cut(len(state.items) - len(changed.added))
            self._panel.call_after_refresh(self.fill, _FEW)
        if changed.added:
            self._finish_stream(changed.added)
            follows = self._panel.follows and not self.is_loading
            self._apply(self.window.append(len(state.items), follows=follows), before=self._live)
        if changed.added or changed.removed:
            self.trim()
        self.repaint([*changed.updated, *filter(is_hidden, changed.added)])
        if changed.live:
            self._show_live()

    def repaint(self, items: Iterable[Item]) -> None:
        """Repaint these items, except those outside the window; mount and unmount those that appear and disappear."""
        for item in items:
            self.refresh_group(item.reads.items if isinstance(item, ActionItem) and item.reads else [item])
            if (view := self.views.get(id(line_item_of(item)))) is not None:
                self._show_or_hide(view)
                view.show_item()

    def hide_waiting(self, hides: bool) -> None:
        """Hide the cards of waiting actions, because a question shows these actions, or show them again."""
        if hides is not self._hides_waiting:
            self._hides_waiting = hides
            for view in self.views.values():
                self._show_or_hide(view)

    def _show_or_hide(self, view: ItemView) -> None:
        is_visible = not (self._hides_waiting and isinstance(view.item, ActionItem) and view.item.phase == "waiting")
        if view.display is not is_visible:
            view.display = is_visible

    def refresh_group(self, group: Sequence[Item]) -> None:
        """Mount the items of a group that are visible now, and unmount those that are hidden now."""
        if all(is_hidden(item) is not (id(item) in self.views) for item in group):
            return
        run = range(self.window.first, self.window.last)
        indexes = [index for index in run if any(self._items[index] is item for item in group)]
        for index in reversed(indexes):
            item = self._items[index]
            if is_hidden(item):
                self._apply(WindowStep(unmount=range(index, index + 1)))
            elif id(item) not in self.views:
                later = (self.views.get(id(self._items[at])) for at in range(index + 1, self.window.last))
                before = next((view for view in later if view is not None), self._live)
                self._apply(WindowStep(mount=range(index, index + 1)), before=before)
        for item in group:
            if (view := self.views.get(id(item))) is not None:
                view.show_item()

    def show_end(self) -> None:
        """Mount the last screenful first, which appears soonest, then older items until the panel is full."""
        total = len(self._items)
        most = max(CHUNK, self._panel.app.size.height // 2) if total > MAX_ITEMS // 2 else None
        self._replace(self.window.reset(total, most))
        self._panel.anchor()
        self._panel.call_after_refresh(self.fill)

    def show_start(self) -> None:
        """Mount the first loaded items, once no other chunk is being mounted."""
        if self.is_loading:
            self._panel.call_after_refresh(self.show_start)
        elif self.window.first > 0:
            self._replace(self.window.around(0, len(self._items)))
            self._panel.scroll_home(animate=False)

    def fill(self, count: int = CHUNK) -> None:
        """Mount older items, `count` at once, while the mounted ones are fewer rows than the terminal has."""
        panel = self._panel
        is_full = panel.max_scroll_y > 0 and panel.virtual_size.height >= panel.app.size.height
        if self.is_loading or is_full or not self.window.first or not panel.size.height:
            return
        mount = self.window.fill(count).mount
        if mount:
            self._apply(WindowStep(mount), before=0 if panel.children else None)
            panel.call_after_refresh(self.fill, count)

    @property
    def wants_earlier(self) -> bool:
        """Whether earlier parts of the session should be read, because few items remain above the mounted ones."""
        return self.window.first <= _NEAR and self.state.first_seq > 1

    def reveal(self, item: Item) -> ItemView | None:
        """Mount an item with its neighbors, scroll to it and return its widget, or None if there is no such item."""
        index = next((index for index, each in enumerate(self._items) if each is item), None)
        if index is None:
            return None
        item = line_item_of(item)
        if id(item) not in self.views:
            self._replace(self.window.around(index, len(self._items)))
        view = self.views.get(id(item))
        if view is None:
            return None
        self._panel.call_after_refresh(_scroll_to_view, self._panel, view, _RETRIES)
        return view

    def mark(self, item: Item | None) -> None:
        """Mark this item, and no other, as the current match of the search."""
        before, self._marked = self._marked, item
        for each in (before, item):
            if each is not None and (view := self.views.get(id(each))) is not None:
                view.set_class(each is item, "-found")

    def trim(self) -> None:
        """Unmount widgets outside the window, and those several screens above the end while it is followed."""
        if self.is_loading:
            return
        mounted = self._items[self.window.first : self.window.last]
        for each in self.views.keys() - {id(item) for item in mounted}:
            self.views.pop(each).remove()
        if self._panel.follows and not is_in_use(self._panel) and self.window.last == len(self._items):
            visible_indexes = [index for index, item in enumerate(mounted) if id(item) in self.views]
            views = [self.views[id(mounted[index])] for index in visible_indexes]
            count = _count_far_above(self._panel, views)
            dropped = visible_indexes[count] if 0 < count < len(visible_indexes) else 0
            self._apply(WindowStep(unmount=self.window.drop(dropped)))

    def load(self, *, older: bool) -> None:
        """Mount the next chunk before or after the mounted items, if there is one."""
        has_more = self.window.first > 0 if older else not self.is_at_end
        if has_more and not self.is_loading:
            self.is_loading = True
            self._panel.run_worker(self._load_chunk(older=older), group="window")

    async def _load_chunk(self, *, older: bool) -> None:
        """Mount a chunk, keeping the visible items in place."""
        panel, items = self._panel, self._items
        try:
            step = self.window.older() if older else self.window.newer(len(items))
            beside = range(step.mount.stop, len(items)) if older else range(step.mount.start - 1, -1, -1)
            views = (self.views.get(id(items[index])) for index in beside)
            anchor = next((view for view in views if view is not None), None)
            offset = anchor.virtual_region.y - panel.scroll_y if anchor else 0
            fresh = [self._view(index) for index in step.mount if not is_hidden(items[index])]
            removed = [items[index] for index in step.unmount]  # indexes shift if earlier items are read before then
            async with panel.batch():
                await panel.mount_all(fresh, before=0 if older and panel.children else None)
                for item in removed:
                    if (view := self.views.pop(id(item), None)) is not None:
                        await view.remove()
        finally:
            self.is_loading = False
        if anchor is not None:
            panel.call_after_refresh(_keep_at, panel, anchor, offset)
        self._show_live()

    def _prepend(self, count: int) -> None:
        """Account for items read before the first one; if the user is waiting at the top, mount some of them."""
        is_waiting = self.window.first == 0 and self._panel.scroll_y <= 0 and not self._panel.follows
        self.window.shift(count)
        if is_waiting:
            self.load(older=True)

    def _replace(self, run: range) -> None:
        """Mount this run of items in place of all others."""
        self.views = {}
        self._live = None
        self._panel.remove_children()
        with self._panel.app.batch_update():
            self._panel.mount_all([self._view(index) for index in run if not is_hidden(self._items[index])])
        self._show_live()

    def _apply(self, step: WindowStep, *, before: Widget | int | None = None) -> None:
        """Mount and unmount the items of a step; hidden items have no widget."""
        fresh = [
            self._view(index)
            for index in step.mount
            if not is_hidden(self._items[index]) and id(self._items[index]) not in self.views
        ]
        if fresh:
            self._panel.mount_all(fresh, before=before)
        for index in step.unmount:
            if (view := self.views.pop(id(self._items[index]), None)) is not None:
                view.remove()

    def _show_live(self) -> None:
        item = self.state.live
        if self._live is not None and self._live.item is not item:
            self._live.remove()  # the stream ended without an answer
            self._live = None
        if item is None or not self.is_at_end:
            return
        if self._live is None:
            from workbench.tui.widgets.conversation_messages import AgentText

            self._live = AgentText(item)
            self._panel.mount(self._live)
        else:
            self._live.show_item()

    def _finish_stream(self, added: Iterable[Item]) -> None:
        """Hand the widget that streamed an answer over to the stored answer."""
        for item in added:
            live = self._live
            if live and isinstance(item, AgentItem) and live.is_mounted and item.text.startswith(live.item.text[:40]):
                live.finish(item)
                self.views[id(item)], self._live = live, None

    def _view(self, index: int) -> ItemView:
        item = self._items[index]
        view = self.views.get(id(item))
        if view is None:
            view = self.views[id(item)] = _make_view(item, self.state.workspace)
            view.set_class(item is self._marked, "-found")
            self._show_or_hide(view)
        return view


def _rows_at(mounted: MountedItems, at: int) -> int:
    """Return how many rows an item takes or, if it has not been laid out, at least takes."""
    item = mounted.state.items[at]
    view = mounted.views.get(id(item))
    return view.size.height if view is not None and view.size.height else least_rows(item)


def is_in_use(panel: Widget) -> bool:
    """Return whether something within the panel is focused or selected, so it must not be removed."""
    focused = panel.screen.focused
    return bool(panel.screen.selections) or (focused is not None and panel in focused.ancestors)


def drop_unseen_lines(panel: Widget) -> None:
    """Drop the painted lines of every widget in the panel that is out of sight."""
    in_sight = widgets_in_sight(panel.screen)
    for widget in panel.walk_children(Widget):
        if widget not in in_sight:
            drop_painted_lines(widget)


def _count_far_above(panel: Widget, views: Sequence[Widget]) -> int:
    """Return how many of the first views are screens above the last one; a view not laid out yet has no rows."""
    rows = mounted_rows(panel.app.size.height)
    for index in range(len(views) - 1, -1, -1):
        rows -= views[index].size.height
        if rows < 0:
            return index
    return 0


def _scroll_to_view(panel: FollowingScroll, view: Widget, retries: int, before: int = -1) -> None:
    """Scroll to a view, and again while the widgets around it are being laid out."""
    if not view.is_attached:
        return
    y = view.virtual_region.y
    if y != before:
        panel.release_anchor()
        panel.scroll_to(y=max(0, y - 1), animate=False, immediate=True, force=True)
    if retries:
        panel.set_timer(1 / 20, partial(_scroll_to_view, panel, view, retries - 1, y))


def _keep_at(panel: Widget, view: Widget, offset: float) -> None:
    if view.is_attached:
        panel.scroll_to(y=view.virtual_region.y - offset, animate=False, immediate=True, force=True)


def _make_view(item: Item, workspace: str) -> ItemView:
    from workbench.tui.widgets.card import ActionCard
    from workbench.tui.widgets.conversation_messages import AgentText, FinalText, NoticeText, OpenNotice, UserText

    if isinstance(item, UserItem):
        return UserText(item)
    if isinstance(item, AgentItem):
        return AgentText(item)
    if isinstance(item, NoticeItem):
        return OpenNotice(item) if item.detail or item.branch else NoticeText(item)
    if isinstance(item, ActionItem) and _is_final_message(item):
        return FinalText(item)
    return ActionCard(item, workspace)


def _is_final_message(item: ActionItem) -> bool:
    """Return whether it is the agent's own final message, which is shown as text."""
    is_own = not item.error and not item.agent
    return kind_of(item.tool) == "final" and is_own and bool(item.arguments.get("message"))
