"""The timeline: one row for each action, message and notice that matters, live. The main screen feeds it `show`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from workbench.tui.messages import ActionChosen, DiffChosen, EarlierWanted, PlaceWanted, TextChosen
from workbench.tui.widgets.counting_list import FilteredList
from workbench.view import clock
from workbench.view.formatting.rows import has_row, row
from workbench.view.formatting.wrapping import Line, Piece
from workbench.view.search import Filter
from workbench.view.state import ActionItem, Changed, Item, NoticeItem, SessionState


class Timeline(FilteredList):
    """Rows of the session in order; follows the end, enter opens an action."""

    follows_end: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "diff", "Diff", id="timeline.diff"),
        Binding("g", "place", "In the conversation", id="timeline.place"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._state = SessionState()
        self._rows: list[Item] = []
        self._index: dict[int, int] = {}
        self._older = 0
        """Rows that were put before the others; those of `_index` are counted without them."""
        self._filter = Filter()
        self._timer: Timer | None = None
        self.is_ticking = False

    def on_mount(self) -> None:
        """One timer for all running rows; it sleeps while nothing runs."""
        self._timer = self.set_interval(1.0, self._tick, pause=True)
        self._wake()

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show what changed; `None` means everything."""
        self._state = state
        if changed is None:
            self._show_all()
        else:
            if changed.gone:
                self._take_away(changed.gone)
            if changed.earlier:
                self._put_before(changed.earlier)
            if changed.added:
                self._add(changed.added)
            for item in changed.updated:
                self._update(item)
        self._wake()

    def filter(self, text: str) -> None:
        """Show only the rows that fit; an empty text shows all."""
        wanted = Filter(text)
        if wanted.text != self._filter.text:
            self._filter, self.is_filtered = wanted, bool(wanted.text)
            self._show_all()
            self.refresh_bindings()
            if wanted.text:
                self.top_reached(all_of_it=True)

    def action_diff(self) -> None:
        """What the action of the row changed."""
        item = self._rows[self.cursor] if self._rows else None
        if isinstance(item, ActionItem):
            self.post_message(DiffChosen(item.action_id))

    def action_place(self) -> None:
        """Where it stands in the conversation."""
        if self._rows:
            self.post_message(PlaceWanted(self._rows[self.cursor]))

    def go_to(self, item: Item) -> bool:
        """The cursor goes to the row of an item; whether it has one here."""
        index = self._index_of(item)
        if index is not None:
            self._go(index)
        return index is not None

    def title_counts(self, state: SessionState) -> str:
        """For the panel's border: how many actions, or rows of all rows with a filter; and how many actions wait."""
        waiting = f" · {len(state.waiting)} waiting" if state.waiting else ""
        if self.is_filtered:
            return f"{len(self._rows)} of {sum(map(has_row, state.items))}{waiting}"
        return f"{state.action_count}{waiting}"

    def line(self, index: int, width: int) -> Line:
        """The row of an item."""
        if not self._rows:
            return [Piece("Nothing fits this filter" if self._filter.text else "", "dim")]
        return row(self._rows[index], width - 1, clock.now(), self._state.workspace)

    def choose(self, index: int) -> None:
        """Open the action of a row, or what there is to a notice."""
        item = self._rows[index] if self._rows else None
        if isinstance(item, ActionItem):
            self.post_message(ActionChosen(item.action_id))
        elif isinstance(item, NoticeItem) and item.detail:
            self.post_message(TextChosen(item.title, item.detail))

    def _show_all(self) -> None:
        self._rows, self._index, self._older = [], {}, 0
        self._add(self._state.items)
        self.forget()

    def _add(self, items: Sequence[Item]) -> None:
        for item in items:
            if has_row(item) and id(item) not in self._index and self._filter.fits(item):
                self._index[id(item)] = len(self._rows) - self._older
                self._rows.append(item)
        self.set_count(len(self._rows) or int(bool(self._filter.text)))

    def _update(self, item: Item) -> None:
        index = self._index_of(item)
        if self._filter.text and has_row(item) and self._filter.fits(item) is (index is None):
            self._show_all()  # it comes or goes
        elif index is not None:
            self.forget(index)

    def _index_of(self, item: Item) -> int | None:
        index = self._index.get(id(item))
        return None if index is None else index + self._older

    def _put_before(self, items: Sequence[Item]) -> None:
        fresh = [item for item in items if has_row(item) and self._filter.fits(item)]
        if not fresh:
            return
        had_rows = bool(self._rows)
        self._rows[:0] = fresh
        self._older += len(fresh)
        self._index.update((id(item), index - self._older) for index, item in enumerate(fresh))
        if had_rows:
            self.shift(len(fresh))
        else:
            self.forget()
            self.set_count(len(self._rows))

    def _take_away(self, items: Sequence[Item]) -> None:
        count = sum(self._index.pop(id(item), None) is not None for item in items)
        del self._rows[:count]
        self._older -= count
        self.shift(-count)

    def top_reached(self, *, all_of_it: bool = False) -> None:
        """Have older parts of the session read, where there are any."""
        if self._state.first_seq > 1:
            self.post_message(EarlierWanted(all_of_it=all_of_it))

    def _wake(self) -> None:
        if self._timer is not None and self.is_ticking != bool(self._state.running):
            self.is_ticking = bool(self._state.running)
            (self._timer.resume if self.is_ticking else self._timer.pause)()

    def _tick(self) -> None:
        for item in self._state.running.values():
            self._update(item)
