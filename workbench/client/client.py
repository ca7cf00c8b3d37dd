"""What the screen knows of the engine: the commands it can give and the messages it gets.

Tests of screens stand in a link that needs no process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # the screen is painted before pydantic is loaded
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event
    from workbench.protocol.live import LiveEvent


@dataclass(frozen=True)
class Disconnected:
    """The engine is gone (or did not start); `reason` is one line, `for_good` when the session cannot go on here."""

    reason: str
    for_good: bool = False


@dataclass(frozen=True)
class CommandRefused:
    """The engine did not carry out a command; `reason` is one line."""

    reason: str


@dataclass(frozen=True)
class EngineNotice:
    """The engine has a line for the person, such as a tool that was left out."""

    text: str


Incoming: TypeAlias = "Event | LiveEvent | Disconnected | CommandRefused | EngineNotice"


class Client(Protocol):
    """One session as a front end sees it."""

    def history(self) -> Iterable[Event]:
        """The events the log holds now, read from the session file while one goes through them, in any thread.

        It may be an `EventHistory` with the last part alone, and a way to the older ones.
        """

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages; events come in order of `seq`, each once, without gaps after `history()`."""

    def send(self, command: Command) -> None:
        """Give a command; returns at once and never raises: a refusal comes back as a message."""

    def close(self, *, stop: bool = False) -> None:
        """Leave the session; the engine finishes its run by itself, or with `stop` ends it unless others watch."""
