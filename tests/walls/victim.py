"""A program of the same user outside the wall. It keeps secrets, waits on sockets, queues and signals, and reports
what reached it.

It reads a line of JSON with its settings, prints one with the numbers that an attacker could guess, and at the next
line prints which escapes reached it and how.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import selectors
import signal
import socket
import struct
import sys
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
MARK = re.compile(rb"escaped:(\w+)")
NAME = "walls-victim"
USER_KEYRING = -4
KEYCTL, ADD_KEY = 250, 248
SLOTS = 64 * 400

SIGNALS = {
    signal.SIGUSR1: "signal_victim",
    signal.SIGUSR2: "signal_group_of_victim",
    signal.SIGRTMIN + 1: "signal_thread_of_victim",
    signal.SIGRTMIN + 2: "signal_by_descriptor",
    signal.SIGRTMIN + 3: "queue_signal",
    signal.SIGRTMIN + 4: "signal_by_owner_of_pipe",
}


def call(number: int, *arguments: Any) -> int:
    """Make a system call; -1 where it fails."""
    LIBC.syscall.restype = ctypes.c_long
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return int(LIBC.syscall(ctypes.c_long(number), *whole))


class Victim:
    """What can be reached, and what reached it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.received: dict[str, str] = {}
        self.selector = selectors.DefaultSelector()
        self.secret = ctypes.create_string_buffer(settings["secret"].encode(), 64)
        self.slots = ctypes.create_string_buffer(SLOTS)
        self.open = [self._unnamed_file()]
        self.facts: dict[str, Any] = {
            "process": os.getpid(),
            "name": NAME,
            "secret": ctypes.addressof(self.secret),
            "slots": ctypes.addressof(self.slots),
            "descriptor": self.open[0],
        }
        self._sockets()
        self._queues()
        self._keys()
        self._terminal()
        for number, name in SIGNALS.items():
            signal.signal(number, lambda *_, name=name: self.received.setdefault(name, "a signal"))
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
        self.state = self._own_state()

    def note(self, data: bytes, way: str) -> None:
        """Record the escapes whose marks are in the data."""
        for match in MARK.finditer(data):
            self.received.setdefault(match[1].decode(), way)

    def _unnamed_file(self) -> int:
        descriptor = os.memfd_create("unnamed")
        os.write(descriptor, self.settings["secret"].encode())
        return descriptor

    def _listen(self, listener: socket.socket, way: str) -> None:
        listener.setblocking(False)
        is_stream = listener.type != socket.SOCK_DGRAM
        if is_stream:
            listener.listen(50)
        self._watch(
            listener.fileno(), (lambda: self._accept(listener, way)) if is_stream else self._reader(listener, way)
        )
        self.open.append(listener)

    def _accept(self, listener: socket.socket, way: str) -> None:
        connection, _ = listener.accept()
        connection.setblocking(False)
        self.open.append(connection)
        self._watch(connection.fileno(), self._reader(connection, way))

    def _reader(self, source: socket.socket, way: str) -> Callable[[], None]:
        def read() -> None:
            data = b""
            try:
                data = source.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                pass
            self.note(data, way)
            if not data and source.type != socket.SOCK_DGRAM:
                self.selector.unregister(source.fileno())

        return read

    def _watch(self, descriptor: int, read: Callable[[], None]) -> None:
        self.selector.register(descriptor, selectors.EVENT_READ, read)

    def _sockets(self) -> None:
        tcp = socket.create_server(("0.0.0.0", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("0.0.0.0", 0))
        self.facts |= {"tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "tcp6": 0}
        if socket.has_dualstack_ipv6():
            tcp6 = socket.create_server(("::1", 0), family=socket.AF_INET6)
            self.facts["tcp6"] = tcp6.getsockname()[1]
            self._listen(tcp6, "TCP on ::1")
        self._listen(tcp, "TCP")
        self._listen(udp, "UDP")
        kinds = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "packets": socket.SOCK_SEQPACKET}
        for path in self.settings["sockets"]:
            kind = kinds.get(Path(path).stem, socket.SOCK_STREAM)
            self._bind(path, kind)
        abstract = b"\0" + self.settings["abstract"].encode()
        self._bind(abstract, socket.SOCK_STREAM)
        self._bind(abstract + b"-datagram", socket.SOCK_DGRAM)
        pipe = os.open(self.settings["pipe"], os.O_RDWR | os.O_NONBLOCK)
        self._watch(pipe, lambda: self.note(os.read(pipe, 65536), "a named pipe"))

    def _bind(self, path: str | bytes, kind: int) -> None:
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.bind(path)
        self._listen(listener, f"the socket {path!r}")

    def _queues(self) -> None:
        private, create = 0, 0o1600
        LIBC.shmat.restype = ctypes.c_void_p
        memory = LIBC.shmget(private, 2 * SLOTS, create)
        self.shared = LIBC.shmat(memory, None, 0)
        LIBC.shmctl(memory, 0, None)  # ends with this process, and can be attached by its number until then
        ctypes.memmove(self.shared, self.settings["secret"].encode(), len(self.settings["secret"]))
        self.queue = LIBC.msgget(private, create)
        self.semaphore = LIBC.semget(private, 1, create)
        self.posix_name = f"/{NAME}-{os.getpid()}".encode()
        attributes = struct.pack("4q", 0, 10, 200, 0) + bytes(32)
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK
        self.posix_queue = LIBC.mq_open(self.posix_name, flags, 0o600, attributes)
        self.facts |= {"shared_memory": memory, "queue": self.queue, "semaphore": self.semaphore}
        self.facts["posix_queue"] = self.posix_name.decode()

    def _keys(self) -> None:
        self.keys = {}
        for name in ("key", "key_to_change"):
            secret = self.settings["secret"].encode()
            key = call(ADD_KEY, b"user", f"walls-{name}-{os.getpid()}".encode(), secret, len(secret), USER_KEYRING)
            everything, minutes = 0x3F3F0000, 600
            call(KEYCTL, 5, key, everything)
            call(KEYCTL, 15, key, minutes)
            self.keys[name] = key
        self.facts |= self.keys

    def _terminal(self) -> None:
        """Open a terminal with something typed and not read."""
        self.screen, self.terminal = os.openpty()
        tty.setraw(self.terminal)
        attributes = termios.tcgetattr(self.terminal)
        attributes[6][termios.VMIN] = 0
        termios.tcsetattr(self.terminal, termios.TCSANOW, attributes)
        os.write(self.screen, self.settings["secret"].encode())
        os.set_blocking(self.screen, False)
        self.facts["terminal"] = os.ttyname(self.terminal)
        self._watch(self.screen, lambda: self.note(os.read(self.screen, 65536), "text on another terminal"))

    def _own_state(self) -> dict[str, Any]:
        return {
            "priority_of_others": os.getpriority(os.PRIO_PROCESS, 0),
            "processors_of_others": sorted(os.sched_getaffinity(0)),
            "limits_of_others": resource.getrlimit(resource.RLIMIT_CORE),
            "out_of_memory_score": Path("/proc/self/oom_score_adj").read_text(),
            "semaphore": LIBC.semctl(self.semaphore, 0, 12),
        }

    def serve(self) -> None:
        """Take what comes until a line is read, and what is on its way then."""
        self._watch(0, lambda: None)
        while 0 not in (ready := {key.fd: key.data for key, _ in self.selector.select()}):
            for read in ready.values():
                read()
        self.selector.unregister(0)
        end = time.monotonic() + 0.3
        while (remaining := end - time.monotonic()) > 0:
            for key, _ in self.selector.select(remaining):
                key.data()

    def report(self) -> dict[str, str]:
        """Return which escapes reached this process, and how; give back what outlives it."""
        self.note(self.slots.raw, "its memory")
        self.note(ctypes.string_at(self.shared, 2 * SLOTS), "shared memory")
        buffer = ctypes.create_string_buffer(4096)
        while LIBC.msgrcv(self.queue, buffer, 4000, 0, 0o4000) > 0:
            self.note(buffer.raw, "a System V queue")
        while LIBC.mq_receive(self.posix_queue, buffer, ctypes.c_size_t(4096), None) > 0:
            self.note(buffer.raw, "a POSIX queue")
        if call(KEYCTL, 11, self.keys["key_to_change"], buffer, 4096, 0) > 0:
            self.note(buffer.raw, "a key of the kernel")
        self.note(os.read(self.terminal, 4096), "input of another terminal")
        for name, before in self.state.items():
            if self._own_state()[name] != before:
                self.received[name] = f"was {before}, is {self._own_state()[name]}"
        self._close()
        return self.received

    def _close(self) -> None:
        added = call(KEYCTL, 10, USER_KEYRING, b"user", b"walls-key_of_kernel_added", 0)
        if added > 0:
            self.received["key_of_kernel_added"] = "a key in the user's keyring"
        for key in (added, *self.keys.values()):
            call(KEYCTL, 9, key, USER_KEYRING)
        LIBC.msgctl(self.queue, 0, None)
        LIBC.semctl(self.semaphore, 0, 0)
        LIBC.mq_unlink(self.posix_name)


def main() -> None:
    """Be the victim until the line that ends it."""
    set_name, die_with_parent = 15, 1
    LIBC.prctl(set_name, NAME.encode(), 0, 0, 0)
    LIBC.prctl(die_with_parent, signal.SIGKILL, 0, 0, 0)
    victim = Victim(json.loads(sys.stdin.buffer.raw.readline()))
    sys.stdout.write(json.dumps(victim.facts) + "\n")
    sys.stdout.flush()
    victim.serve()
    sys.stdout.write(json.dumps(victim.report()) + "\n")
    sys.stdout.flush()


main()
