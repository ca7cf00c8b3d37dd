"""Answers of servers that are reached by an address, counted as they come: as long as over a pipe; used by `sdk`."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Protocol

import httpx2
from mcp import Client
from mcp import types as t
from mcp.client.session import ClientRequestContext

from workbench import __version__
from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig, expanded, server_environment
from workbench.mcp.errors import ServerFailed, ServerGone, SessionLost, SignInNeeded, http_words
from workbench.mcp.stdio import LINE_LIMIT, StderrTail, TooLong, started_files, stdio_transport
from workbench.mcp.tokens import TokenStore

if TYPE_CHECKING:
    from workbench.config.locations import Locations
    from workbench.mcp.connection import ConnectionListener
    from workbench.mcp.tokens import Signed

_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""Between events."""


def plain(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, and that nothing is to be packed: what is counted is what would be kept."""
    kept = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    return {**kept, "Accept-Encoding": "identity"}


def counting(gone: Callable[[str], None]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """For each response: `gone` hears of one that is too long, and no more of it is read."""

    async def count(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Counted(response.stream, gone, 0 if packed else LINE_LIMIT, events=events)

    return count


class _Counted(httpx2.AsyncByteStream):
    """A body of at most `limit` bytes, or of events of at most that many each."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, gone: Callable[[str], None], limit: int, *, events: bool
    ) -> None:
        self._stream = stream
        self._gone = gone
        self._limit = limit
        self._events = events
        self._last = b""
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._count(chunk)
            if self._size > self._limit:
                size = f"a message of more than {self._limit // 1_000_000} MB"
                why = f"it sent {size if self._limit else 'a packed message, which was not asked for'}"
                self._gone(why)
                raise TooLong(why)
            yield chunk

    def _count(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._events:
            seen = self._last + chunk
            end = max(seen.rfind(mark) for mark in _ENDS)
            if end >= 0:
                self._size = len(seen) - end
            self._last = seen[-3:]

    async def aclose(self) -> None:
        await self._stream.aclose()


logging.getLogger("mcp").addHandler(logging.NullHandler())  # what it says of errors is not for the person's stderr
_HTTP_SECONDS = 30.0
_BRINGS = {
    "npx": ", which comes with Node.js (apt-get install nodejs npm)",
    "node": ", which is Node.js (apt-get install nodejs)",
    "uvx": ", which comes with uv (pip install uv)",
    "docker": ", which is Docker",
}
_CHANGES = (t.ToolListChangedNotification, t.PromptListChangedNotification, t.ResourceListChangedNotification)


class Gone(Protocol):
    """Hears that the server is gone, or refuses everything."""

    def __call__(self, why: str, kind: type[ServerGone | SignInNeeded] = ServerGone) -> None:
        """Why, and what that is for whoever calls."""


async def entered(
    stack: AsyncExitStack,
    server: ServerConfig,
    tail: StderrTail,
    gone: Gone,
    heard: ConnectionListener,
    *,
    mode: Literal["legacy", "auto"],
) -> Client:
    """A client that has shaken hands; `stack` closes it."""
    client: Client
    if server.kind == "stdio":
        await asyncio.to_thread(_check_start, server, heard)

    async def on_message(message: Any) -> None:
        if isinstance(message, _CHANGES):
            await heard.changed(client)

    async def on_log(params: t.LoggingMessageNotificationParams) -> None:
        heard.told(f"{params.level}: {params.data}")

    elicited, sampled, listed = (_answering(heard, kind) for kind in ("elicitation", "sampling", "roots"))
    client = Client(
        _transport(server, tail, gone, heard.locations),
        mode=mode,
        client_info=t.Implementation(name="ohw", version=__version__),
        message_handler=on_message,
        logging_callback=on_log,
        cache=None,
        elicitation_callback=elicited if server.elicitation else None,
        sampling_callback=sampled if server.sampling else None,
    )
    await stack.enter_async_context(client)
    # what was not offered is asked for by some all the same: they hear why not, and so does the person
    own = {"_elicitation_callback": elicited, "_sampling_callback": sampled, "_list_roots_callback": listed}
    for name, callback in own.items():
        setattr(client.session, name, callback)
    return client


def _check_start(server: ServerConfig, heard: ConnectionListener) -> None:
    """Have the files compared that decide what the server runs; raises UsageError, ServerFailed, StartChanged."""
    argv, folder, theirs = _command(server)
    heard.starting(started_files(argv, folder, theirs))


def _command(server: ServerConfig) -> tuple[list[str], str, dict[str, str]]:
    """Words, directory (empty for one of its own) and environment of a server on this machine."""
    argv = [expanded(word, os.environ) for word in (server.command, *server.args)]
    theirs = server_environment(server, os.environ)
    _look_for(argv[0], theirs)
    return argv, expanded(server.cwd, os.environ), theirs


def _answering(heard: ConnectionListener, kind: str) -> Any:
    """What answers one kind of request; a refusal is an error with its reason."""

    async def answer(context: ClientRequestContext, params: Any = None) -> Any:
        try:
            return await heard.asked(kind, params)
        except WorkbenchError as error:
            heard.told(f"· {error}")
            return t.ErrorData(code=t.INVALID_REQUEST, message=str(error))

    return answer


def _transport(
    server: ServerConfig, tail: StderrTail, gone: Gone, locations: Locations
) -> AbstractAsyncContextManager[Any]:
    env = os.environ
    if server.kind == "stdio":
        argv, folder, theirs = _command(server)
        return (
            stdio_transport(argv, folder, theirs, tail, gone) if folder else _apart(argv, theirs, tail, gone, locations)
        )
    url = expanded(server.url, env)
    headers = {name: expanded(value, env) for name, value in server.headers.items()}
    auth = _sign_in(server, gone, locations)
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        def made(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return _http_client(gone, headers, timeout, auth, _refusals(server, gone, auth))

        return sse_client(url, headers, _HTTP_SECONDS, _silence(server), httpx_client_factory=made, auth=auth)
    return _streamable(server, url, headers, gone, auth)


@asynccontextmanager
async def _apart(
    argv: list[str], env: Mapping[str, str], tail: StderrTail, gone: Gone, locations: Locations
) -> AsyncIterator[Any]:
    """In a new, empty folder: `python -m` and `npx` would take code from the one they run in, or from one above it."""
    above = private_directory(locations.data / "mcp" / "running")
    with TemporaryDirectory(dir=above, ignore_cleanup_errors=True) as folder:
        async with stdio_transport(argv, folder, env, tail, gone) as streams:
            yield streams


def _look_for(command: str, env: Mapping[str, str]) -> None:
    """Raises ServerFailed for a program that is on none of the paths, before anything is started."""
    if "/" not in command and shutil.which(command, path=env.get("PATH")) is None:
        raise ServerFailed(f"there is no program {command}{_BRINGS.get(command, '')}")


def _silence(server: ServerConfig) -> float:
    """Seconds without a word in a call: it has its own end, and a person may think about a question in it."""
    return max(server.call_seconds + server.ask_seconds, _HTTP_SECONDS)


def _sign_in(server: ServerConfig, gone: Gone, locations: Locations) -> Signed | None:
    """The person's sign-in, where there is one and the settings give no other."""
    if not server.signs_in or any(name.lower() == "authorization" for name in server.headers):
        return None
    store = TokenStore(locations, server)
    if not store.is_there:
        return None
    from workbench.mcp.tokens import Signed

    return Signed(server.name, store, gone)


def _http_client(
    gone: Gone,
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
    *looks: Any,
) -> httpx2.AsyncClient:
    """A client that reads no answer beyond the limit; `looks` see each answer first."""
    import httpx2

    from workbench.mcp.sdk import counting, plain

    hooks = {"response": [*looks, counting(gone)]}
    return httpx2.AsyncClient(headers=plain(headers or {}), timeout=timeout, event_hooks=hooks, auth=auth)


def _refusals(server: ServerConfig, gone: Gone, auth: object | None) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Looks for an answer that wants a sign-in; with one of the person's that is renewed, or told of there."""

    async def look(response: httpx2.Response) -> None:
        if response.status_code == 401 and auth is None:
            hint = f"; to sign in: ohw mcp login {server.name}" if server.signs_in else ""
            gone(http_words(401, response.reason_phrase) + hint, SignInNeeded)

    return look


def _streamable(
    server: ServerConfig, url: str, headers: dict[str, str], gone: Gone, auth: Signed | None
) -> AbstractAsyncContextManager[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    refusals = _refusals(server, gone, auth)

    async def look(response: httpx2.Response) -> None:
        """The SDK tells of a refusal without its number."""
        code = response.status_code
        if response.request.method != "POST":
            return
        await refusals(response)
        if code in (403, 404) or code >= 500:
            is_lost = code == 404 and "mcp-session-id" in response.request.headers
            gone(http_words(code, response.reason_phrase), SessionLost if is_lost else ServerGone)

    @asynccontextmanager
    async def transport() -> Any:
        timeout = httpx2.Timeout(_HTTP_SECONDS, read=_silence(server))
        async with (
            _http_client(gone, headers, timeout, auth, look) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=2 * LINE_LIMIT) as streams,
        ):
            yield streams

    return transport()
