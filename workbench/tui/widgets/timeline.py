"""The timeline: one row for each action, message and notice that matters. The main screen calls `show`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from workbench.tui.key_names import key_of
from workbench.tui.messages import (
    ActionChosen,
    BranchChosen,
    DiffChosen,
    EarlierRequested,
    ForkRequested,
    ItemRequested,
    RedoRequested,
    RewindRequested,
    TextChosen,
    TimeRequested,
    ViewChanged,
)
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.ticker import SecondTicker, scroll_hint
from workbench.view import clock
from workbench.view.formatting.timeline_rows import has_row, row
from workbench.view.read_groups import is_folded, is_hidden, line_item_of, toggle
from workbench.view.state import ActionItem, Changed, Item, NoticeItem, SessionState
from workbench.view.timeline_filter import Filter
from workbench.view.wrapping import Line, Piece

_FARTHEST: Final = 200
"""The most rows between a sub-agent's action and the others of its call."""


class RowChanges(NamedTuple):
    """The changes to the list of rows that result from a change of the session."""

    shifts: Sequence[int]
    """Numbers of rows added at the beginning, or removed there if negative, one for each step."""
    updated: Sequence[int | None]
    """Indexes of rows to repaint; None means all rows, which may have been replaced."""


class TimelineRows:
    """The items of a session that have a row and match the filter, in order, with their positions."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.filter = Filter()
        self._positions: dict[int, int] = {}
        # Number of rows put before the first one; `_positions` does not count them, so that no row is renumbered.
        self._prepended = 0
        self._was_moved = False
        """Whether the last change moved rows, because a sub-agent's action was inserted."""

    @property
    def is_filtered(self) -> bool:
        """Whether only some rows are shown."""
        return bool(self.filter.text)

    @property
    def line_count(self) -> int:
        """The number of lines: the rows, or one line that says that nothing matches the filter."""
        return len(self.items) or int(self.is_filtered)

    def at(self, index: int) -> Item | None:
        """Return the item of a row, or None if there is no such row."""
        return self.items[index] if index < len(self.items) else None

    def has_diff(self, index: int) -> bool:
        """Return whether the action of a row changes files, or would change some."""
        item = self.at(index)
        return isinstance(item, ActionItem) and bool(item.files or item.preview)

    def position(self, item: Item) -> int | None:
        """Return the index of an item's row, or None if it has none."""
        index = self._positions.get(id(item))
        return None if index is None else index + self._prepended

    def line(self, index: int, width: int, workspace: str) -> Line:
        """Return a row, or the line that says that there are none."""
        if not self.items:
            return [Piece("Nothing fits this filter" if self.is_filtered else "", "dim")]
        return row(self.items[index], width, clock.now(), workspace, is_filtered=self.is_filtered)

    def apply(self, state: SessionState, changed: Changed | None) -> RowChanges:
        """Apply a change of the session, or everything if `changed` is None; return the changes of the rows."""
        had_rows, count = bool(self.items), len(self.items)
        if changed is None or not self._remove_last(changed.removed) or any(map(self._comes_or_goes, changed.updated)):
            self.items, self._positions, self._prepended = [], {}, 0
            self._append(state.items)
            return RowChanges((), (None,))
        removed = range(len(self.items), count)
        self._was_moved = False
        shifts = [-self._remove_first(changed.gone)] if changed.gone else []
        if changed.earlier:
            shifts.append(self._prepend(changed.earlier))
        if shifts and not had_rows:
            self._append(changed.added)
            return RowChanges((), (None,))
        self._append(changed.added)
        positions = (
            self.position(line_item_of(item)) for item in (*changed.updated, *filter(is_hidden, changed.added))
        )
        updated: list[int | None] = [*removed, *(index for index in positions if index is not None)]
        return RowChanges(shifts, [None] if self._was_moved else updated)

    def _append(self, items: Iterable[Item]) -> None:
        for item in items:
            if id(item) not in self._positions and self._fits(item):
                at = self._end_of_call(item) if isinstance(item, ActionItem) and item.call_id else len(self.items)
                self.items.insert(at, item)
                self._was_moved |= at + 1 < len(self.items)
                for index in range(at, len(self.items)):
                    self._positions[id(self.items[index])] = index - self._prepended

    def _end_of_call(self, item: ActionItem) -> int:
        """Return where a sub-agent's action belongs: after the others of its call; at the end if that is far away."""
        for at in range(len(self.items) - 1, max(-1, len(self.items) - _FARTHEST), -1):
            earlier = self.items[at]
            if isinstance(earlier, ActionItem) and item.call_id in (earlier.call_id, earlier.action_id):
                return at + 1
        return len(self.items)

    def _prepend(self, items: Iterable[Item]) -> int:
        """Prepend the rows of older items; return how many were added."""
        fresh = [item for item in items if self._fits(item)]
        self.items[:0] = fresh
        self._prepended += len(fresh)
        self._positions.update((id(item), index - self._prepended) for index, item in enumerate(fresh))
        return len(fresh)

    def _remove_first(self, items: Iterable[Item]) -> int:
        """Remove the rows of these items, which come first; return how many were removed."""
        count = sum(self._positions.pop(id(item), None) is not None for item in items)
        del self.items[:count]
        self._prepended -= count
        return count

    def _remove_last(self, items: Sequence[Item]) -> bool:
        """Remove the rows of these items; return False if others come after them, as after a sub-agent's actions."""
        rows = {id(item) for item in items} & self._positions.keys()
        if any(id(item) not in rows for item in self.items[len(self.items) - len(rows) :]):
            return False
        for item in self.items[len(self.items) - len(rows) :]:
            del self._positions[id(item)]
        del self.items[len(self.items) - len(rows) :]
        return True

    def _comes_or_goes(self, item: Item) -> bool:
        """Return whether a changed item has a row but should have none, or has none but should have one."""
        return self._fits(item) is (self.position(item) is None)

    def _fits(self, item: Item) -> bool:
        """Return whether an item has a row: it must match the filter or, without one, not be hidden in a group."""
        return has_row(item) and (self.filter.fits(item) if self.is_filtered else not is_hidden(item))


