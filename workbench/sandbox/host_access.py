"""Decisions about hosts: all waiting connections to a host share one question, and what is sent is limited."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from workbench.lazy_pattern import lazy_pattern

UPLOAD: Final = 1_000_000
"""The number of bytes that may be sent to a host before the user is asked again."""
MOST_QUESTIONS: Final = 16
"""The number of hosts that may await a decision at a time for one process tree; further ones are refused."""
_INTERVAL: Final = 0.25
"""Seconds between checks whether a client that waits for a decision has hung up."""
_NAME: Final = lazy_pattern(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62}))*")
_NUMBER: Final = lazy_pattern(r"\d+|0x[0-9a-f]*")


class BadHost(ValueError):
    """The text is neither a host name nor an IP address."""


def host_of(text: str) -> str:
    """Return the canonical form of a host name, IPv4 address or IPv6 address without brackets. Raises BadHost.

    A name whose last label is a number, such as `0x7f.1`, is rejected, because some programs read it as an IPv4
    address; only the usual dotted form is accepted.
    """
    host = text.lower().removesuffix(".")
    try:
        return ipaddress.ip_address(host).compressed if "%" not in host else _bad(text)
    except ValueError:
        pass
    is_name = _NAME.fullmatch(host) is not None and _NUMBER.fullmatch(host.rpartition(".")[2]) is None
    return host if is_name else _bad(text)


def _bad(text: str) -> str:
    raise BadHost(f"{text[:80]!a} is not a host")


def is_literal(host: str) -> bool:
    """Return whether the host is an IP address or a name of this machine, so that no name server is needed."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return True


def endpoint_text(host: str, port: int) -> str:
    """Return the host and port as written in a URL, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class HostVerdict:
    """The answer to a request: the host may be reached, or why not, in one line for the model."""

    allowed: bool
    reason: str = ""
    grant: str = ""
    """Identifies what allows the host; each grant has an upload limit of its own."""
    upload: int | None = UPLOAD
    """The number of bytes that may be sent under this grant before the user is asked again; None means no limit."""


@dataclass(frozen=True)
class HostRefusal:
    """A connection that the sandbox refused at the time `at` (of `time.monotonic`)."""

    host: str
    port: int
    reason: str
    at: float
    label: str

    @property
    def line(self) -> str:
        """The host, port and reason in one line."""
        return " ".join((endpoint_text(self.host, self.port), f"({self.reason})"))


@dataclass(eq=False)
class HostRequest:
    """A host that a process tree wants to reach.

    `uploaded` is 0 for a new connection; otherwise the process tree has used up its limit by sending this many bytes.
    `label` names the process tree.
    """

    host: str
    port: int
    label: str
    uploaded: int = 0
    command: Callable[[], str] = lambda: ""
    """Returns the command line of the process that has connected; empty if it is unknown."""
    refusal: Callable[[], str] = lambda: ""
    """Returns why the host, even if allowed, has no address that may be reached; empty if it has one."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _abandoned: bool = field(default=False, repr=False)
    _callbacks: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def on_abandoned(self, callback: Callable[[], None]) -> None:
        """Call `callback`, in any thread, when no connection waits for the answer any more; at once if that is already
        so.
        """
        with self._lock:
            if not self._abandoned:
                self._callbacks.append(callback)
                return
        callback()

    def abandon(self) -> None:
        """Call the callbacks: no connection waits for the answer any more."""
        with self._lock:
            self._abandoned, callbacks = True, tuple(self._callbacks)
        for callback in callbacks:
            callback()


Decide: TypeAlias = Callable[[HostRequest], HostVerdict]
"""Decides on a request. Called in a thread of its own; may wait for the user, and must not raise."""


class AccessRefused(Exception):
    """The host may not be reached; the message is for the model."""


class Abandoned(Exception):
    """The connection ended, or the proxy was closed, before there was a decision."""


class _Pending:
    def __init__(self, request: HostRequest) -> None:
        self.request = request
        self.verdict = HostVerdict(False, "there was no decision")
        self.done = threading.Event()
        self.waiters = 0


class HostDecisions:
    """The requests that await a decision; connections of one process tree to the same host and port share one."""

    def __init__(self, decide: Decide, patience: float) -> None:
        """`patience` is the number of seconds that a connection waits for a decision."""
        self._decide = decide
        self._patience = patience
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, int, str, bool], _Pending] = {}

    def verdict(self, request: HostRequest, is_gone: Callable[[], bool]) -> HostVerdict:
        """Wait for the decision on a request, or on an equal one that is already pending.

        `is_gone` returns whether the connection has ended or must end; then this raises Abandoned.
        """
        key = (request.host, request.port, request.label, request.uploaded > 0)
        with self._lock:
            pending = self._pending.get(key)
            if pending is None:
                if sum(each[2] == request.label for each in self._pending) >= MOST_QUESTIONS:
                    return HostVerdict(False, f"{MOST_QUESTIONS} other hosts already wait for the user's decision")
                pending = self._pending[key] = _Pending(request)
                threading.Thread(
                    target=self._run, args=(key, pending), daemon=True, name=f"host-decision {request.host}"
                ).start()
            pending.waiters += 1
        try:
            return self._waited(pending, is_gone)
        finally:
            self._leave(key, pending)

    def is_waiting(self, label: str) -> bool:
        """Return whether a connection of the process tree is waiting for a decision."""
        with self._lock:
            return any(key[2] == label for key in self._pending)

    def _run(self, key: tuple[str, int, str, bool], pending: _Pending) -> None:
        try:
            pending.verdict = self._decide(pending.request)
        finally:
            self._forget(key, pending)
            pending.done.set()

    def _waited(self, pending: _Pending, is_gone: Callable[[], bool]) -> HostVerdict:
        until = time.monotonic() + self._patience
        while not pending.done.wait(max(0.0, min(_INTERVAL, until - time.monotonic()))):
            if is_gone():
                raise Abandoned
            if time.monotonic() >= until:
                return HostVerdict(False, "the user has not decided in time")
        return pending.verdict

    def _leave(self, key: tuple[str, int, str, bool], pending: _Pending) -> None:
        with self._lock:
            pending.waiters -= 1
            is_abandoned = pending.waiters == 0 and not pending.done.is_set()
        if is_abandoned:
            self._forget(key, pending)
            pending.request.abandon()

    def _forget(self, key: tuple[str, int, str, bool], pending: _Pending) -> None:
        with self._lock:
            if self._pending.get(key) is pending:
                del self._pending[key]


class UploadMeter:
    """Counts the bytes that are sent to one host under one grant, over all connections, and enforces the limit."""

    def __init__(self, limit: int | None) -> None:
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._limit = limit
        self.sent = 0
        """The number of bytes that were sent or are reserved."""

    def reserve(self, size: int, ask: Callable[[int], HostVerdict]) -> int:
        """Reserve between 1 and `size` bytes, and return how many; if the limit is used up, call `ask` with the bytes
        sent so far.

        Raises AccessRefused if the answer is no, and whatever `ask` raises.
        """
        while True:
            with self._lock:
                granted = size if self._limit is None else min(size, self._limit - self.sent)
                if granted > 0:
                    self.sent += granted
                    return granted
            with self._asking:
                if self._is_used_up():
                    self._extend(ask(self.sent))

    def _is_used_up(self) -> bool:
        with self._lock:
            return self._limit is not None and self.sent >= self._limit

    def _extend(self, verdict: HostVerdict) -> None:
        if not verdict.allowed:
            raise AccessRefused(verdict.reason)
        with self._lock:
            self._limit = None if verdict.upload is None else self.sent + max(verdict.upload, 1)
