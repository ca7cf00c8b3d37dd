"""Starts a program in a bubblewrap sandbox; used by the supervisors, so standard library only, and little of it.

The engine passes a socket, and files with bubblewrap's options. Bubblewrap creates the namespaces and waits. Meanwhile,
a child of the supervisor enters the new network namespace, opens a listening socket there and sends it to the engine,
which serves its proxy on it. Only then does the program run, so it never has a network without the proxy. Before that,
the sandbox's mounts are compared with those that the engine ordered, so the program never sees files that were swapped
in for others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import time

from workbench.processes import descendants, landlock_child, mount_check
from workbench.processes.landlock_network import PROXY_PORT

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable

_NEW_USER, _NEW_NETWORK, _OWNER = 0x10000000, 0x40000000, 0xB701
_PROGRAM = "bwrap"
_SECONDS = 20.0
_ATTEMPTS = 5
_PAUSE = 0.05
_REFUSAL = (
    "Not started: files of the workspace were exchanged just then, so the sandbox would have had other ones. "
    "End what still runs there, and try again."
)


class _WaitingSandbox:
    """A sandbox that bubblewrap has set up, or is setting up; bubblewrap waits before it executes the program."""

    def __init__(
        self, prepare: Callable[[int], None], argv: list[str], files: list[int], channel: int, until: float
    ) -> None:
        """Start bubblewrap with the command line `argv`.

        The child calls `prepare` with this process's pid first. `files` are the descriptors that bubblewrap reads,
        `channel` is the socket to the engine, and `until` the time at which we stop waiting for bubblewrap.
        """
        for number in files:
            os.lseek(number, 0, os.SEEK_SET)
        information, report_end = os.pipe()
        blocked, unblock = os.pipe()
        for number in (report_end, blocked):
            os.set_inheritable(number, True)
        whole = [argv[0], "--info-fd", str(report_end), "--block-fd", str(blocked), *argv[1:]]
        self.child = descendants.start_program(prepare, whole)
        for number in (report_end, blocked):
            os.close(number)
        self._pipes = information, unblock
        self.first = _first_process(information, until)
        """The pid of the sandbox's first process; 0 if bubblewrap failed or did not report it."""
        self._listening = _PreparedListener(self.first, channel) if self.first else None
        self.can_be_checked = mount_check.can_see(argv[0])
        if self.first and self.can_be_checked and self._has_failed(until):
            self.first = 0

    def _has_failed(self, until: float) -> bool:
        """Wait until all mounts are made; return whether bubblewrap ended before that."""
        while not mount_check.is_complete(self.first) and time.monotonic() < until:
            if os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return True
            time.sleep(0.0005)
        return False

    def release(self) -> None:
        """Let the program run, after the engine has received the listening socket in the sandbox's network."""
        if self._listening is not None:
            self._listening.end(is_used=bool(self.first))
        for number in self._pipes:
            os.close(number)

    def kill(self) -> None:
        """Kill the sandbox before its program runs."""
        os.kill(self.first, signal.SIGKILL)
        os.waitpid(self.child, 0)
        self.first = 0
        # Only now, because the program would run.
        self.release()


def start(prepare: Callable[[int], None], argv: list[str], sandbox: str) -> tuple[int, int]:
    """Start a program; return the pid of the child to wait for, and the pid of the program itself.

    The child calls `prepare` with the supervisor's pid first. `sandbox` is the `words` of a `ProgramStart`; empty to
    start the program without a sandbox. If bubblewrap fails, its message is the program's output.
    """
    if not sandbox or sandbox.startswith(landlock_child.MARK):
        child = landlock_child.start(prepare, argv, sandbox) if sandbox else descendants.start_program(prepare, argv)
        return child, child
    channel, order_file, *files = (int(word) for word in sandbox.split(","))
    os.set_inheritable(channel, False)
    with open(order_file, "rb") as file:  # noqa: PTH123 - pathlib is slow to import here
        order = file.read()
    waiting = _waiting_sandbox(prepare, argv, files, channel, order)
    for number in files:
        os.close(number)
    if waiting is None:
        words = ["/bin/sh", "-c", 'echo "$0" >&2; exit 1', _REFUSAL]
        child = descendants.start_program(prepare, words)
        return child, child
    # The channel remains open as long as this process, so that the engine sees its end.
    waiting.release()
    return waiting.child, _program_of(waiting.first, waiting.child) if waiting.first else waiting.child