class FilterAsked(Message):
    """Posted when the user asks for the timeline's filter line."""


class ShowAllAsked(Message):
    """Posted when the timeline's filter was cleared."""


_KEYS: Final[list[BindingType]] = [
    Binding("slash", "filter", "Filter", id="timeline.filter"),
    Binding("space", "row('fold')", "Fold or unfold reads", id="timeline.unfold", show=False),
    Binding("escape", "show_all", "Every row again", id="timeline.all"),
    Binding("d", "row('diff')", "Diff", id="timeline.diff"),
    Binding("g", "row('item')", "In the conversation", id="timeline.place"),
    Binding("r", "row('rewind')", "Rewind to here", id="timeline.rewind"),
    Binding("f", "row('fork')", "Fork from here", id="timeline.fork", show=False),
    Binding("u", "row('redo')", "Undo the rewind", id="timeline.redo", show=False),
    Binding("left_square_bracket", "row('back')", "Look back in time", id="timeline.back", show=False),
    Binding("right_square_bracket", "row('forward')", "Forward in time", id="timeline.forward", show=False),
]


_REQUESTS: Final[dict[str, Callable[[Item], Message]]] = {
    "item": ItemRequested,
    "rewind": RewindRequested,
    "fork": ForkRequested,
    "redo": lambda item: RedoRequested(),
    "back": lambda item: TimeRequested(item, -1),
    "forward": lambda item: TimeRequested(item, 1),
}


