"""The engine as front ends see it: the messages that they receive, and the client through which they send commands.

`Client` is a protocol, so that tests of screens can use a client that needs no process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

# Not imported at run time, so that the first frame is painted sooner.
if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event
    from workbench.protocol.live import LiveEvent
    from workbench.session.storage.paging import Branch, Digest


class Disconnected(Struct, frozen=True):
    """The engine ended or did not start; `reason` is one line.

    With `for_good`, the session cannot continue in this client; with `is_end`, it was not to continue.
    """

    reason: str
    for_good: bool = False
    is_end: bool = False


class CommandRefused(Struct, frozen=True):
    """A command was not carried out; `reason` is one line."""

    reason: str
    repeat: Literal["never", "reconnected", "now"] = "never"
    """When the command can be sent again without the risk that it arrives twice: `never`, because the engine refused
    it; when `reconnected`, because there was no connection; or `now`, because it was lost with the last connection.
    """


class EngineNotice(Struct, frozen=True):
    """A line from the engine for the user, for example about a tool that is not available."""

    text: str


class EngineStalled(Struct, frozen=True):
    """The engine is alive but not responding; an empty `reason` means that it responds again."""

    reason: str


class Reconnected(Struct, frozen=True):
    """A lost connection is restored; unfinished streams are sent again from their start. `text` is one line for the
    user.
    """

    text: str


Incoming: TypeAlias = "Event | LiveEvent | Disconnected | CommandRefused | EngineNotice | EngineStalled | Reconnected"


class Past(Protocol):
    """The part of a log before the events that are loaded; read in threads. Every method may raise WorkbenchError."""

    def start(self, end: int) -> int:
        """Return the `seq` of the first event in the part that ends just before event `end`; 1 if
        the log starts there.
        """

    def part(self, end: int) -> Sequence[Event | Branch]:
        """Return the events of the part that ends just before event `end`."""


class EventHistory(Struct, frozen=True):
    """The events with which a front end starts.

    With a `digest`, they are only the last part of the log, and the digest summarizes what came before. Earlier parts,
    including those that a screen showed and then unloaded, are read from `past`.
    """

    events: Iterable[Event | Branch]
    past: Past | None = None
    digest: Digest | None = None

    def __iter__(self) -> Iterator[Event | Branch]:
        return iter(self.events)


class Client(Protocol):
    """One session as a front end sees it."""

    def history(self) -> Iterable[Event | Branch]:
        """Return the current events of the log, which are read from the session file while iterating, in any thread.

        It may be an `EventHistory` that starts with the last part of the log and gives access to the older parts. After
        a rewind it is called again, because other events count then; events that it includes may also be received.
        """

    async def receive(self) -> Sequence[Incoming]:
        """Wait for the next messages; events arrive in order of `seq`, each once, and without a gap
        after `history()`.
        """

    def send(self, command: Command) -> None:
        """Send a command; returns at once and never raises: a refusal comes back as a message."""

    def close(self, *, stop: bool = False) -> None:
        """Disconnect from the session; the engine finishes its run. With `stop` the run ends, unless other front ends
        are attached.
        """
