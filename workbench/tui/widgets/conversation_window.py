"""What of the conversation is mounted: a window of its items (see `tui.window`); base of the conversation.

Older parts load when a person scrolls to the top, and the parts around an item when it is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.widget import Widget

from workbench.tools.manifest import kind_of
from workbench.tui.messages import EarlierWanted
from workbench.tui.widgets.following_scroll import FollowingScroll
from workbench.tui.widgets.unseen import far_above, is_held
from workbench.view.state import ActionItem, AgentItem, Changed, Item, NoticeItem, SessionState, UserItem
from workbench.view.window import CHUNK, MAX_ITEMS, Window, least_rows, nodes_of

if TYPE_CHECKING:  # Markdown is not needed before something was said
    from workbench.tui.widgets.card import ActionCard
    from workbench.tui.widgets.texts import AgentText, FinalText, NoticeText, OpenNotice, UserText

_LOOKS: Final = 6
"""How often the place of an item is looked at again while its neighbours are laid out."""

_NEAR: Final = 4 * CHUNK
"""So many items before the mounted ones, and those before them are read."""

View: TypeAlias = "ActionCard | UserText | NoticeText | OpenNotice | AgentText | FinalText"


class ConversationWindow(FollowingScroll):
    """Everything said and done, newest last; follows until scrolled up."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state = SessionState()
        self._window = Window(
            lambda at: nodes_of(self._state.items[at]), rows=lambda at: least_rows(self._state.items[at])
        )
        self._views: dict[int, View] = {}
        self._live: AgentText | None = None
        self._is_loading = False
        self._marked: Item | None = None

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what changed; `None` means everything."""
        self._state = state
        self._window.max_items = max(MAX_ITEMS, self.size.height)
        self._window.height = 0 if is_held(self) else self.size.height
        if changed is None:
            self._show_all()
            return
        if changed.gone:
            self._window.shift(-len(changed.gone))
        if changed.earlier:
            self._put_before(len(changed.earlier))
        if changed.added:
            self._settle(changed.added)
            step = self._window.append(len(state.items), follows=self.follows and not self._is_loading)
            self._apply(step.mount, step.unmount, before=self._live)
            self._trim()
        for item in changed.updated:
            if (view := self._views.get(id(item))) is not None:
                view.show_item()
        if changed.live:
            self._show_live()

    @property
    def is_behind(self) -> bool:
        """Whether something is not mounted or removed yet; what comes meanwhile is better shown together."""
        if len(self.children) > len(self._views) + 1:
            return True
        return any(not each.is_mounted for each in self.walk_children(Widget))

    def action_scroll_home(self) -> None:
        """To the top of what is there, and further back with each press."""
        if self.scroll_y <= 0:
            self.top_reached()
        super().action_scroll_home()

    def top_reached(self) -> None:
        """Load older parts; before what was read ends, more of it is asked for."""
        if self._window.first > 0:
            self._load(older=True)
        if self._window.first <= _NEAR and self._state.first_seq > 1:
            self.post_message(EarlierWanted())

    def _put_before(self, count: int) -> None:
        """Items were put before the first one; who waits at the top gets some of them."""
        waits = self._window.first == 0 and self.scroll_y <= 0 and not self.follows
        self._window.shift(count)
        if waits:
            self._load(older=True)

    def end_reached(self) -> None:
        """Load what came after the mounted part."""
        if self._window.last < len(self._state.items):
            self._load(older=False)

    def action_scroll_end(self) -> None:
        """To the very end, and follow it."""
        if self._window.last < len(self._state.items):
            self._show_all()
        super().action_scroll_end()

    def reveal(self, item: Item, *, takes_keys: bool = True) -> None:
        """Show an item where it stands, and stop following."""
        index = next((index for index, each in enumerate(self._state.items) if each is item), None)
        if index is None:
            return
        if id(item) not in self._views:
            self._mount(self._window.around(index, len(self._state.items)))
        view = self._views[id(item)]
        if takes_keys:
            (view if view.can_focus else self).focus(scroll_visible=False)
        self.call_after_refresh(_look_at, self, view, _LOOKS)

    def mark(self, item: Item | None) -> None:
        """This item is what was looked for; None: nothing is."""
        before, self._marked = self._marked, item
        for each in (before, item):
            if each is not None and (view := self._views.get(id(each))) is not None:
                view.set_class(each is item, "-found")

    def first_in_sight(self) -> Item | None:
        """The item at the top of what is shown."""
        views = self._views.values()
        return next((view.item for view in views if view.virtual_region.bottom > self.scroll_y), None)

    def _show_all(self) -> None:
        """The last screenful, which stands soonest; what is before it when the person goes there."""
        total = len(self._state.items)
        most = max(CHUNK, self.app.size.height // 2) if total > MAX_ITEMS // 2 else None
        self._mount(self._window.reset(total, most))
        self.anchor()
        self.call_after_refresh(self._fill)

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:
        """What is mounted may become smaller than the panel, by folding or in a larger terminal: more is needed."""
        result = super().arrange(size, optimal)
        if self.fits and self._window.first > 0:
            self.call_after_refresh(self._fill)
        return result

    def _fill(self) -> None:
        """Small items, such as folded cards, may leave a part of the panel empty."""
        if self._is_loading or not self.max_scroll_y <= 0 < self._window.first or not self.size.height:
            return
        mount = self._window.fill().mount
        if mount:
            self._apply(mount, range(0), before=0 if self.children else None)
            self.call_after_refresh(self._fill)

    def _mount(self, run: range) -> None:
        self._views = {}
        self._live = None
        self.remove_children()
        with self.app.batch_update():
            self.mount_all([self._view(index) for index in run])
        self._show_live()

    def _show_live(self) -> None:
        item = self._state.live
        if self._live is not None and self._live.item is not item:
            self._live.remove()  # it ended with nothing to keep
            self._live = None
        if item is None or self._window.last < len(self._state.items):
            return
        if self._live is None:
            from workbench.tui.widgets.texts import AgentText

            self._live = AgentText(item)
            self.mount(self._live)
        else:
            self._live.show_item()

    def _settle(self, added: Iterable[Item]) -> None:
        """The stored answer takes over the widget that streamed."""
        for item in added:
            live = self._live
            if live and isinstance(item, AgentItem) and live.is_mounted and item.text.startswith(live.item.text[:40]):
                live.settle(item)
                self._views[id(item)], self._live = live, None

    def _apply(self, mount: range, unmount: range, *, before: Widget | int | None) -> None:
        fresh = [self._view(index) for index in mount if id(self._state.items[index]) not in self._views]
        if fresh:
            self.mount_all(fresh, before=before)
        for index in unmount:
            if (view := self._views.pop(id(self._state.items[index]), None)) is not None:
                view.remove()

    def _trim(self) -> None:
        """Unmount what streamed and is not in the window, and what is screens above the end that is followed."""
        if self._is_loading:
            return
        items, window = self._state.items, self._window
        for each in self._views.keys() - {id(item) for item in items[window.first : window.last]}:
            self._views.pop(each).remove()
        if self.follows and not is_held(self) and window.last == len(items):
            views = [self._views[id(item)] for item in items[window.first :]]
            self._apply(range(0), window.drop(far_above(self, views)), before=None)

    def _load(self, *, older: bool) -> None:
        if not self._is_loading:
            self._is_loading = True
            self.run_worker(self._load_chunk(older=older), group="window")

    async def _load_chunk(self, *, older: bool) -> None:
        """Mount a chunk and keep what the person looks at where it is."""
        try:
            step = self._window.older() if older else self._window.newer(len(self._state.items))
            items = self._state.items
            seen = self._views.get(id(items[step.mount.stop if older else step.mount.start - 1]))
            offset = seen.virtual_region.y - self.scroll_y if seen else 0
            fresh = [self._view(index) for index in step.mount]
            gone = [items[index] for index in step.unmount]  # while it waits, more may come before them
            async with self.batch():
                await self.mount_all(fresh, before=0 if older and self.children else None)
                for item in gone:
                    if (view := self._views.pop(id(item), None)) is not None:
                        await view.remove()
        finally:
            self._is_loading = False
        if seen is not None:
            self.call_after_refresh(_keep_at, self, seen, offset)
        self._show_live()

    def _view(self, index: int) -> View:
        item = self._state.items[index]
        view = self._views.get(id(item))
        if view is None:
            view = self._views[id(item)] = _view_of(item, self._state.workspace)
            view.set_class(item is self._marked, "-found")
        return view


def _look_at(panel: FollowingScroll, view: Widget, again: int, before: int = -1) -> None:
    """Scroll to it; what is mounted around it may still grow."""
    if not view.is_attached:
        return
    y = view.virtual_region.y
    if y != before:
        panel.release_anchor()
        panel.scroll_to(y=max(0, y - 1), animate=False, immediate=True, force=True)
    if again:
        panel.set_timer(1 / 20, partial(_look_at, panel, view, again - 1, y))


def _keep_at(panel: Widget, seen: Widget, offset: float) -> None:
    if seen.is_attached:
        panel.scroll_to(y=seen.virtual_region.y - offset, animate=False, immediate=True, force=True)


def _view_of(item: Item, workspace: str) -> View:
    from workbench.tui.widgets.card import ActionCard
    from workbench.tui.widgets.texts import AgentText, FinalText, NoticeText, OpenNotice, UserText

    if isinstance(item, UserItem):
        return UserText(item)
    if isinstance(item, AgentItem):
        return AgentText(item)
    if isinstance(item, NoticeItem):
        return OpenNotice(item) if item.detail else NoticeText(item)
    if isinstance(item, ActionItem) and _is_last_word(item):
        return FinalText(item)
    return ActionCard(item, workspace)


def _is_last_word(item: ActionItem) -> bool:
    """Whether it is the agent's own final message, which is shown as its words."""
    is_own = not item.error and not item.agent
    return kind_of(item.tool) == "final" and is_own and bool(item.arguments.get("message"))
