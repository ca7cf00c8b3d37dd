"""Runs an HTTP exchange in its own thread, so that a canceled call returns at once even if the library blocks."""

from __future__ import annotations

import contextlib
import itertools
import queue
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from types import TracebackType
from typing import Any, TypeAlias

import msgspec

from workbench.llm.model import Cancel

Chunk: TypeAlias = dict[str, Any]
_CANCELLED = object()
_END = object()
MOST_BYTES = 100_000_000
"""The maximum size of an HTTP response; the longest responses of models need less than half of it."""
_MOST_WAITING = 1_000
"""The maximum number of chunks that are read before the consumer takes them."""
_LONGEST_IDLE = 30.0
"""Seconds until an idle connection is closed; routers with NAT drop idle connections silently, but not that soon."""


class Silence(Exception):
    """No part of a response arrived within the time limit."""


class Endless(Exception):
    """The body of a response is longer than MOST_BYTES."""


class LeadsElsewhere(Exception):
    """The server redirects to another host, which would receive the conversation and possibly the key."""


class NotAnEndpoint(Exception):
    """The server sent a web page instead of a model's response."""


def stay_here(response: Any) -> None:
    """Raise LeadsElsewhere before httpx follows a redirect to another host, port or scheme (except from http to https).

    This is a response hook of httpx.
    """
    if not response.has_redirect_location:
        return
    here, there = response.url, response.url.join(response.headers["location"])
    is_upgrade = (here.scheme, there.scheme) == ("http", "https") and here.port is None and there.port is None
    if here.host != there.host or not (is_upgrade or (here.scheme, here.port) == (there.scheme, there.port)):
        raise LeadsElsewhere(f"{there.scheme}://{there.netloc.decode('ascii', 'replace')}")


def limit_body(response: Any) -> None:
    """Make the body of a response raise Endless after MOST_BYTES, before or after decompression.

    This is a response hook of httpx.
    """
    response.stream = _limited()(response.stream)
    if "content-encoding" in response.headers:
        decoded = response.iter_bytes
        response.iter_bytes = lambda chunk_size=None: _up_to_limit(decoded(chunk_size))


