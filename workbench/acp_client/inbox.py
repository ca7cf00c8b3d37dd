"""What an agent's program has sent, in its order, until the session has come to it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from workbench.acp_client.calls import AgentCall
from workbench.acp_client.requests import AgentRequest, PermissionRequest, WriteRequest

_MOST_CHARACTERS: Final = 400_000
"""The most characters of one text; a longer one is cut."""
_MOST_ITEMS: Final = 5_000
_MOST_TEXT: Final = 10_000_000
"""The most characters of all texts that wait."""
TOO_MUCH: Final = "it sent more than a session accepts"
CUT: Final = "\n[The rest of this text was dropped.]"


@dataclass
class Chunk:
    """A part of the agent's message, or of its reasoning."""

    text: str
    is_reasoning: bool = False


@dataclass(frozen=True)
class CallBegan:
    """The agent makes a call, or is about to."""

    call: AgentCall


@dataclass(frozen=True)
class CallEnded:
    """A call has ended that no action of the session stands for."""

    call: AgentCall


@dataclass(frozen=True)
class PlanChanged:
    """The agent's plan: the title and the status of each task."""

    tasks: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TurnEnded:
    """The agent has answered the prompt; the tokens are None if it does not report them."""

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
    """The items that wait; filled by the event loop, emptied by the thread that runs the session's current step."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._characters = 0
        self._changed = threading.Condition()

    def put(self, item: Item) -> bool:
        """Add an item, a text to the one before it if possible; return False if there is too much."""
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
        """Let whoever waits check again."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, is_ready: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so, at most `seconds`; it is checked when something has changed."""
        with self._changed:
            return self._changed.wait_for(is_ready, seconds)

    @property
    def first(self) -> Item | None:
        """The next item; None if there is none."""
        with self._changed:
            return self._items[0] if self._items else None

    def pop(self) -> Item:
        """Remove the next item and return it."""
        with self._changed:
            item = self._items.popleft()
            self._recount()
            return item

    def pop_write(self, is_approved: Callable[[WriteRequest], bool]) -> WriteRequest | None:
        """Remove the first write that is approved already, and return it; None if there is none."""
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
        """Whether the agent waits for an answer, or no longer works."""
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
