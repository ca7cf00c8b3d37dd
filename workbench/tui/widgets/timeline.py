"""The timeline: one row for each action, message and notice that matters, live. The main screen feeds it `show`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from workbench.tui.key_names import key_of
from workbench.tui.messages import ActionChosen, DiffChosen, EarlierRequested, ItemRequested, TextChosen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.ticker import SecondTicker, show_scroll_hint
from workbench.view import clock
from workbench.view.formatting.rows import has_row, row
from workbench.view.search import Filter
from workbench.view.state import ActionItem, Changed, Item, NoticeItem, SessionState
from workbench.view.wrapping import Line, Piece


class RowChanges(NamedTuple):
    """What the list of rows has to do after the session changed."""

    shifts: Sequence[int]
    """How many rows were put at the beginning or (negative) removed there, one number for each step."""
    updated: Sequence[int | None]
    """Indexes of rows that look different; None stands for all rows, which may be other ones."""


class TimelineRows:
    """The items of a session that have a row and fit the filter, in order, with their positions."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.filter = Filter()
        self._positions: dict[int, int] = {}
        # How many rows were put before the others; `_positions` counts without them, so that none is renumbered.
        self._prepended = 0

    @property
    def is_filtered(self) -> bool:
        """Whether only some rows are shown."""
        return bool(self.filter.text)

    @property
    def line_count(self) -> int:
        """How many lines are shown: the rows, or one line that says that nothing fits the filter."""
        return len(self.items) or int(self.is_filtered)

    def at(self, index: int) -> Item | None:
        """Return the item of a row, or None if there is no such row."""
        return self.items[index] if index < len(self.items) else None

    def position(self, item: Item) -> int | None:
        """Return the index of an item's row, or None if it has none."""
        index = self._positions.get(id(item))
        return None if index is None else index + self._prepended

    def line(self, index: int, width: int, workspace: str) -> Line:
        """Return a row, or the line that says that there is none."""
        if not self.items:
            return [Piece("Nothing fits this filter" if self.is_filtered else "", "dim")]
        return row(self.items[index], width, clock.now(), workspace)

    def apply(self, state: SessionState, changed: Changed | None) -> RowChanges:
        """Take over what changed in the session; `None` means everything."""
        had_rows = bool(self.items)
        if changed is None or any(map(self._comes_or_goes, changed.updated)):
            self.items, self._positions, self._prepended = [], {}, 0
            self._append(state.items)
            return RowChanges((), (None,))
        shifts = [-self._remove_first(changed.gone)] if changed.gone else []
        if changed.earlier:
            shifts.append(self._prepend(changed.earlier))
        if shifts and not had_rows:
            self._append(changed.added)
            return RowChanges((), (None,))
        self._append(changed.added)
        positions = map(self.position, changed.updated)
        return RowChanges(shifts, [index for index in positions if index is not None])

    def _append(self, items: Iterable[Item]) -> None:
        for item in items:
            if id(item) not in self._positions and self._fits(item):
                self._positions[id(item)] = len(self.items) - self._prepended
                self.items.append(item)

    def _prepend(self, items: Iterable[Item]) -> int:
        """Add the rows of items from before the first one; return their number."""
        fresh = [item for item in items if self._fits(item)]
        self.items[:0] = fresh
        self._prepended += len(fresh)
        self._positions.update((id(item), index - self._prepended) for index, item in enumerate(fresh))
        return len(fresh)

    def _remove_first(self, items: Iterable[Item]) -> int:
        """Remove the rows of these items, which are the first ones; return their number."""
        count = sum(self._positions.pop(id(item), None) is not None for item in items)
        del self.items[:count]
        self._prepended -= count
        return count

    def _comes_or_goes(self, item: Item) -> bool:
        """Return whether a changed item has a row that no longer fits the filter, or has none although it fits."""
        return self.is_filtered and self._fits(item) is (self.position(item) is None)

    def _fits(self, item: Item) -> bool:
        return has_row(item) and self.filter.fits(item)


class FilterAsked(Message):
    """Posted when the line for the timeline's filter is to open."""


class ShowAllAsked(Message):
    """Posted when the timeline's filter was cleared."""


