"""The network of a session's container: a proxy inside asks the session whose command is running about each host."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from workbench.processes.spawn import small_python, start
from workbench.sandbox.host_access import HostRequest, HostVerdict
from workbench.sandbox.proxy import NetworkProxy, ServedListener
from workbench.web.network import NetworkPolicy

LABEL: Final = "bash"
"""The label of the container's connections: all its programs are started by bash."""


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

    def serve(self, process: int) -> None:
        """Serve the proxy in the network namespace of a process in the container. Raises OSError."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            command = [*small_python("workbench.processes.container_listener"), str(theirs.fileno()), str(process)]
            helper = start(command, pass_fds=(theirs.fileno(),))
            theirs.close()
            _, ancillary, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
            helper.wait()
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._listener = self._proxy.serve(socket.socket(fileno=struct.unpack("i", data[:4])[0]), LABEL)

    def release(self) -> None:
        """End the connections of a container that has ended."""
        if self._listener is not None:
            self._listener.close()

    def close(self) -> None:
        """End all connections, and abandon the pending questions."""
        self._proxy.close()
