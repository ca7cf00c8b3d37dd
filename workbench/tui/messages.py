"""Textual messages that panels and question screens post, mostly when the user requests something.

The main screen and the app handle most of them. `StateChanged` is for the page that covers the main screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from workbench.view.state import Changed, Item


class StateChanged(Message):
    """The session's state has changed while a page covers the main screen."""


class ActionChosen(Message):
    """An action's row or card was opened (enter or click)."""

    def __init__(self, action_id: str) -> None:
        super().__init__()
        self.action_id = action_id


class DiffChosen(Message):
    """The user asked for the diff of an action."""

    def __init__(self, action_id: str) -> None:
        super().__init__()
        self.action_id = action_id


class TextChosen(Message):
    """A text of several lines was opened; it is shown in the pager under `title`."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title = title
        self.text = text


class PastRequested(Message):
    """The base of requests to see or return to another state of the session."""


class BranchChosen(PastRequested):
    """An inactive branch was opened: the events from `first` to `last`."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self.first, self.last = first, last


class RewindRequested(PastRequested):
    """The user asked to return to an earlier state of the session: that at an item, or one to be chosen."""

    def __init__(self, item: Item | None = None) -> None:
        super().__init__()
        self.item = item


class ForkRequested(PastRequested):
    """The user asked for a fork of the session from its state at an item."""

    def __init__(self, item: Item) -> None:
        super().__init__()
        self.item = item


class TimeRequested(PastRequested):
    """The user asked to see the session as it was at an item of the timeline, or one event `by` before or after it."""

    def __init__(self, item: Item | None = None, by: int = 0) -> None:
        super().__init__()
        self.item, self.by = item, by


class RedoRequested(PastRequested):
    """The user asked to undo the last rewind."""


class RowRequested(Message):
    """The user asked for the row of an item on the timeline."""

    def __init__(self, item: Item) -> None:
        super().__init__()
        self.item = item


class ItemRequested(Message):
    """The user asked for an item in the conversation."""

    def __init__(self, item: Item) -> None:
        super().__init__()
        self.item = item


class StepRequested(Message):
    """The user asked for the row of action `number` on the timeline."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class ViewChanged(Message):
    """The user has changed how a part of the session is shown, for example by a fold or a filter."""

    def __init__(self, changed: Changed) -> None:
        super().__init__()
        self.changed = changed


class EarlierRequested(Message):
    """The part of the session before the loaded one is needed, or with `all_of_it` all earlier parts.

    `then` is called once all of them are loaded.
    """

    def __init__(self, *, all_of_it: bool = False, then: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.all_of_it = all_of_it
        self.then = then


class FileChosen(Message):
    """A file of the changes list was opened; `path` is absolute, as in the log."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path


class QuestionRang(Message):
    """A question is open that the user may not see, so the bell should ring."""


class BehindScrolled(Message):
    """The user scrolls the conversation behind a question; `lines` is negative for up."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines = lines
