"""A queue of what an agent's program has sent, in order, for the session to process."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from workbench.acp_client.calls import AgentCall
from workbench.acp_client.requests import AgentRequest, PermissionRequest, WriteRequest

_MOST_CHARACTERS: Final = 400_000
"""The maximum number of characters of one text; a longer one is cut."""
_MOST_ITEMS: Final = 5_000
_MOST_TEXT: Final = 10_000_000
"""The maximum number of characters of all queued texts."""
TOO_MUCH: Final = "it sent more than a session accepts"
CUT: Final = "\n[The rest of this text was dropped.]"


@dataclass
class Chunk:
    """A piece of the agent's message or of its reasoning."""

    text: str
    is_reasoning: bool = False


@dataclass(frozen=True)
class CallBegan:
    """The agent has started a tool call, or is about to."""

    call: AgentCall


@dataclass(frozen=True)
class CallEnded:
    """A tool call has ended, usually one that no action of the session represents."""

    call: AgentCall


@dataclass(frozen=True)
class PlanChanged:
    """The agent has a new plan: the title and the status of each task."""

    tasks: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TurnEnded:
    """The agent has ended its turn; the tokens are None if it does not report them."""

    reason: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class ProgramGone:
    """The program has ended, or its connection is unusable; `reason` continues a sentence about the program."""

    reason: str


Item: TypeAlias = (
    Chunk | CallBegan | CallEnded | PlanChanged | TurnEnded | ProgramGone | PermissionRequest | WriteRequest
)


class AgentInbox:
    """The queued items; the event loop adds them, and the thread that runs the session's current step removes them."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._characters = 0
        self._changed = threading.Condition()

    def put(self, item: Item) -> bool:
        """Add an item, or merge it with the last one if both are text or plans; return False if the queue is full."""
        with self._changed:
            last = self._items[-1] if self._items else None
            self._characters += _length(item)
            if isinstance(item, Chunk) and isinstance(last, Chunk) and item.is_reasoning == last.is_reasoning:
                _extend(last, item.text)
            elif isinstance(item, PlanChanged) and isinstance(last, PlanChanged):
                self._items[-1] = item
            elif self._has_space or isinstance(item, TurnEnded | ProgramGone):
                self._items.append(item)
            else:
                return False
            self._changed.notify_all()
        return True

    @property
    def _has_space(self) -> bool:
        return len(self._items) < _MOST_ITEMS and self._characters < _MOST_TEXT

    def notify(self) -> None:
        """Wake the waiting threads, which then check their conditions again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, is_ready: Callable[[], bool], seconds: float) -> bool:
        """Wait until `is_ready` returns True, at most `seconds`; return its last result.

        It is called each time something changes.
        """
        with self._changed:
            return self._changed.wait_for(is_ready, seconds)

    @property
    def first(self) -> Item | None:
        """The next item, which stays in the queue; None if the queue is empty."""
        with self._changed:
            return self._items[0] if self._items else None

    def pop(self) -> Item:
        """Remove the next item and return it."""
        with self._changed:
            item = self._items.popleft()
            self._recount()
            return item

    def pop_write(self, is_approved: Callable[[WriteRequest], bool]) -> WriteRequest | None:
        """Remove and return the first queued write for which `is_approved` returns True; None if there is none."""
        with self._changed:
            for item in self._items:
                if isinstance(item, WriteRequest) and is_approved(item):
                    self._items.remove(item)
                    self._recount()
                    return item
        return None

    def _recount(self) -> None:
        if not any(isinstance(each, Chunk | WriteRequest) for each in self._items):
            self._characters = 0

    @property
    def is_blocked(self) -> bool:
        """Whether the agent waits for an answer, has ended its turn, or is gone."""
        with self._changed:
            return any(isinstance(item, AgentRequest | TurnEnded | ProgramGone) for item in self._items)


def _length(item: Item) -> int:
    if isinstance(item, WriteRequest):
        return len(item.content)
    return len(item.text) if isinstance(item, Chunk) else 0


def _extend(chunk: Chunk, text: str) -> None:
    if not chunk.text.endswith(CUT):
        chunk.text += text
        if len(chunk.text) > _MOST_CHARACTERS:
            chunk.text = chunk.text[:_MOST_CHARACTERS] + CUT
