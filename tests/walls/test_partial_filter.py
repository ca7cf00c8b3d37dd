"""The filter of system calls of the partial sandbox, as the kernel would run it, on each architecture."""

from __future__ import annotations

import errno
import socket
import struct

import pytest

from workbench.sandbox.seccomp import partial_filter

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, DECIDED_BY_SUPERVISOR, KILLED = 0x7FFF0000, 0x7FC00000, 0x80000000
NUMBERS = {
    "x86_64": {
        **{"connect": 42, "bind": 49, "listen": 50, "socket": 41, "sendto": 44, "sendmsg": 46, "sendmmsg": 307},
        **{"truncate": 76, "prlimit64": 302, "setpriority": 141, "setxattr": 188, "shmget": 29, "mq_open": 240},
        **{"read": 0, "ptrace": 101, "mount": 165, "clone3": 435},
    },
    "aarch64": {
        **{"connect": 203, "bind": 200, "listen": 201, "socket": 198, "sendto": 206, "sendmsg": 211, "sendmmsg": 269},
        **{"truncate": 45, "prlimit64": 261, "setpriority": 140, "setxattr": 5, "shmget": 194, "mq_open": 180},
        **{"read": 63, "ptrace": 117, "mount": 40, "clone3": 435},
    },
}


def denied(error: int) -> int:
    return 0x00050000 | error


def outcome(rules: bytes, audit: int, number: int, *arguments: int) -> int:
    """Run a filter on a call, as `linux/filter.h` describes it, and return its outcome."""
    data = struct.pack("=iIQ6Q", number, audit, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("=HBBI", rules))
    loaded = position = 0
    while True:
        code, if_true, if_false, value = program[position]
        position += 1
        if code == 0x06:
            return value
        if code == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            loaded &= value
        else:
            is_so = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            position += if_true if is_so else if_false


@pytest.fixture(params=AUDIT)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


STREAM, CLOSED = int(socket.SOCK_STREAM), int(socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
FAST_OPEN, NO_SIGNAL = 0x20000000, 0x4000


@pytest.mark.parametrize(
    ("call", "arguments", "expected"),
    [
        ("read", (), ALLOWED),
        ("connect", (3,), DECIDED_BY_SUPERVISOR),
        ("bind", (3,), DECIDED_BY_SUPERVISOR),
        ("listen", (3,), DECIDED_BY_SUPERVISOR),
        ("socket", (socket.AF_INET, STREAM, 0), ALLOWED),
        ("socket", (socket.AF_INET6, CLOSED, socket.IPPROTO_TCP), ALLOWED),
        ("socket", (socket.AF_INET, STREAM, 262), denied(errno.EACCES)),
        ("socket", (socket.AF_INET, socket.SOCK_DGRAM, 0), denied(errno.EACCES)),
        ("socket", (socket.AF_INET, socket.SOCK_RAW, 1), denied(errno.EACCES)),
        ("socket", (socket.AF_UNIX, STREAM, 0), denied(errno.EACCES)),
        ("socket", (16, socket.SOCK_RAW, 0), denied(errno.EACCES)),
        ("sendto", (3, 0, 0, NO_SIGNAL), ALLOWED),
        ("sendto", (3, 0, 0, NO_SIGNAL | FAST_OPEN), denied(errno.EACCES)),
        ("sendmsg", (3, 0, FAST_OPEN), denied(errno.EACCES)),
        ("sendmmsg", (3, 0, 1, FAST_OPEN), denied(errno.EACCES)),
        ("prlimit64", (0,), ALLOWED),
        ("prlimit64", (77,), denied(errno.EPERM)),
        ("setpriority", (0, 0, 5), ALLOWED),
        ("setpriority", (0, 77, 5), denied(errno.EPERM)),
        ("setxattr", (), denied(errno.EOPNOTSUPP)),
        ("shmget", (), denied(errno.EACCES)),
        ("mq_open", (), denied(errno.EACCES)),
        ("ptrace", (), denied(errno.EPERM)),
        ("mount", (), denied(errno.EPERM)),
        ("clone3", (), denied(errno.ENOSYS)),
    ],
)
def test_a_call_is_allowed_denied_or_decided_on_by_the_supervisor(
    machine: str, call: str, arguments: tuple[int, ...], expected: int
):
    rules = partial_filter(7, machine)
    assert rules is not None
    assert outcome(rules, AUDIT[machine], NUMBERS[machine][call], *map(int, arguments)) == expected


def test_a_file_is_truncated_by_its_path_only_where_landlock_handles_that(machine: str):
    number = NUMBERS[machine]["truncate"]
    outcomes = [outcome(partial_filter(version, machine) or b"", AUDIT[machine], number) for version in (2, 3)]
    assert outcomes == [denied(errno.EACCES), ALLOWED]


def test_calls_of_another_architecture_end_the_process(machine: str):
    other = next(audit for name, audit in AUDIT.items() if name != machine)
    assert outcome(partial_filter(7, machine) or b"", other, 0) == KILLED


def test_there_is_no_filter_for_an_architecture_that_is_not_supported():
    assert partial_filter(7, "riscv64") is None
