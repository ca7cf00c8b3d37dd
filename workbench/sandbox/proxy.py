"""The only way from inside the sandbox to the network: a proxy in the engine that asks about every new host.

It serves listening sockets in the network namespaces of confined process trees, and speaks HTTP CONNECT, plain HTTP
with an absolute URL, and SOCKS5. It gets a decision on a host before it resolves the name, because a DNS query alone
could carry data out. It resolves names itself and connects only to addresses that it has checked. It does not decrypt
TLS: what is decided is the host and port, and how much is sent.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from workbench.sandbox import http_connect, socks
from workbench.sandbox.channel import ChannelEnded, ProxyChannel, connected
from workbench.sandbox.connecting_process import connecting_command
from workbench.sandbox.host_access import (
    Abandoned,
    AccessRefused,
    Decide,
    HostDecisions,
    HostRefusal,
    HostRequest,
    HostVerdict,
    UploadMeter,
    endpoint_text,
    is_literal,
)
from workbench.sandbox.http_connect import ChunkedBody, HttpRequest, ResponseHead, SizedBody
from workbench.sandbox.relay import HALF_OPEN, IDLE, relay
from workbench.sandbox.socks import SocksRequest
from workbench.web.network import HostRefused, NetworkPolicy, Unresolved

MOST_CONNECTIONS: Final = 64
"""The number of simultaneous connections of one process tree; further ones wait until one ends."""
_MOST_REFUSALS: Final = 500
_MOST_METERS: Final = 10_000
_PAUSE: Final = 0.1
"""Seconds to wait before accepting again after an error, for example because no descriptor was free."""
_CLOSING: Final = 2.0

Request: TypeAlias = HttpRequest | SocksRequest


@dataclass(frozen=True)
class ProxyTimeouts:
    """The time limits of a connection in seconds.

    They apply to reading its request, to a decision, to connecting, to silence (`idle`), and to silence after one side
    has stopped sending.
    """

    request: float = 30.0
    decision: float = 3600.0
    connect: float = 20.0
    idle: float = IDLE
    half_open: float = HALF_OPEN


class NetworkProxy:
    """The proxy of one session; its methods may be called from any thread."""

    def __init__(self, decide: Decide, policy: NetworkPolicy, timeouts: ProxyTimeouts | None = None) -> None:
        """`decide` is called for every connection; `policy` says which addresses may be reached at all."""
        self.timeouts = timeouts or ProxyTimeouts()
        self.decisions = HostDecisions(decide, self.timeouts.decision)
        self.policy = policy
        self._lock = threading.Lock()
        self._refusals: deque[HostRefusal] = deque(maxlen=_MOST_REFUSALS)
        self._meters: dict[tuple[str, str], UploadMeter] = {}
        self._served: set[ServedListener] = set()
        self._is_closed = False

    def serve(self, listener: socket.socket, label: str) -> ServedListener:
        """Accept connections on a listening socket, which the proxy will close; `label` names the process tree.

        Call `close` of the result to end its connections.
        """
        served = ServedListener(self, listener, label)
        with self._lock:
            self._served = {each for each in self._served if not each.is_over} | {served}
            is_closed = self._is_closed
        if is_closed:
            served.close()
        return served

    @property
    def refusals(self) -> tuple[HostRefusal, ...]:
        """The most recently refused connections, oldest first."""
        with self._lock:
            return tuple(self._refusals)

    def refused_since(self, label: str, since: float) -> tuple[HostRefusal, ...]:
        """Return a process tree's refused connections since `since`, a time of `time.monotonic`; each combination of
        host, port and reason once.
        """
        hosts = {
            (each.host, each.port, each.reason): each
            for each in self.refusals
            if each.label == label and each.at >= since
        }
        return tuple(hosts.values())

    def is_waiting(self, label: str) -> bool:
        """Return whether a connection of the process tree is waiting for a decision, so that its command may be
        blocked.
        """
        return self.decisions.is_waiting(label)

    def note_refusal(self, host: str, port: int, reason: str, label: str) -> None:
        """Record a connection that was refused."""
        with self._lock:
            self._refusals.append(HostRefusal(host, port, reason, time.monotonic(), label))

    def meter(self, host: str, verdict: HostVerdict) -> UploadMeter:
        """Return the meter that counts what is sent to the host under the verdict's grant."""
        with self._lock:
            if len(self._meters) >= _MOST_METERS:
                del self._meters[next(iter(self._meters))]
            return self._meters.setdefault((host, verdict.grant), UploadMeter(verdict.upload))

    def close(self) -> None:
        """End all connections, stop serving, and abandon the pending questions."""
        with self._lock:
            self._is_closed = True
            served, self._served = self._served, set()
        for each in served:
            each.close()


