"""The partial sandbox: Landlock and a filter of system calls, for Linux machines without bubblewrap.

It needs no program and no privilege, but confines less: `gaps` lists what it leaves open.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from workbench.processes import landlock
from workbench.processes.launch import ProgramStart
from workbench.risk.paths import within
from workbench.sandbox.file_rules import ruleset
from workbench.sandbox.sandbox import Boundary, Sandbox, hidden_paths, memory_file
from workbench.sandbox.seccomp import partial_filter

_ABSENT: Final = {
    errno.ENOSYS: "this kernel has no Landlock",
    errno.EOPNOTSUPP: "Landlock is switched off in this kernel",
}
_GAPS: Final = (
    "git hooks, CI files and settings of editors and agents in the workspace can be written",
    "names of files, and command lines of other programs, can be read everywhere",
    "permissions and times of your files elsewhere can be changed",
    "shared memory (/dev/shm) of other programs can be written",
    "servers that a command starts are reached by every program of this machine",
)
_SIGNAL_GAP: Final = "your other programs can be signaled"


def gaps(version: int) -> Sequence[str]:
    """Return what the partial sandbox leaves open, given the kernel's version of Landlock."""
    return _GAPS if version >= landlock.SINCE_SCOPES else (*_GAPS, _SIGNAL_GAP)


def absence() -> str:
    """Return why the partial sandbox is not available on this machine; empty if it is."""
    try:
        landlock.version()
    except OSError as error:
        return _ABSENT.get(error.errno or 0, f"Landlock cannot be used: {error.strerror or error}")
    return "" if partial_filter(landlock.version()) else f"there is no filter of system calls for {os.uname().machine}"


def unfit(boundary: Boundary) -> str:
    """Return why the partial sandbox cannot confine programs in this workspace; empty if it can."""
    workspace = str(boundary.workspace.resolve())
    is_fit = not any(within(path, workspace) and os.path.lexists(path) for path in hidden_paths(boundary))
    return "" if is_fit else "your keys are in the workspace, and Landlock cannot take them out of it"


class PassedConnections(socket.socket):
    """A socket through which a supervisor sends connections as descriptors; `accept` receives the next one."""

    def accept(self) -> tuple[socket.socket, str]:
        """Return the next connection. Raises OSError."""
        _, descriptors, _, _ = socket.recv_fds(self, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            raise ConnectionError("the supervisor has ended")
        return socket.socket(fileno=descriptors[0]), ""


class PartialSandbox(Sandbox):
    """Starts programs in the partial sandbox of one workspace; may be used from several threads."""

    @property
    def containment(self) -> str:
        """Empty: programs can reach what this sandbox leaves open, so no approval may be skipped."""
        return ""

    @contextmanager
    def launch(
        self,
        argv: Sequence[str],
        directory: Path | str,
        env: Mapping[str, str],
        *,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        private: Path | None = None,
        name: str = "",
    ) -> Iterator[ProgramStart]:
        """Yield how to start a program in `directory` inside the partial sandbox. Raises OSError."""
        for path in (*writable, *readable):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        version, temporary = landlock.version(), os.path.realpath(private or self.private_directory())
        filters = partial_filter(version)
        if filters is None:
            raise OSError(errno.ENOSYS, absence())
        access = self._access(temporary, name)
        outside = self._supervisor_environment(env, access.caches)
        variables = memory_file("variables", _encoded(directory, {**env, **self._variables(temporary)}))
        descriptors = [variables, memory_file("filter", filters)]
        try:
            written, read = ([os.path.realpath(each) for each in paths] for paths in (writable, readable))
            descriptors.append(ruleset(access, written, read, version))
            with self._connections(name or Path(argv[0]).name) as sockets:
                yield ProgramStart(argv, outside, (*reversed(descriptors), *sockets), is_partial=True)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    @contextmanager
    def _connections(self, label: str) -> Iterator[Sequence[int]]:
        """Yield the descriptors that the supervisor gets: a socket that stays open as long as it runs, then one for
        connections.

        Yields none if there is no proxy.
        """
        if self._proxy is None:
            yield ()
            return
        ours, theirs = socket.socketpair()
        connections, sending = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, sending:
            try:
                yield theirs.fileno(), sending.fileno()
            except BaseException:
                ours.close()
                connections.close()
                raise
        received = PassedConnections(fileno=connections.detach())
        threading.Thread(
            target=self._serve_passed, args=(received, label, ours), name="sandbox-connections", daemon=True
        ).start()

    def _serve_passed(self, connections: socket.socket, label: str, channel: socket.socket) -> None:
        with channel, suppress(OSError):
            self._serve(connections, label, channel)


def _encoded(directory: Path | str, variables: Mapping[str, str]) -> bytes:
    """Return the directory and the variables in the format that the supervisor's child reads, each ended by a NUL."""
    words = [str(directory), *(f"{name}={value}" for name, value in variables.items() if name)]
    if any("\0" in each for each in words):
        raise OSError(errno.EINVAL, "a variable or path of the program contains a NUL character")
    return b"".join(os.fsencode(each) + b"\0" for each in words)
