"""Answers the requests (sampling, elicitation) that a server sends during a call.

A request belongs to a call: while the request waits for the user, the call does not time out, and when the call ends,
so does the request. If no call is running, or if the server's configuration disables the request, it is refused with
the reason.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig
from workbench.mcp.elicitation import elicit
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.secrets.masker import MASKER
from workbench.text import well_formed

if TYPE_CHECKING:
    from mcp import types as t

SAMPLING = "mcp_sampling"
"""The tool name under which a sampling request is shown for approval."""
_MOST_MESSAGES, _MOST_TEXT = 100, 200_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_REASONS = {"stop": "endTurn", "length": "maxTokens"}


class NotPossible(WorkbenchError):
    """The request cannot be carried out; the message says why."""


@dataclass(frozen=True)
class SamplePart:
    """One message of a sampling request: the user sees `text`; `images` are data URLs."""

    role: str
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleRequest:
    """The messages and options that a server wants sent to the model."""

    parts: tuple[SamplePart, ...]
    system: str = ""
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    temperature: float | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The request as fields for the user's approval; each message is a field named after its role."""
        is_one = len(self.parts) == 1
        messages = {part.role if is_one else f"{n}. {part.role}": part.text for n, part in enumerate(self.parts, 1)}
        more = {"stop": list(self.stop), "temperature": self.temperature}
        return {
            **({"system": self.system} if self.system else {}),
            **messages,
            "max_tokens": self.max_tokens,
            **{name: value for name, value in more.items() if value not in ([], None)},
        }


@dataclass(frozen=True)
class Sample:
    """The model's response to a sampling request."""

    text: str
    model: str
    finish_reason: str = "stop"


def sample(server: str, params: Any, handler: RequestHandler, seconds: float) -> t.CreateMessageResult:
    """Return the model's response to a sampling request. Raises WorkbenchError if it is refused or fails."""
    from mcp import types as t

    response = handler.sample(_read(server, params), seconds)
    return t.CreateMessageResult(
        role="assistant",
        content=t.TextContent(type="text", text=MASKER.masked(response.text)),
        model=response.model,
        stop_reason=_REASONS.get(response.finish_reason, response.finish_reason),
    )


def _read(server: str, params: t.CreateMessageRequestParams) -> SampleRequest:
    if params.tools:
        raise NotPossible(f"the MCP server {server} asked the model to call tools of its own: refused")
    parts = tuple(_part(server, message) for message in params.messages)
    system = _masked(params.system_prompt or "")
    size = sum(len(part.text) for part in parts) + len(system) + sum(map(len, params.stop_sequences or ()))
    if not parts or len(parts) > _MOST_MESSAGES or size > _MOST_TEXT:
        raise NotPossible(
            f"the MCP server {server} wanted {size:,} characters in {len(parts)} messages sent to the model: refused"
        )
    stop = tuple(map(_masked, params.stop_sequences or ()))
    return SampleRequest(parts, system, max(params.max_tokens, 1), stop, params.temperature)


def _part(server: str, message: Any) -> SamplePart:
    lines, images = [], []
    for block in message.content_as_list:
        if block.type == "text":
            lines.append(_masked(block.text))
        elif block.type == "image" and block.mime_type in _IMAGES:
            lines.append(f"[an image, {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]")
            images.append(f"data:{block.mime_type};base64,{block.data}")
        else:
            raise NotPossible(
                f"the MCP server {server} wanted the model to get something other than text and images: refused"
            )
    return SamplePart(message.role, "\n".join(lines), tuple(images))


def _masked(text: str) -> str:
    """Return the text with secrets masked. It is masked before the approval, so the user sees what is sent."""
    return MASKER.masked(well_formed(text))


T = TypeVar("T")
_MOST_REQUESTS = 40
"""The maximum number of requests from a server during one call."""


class NotAllowed(WorkbenchError):
    """The server may not make this request; the message says why."""


