"""A link that stands at once, while the real one is still being made behind the first frame.

Commands given meanwhile are kept in order and handed over, so that nothing typed early is lost.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.tui.links.history import History
from workbench.tui.links.link import Incoming, Link, LinkLost

if TYPE_CHECKING:
    from workbench.protocol.events import Event, FileDelta
    from workbench.protocol.risk import Mode


class Commands(ABC):
    """The commands of a link; the subclass says what becomes of each."""

    def send(self, text: str, mentions: Sequence[str] = ()) -> None:
        """A message of the person's, and the files it mentions."""
        self._give(lambda link: link.send(text, mentions))

    def withdraw(self, message: int) -> None:
        """Take back a message that still waits for the agent."""
        self._give(lambda link: link.withdraw(message))

    def run_command(self, command: str) -> None:
        """A shell command of the person's own."""
        self._give(lambda link: link.run_command(command))

    def decide(self, action_id: str, verdict: str, fingerprint: str, note: str = "", **more: Any) -> None:
        """Approve or reject one action as it was shown."""
        self._give(lambda link: link.decide(action_id, verdict, fingerprint, note, **more))

    def allow_always(self, action_id: str, fingerprint: str, rule: str, scope: str) -> None:
        """Approve one action as it was shown and save the rule shown with it."""
        self._give(lambda link: link.allow_always(action_id, fingerprint, rule, scope))

    def answer(self, action_id: str, text: str) -> None:
        """Answer a question of the agent's."""
        self._give(lambda link: link.answer(action_id, text))

    def interrupt(self) -> None:
        """Stop the agent."""
        self._give(lambda link: link.interrupt())

    def set_mode(self, mode: Mode, *, confirmed: bool = False) -> None:
        """Change the approval mode."""
        self._give(lambda link: link.set_mode(mode, confirmed=confirmed))

    def set_model(self, name: str) -> None:
        """Use another model from the next call on: a profile, or PROVIDER/NAME."""
        self._give(lambda link: link.set_model(name))

    def set_rule(self, rule: str | None = None, dropped_rule: str | None = None) -> None:
        """Add a rule to the session's own, or take one away."""
        self._give(lambda link: link.set_rule(rule, dropped_rule))

    def set_title(self, title: str) -> None:
        """Call the session so."""
        self._give(lambda link: link.set_title(title))

    def compact(self, *, undo: bool = False) -> None:
        """Have the history condensed: at once, or before the next call of the model; or take the last time back."""
        self._give(lambda link: link.compact(undo=undo))

    def take_back(self, files: Sequence[FileDelta]) -> None:
        """Write files as the person wants them back."""
        self._give(lambda link: link.take_back(files))

    def restore(self, copy_id: str) -> None:
        """Bring back the copy that was kept before a command took files away."""
        self._give(lambda link: link.restore(copy_id))

    def ask_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> None:
        """Get a prompt of an MCP server."""
        self._give(lambda link: link.ask_prompt(server, name, arguments))

    @abstractmethod
    def _give(self, command: Callable[[Link], None]) -> None:
        """Carry it out, now or later, or let it be."""


class LateLink(Commands):
    """Makes the real link in the thread that asks for the history."""

    def __init__(self, make: Callable[[], Link]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._kept: list[Callable[[Link], None]] = []
        self._lost: LinkLost | None = None
        self._closed = False
        self._stop = False

    def history(self) -> Iterable[Event]:
        """Make the link and read what the log holds; blocks, so it is called from a thread, and gone through in one."""
        try:
            link = self._make()
            self._stand_in(link)
            history = link.history()
        except WorkbenchError as error:
            self._lost = LinkLost(str(error), for_good=True)
            return ()

        def read() -> Iterator[Event]:
            try:
                yield from history
            except WorkbenchError as error:
                self._lost = LinkLost(str(error), for_good=True)

        return replace(history, events=read()) if isinstance(history, History) else read()

    def _stand_in(self, link: Link) -> None:
        with self._lock:
            self._link = link
            for command in self._kept:
                command(link)
            self._kept.clear()
            if self._closed:
                link.close(stop=self._stop)

    async def receive(self) -> Sequence[Incoming]:
        """The next messages of the real link; a link that could not be made is lost, once."""
        lost, self._lost = self._lost, None
        if lost is not None:
            return [lost]
        if self._link is None:
            await asyncio.Event().wait()  # lost before: there is nothing more to come
        assert self._link is not None
        return await self._link.receive()

    def close(self, *, stop: bool = False) -> None:
        """Leave the session, also one whose link is still being made."""
        with self._lock:
            already, self._closed, self._stop = self._closed, True, stop
            if self._link is not None and not already:
                self._link.close(stop=stop)

    def _give(self, command: Callable[[Link], None]) -> None:
        with self._lock:
            if self._link is None:
                self._kept.append(command)
            else:
                command(self._link)
