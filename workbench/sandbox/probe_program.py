"""Tries to escape from the sandbox it is started in; standard library only.

Its argument is a JSON object with the paths, ports and pids to try. For each attempt it prints a JSON list: the name,
and "held" or "out". Its own report is only half of the proof: `proof` looks for traces of each attempt outside.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

_TIOCSTI = 0x5412
_X86, _ARM = "x86_64", "aarch64"
_CALLS = {
    "mounts a file system": {_X86: 165, _ARM: 40},
    "makes a namespace": {_X86: 272, _ARM: 97},
    "enters a namespace": {_X86: 308, _ARM: 268},
    "uses a kernel key ring": {_X86: 250, _ARM: 219},
    "traces a process": {_X86: 101, _ARM: 117},
    "writes into a process": {_X86: 311, _ARM: 271},
    "opens a file by its handle": {_X86: 304, _ARM: 265},
    "loads a kernel program": {_X86: 321, _ARM: 280},
    "uses io_uring": {_X86: 425, _ARM: 425},
    "opens a mount": {_X86: 428, _ARM: 428},
    "takes a descriptor of a process": {_X86: 438, _ARM: 438},
}


def _writes(path: str) -> Callable[[], bool]:
    def attempt() -> bool:
        with open(path, "w") as file:  # noqa: PTH123
            file.write("out")
        return True

    return attempt


def _writes_through(source: str, link: str, make: Callable[[str, str], None]) -> Callable[[], bool]:
    def attempt() -> bool:
        make(source, link)
        with open(link, "w") as file:  # noqa: PTH123
            file.write("out")
        return True

    return attempt


def _renames(source: str, target: str) -> Callable[[], bool]:
    def attempt() -> bool:
        os.rename(source, target)  # noqa: PTH104
        return True

    return attempt


def _reads(path: str, secret: str) -> Callable[[], bool]:
    def attempt() -> bool:
        with open(path) as file:  # noqa: PTH123
            return secret in file.read()

    return attempt


def _connects(family: int, kind: int, peer: Any) -> Callable[[], bool]:
    def attempt() -> bool:
        with socket.socket(family, kind) as client:
            client.settimeout(1)
            client.connect(peer)
            client.send(b"out")
        # a datagram is sent into nothing; whether it arrived is seen outside
        return kind == socket.SOCK_STREAM

    return attempt


def _signals(pid: int) -> Callable[[], bool]:
    def attempt() -> bool:
        os.kill(pid, 0)
        return True

    return attempt


def _sees(pid: int, command: str) -> Callable[[], bool]:
    def attempt() -> bool:
        with open(f"/proc/{pid}/cmdline", errors="replace") as file:  # noqa: PTH123
            return file.read() == command

    return attempt


def _makes_files(directories: list[str], name: str) -> Callable[[], bool]:
    """Return an attempt to create a file in any of the directories; the file is removed again."""

    def attempt() -> bool:
        return bool(sum(_makes_file(f"{directory}/{name}") for directory in directories))

    return attempt


def _makes_file(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        os.unlink(path)  # noqa: PTH108
    except OSError:
        return False
    return True


def _types() -> bool:
    """Return whether the kernel accepts a request to type into a terminal; the test works without a terminal too."""
    try:
        fcntl.ioctl(0, _TIOCSTI, b"x")
    except OSError as error:
        return error.errno != errno.EPERM
    return True


def _calls(number: int) -> Callable[[], bool]:
    """Return an attempt at a system call with invalid arguments; an error other than EPERM or ENOSYS means it is not
    filtered.
    """

    def attempt() -> bool:
        libc = ctypes.CDLL(None, use_errno=True)
        failed = ctypes.c_long(-1)
        result = libc.syscall(ctypes.c_long(number), failed, failed, failed, failed, failed, failed)
        return bool(result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS))

    return attempt


def _inherits() -> bool:
    """Return whether any descriptor besides the three standard ones is open."""
    return any(_is_open(number) for number in range(3, 256))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _attempts(targets: dict[str, Any]) -> dict[str, Callable[[], bool]]:
    workspace, outside = targets["workspace"], targets["outside"]
    stream, packet = socket.SOCK_STREAM, socket.SOCK_DGRAM
    attempts = {
        "writes outside": _writes(f"{outside}/canary"),
        "makes files in other directories": _makes_files(targets["directories"], f".{targets['abstract']}"),
        "writes outside through a symbolic link": _writes_through(f"{outside}/canary", f"{workspace}/l1", os.symlink),
        "writes outside through a hard link": _writes_through(f"{outside}/canary", f"{workspace}/l2", os.link),
        "renames a file over one outside": _renames(f"{workspace}/file", f"{outside}/canary"),
        "writes a git hook": _writes(f"{workspace}/.git/hooks/pre-commit"),
        "changes the settings of git": _writes(f"{workspace}/.git/config"),
        "moves the repository": _renames(f"{workspace}/.git", f"{workspace}/git2"),
        "moves the hooks": _renames(f"{workspace}/.git/hooks", f"{workspace}/.git/hooks2"),
        "moves a directory above a protected one": _renames(f"{workspace}/.github", f"{workspace}/g2"),
        "replaces a protected file": _renames(f"{workspace}/file", f"{workspace}/.mcp.json"),
        "reads a secret": _reads(f"{targets['hidden']}/secret", targets["secret"]),
        "writes into a hidden directory": _writes(f"{targets['hidden']}/new"),
        "reaches a server of this machine": _connects(socket.AF_INET, stream, ("127.0.0.1", targets["tcp"])),
        "sends a datagram": _connects(socket.AF_INET, packet, ("127.0.0.1", targets["udp"])),
        "reaches a socket by its path": _connects(socket.AF_UNIX, stream, targets["unix"]),
        "reaches an abstract socket": _connects(socket.AF_UNIX, stream, "\0" + targets["abstract"]),
        "signals a process outside": _signals(targets["pid"]),
        "sees a process outside": _sees(targets["pid"], targets["command"]),
        "types into the terminal": _types,
        "inherits a descriptor": _inherits,
    }
    machine = os.uname().machine
    return attempts | {name: _calls(numbers[machine]) for name, numbers in _CALLS.items() if machine in numbers}


def main() -> None:
    """Make all attempts and report each."""
    for name, attempt in _attempts(json.loads(sys.argv[1])).items():
        try:
            outcome = "out" if attempt() else "held"
        except OSError:
            outcome = "held"
        sys.stdout.write(f"{json.dumps([name, outcome])}\n")
        sys.stdout.flush()