class RequestHandler(Protocol):
    """Answers a server's requests during one call. `ask` and `sample` are called in a new thread and may take long."""

    def ask(self, text: str, options: tuple[str, ...], seconds: float) -> str | None:
        """Return the user's answer, or None if there is none within `seconds`. Raises WorkbenchError if no user can be
        asked.
        """

    def sample(self, request: SampleRequest, seconds: float) -> Sample:
        """Return the model's response after the user approved the request. Raises WorkbenchError if there is none."""

    def refused(self, why: str) -> None:
        """Report that a request from the server was refused, and why."""

    def withdraw(self) -> None:
        """Withdraw the open requests, because their answers are no longer needed."""


@dataclass
class _Call:
    handler: RequestHandler | None
    limit: asyncio.Timeout
    asking: int = 0
    asked: int = 0


class Requests:
    """The running calls of one server and the requests that it sends during them.

    All methods except `is_asking` must be called in the event loop.
    """

    def __init__(self, server: ServerConfig, sandbox: ServerSandbox) -> None:
        self._server = server
        self._sandbox = sandbox
        self._calls: list[_Call] = []

    @property
    def is_asking(self) -> bool:
        """Whether the user is asked about a request of the server, or a host that it wants to reach."""
        return any(call.asking for call in list(self._calls)) or self._sandbox.is_waiting

    @asynccontextmanager
    async def during(self, handler: RequestHandler | None) -> AsyncIterator[None]:
        """Enclose one call, whose requests `handler` answers.

        Raises TimeoutError after `call_seconds`; the time limit restarts after a question to the user.
        """
        seconds = self._server.call_seconds
        async with asyncio.timeout(seconds) as limit, self._sandbox.holding(limit, seconds):
            call = _Call(handler, limit)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                if handler is not None:
                    handler.withdraw()

    async def answer(self, kind: str, params: Any) -> Any:
        """Return the answer to a request from the server. Raises WorkbenchError if it is refused or fails."""
        call = next((each for each in reversed(self._calls) if each.handler is not None), None)
        if call is None or call.handler is None:
            raise NotAllowed(f"{self._what(kind)}, but no call is running that it could be for: refused")
        handler, seconds, name = call.handler, self._server.ask_seconds, self._server.name
        try:
            self._check(kind, call)
            work = elicit if kind == "elicitation" else sample
            with self._pausing(call):
                return await _in_thread(lambda: work(name, params, handler, seconds), handler.withdraw)
        except WorkbenchError as error:
            handler.refused(MASKER.masked(str(error)))
            raise

    def _check(self, kind: str, call: _Call) -> None:
        call.asked += 1
        if call.asked > _MOST_REQUESTS:
            raise NotAllowed(f"{self._what(kind)} for the {call.asked}th time in one call: refused")
        if kind == "roots":
            raise NotAllowed(f"{self._what(kind)}, which no server gets: refused")
        if not getattr(self._server, kind):
            raise NotAllowed(f"{self._what(kind)}, which its configuration disables: refused")

    def _what(self, kind: str) -> str:
        wants = {
            "elicitation": "asked for user input",
            "sampling": "asked for a model response",
            "roots": "asked for the workspace directories",
        }
        return f"the MCP server {self._server.name} {wants[kind]}"

    def _pausing(self, call: _Call) -> _Pause:
        return _Pause(call, self._server.call_seconds)


class _Pause:
    """Suspends a call's time limit while a request waits for the user; afterwards the limit starts again."""

    def __init__(self, call: _Call, seconds: float) -> None:
        self._call = call
        self._seconds = seconds

    def __enter__(self) -> None:
        self._call.asking += 1
        self._call.limit.reschedule(None)

    def __exit__(self, *error: object) -> None:
        self._call.asking -= 1
        if not self._call.asking:
            # The call may have ended before its request did.
            with suppress(RuntimeError):
                self._call.limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


async def _in_thread(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Return the result of `work`, run in a new thread. If the wait is canceled, call `stop` to end `work`."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.done():
            set_it(value)

    def run() -> None:
        try:
            result: tuple[Callable[..., None], object] = (done.set_result, work())
        except BaseException as error:  # noqa: BLE001 - passed to the waiting task
            result = (done.set_exception, error)
        # The loop may have been closed before `work` returned.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(finish, *result)

    threading.Thread(target=run, daemon=True, name="mcp-question").start()
    try:
        return await done
    finally:
        if not done.done() or done.cancelled():
            stop()
