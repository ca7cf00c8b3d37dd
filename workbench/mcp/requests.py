"""What a server asks for by itself, answered by whoever made the call it works on; used by `client` and `listener`.

A question belongs to a call: while the person thinks, that call does not time out, and with its end the question ends.
Outside of a call, and for what its settings switch off, a server gets a refusal that says why.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.forms import elicit
from workbench.mcp.sampling import Sample, SampleRequest, sample
from workbench.mcp.servers import Server
from workbench.secrets.masker import KNOWN

T = TypeVar("T")
_MOST = 40
"""Questions of one call."""


class NotAllowed(WorkbenchError):
    """The server may not have that; one line that says why."""


class Asker(Protocol):
    """Who answers for one call; each of these may take long and is called in a thread of its own."""

    def ask(self, text: str, options: tuple[str, ...], seconds: float) -> str | None:
        """The person's answer; None when none came. Raises WorkbenchError where nobody can be asked."""

    def sample(self, request: SampleRequest, seconds: float) -> Sample:
        """What the session's model says to it, once that is approved. Raises WorkbenchError where it is not."""

    def refused(self, why: str) -> None:
        """The server wanted something it may not have."""

    def withdraw(self) -> None:
        """Nobody waits for the answers to open questions any more."""


@dataclass
class _Call:
    asker: Asker | None
    limit: asyncio.Timeout
    asking: int = 0
    asked: int = 0


class Requests:
    """The calls of one server that run, and the way of its questions to them; all but `is_asking` in the loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._calls: list[_Call] = []

    @property
    def is_asking(self) -> bool:
        """Whether somebody thinks about a question of its."""
        return any(call.asking for call in list(self._calls))

    @asynccontextmanager
    async def during(self, asker: Asker | None) -> AsyncIterator[None]:
        """A call runs; raises TimeoutError when it takes longer than it may."""
        async with asyncio.timeout(self._server.call_seconds) as limit:
            call = _Call(asker, limit)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                if asker is not None:
                    asker.withdraw()

    async def answer(self, kind: str, params: Any) -> Any:
        """The answer to a request of the server's; raises WorkbenchError where there is none."""
        call = next((each for each in reversed(self._calls) if each.asker is not None), None)
        if call is None or call.asker is None:
            raise NotAllowed(f"{self._what(kind)}, but no call of the agent's runs that it could be for: refused")
        asker, seconds, name = call.asker, self._server.ask_seconds, self._server.name
        try:
            self._check(kind, call)
            work = elicit if kind == "elicitation" else sample
            with self._pausing(call):
                return await _in_thread(lambda: work(name, params, asker, seconds), asker.withdraw)
        except WorkbenchError as error:
            asker.refused(KNOWN.masked(str(error)))
            raise

    def _check(self, kind: str, call: _Call) -> None:
        call.asked += 1
        if call.asked > _MOST:
            raise NotAllowed(f"{self._what(kind)} for the {call.asked}th time in one call: refused")
        if kind == "roots":
            raise NotAllowed(f"{self._what(kind)}, which is told to no server: refused")
        if not getattr(self._server, kind):
            raise NotAllowed(f"{self._what(kind)}, which its settings switch off: refused")

    def _what(self, kind: str) -> str:
        wants = {
            "elicitation": "wanted to ask the person something",
            "sampling": "wanted an answer of the model",
            "roots": "wanted to know the folders",
        }
        return f"the MCP server {self._server.name} {wants[kind]}"

    def _pausing(self, call: _Call) -> _Pause:
        return _Pause(call, self._server.call_seconds)


class _Pause:
    """The time of a call stands still while somebody thinks about a question of its."""

    def __init__(self, call: _Call, seconds: float) -> None:
        self._call = call
        self._seconds = seconds

    def __enter__(self) -> None:
        self._call.asking += 1
        self._call.limit.reschedule(None)

    def __exit__(self, *error: object) -> None:
        self._call.asking -= 1
        if not self._call.asking:
            with suppress(RuntimeError):  # the call has ended meanwhile
                self._call.limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


async def _in_thread(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """What a thread of its own gives; `stop` ends it when nobody waits any more."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            set_it(value)

    def run() -> None:
        try:
            told: tuple[Callable[..., None], object] = (done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - handed to the task that waits
            told = (done.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, *told)

    threading.Thread(target=run, daemon=True, name="mcp-question").start()
    try:
        return await done
    finally:
        if not done.done() or done.cancelled():
            stop()
