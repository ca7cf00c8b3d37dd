"""The front ends attached to an engine: which one is in control, and which messages each of them still needs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from workbench.engine.broadcast import LIVE_LIMIT, Outgoing
from workbench.protocol.codec import Data, encode
from workbench.protocol.event_base import EventBase
from workbench.protocol.events import ActionAbandoned, ActionObserved, ModelResponded, RunEnded
from workbench.protocol.live import ControlState, MatchingFiles, ReasoningDelta, TextDelta, ToolOutput
from workbench.session.file_search import FileIndex

_SKIP_LIVE = 512_000
"""Bytes a front end may lag behind before it misses deltas."""
_DROP = 64_000_000
"""Bytes a front end may lag behind before it is disconnected; it reconnects and reads the log."""


class FrontEnd:
    """One connection; `last_seq` is the number of the last event sent to it."""

    def __init__(
        self, writer: asyncio.StreamWriter, last_seq: int, *, is_viewer: bool = False, checks_unsaved: bool = False
    ) -> None:
        self._writer = writer
        self.last_seq = last_seq
        self.is_viewer = is_viewer
        """Whether the front end only shows the session, and can never be in control."""
        self.checks_unsaved = checks_unsaved
        """Whether the front end belongs to an editor that is asked about unsaved files."""
        self.is_leaving = False
        """Whether the front end has left and stays connected only until the engine ends."""
        self.control = ControlState()
        """The control state that was last sent to the front end."""
        self._index: FileIndex | None = None

    def forward(self, messages: Iterable[tuple[Outgoing, bytes]]) -> None:
        """Queue messages, except events that the front end already has; never blocks.

        A front end that lags too far behind misses deltas; if it lags even further, it is disconnected.
        """
        for message, line in messages:
            if isinstance(message, EventBase):
                if message.seq <= self.last_seq:
                    continue
                self.last_seq = message.seq
            elif self._lag() > _SKIP_LIVE:
                continue
            self._writer.write(line)
        if self._lag() > _DROP:
            self._writer.transport.abort()

    def send(self, message: Data) -> None:
        """Queue one protocol message (hello, refused, a prompt)."""
        self._writer.write(encode(message) + b"\n")

    def find_files(self, directory: Path, query: str) -> None:
        """Search the directory in a thread, then send the files that match; a newer query replaces this one."""
        if self._index is None:
            loop = asyncio.get_running_loop()

            def answer(query: str, paths: list[str]) -> None:
                with suppress(RuntimeError):  # the engine has ended
                    loop.call_soon_threadsafe(self.send, MatchingFiles(query=query, paths=tuple(paths)))

            self._index = FileIndex(directory, answer)
        self._index.ask(query)

    def stop_search(self) -> None:
        """Stop the search for files, because the front end has left."""
        if self._index is not None:
            self._index.close()

    def close(self) -> None:
        """Close the connection once the queued messages are sent."""
        self._writer.close()

    def _lag(self) -> int:
        return self._writer.transport.get_write_buffer_size()


class UnfinishedStreams:
    """The content so far of the streams that have not ended, for a front end that attaches in the middle of them."""

    def __init__(self) -> None:
        self._last_seq = 0
        """The number of the last event that was sent."""
        self._text: dict[type[TextDelta | ReasoningDelta], str] = {}
        self._output: dict[str, str] = {}
        """The output of each running action, by its id."""

    def add(self, message: Outgoing) -> None:
        """Update the streams with a message that is sent to the attached front ends."""
        if isinstance(message, TextDelta | ReasoningDelta):
            self._text[type(message)] = self._text.get(type(message), "") + message.text
        elif isinstance(message, ToolOutput):
            self._output[message.action_id] = (self._output.get(message.action_id, "") + message.text)[-LIVE_LIMIT:]
        elif isinstance(message, EventBase):
            self._last_seq = message.seq
            if isinstance(message, ModelResponded | RunEnded):
                self._text.clear()
            elif isinstance(message, ActionObserved | ActionAbandoned):
                self._output.pop(message.action_id, None)

    def send_to(self, screen: FrontEnd) -> None:
        """Send the content of the streams to a front end that attaches.

        If it has a later event than the messages here, nothing is sent: that event may have ended the streams.
        """
        if screen.last_seq > self._last_seq:
            return
        for kind, text in self._text.items():
            screen.send(kind(text=text))
        for action_id, text in self._output.items():
            screen.send(ToolOutput(action_id=action_id, text=text))


class FrontEnds:
    """All attached front ends; the first one that is not a viewer is in control.

    The front end in control may send commands; the others only follow. `len()` returns the number of front ends that
    keep the engine running: all but viewers and those that are leaving.
    """

    def __init__(self) -> None:
        self._screens: list[FrontEnd] = []
        self._streams = UnfinishedStreams()

    def __len__(self) -> int:
        return sum(not (screen.is_leaving or screen.is_viewer) for screen in self._screens)

    @property
    def checks_unsaved(self) -> bool:
        """Whether any front end is asked about unsaved files; may be read in any thread."""
        return any(screen.checks_unsaved for screen in tuple(self._screens))

    def add(self, screen: FrontEnd) -> None:
        """Attach a front end, and send it the content so far of the unfinished streams."""
        self._streams.send_to(screen)
        self._screens.append(screen)
        self._screens.sort(key=lambda each: (each.is_viewer, each.is_leaving))
        self._announce_control()

    def remove(self, screen: FrontEnd) -> None:
        """Detach a front end; if it was in control, the next one takes its place."""
        if screen in self._screens:
            self._screens.remove(screen)
            self._announce_control()

    def has_control(self, screen: FrontEnd) -> bool:
        """Return whether this front end may send commands."""
        return bool(self._screens) and self._screens[0] is screen and not screen.is_viewer

    def grant_control(self, screen: FrontEnd) -> None:
        """Give this front end control; the front end that had it gets it again once this one detaches."""
        self._screens.sort(key=lambda each: each is not screen)
        self._announce_control()

    def _announce_control(self) -> None:
        """Send each front end its control state, if that has changed."""
        for screen in self._screens:
            has_control, others = self.has_control(screen), len(self._screens) - 1
            control = ControlState(has_control=has_control, others=others, is_viewer=screen.is_viewer)
            if screen.control != control:
                screen.control = control
                screen.send(control)

    def forward(self, messages: Sequence[Outgoing]) -> None:
        """Send messages to all front ends; each message is encoded once."""
        for message in messages:
            self._streams.add(message)
        if not self._screens:
            return
        lines = [(message, encode(message) + b"\n") for message in messages]
        for screen in tuple(self._screens):
            screen.forward(lines)

    def close(self) -> None:
        """Close all connections."""
        for screen in self._screens:
            screen.close()
