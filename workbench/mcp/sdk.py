"""Connects to servers with the protocol's SDK, over pipes and HTTP, with limits on the size of a server's messages."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Protocol

import httpx2
from mcp import Client
from mcp import types as t
from mcp.client.session import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from workbench import __version__
from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError
from workbench.mcp.config import ServerConfig, expanded, variables_of
from workbench.mcp.errors import OtherTransport, ServerGone, SessionLost, SignInNeeded, http_words
from workbench.mcp.server_command import command_of
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.mcp.stdio import LINE_LIMIT, MOST_FILES, OTHERS, StderrTail, TooLong, started_files, stdio_transport
from workbench.mcp.token_store import Signed, TokenStore

if TYPE_CHECKING:
    from workbench.config.locations import Locations
    from workbench.mcp.connection import ConnectionListener
_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
"""The byte sequences that end an event in an event stream."""


def plain(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers, changed to request uncompressed bodies, so that the limit applies to the bytes in memory."""
    plain_headers = {name: value for name, value in headers.items() if name.lower() != "accept-encoding"}
    return {**plain_headers, "Accept-Encoding": "identity"}


def counting(gone: Callable[[str], None]) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that stops reading a body at the size limit and calls `gone` with the reason."""

    async def count(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Counted(response.stream, gone, 0 if packed else LINE_LIMIT, events=events)

    return count


class _Counted(httpx2.AsyncByteStream):
    """A response body of at most `limit` bytes; in an event stream, the limit applies to each event."""

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
                why = f"it sent {size if self._limit else 'a compressed message, which was not requested'}"
                self._gone(why)
                raise TooLong(why)
            yield chunk

    def _count(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._events:
            recent = self._last + chunk
            end = max(recent.rfind(mark) for mark in _ENDS)
            if end >= 0:
                self._size = len(recent) - end
            self._last = recent[-3:]

    async def aclose(self) -> None:
        await self._stream.aclose()


# The SDK's log messages must not reach the user's stderr.
logging.getLogger("mcp").addHandler(logging.NullHandler())
_HTTP_SECONDS = 30.0
_CHANGES = (t.ToolListChangedNotification, t.PromptListChangedNotification, t.ResourceListChangedNotification)


class Gone(Protocol):
    """Called when the server has ended or refuses every request."""

    def __call__(self, why: str, kind: type[ServerGone | SignInNeeded] = ServerGone) -> None:
        """Report why the server is gone, and which type of error its calls raise."""


async def entered(
    stack: AsyncExitStack,
    server: ServerConfig,
    tail: StderrTail,
    gone: Gone,
    heard: ConnectionListener,
    *,
    sandbox: ServerSandbox,
    mode: Literal["legacy", "auto"],
) -> Client:
    """Return a connected client, which `stack` closes. Raises the SDK's errors, those of `_check_start`, and
    OtherTransport if the server does not speak the newer transport and the configuration permits the older one.
    """
    client: Client
    answers: list[httpx2.Response] = []
    if server.kind == "stdio":
        await asyncio.to_thread(_check_start, server, heard)

    async def on_message(message: Any) -> None:
        if isinstance(message, _CHANGES):
            await heard.changed(client)

    async def on_log(params: t.LoggingMessageNotificationParams) -> None:
        heard.log_line(f"{params.level}: {params.data}")

    elicited, sampled, listed = (_answering(heard, kind) for kind in ("elicitation", "sampling", "roots"))
    client = Client(
        _transport(server, tail, gone, heard.locations, answers=answers, sandbox=sandbox),
        mode=mode,
        client_info=t.Implementation(name="ohw", version=__version__),
        message_handler=on_message,
        logging_callback=on_log,
        cache=None,
        elicitation_callback=elicited if server.elicitation else None,
        sampling_callback=sampled if server.sampling else None,
    )
    with _noticing_older(server, answers):
        await stack.enter_async_context(client)
    _refuse_rest(client, elicited, sampled, listed)
    return client


def _refuse_rest(client: Client, elicited: Any, sampled: Any, listed: Any) -> None:
    """Also handle requests that the client did not announce to support, so that server and user learn why they are
    refused.
    """
    own = {"_elicitation_callback": elicited, "_sampling_callback": sampled, "_list_roots_callback": listed}
    for name, callback in own.items():
        setattr(client.session, name, callback)


@contextmanager
def _noticing_older(server: ServerConfig, answers: Sequence[httpx2.Response]) -> Iterator[None]:
    """Raise OtherTransport for an error in the block if the first answer and the configuration suggest SSE."""
    try:
        yield
    except BaseException as error:
        if server.tries_sse and server.kind == "http" and answers and _is_older(answers[0]):
            raise OtherTransport("it speaks the older HTTP transport (SSE)") from error
        raise


def _is_older(answer: httpx2.Response) -> bool:
    """Return whether the answer to the first request shows that the server does not speak the newer transport.

    Answers that require a sign-in, refuse access or report a failure of the server do not show this.
    """
    if answer.is_success:
        return not answer.headers.get("content-type", "").startswith(("application/json", "text/event-stream"))
    return answer.status_code in (400, 404, 405, 406, 415, 501)


def _check_start(server: ServerConfig, heard: ConnectionListener) -> None:
    """Check the files that decide what a local server runs. Raises UsageError, ProgramMissing or StartChanged."""
    argv, directory, theirs = command_of(server)
    files = started_files(argv, directory, theirs, server.env)
    if OTHERS in files:
        heard.log_line(f"· the start files beyond the first {MOST_FILES} are compared together: {files[OTHERS]}")
    heard.starting(files)


def _answering(heard: ConnectionListener, kind: str) -> Any:
    """Return the handler for one kind of request; it turns a refusal into an error response with the reason."""

    async def answer(context: ClientRequestContext, params: Any = None) -> Any:
        try:
            return await heard.asked(kind, params)
        except WorkbenchError as error:
            heard.log_line(f"· {error}")
            return t.ErrorData(code=t.INVALID_REQUEST, message=str(error))

    return answer


def _transport(
    server: ServerConfig,
    tail: StderrTail,
    gone: Gone,
    locations: Locations,
    *,
    answers: list[httpx2.Response],
    sandbox: ServerSandbox,
) -> AbstractAsyncContextManager[Any]:
    """Return the transport to a server; the first answer over HTTP is added to `answers`."""
    is_local = server.kind == "stdio"
    return _pipes(server, tail, gone, locations, sandbox) if is_local else _http(server, gone, locations, answers)


@asynccontextmanager
async def _pipes(
    server: ServerConfig, tail: StderrTail, gone: Gone, locations: Locations, sandbox: ServerSandbox
) -> AsyncIterator[Any]:
    """Start a local server. If no working directory is configured, that is a new, empty one, because `python -m` and
    `npx` load code from the working directory and its parents.
    """
    argv, directory, env = command_of(server)
    with ExitStack() as stack:
        is_own = not directory
        if is_own:
            above = private_directory(locations.data / "mcp" / "running")
            directory = stack.enter_context(TemporaryDirectory(dir=above, ignore_cleanup_errors=True))
        transport = stdio_transport(argv, directory, env, tail, gone, sandbox=sandbox, is_own_directory=is_own)
        async with transport as streams:
            yield streams


def _http(
    server: ServerConfig, gone: Gone, locations: Locations, answers: list[httpx2.Response]
) -> AbstractAsyncContextManager[Any]:
    """Return the transport to a server at a URL."""
    env = variables_of(server, os.environ)
    url = expanded(server.url, env)
    headers = {name: expanded(value, env) for name, value in server.headers.items()}
    auth = _sign_in(server, gone, locations)
    if server.kind == "sse":

        def http_client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return _http_client(gone, headers, timeout, auth, _refusals(server, gone, auth))

        return sse_client(url, headers, _HTTP_SECONDS, _silence(server), httpx_client_factory=http_client, auth=auth)
    return _streamable(server, url, headers, gone, auth, answers=answers)


def _silence(server: ServerConfig) -> float:
    """Return the read timeout in seconds, long enough for a call in which a request waits for the user."""
    return max(server.call_seconds + server.ask_seconds, _HTTP_SECONDS)


def _sign_in(server: ServerConfig, gone: Gone, locations: Locations) -> Signed | None:
    """Return authentication with the stored sign-in, or None if there is none or the configuration excludes it."""
    if not server.uses_oauth or any(name.lower() == "authorization" for name in server.headers):
        return None
    store = TokenStore(locations, server)
    if not store.is_there:
        return None
    return Signed(server.name, store, gone)


def _http_client(
    gone: Gone,
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
    *hooks: Any,
) -> httpx2.AsyncClient:
    """Return an HTTP client that stops reading a body at the size limit; `hooks` receive each response first."""
    event_hooks = {"response": [*hooks, counting(gone)]}
    return httpx2.AsyncClient(headers=plain(headers or {}), timeout=timeout, event_hooks=event_hooks, auth=auth)


def _refusals(server: ServerConfig, gone: Gone, auth: object | None) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that reports a required sign-in; `auth` handles that itself, if given."""

    async def check(response: httpx2.Response) -> None:
        if response.status_code == 401 and auth is None:
            hint = f"; to sign in: ohw mcp login {server.name}" if server.uses_oauth else ""
            gone(http_words(401, response.reason_phrase) + hint, SignInNeeded)

    return check


def _streamable(
    server: ServerConfig,
    url: str,
    headers: dict[str, str],
    gone: Gone,
    auth: Signed | None,
    *,
    answers: list[httpx2.Response],
) -> AbstractAsyncContextManager[Any]:
    """Return the newer transport; the first answer to a request is added to `answers`."""
    refusals = _refusals(server, gone, auth)

    async def check(response: httpx2.Response) -> None:
        """Report an HTTP error with its status, which the SDK omits."""
        code = response.status_code
        if response.request.method != "POST":
            return
        if not answers:
            answers.append(response)
        await refusals(response)
        if code in (403, 404) or code >= 500:
            is_lost = code == 404 and "mcp-session-id" in response.request.headers
            gone(http_words(code, response.reason_phrase), SessionLost if is_lost else ServerGone)

    @asynccontextmanager
    async def transport() -> Any:
        timeout = httpx2.Timeout(_HTTP_SECONDS, read=_silence(server))
        async with (
            _http_client(gone, headers, timeout, auth, check) as client,
            streamable_http_client(url, http_client=client, max_sse_event_size=2 * LINE_LIMIT) as streams,
        ):
            yield streams

    return transport()