class ServedListener:
    """One listening socket and its connections, each of which has a thread of its own."""

    def __init__(self, proxy: NetworkProxy, listener: socket.socket, label: str) -> None:
        self._proxy = proxy
        self._listener = listener
        self._label = label
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._slots = threading.Semaphore(MOST_CONNECTIONS)
        # Closing the write end makes the read end readable for every wait of every connection.
        self._stop, self._stopper = os.pipe()
        self._is_closed = False
        listener.setblocking(False)
        self._acceptor = threading.Thread(target=self._accept, daemon=True, name=f"sandbox-proxy {label}")
        self._acceptor.start()

    @property
    def is_over(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def close(self) -> None:
        """Stop accepting and end all connections."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            threads = [self._acceptor, *self._threads]
        os.close(self._stopper)
        self._slots.release()
        until = time.monotonic() + _CLOSING
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        # A thread that resolves a name cannot be interrupted; it still needs the descriptor when that ends.
        if not any(thread.is_alive() for thread in threads):
            os.close(self._stop)

    def _accept(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        poll.register(self._stop, select.POLLIN)
        with self._listener:
            while True:
                self._slots.acquire()
                if self._stop in dict(poll.poll()):
                    return
                if not self._accept_one():
                    self._slots.release()

    def _accept_one(self) -> bool:
        """Accept one connection and return whether there was one."""
        try:
            client, _ = self._listener.accept()
        except BlockingIOError:
            return False
        except OSError:  # no descriptor is free, or the client has gone
            time.sleep(_PAUSE)
            return False
        thread = threading.Thread(target=self._serve, args=(client,), daemon=True, name=f"sandbox {self._label}")
        with self._lock:  # the thread waits for the lock before it removes itself
            is_started = not self._is_closed and _started(thread)
            if is_started:
                self._threads.add(thread)
        if not is_started:
            client.close()
            time.sleep(_PAUSE)
        return is_started

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                _Connection(self._proxy, ProxyChannel(client, self._stop), self._label).serve()
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
            self._slots.release()


def _started(thread: threading.Thread) -> bool:
    """Start a thread, and return whether the system allows another one now."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class _Connection:
    """One connection from inside the sandbox: one tunnel or one request."""

    def __init__(self, proxy: NetworkProxy, client: ProxyChannel, label: str) -> None:
        self._proxy = proxy
        self._client = client
        self._label = label
        self._patience = proxy.timeouts

    def serve(self) -> None:
        """Serve the connection until it ends, whatever the client sends."""
        # Errors of either side end the connection, which is all that the other side can be told.
        with contextlib.suppress(OSError, ChannelEnded, Abandoned, http_connect.BadHttp):
            request = self._request()
            if request is None:
                return
            try:
                verdict = self._allowed(request)
                server = self._connected(request)
            except AccessRefused as refused:
                self._note(request, str(refused))
                self._answer(_refusal(request, str(refused)))
                return
            except (Unresolved, OSError) as error:
                self._answer(_failure(request, error))
                return
            with server:
                self._relay(request, verdict, server)

    def _request(self) -> Request | None:
        """Read the request; return None if it cannot be served (the client has been sent the reason if there is a reply
        for it).
        """
        until = time.monotonic() + self._patience.request
        first = self._client.peek(1, until)
        try:
            if first[0] == socks.VERSION:
                return self._socks_request(until)
            if first.isalpha():
                head = self._client.read_through(b"\r\n\r\n", http_connect.LONGEST_HEAD, until)
                return http_connect.parse_head(head)
        except (socks.BadSocks, http_connect.BadHttp) as error:
            self._answer(error.reply)
        return None

    def _socks_request(self, until: float) -> SocksRequest | None:
        _, count = self._client.read(2, until)
        answer = socks.method_reply(self._client.read(count, until))
        self._client.send(answer, until)
        if answer == socks.NO_METHOD:
            return None
        head = self._client.read(5, until)
        return socks.parse_request(head + self._client.read(socks.length_of(head), until))

    def _allowed(self, request: Request) -> HostVerdict:
        """Return the verdict that allows the host, before resolving a name. Raises AccessRefused."""
        if is_literal(request.host):
            self._ips(request)
        verdict = self._ask(request, 0)
        if not verdict.allowed:
            raise AccessRefused(verdict.reason)
        return verdict

    def _ask(self, request: Request, uploaded: int) -> HostVerdict:
        question = HostRequest(
            request.host,
            request.port,
            self._label,
            uploaded,
            command=partial(connecting_command, self._client.socket),
            refusal=partial(self._ip_refusal, request),
        )
        return self._proxy.decisions.verdict(question, self._client.is_gone)

    def _ip_refusal(self, request: Request) -> str:
        try:
            self._ips(request)
        except AccessRefused as refused:
            return str(refused)
        except Unresolved:
            return ""
        return ""

    def _connected(self, request: Request) -> socket.socket:
        return connected(self._ips(request), request.port, self._client.stop, self._patience.connect)

    def _ips(self, request: Request) -> list[str]:
        """Return the host's addresses that may be connected to. Raises AccessRefused or Unresolved."""
        try:
            return self._proxy.policy.resolved(request.host, request.port)
        except Unresolved:
            raise
        except HostRefused as error:
            raise AccessRefused(str(error)) from None

    def _relay(self, request: Request, verdict: HostVerdict, server: socket.socket) -> None:
        meter = self._proxy.meter(request.host, verdict)

        def reserve(size: int) -> int:
            return meter.reserve(size, lambda sent: self._ask(request, sent))

        body, head, answer = _body(request), b"", None
        if isinstance(request, HttpRequest) and not request.is_tunnel:
            head, answer = request.head, ResponseHead()
        else:
            self._answer(http_connect.ESTABLISHED if isinstance(request, HttpRequest) else socks.reply(0))
        idle, half_open = self._patience.idle, self._patience.half_open
        channel = ProxyChannel(server, self._client.stop)
        try:
            relay(self._client, channel, body, reserve, head=head, answer=answer, idle=idle, half_open=half_open)
        except AccessRefused as refused:
            self._note(request, str(refused))

    def _answer(self, reply: bytes) -> None:
        self._client.send(reply, time.monotonic() + self._patience.request)

    def _note(self, request: Request, reason: str) -> None:
        self._proxy.note_refusal(request.host, request.port, reason, self._label)


def _body(request: Request) -> SizedBody | ChunkedBody:
    if isinstance(request, SocksRequest) or request.is_tunnel:
        return SizedBody(None)
    return ChunkedBody() if request.length is None else SizedBody(request.length)


def _refusal(request: Request, reason: str) -> bytes:
    if isinstance(request, SocksRequest):
        return socks.reply(socks.NOT_ALLOWED)
    where = endpoint_text(request.host, request.port)
    return http_connect.refusal(f"The sandbox refused the connection to {where}: {reason}")


def _failure(request: Request, error: Unresolved | OSError) -> bytes:
    """Return the reply for a host that is allowed but cannot be reached."""
    if isinstance(request, SocksRequest):
        is_refused = isinstance(error, ConnectionRefusedError)
        return socks.reply(socks.REFUSED if is_refused else socks.UNREACHABLE)
    where = endpoint_text(request.host, request.port)
    is_late = isinstance(error, TimeoutError)
    why = str(error) if isinstance(error, Unresolved) else (error.strerror or str(error))
    status = "504 Gateway Timeout" if is_late else "502 Bad Gateway"
    return http_connect.response(status, f"The sandbox allows {where}, but it could not be reached: {why}")
