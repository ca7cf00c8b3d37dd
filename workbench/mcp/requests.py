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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig
from workbench.mcp.elicitation import elicit
from workbench.secrets.masker import KNOWN
from workbench.text import well_formed

if TYPE_CHECKING:
    from mcp import types as t

SAMPLING = "mcp_sampling"
"""Stands in the place of a tool where a server wants an answer of the model."""
_MOST_MESSAGES, _MOST_TEXT = 100, 200_000
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_REASONS = {"stop": "endTurn", "length": "maxTokens"}


class NotPossible(WorkbenchError):
    """The wish cannot be carried out as it is; one line that says why."""


@dataclass(frozen=True)
class SamplePart:
    """One message: `text` is shown to the person, `images` (data URLs) go with it."""

    role: str
    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True)
class SampleRequest:
    """What is to be sent to the model."""

    parts: tuple[SamplePart, ...]
    system: str = ""
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    temperature: float | None = None

    @property
    def told(self) -> dict[str, Any]:
        """All of it, as the person sees it before it is sent: each message by itself, under who says it."""
        is_one = len(self.parts) == 1
        said = {part.role if is_one else f"{n}. {part.role}": part.text for n, part in enumerate(self.parts, 1)}
        more = {"stop": list(self.stop), "temperature": self.temperature}
        return {
            **({"system": self.system} if self.system else {}),
            **said,
            "max_tokens": self.max_tokens,
            **{name: value for name, value in more.items() if value not in ([], None)},
        }


@dataclass(frozen=True)
class Sample:
    """What the model said."""

    text: str
    model: str
    finish_reason: str = "stop"


def sample(server: str, params: Any, asker: RequestHandler, seconds: float) -> t.CreateMessageResult:
    """The answer for the server; raises WorkbenchError."""
    from mcp import types as t

    said = asker.sample(_read(server, params), seconds)
    return t.CreateMessageResult(
        role="assistant",
        content=t.TextContent(type="text", text=KNOWN.masked(said.text)),
        model=said.model,
        stop_reason=_REASONS.get(said.finish_reason, said.finish_reason),
    )


def _read(server: str, params: t.CreateMessageRequestParams) -> SampleRequest:
    if params.tools:
        raise NotPossible(f"the MCP server {server} wanted the model to call tools of its own: refused")
    parts = tuple(_part(server, message) for message in params.messages)
    system = _shown(params.system_prompt or "")
    size = sum(len(part.text) for part in parts) + len(system) + sum(map(len, params.stop_sequences or ()))
    if not parts or len(parts) > _MOST_MESSAGES or size > _MOST_TEXT:
        raise NotPossible(
            f"the MCP server {server} wanted {size:,} characters in {len(parts)} messages sent to the model: refused"
        )
    stop = tuple(map(_shown, params.stop_sequences or ()))
    return SampleRequest(parts, system, max(params.max_tokens, 1), stop, params.temperature)


def _part(server: str, message: Any) -> SamplePart:
    texts, images = [], []
    for block in message.content_as_list:
        if block.type == "text":
            texts.append(_shown(block.text))
        elif block.type == "image" and block.mime_type in _IMAGES:
            texts.append(f"[an image, {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]")
            images.append(f"data:{block.mime_type};base64,{block.data}")
        else:
            raise NotPossible(f"the MCP server {server} wanted something sent that is no text and no image: refused")
    return SamplePart(message.role, "\n".join(texts), tuple(images))


def _shown(text: str) -> str:
    """What is sent is what is shown: without secrets."""
    return KNOWN.masked(well_formed(text))


T = TypeVar("T")
_MOST = 40
"""Questions of one call."""


class NotAllowed(WorkbenchError):
    """The server may not have that; one line that says why."""


class RequestHandler(Protocol):
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
    asker: RequestHandler | None
    limit: asyncio.Timeout
    asking: int = 0
    asked: int = 0


class Requests:
    """The calls of one server that run, and the way of its questions to them; all but `is_asking` in the loop."""

    def __init__(self, server: ServerConfig) -> None:
        self._server = server
        self._calls: list[_Call] = []

    @property
    def is_asking(self) -> bool:
        """Whether somebody thinks about a question of its."""
        return any(call.asking for call in list(self._calls))

    @asynccontextmanager
    async def during(self, asker: RequestHandler | None) -> AsyncIterator[None]:
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