class Timeline(LineList):
    """The rows of the session in order; follows the end, and asks for older rows when the user reaches the top."""

    follows_end: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = _KEYS

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state = SessionState()
        self._stays_first = False  # whether the cursor stays on the first line when older rows are put before it
        self.rows = TimelineRows()
        self.ticker = SecondTicker(self, lambda: self.show(self._state, _running(self._state)))

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what has changed, or everything if `changed` is None."""
        self._state = state
        changes = self.rows.apply(state, changed)
        for count in changes.shifts:
            self._shift(count)
        if self.count != self.rows.line_count or None in changes.updated:
            self.set_count(self.rows.line_count)
        for index in changes.updated:
            self.forget(index)
        self.ticker.run(bool(state.running))

    def filter(self, text: str) -> None:
        """Show only the rows that match the filter; an empty filter shows all."""
        if (new_filter := Filter(text)).text != self.rows.filter.text:
            self.rows.filter = new_filter
            self.show(self._state, None)
            self.refresh_bindings()
            if new_filter.text:
                self._request_earlier(all_of_it=True)

    def go_to(self, item: Item) -> bool:
        """Move to the row of an item; return False if the item has none."""
        index = self.rows.position(item if self.rows.is_filtered else line_item_of(item))
        if index is not None:
            self.move_to(index)
        return index is not None

    def line(self, index: int, width: int) -> Line:
        """Return the row of an item."""
        return self.rows.line(index, width - 1, self._state.workspace)

    def choose(self, index: int) -> None:
        """Unfold the reads of a row, or open its action or the detail of its notice."""
        if (message := _opening(self.rows.at(index), is_filtered=self.rows.is_filtered)) is not None:
            self.post_message(message)

    def set_count(self, count: int) -> None:
        """Set the number of lines, and show how many are below the visible ones."""
        super().set_count(count)
        self._show_scroll_hint()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for older rows at the top."""
        super().watch_scroll_y(old_value, new_value)
        self._show_scroll_hint()
        if new_value <= 0 < old_value:
            self._request_earlier()

    def action_first(self) -> None:
        """Move to the first row of the session, which may have to be loaded first."""
        super().action_first()
        self._stays_first = True
        self._request_earlier(all_of_it=True)

    def action_move(self, by: int) -> None:
        """Move the cursor; above the first row, ask for older ones."""
        self._stays_first = False
        if self.cursor + by < 0:
            self._request_earlier()
        super().action_move(by)

    def action_row(self, what: str) -> None:
        """Show what the row's action changed, go to its item or back to its state, or fold or unfold its reads."""
        item = self.rows.at(self.cursor)
        if what in _REQUESTS and item is not None:
            self.post_message(_REQUESTS[what](item))
        elif isinstance(item, ActionItem):
            self.post_message(DiffChosen(item.action_id) if what == "diff" else ViewChanged(toggle(item)))

    def action_filter(self) -> None:
        """Open the filter line."""
        self.post_message(FilterAsked())

    def action_show_all(self) -> None:
        """Clear the filter at once, so that the next keys act on the unfiltered rows."""
        self.filter("")
        self.post_message(ShowAllAsked())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable clearing the filter, and undoing a rewind, if there is none."""
        if parameters == ("redo",):
            return self._state.was_rewound
        return self.rows.is_filtered if action == "show_all" else super().check_action(action, parameters)

    def _shift(self, count: int) -> None:
        """Account for lines added or removed before the first one; the visible lines and the cursor stay in place."""
        at_end, stays = self.is_at_end, self._stays_first and self.cursor == 0
        self._painted_strips.strips.clear()
        self.count += count
        self.virtual_size = Size(self.size.width, self.count)
        if stays and count > 0:
            self.refresh()
            return
        self.cursor += count
        self.scroll_to(y=self.scroll_y + count, animate=False, force=True, immediate=True)
        self.is_at_end = at_end

    def _request_earlier(self, *, all_of_it: bool = False) -> None:
        """Ask for older parts of the session, if there are any."""
        if self._state.first_seq > 1:
            self.post_message(EarlierRequested(all_of_it=all_of_it))

    def _show_scroll_hint(self) -> None:
        self.heading.set_hint(scroll_hint(_scroll_text(self), "last"))


def _scroll_text(rows: LineList) -> str:
    """Return how many rows are below the visible ones, and the key that goes to the last one; empty at the end."""
    remaining = 0 if rows.is_at_end or not rows.size.height else rows.count - rows.scroll_offset.y - rows.size.height
    return f"{remaining} more · {key_of(rows.app, 'list.last', 'end')}" if remaining > 0 else ""


def _running(state: SessionState) -> Changed:
    """Return a change that updates every running action, whose row counts its seconds."""
    return Changed(updated=list(state.running.values()))


def _opening(item: Item | None, *, is_filtered: bool) -> Message | None:
    """Return the message that opens a row's item, or None if there is nothing more to show."""
    if isinstance(item, ActionItem):
        return ViewChanged(toggle(item)) if is_folded(item) and not is_filtered else ActionChosen(item.action_id)
    if isinstance(item, NoticeItem) and item.branch:
        return BranchChosen(*item.branch)
    return TextChosen(item.title, item.detail) if isinstance(item, NoticeItem) and item.detail else None


def timeline_counts(rows: TimelineRows, state: SessionState) -> str:
    """Return the count in the heading: the number of actions, or of matching rows, after that of pending approvals."""
    pending = f"{len(state.waiting)} pending · " if state.waiting else ""
    if rows.is_filtered:
        return f"{pending}{len(rows.items)} of {sum(map(has_row, state.items))}"
    return f"{pending}{state.action_count}" if state.action_count else pending