def _waiting_sandbox(
    prepare: Callable[[int], None], argv: list[str], files: list[int], channel: int, order: bytes
) -> _WaitingSandbox | None:
    """Return a sandbox with the ordered mounts, or one that has failed; None if every attempt had other mounts."""
    until = time.monotonic() + _SECONDS
    for _ in range(_ATTEMPTS):
        waiting = _WaitingSandbox(prepare, argv, files, channel, until)
        if not (waiting.first and waiting.can_be_checked and mount_check.differs(waiting.first, order)):
            return waiting
        waiting.kill()
        time.sleep(_PAUSE)
    return None


def _first_process(information: int, until: float) -> int:
    """Return the pid of the sandbox's first process, as bubblewrap reports it; 0 if it fails or reports nothing in
    time.
    """
    poll = select.poll()
    poll.register(information, select.POLLIN)
    report = b""
    while b"}" not in report:
        data = os.read(information, 4096) if poll.poll(max(0, until - time.monotonic()) * 1000) else b""
        if not data:
            return 0
        report += data
    digits = report.partition(b'"child-pid":')[2].split(b",")[0].split(b"}")[0].strip()
    return int(digits) if digits.isdigit() else 0


class _PreparedListener:
    """A child that opens a listening socket for the engine in a sandbox's network, while bubblewrap makes the
    mounts.
    """

    def __init__(self, process: int, channel: int) -> None:
        answer, self._answer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            try:
                os.close(self._answer)
                send_listener(process, channel, trigger=answer)
            finally:
                os._exit(0)
        os.close(answer)

    def end(self, *, is_used: bool) -> None:
        """Let the child send the socket to the engine if it `is_used`, or discard it; wait until the child has
        ended.
        """
        if is_used:
            with contextlib.suppress(BrokenPipeError):  # it failed
                os.write(self._answer, b"y")
        os.close(self._answer)
        os.waitpid(self._child, 0)


def send_listener(process: int, channel: int, trigger: int = -1) -> None:
    """Enter the network namespace of a process, and send a socket that listens there through `channel`. Raises OSError.

    With `trigger`, the socket is sent once a byte can be read from this pipe, and not at all if the pipe is closed
    first.
    """
    # The module `socket` takes 10 ms to import.
    import _socket
    from ctypes import CDLL

    if sys.platform == "linux":
        enter = CDLL(None, use_errno=True).setns
        network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        owner = fcntl.ioctl(network, _OWNER)
        is_ours = os.fstat(owner).st_ino == os.stat("/proc/self/ns/user").st_ino  # noqa: PTH116 - pathlib is slow to import
        if (not is_ours and enter(owner, _NEW_USER)) or enter(network, _NEW_NETWORK):
            return
        send_own_listener(_socket.socket(fileno=channel), trigger)


def send_own_listener(channel: _socket.socket, trigger: int = -1) -> None:
    """Send a socket that listens in the network namespace of this process; `trigger` is that of `send_listener`."""
    import _socket

    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", PROXY_PORT))
    listener.listen(128)
    if trigger >= 0 and not os.read(trigger, 1):
        return
    passed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, listener.fileno().to_bytes(4, sys.byteorder))]
    channel.sendmsg([b"l"], passed)


def _program_of(first: int, child: int) -> int:
    """Return the pid of the program, the only child of the sandbox's first process, once it has been executed.

    Returns `child`, the pid of bubblewrap, if bubblewrap ends before that or it takes too long.
    """
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        pids = _read(f"/proc/{first}/task/{first}/children").split()
        if pids and _read(f"/proc/{pids[0]}/comm").strip() not in ("", _PROGRAM):
            return int(pids[0])
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
        time.sleep(0.0005)
    return child


def _read(path: str) -> str:
    try:
        with open(path, errors="replace") as file:  # noqa: PTH123 - pathlib is slow to import here
            return file.read()
    except OSError:
        return ""
