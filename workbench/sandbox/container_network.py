"""The network of a session's container: a proxy inside asks the session whose command is running about each host."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from workbench.processes.leftovers import prefix
from workbench.processes.spawn import small_python, start
from workbench.sandbox.host_access import HostRequest, HostVerdict
from workbench.sandbox.proxy import NetworkProxy, ServedListener
from workbench.web.network import NetworkPolicy

LABEL: Final = "bash"
"""The label of the container's connections: all its programs are started by bash."""
_HELPER: Final = "workbench.processes.container_listener"
_CHANNEL: Final = "channel"
_SECONDS: Final = 20.0
_PAUSE: Final = 0.05


class HostDecider(Protocol):
    """Decides on hosts for one session."""

    def is_running(self, label: str) -> bool:
        """Return whether the session is running a call whose program has this label."""

    def decide(self, request: HostRequest) -> HostVerdict:
        """Return the verdict on a host."""


class ContainerNetwork:
    """Runs the proxy for a container, and for those that replace it; may be used from several threads."""

    def __init__(self, policy: NetworkPolicy) -> None:
        self._proxy = NetworkProxy(self._decide, policy)
        self._deciders: list[HostDecider] = []
        self._listener: ServedListener | None = None

    def ask_from(self, decider: HostDecider) -> Callable[[], None]:
        """Let a session decide on the hosts that its commands connect to; return the function that ends this."""
        self._deciders.append(decider)
        return lambda: self._deciders.remove(decider)

    def _decide(self, request: HostRequest) -> HostVerdict:
        """Ask every session whose command is running, the latest first, since it is unknown which of them connects.

        The host is allowed if all of them allow it.
        """
        running = [each for each in self._deciders if each.is_running(request.label)]
        verdict = HostVerdict(False, "no command of the session runs")
        for decider in reversed(running or self._deciders[:1]):
            verdict = decider.decide(request)
            if not verdict.allowed:
                break
        return verdict

    def is_waiting(self) -> bool:
        """Return whether a command is waiting for the user to decide on a host."""
        return self._proxy.is_waiting(LABEL)

    def refused_since(self, since: float) -> Sequence[str]:
        """Return one line for each host that was refused since `since`, a time of `time.monotonic`."""
        return sorted({each.line for each in self._proxy.refused_since(LABEL, since)})

    @property
    def is_served(self) -> bool:
        """Whether programs in the container reach the proxy, and thus hosts."""
        return self._listener is not None

    def serve(self, process: int, beside: Callable[[str, Sequence[str]], Sequence[str]] | None = None) -> None:
        """Serve the proxy in the network namespace of a process in the container; 0 if it is not known. Raises OSError.

        `beside` is for a runtime whose namespaces an ordinary user cannot enter: it returns the command by which the
        runtime itself runs one of our programs there, given the program's directory and its command.
        """
        is_served = process != 0 and self._serve_from(_entered(process))
        if not is_served and beside is not None:
            self._serve_from(_run_beside(beside))

    def _serve_from(self, ancillary: Sequence[tuple[int, int, bytes]]) -> bool:
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._listener = self._proxy.serve(socket.socket(fileno=struct.unpack("i", data[:4])[0]), LABEL)
                return True
        return False

    def release(self) -> None:
        """End the connections of a container that has ended."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def close(self) -> None:
        """End all connections, and abandon the pending questions."""
        self._proxy.close()


def _entered(process: int) -> Sequence[tuple[int, int, bytes]]:
    """Return the message with the listener that a helper of this machine opens in the process's namespace."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command = [*small_python(_HELPER), str(theirs.fileno()), str(process)]
        helper = start(command, pass_fds=(theirs.fileno(),))
        theirs.close()
        _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
        helper.wait()
    return ancillary


def _run_beside(beside: Callable[[str, Sequence[str]], Sequence[str]]) -> Sequence[tuple[int, int, bytes]]:
    """Return the message with the listener that a helper opens, which the runtime starts in the namespace."""
    none = subprocess.DEVNULL
    # The container itself has no part in this directory, so that none of its programs answers in place of the helper.
    with tempfile.TemporaryDirectory(prefix=prefix("container")) as directory, socket.socket(socket.AF_UNIX) as ours:
        number = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        ours.bind(f"/proc/self/fd/{number}/{_CHANNEL}")  # the whole path may be too long for a socket
        os.close(number)
        ours.listen(1)
        ours.settimeout(_PAUSE)
        helper = start(beside(directory, small_python(_HELPER, _CHANNEL)), stdin=none, stdout=none, stderr=none)
        until = time.monotonic() + _SECONDS
        ancillary: Sequence[tuple[int, int, bytes]] = ()
        while not ancillary and helper.poll() is None and time.monotonic() < until:
            with suppress(TimeoutError), ours.accept()[0] as channel:
                channel.settimeout(_SECONDS)
                _, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(4))
        helper.wait()
    return ancillary