def _up_to_limit(pieces: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MOST_BYTES:
            raise Endless(f"more than {MOST_BYTES:,} bytes")
        yield piece


@cache
def _limited() -> Any:
    import httpx

    class Limited(httpx.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream
            self._pieces = _up_to_limit(stream)

        def __iter__(self) -> Iterator[bytes]:
            return self._pieces

        def close(self) -> None:
            self._stream.close()

    return Limited


class Exchange:
    """Runs the generator `produce` in a daemon thread; `chunks` yields its chunks in the caller's thread.

    Afterwards `error` is the exception that ended the exchange, or None. `produce` yields None when the response is
    complete but the connection must still be read to its end for reuse. `shut` closes the connection.
    """

    def __init__(
        self, produce: Callable[[], Generator[Chunk | None]], cancel: Cancel, shut: Callable[[], None]
    ) -> None:
        self.error: BaseException | None = None
        self._queue: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._slots = threading.Semaphore(_MOST_WAITING)
        self._produce = produce
        self._shut = shut
        self._ended = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="model-call", daemon=True)
        self._thread.start()
        cancel.on_set(self._stop)

    def chunks(self, longest_silence: float) -> Iterator[Chunk]:
        """Yield chunks until the response is complete, fails, is canceled, or is silent for too long.

        `longest_silence` is in seconds. A chunk without content is a keep-alive and does not end a silence.
        """
        heard = time.monotonic()
        while True:
            try:
                item = self._queue.get(timeout=max(0.0, heard + longest_silence - time.monotonic()))
            except queue.Empty:
                item = Silence()
            if self._stopped.is_set():
                return
            if isinstance(item, dict):
                self._slots.release()
                heard = time.monotonic() if has_content(item) else heard
                yield item
                continue
            self.error = item if isinstance(item, BaseException) else None
            return

    def close(self) -> None:
        """End the exchange; the connection is closed if the response is not complete."""
        self._stopped.set()
        self._slots.release()
        if not self._ended.is_set():
            self._shut()

    def _stop(self) -> None:
        self._queue.put(_CANCELLED)
        self.close()

    def _run(self) -> None:
        with self, contextlib.closing(self._produce()) as chunks:
            # Nothing is sent for a call that ended while its connection was being opened.
            for chunk in () if self._stopped.is_set() else chunks:
                self._slots.acquire()
                if self._stopped.is_set():
                    break
                if chunk is None:
                    self._end(None)
                else:
                    self._queue.put(chunk)

    def _end(self, error: BaseException | None) -> None:
        self._ended.set()
        self._queue.put(_END if error is None else error)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        """Report the end of `produce`, or its exception, to the thread in `chunks`; suppress the exception here."""
        if not self._ended.is_set():
            self._end(error)
        return True


def has_content(chunk: Chunk) -> bool:
    """Return whether a chunk has a part of a response: text, reasoning, a tool call, a finish reason or usage."""
    choices = [choice for choice in chunk.get("choices") or () if isinstance(choice, dict)]
    deltas = [choice.get("delta") for choice in choices]
    parts = [part for delta in deltas if isinstance(delta, dict) for name, part in delta.items() if name != "role"]
    return any(parts) or any(choice.get("finish_reason") for choice in choices) or bool(chunk.get("usage"))


class Connections:
    """HTTP clients and their open sockets, recorded with httpx traces so that another thread can close them."""

    _numbers = itertools.count()

    def __init__(self) -> None:
        self.number = next(self._numbers)
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self._creating = threading.Lock()
        self._client: Any = None
        self._clients: list[Any] = []
        self._is_closed = False

    def client(self, timeout: Any) -> Any:
        """Return the shared client, created with `timeout` on first use; after `close`, the client is a closed one."""
        import httpx

        with self._creating:
            if self._client is None:
                hooks: dict[str, list[Callable[..., Any]]] = {
                    "request": [self.watch],
                    "response": [stay_here, limit_body],
                }
                limits = httpx.Limits(keepalive_expiry=_LONGEST_IDLE)
                self._client = httpx.Client(event_hooks=hooks, follow_redirects=True, timeout=timeout, limits=limits)
                self.add(self._client)
            return self._client

    def add(self, client: Any) -> None:
        """Register a client that `close` will close; if `close` has been called, the client is closed now."""
        with self._lock:
            self._clients.append(client)
            is_late = self._is_closed
        if is_late:
            client.close()

    @contextlib.contextmanager
    def owning(self) -> Iterator[OwnedCall]:
        """Record the requests that litellm's clients send in this thread within the block, so that `shut` can end them.

        Their responses are closed at the end of the block.
        """
        call = OwnedCall(self)
        token = _call.set(call)
        try:
            yield call
        finally:
            _call.reset(token)
            for response in call.responses:
                response.close()

    def close(self) -> None:
        """Close every connection permanently, including one that is being opened."""
        with self._lock:
            self._is_closed, clients = True, self._clients[:]
        self.shut()
        for client in clients:
            client.close()

    def watch(self, request: Any) -> None:
        """Record the sockets that are opened for a request; a request hook of httpx."""
        request.extensions = {**request.extensions, "trace": self._traced}

    def _traced(self, event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._open = {stream for stream in self._open if not _is_dead(stream)}
                self._open.add(info["return_value"])
                is_late = self._is_closed
            # A reader of this connection gets an error and closes it.
            if is_late:
                self.shut()

    def shut(self) -> None:
        """Shut down every connection now; a thread that reads from one gets an error."""
        with self._lock:
            streams, self._open = self._open, set()
        for stream in streams:
            connection = stream.get_extra_info("socket")
            with contextlib.suppress(OSError):
                if connection is not None:
                    connection.shutdown(socket.SHUT_RDWR)


class OwnedCall(msgspec.Struct):
    """A call through litellm: the connections that it belongs to, and the HTTP responses that it has received."""

    connections: Connections
    responses: list[Any] = msgspec.field(default_factory=list)

    def read_to_end(self) -> None:
        """Read what litellm left unread of the responses, so that their connections can be reused."""
        for response in self.responses:
            for _ in () if response.is_closed else response.stream:
                pass


_call: ContextVar[OwnedCall | None] = ContextVar("call", default=None)


def owned_call() -> OwnedCall | None:
    """Return the call through litellm that this thread makes, or None."""
    return _call.get()


def watch_request(request: Any) -> None:
    """Record the sockets of a request in the connections of this thread's call, if any; a request hook of httpx."""
    if call := _call.get():
        call.connections.watch(request)


def record_response(response: Any) -> None:
    """Record a response in this thread's call, if any, so that it is closed with the call; a response hook of httpx."""
    if call := _call.get():
        call.responses.append(response)


def _is_dead(stream: Any) -> bool:
    connection = stream.get_extra_info("socket")
    return connection is None or connection.fileno() < 0