_KEYS: Final[list[BindingType]] = [
    Binding("slash", "filter", "Filter", id="timeline.filter"),
    Binding("escape", "show_all", "Every row again", id="timeline.all"),
    Binding("d", "diff", "Diff", id="timeline.diff"),
    Binding("g", "reveal", "In the conversation", id="timeline.place"),
]


class Timeline(LineList):
    """Rows of the session in order; follows the end, and grows at its top when the user goes there."""

    follows_end: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = _KEYS

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state = SessionState()
        self._stays_first = False  # whether the cursor stays on the first line when older rows are put before it
        self.rows = TimelineRows()
        self.ticker = SecondTicker(self, lambda: self.show(self._state, _running(self._state)))

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what changed; `None` means everything."""
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
        """Show only the rows that fit; an empty text shows all."""
        if (new_filter := Filter(text)).text != self.rows.filter.text:
            self.rows.filter = new_filter
            self.show(self._state, None)
            self.refresh_bindings()
            if new_filter.text:
                self._request_earlier(all_of_it=True)

    def go_to(self, item: Item) -> bool:
        """Move to the row of an item; return False if it has none here."""
        index = self.rows.position(item)
        if index is not None:
            self.move_to(index)
        return index is not None

    def line(self, index: int, width: int) -> Line:
        """Return the row of an item."""
        return self.rows.line(index, width - 1, self._state.workspace)

    def choose(self, index: int) -> None:
        """Open the action of a row, or the detail of a notice."""
        if (message := _opening(self.rows.at(index))) is not None:
            self.post_message(message)

    def set_count(self, count: int) -> None:
        """Set the number of lines, and say how many are below."""
        super().set_count(count)
        self._show_scroll_hint()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for older rows at the top."""
        super().watch_scroll_y(old_value, new_value)
        self._show_scroll_hint()
        if new_value <= 0 < old_value:
            self._request_earlier()

    def action_first(self) -> None:
        """Move to the first row of the session, which may not be read yet."""
        super().action_first()
        self._stays_first = True
        self._request_earlier(all_of_it=True)

    def action_move(self, by: int) -> None:
        """Move the cursor; above the first row, ask for older ones."""
        self._stays_first = False
        if self.cursor + by < 0:
            self._request_earlier()
        super().action_move(by)

    def action_diff(self) -> None:
        """Show what the action of the row changed."""
        if isinstance(item := self.rows.at(self.cursor), ActionItem):
            self.post_message(DiffChosen(item.action_id))

    def action_reveal(self) -> None:
        """Show the row's item in the conversation."""
        if (item := self.rows.at(self.cursor)) is not None:
            self.post_message(ItemRequested(item))

    def action_filter(self) -> None:
        """Open the line to write the filter in."""
        self.post_message(FilterAsked())

    def action_show_all(self) -> None:
        """Clear the filter at once, so that keys pressed after this one go where they would without a filter."""
        self.filter("")
        self.post_message(ShowAllAsked())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable clearing the filter if there is none."""
        return self.rows.is_filtered if action == "show_all" else super().check_action(action, parameters)

    def _shift(self, count: int) -> None:
        """Account for lines put before the first one, or removed there; what is in sight stays, with the cursor."""
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
        remaining = self.count - self.scroll_offset.y - self.size.height
        has_hint = remaining > 0 and self.size.height and not self.is_at_end
        show_scroll_hint(self, f"{remaining} more · {key_of(self.app, 'list.last', 'end')}" if has_hint else "", "last")


def _running(state: SessionState) -> Changed:
    """Return a change that updates every running action, whose row counts the seconds."""
    return Changed(updated=list(state.running.values()))


def _opening(item: Item | None) -> Message | None:
    """Return the message that opens what a row stands for, or None if there is nothing more to show."""
    if isinstance(item, ActionItem):
        return ActionChosen(item.action_id)
    return TextChosen(item.title, item.detail) if isinstance(item, NoticeItem) and item.detail else None


def timeline_counts(rows: TimelineRows, state: SessionState) -> str:
    """Return the words for the panel's border: how many actions (filtered: rows of all rows) and how many wait."""
    waiting = f" · {len(state.waiting)} waiting" if state.waiting else ""
    if rows.is_filtered:
        return f"{len(rows.items)} of {sum(map(has_row, state.items))}{waiting}"
    return f"{state.action_count}{waiting}"
