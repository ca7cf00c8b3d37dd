"""The filter of system calls (seccomp), a BPF program; bubblewrap or the partial sandbox installs it.

Formats: `struct seccomp_data` and the return values in `linux/seccomp.h`, `struct sock_filter` in `linux/filter.h`, the
numbers of the calls in `asm/unistd_64.h` (x86-64) and `asm-generic/unistd.h` (64-bit ARM).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from workbench.processes.landlock_network import CALLS

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD, _FOURTH = 0, 4, 16, 24, 32, 40
"""Offsets in `struct seccomp_data`; those of arguments are the offsets of their lower halves."""
_ALLOW, _ERROR, _KILL, _ASK = 0x7FFF0000, 0x00050000, 0x80000000, 0x7FC00000
"""The outcomes; the last one leaves the decision to the filter's listener."""
_X32: Final = 0x40000000
_NEW_NAMESPACE: Final = 0x7E020000
"""All flags of `clone` that create a namespace."""
_NETLINK, _INTERNET = 16, (2, 10)
_TYPES_INTO_TERMINAL: Final = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""


_TYPE, _CONNECTED = 0xF, (1, 5)
"""The mask of a socket's type without flags, and the types whose pairs can send only to each other (stream,
seqpacket).
"""
_AS_OWNER: Final = 0o6000
"""The setuid and setgid bits, with which a program runs as its file's owner or group."""
_CREATES: Final = 0o100 | 0o20000000
"""The flags for opening a file that create one: O_CREAT, O_TMPFILE."""


class _Architecture(NamedTuple):
    """The system call numbers of one architecture; `denied` are the calls that always fail with EPERM."""

    audit: int
    clone: int
    clone3: int
    socket: int
    socketpair: int
    ioctl: int
    modes: tuple[tuple[int, int], ...]
    """The calls that set permissions, each with the offset of its permissions argument."""
    openings: tuple[tuple[int, int, int], ...]
    """The calls that open or create a file, each with the offsets of its flags and its permissions."""
    denied: tuple[int, ...]


_OPENAT2: Final = 437
_SAME_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 442, 443)
"""io_uring, the mount calls since Linux 5.2, pidfd_getfd and quotactl_fd: they have the same numbers on all
architectures.
"""
_ARCHITECTURES: Final = {
    "x86_64": _Architecture(
        0xC000003E,
        clone=56,
        clone3=435,
        socket=41,
        socketpair=53,
        ioctl=16,
        # chmod, fchmod, fchmodat, fchmodat2, creat, mknod, mknodat
        modes=(
            *((90, _SECOND), (91, _SECOND), (268, _THIRD), (452, _THIRD)),
            *((85, _SECOND), (133, _SECOND), (259, _THIRD)),
        ),
        openings=((2, _SECOND, _THIRD), (257, _THIRD, _FOURTH)),
        denied=(
            *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(321, 298, 323, 300),  # bpf, perf_event_open, userfaultfd, fanotify_init
            *(248, 249, 250),  # add_key, request_key, keyctl
            *(165, 166, 155, 161, 308, 272),  # mount, umount2, pivot_root, chroot, setns, unshare
            *(303, 304, 212),  # name_to_handle_at, open_by_handle_at, lookup_dcookie
            *(167, 168, 169, 170, 171, 172, 173),  # swapon, swapoff, reboot, set*name, iopl, ioperm
            *(175, 313, 176, 246, 320),  # init_module, finit_module, delete_module, kexec*
            *(179, 163, 164, 227, 103),  # quotactl, acct, settimeofday, clock_settime, syslog
            *_SAME_EVERYWHERE,
        ),
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        clone=220,
        clone3=435,
        socket=198,
        socketpair=199,
        ioctl=29,
        modes=((52, _SECOND), (53, _THIRD), (452, _THIRD), (33, _THIRD)),
        openings=((56, _THIRD, _FOURTH),),
        denied=(
            *(117, 270, 271, 272),
            *(280, 241, 282, 262),
            *(217, 218, 219),
            *(40, 39, 41, 51, 268, 97),
            *(264, 265, 18),
            *(224, 225, 142, 161, 162),
            *(105, 273, 106, 104, 294),
            *(60, 89, 170, 112, 116),
            *_SAME_EVERYWHERE,
        ),
    ),
}


class _PartialNumbers(NamedTuple):
    """The system call numbers of one architecture for what the full sandbox closes with namespaces or mounts."""

    truncate: int
    sendings: tuple[tuple[int, int], ...]
    """The calls that send to sockets, each with the offset of its flags."""
    ruling: tuple[tuple[int, int], ...]
    """The calls that change limits, priority or processors of any process, each with the offset of the process
    argument.
    """
    denied: tuple[int, ...]
    attributes: tuple[int, ...]
    """The calls that change extended attributes, which Landlock does not restrict."""


_STREAM, _TCP = 1, (0, 6)
_FAST_OPEN: Final = 0x20000000
"""The flag for sending (MSG_FASTOPEN) that also connects."""
_SINCE_TRUNCATE: Final = 3
_PARTIAL: Final = {
    "x86_64": _PartialNumbers(
        truncate=76,
        # sendto, sendmsg, sendmmsg
        sendings=((44, _FOURTH), (46, _THIRD), (307, _FOURTH)),
        # prlimit64, setpriority, ioprio_set, sched_set{affinity,param,scheduler,attr}, migrate_pages, move_pages
        ruling=(
            *((302, _FIRST), (141, _SECOND), (251, _SECOND), (203, _FIRST), (142, _FIRST), (144, _FIRST)),
            *((314, _FIRST), (256, _FIRST), (279, _FIRST)),
        ),
        denied=(
            *(29, 30, 31, 67),  # shmget, shmat, shmctl, shmdt
            *(64, 65, 66, 220),  # semget, semop, semctl, semtimedop
            *(68, 69, 70, 71),  # msgget, msgsnd, msgrcv, msgctl
            *(240, 241),  # mq_open, mq_unlink
        ),
        # setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr, setxattrat, removexattrat
        attributes=(188, 189, 190, 197, 198, 199, 463, 466),
    ),
    "aarch64": _PartialNumbers(
        truncate=45,
        sendings=((206, _FOURTH), (211, _THIRD), (269, _FOURTH)),
        ruling=(
            *((261, _FIRST), (140, _SECOND), (30, _SECOND), (122, _FIRST), (118, _FIRST), (119, _FIRST)),
            *((274, _FIRST), (238, _FIRST), (239, _FIRST)),
        ),
        denied=(*(194, 196, 195, 197), *(190, 193, 191, 192), *(186, 189, 188, 187), *(180, 181)),
        attributes=(5, 6, 7, 14, 15, 16, 463, 466),
    ),
}


def partial_filter(version: int, machine: str = "") -> bytes | None:
    """Return the filter for the partial sandbox; None if the architecture is not supported.

    `version` is the kernel's version of Landlock, `machine` the architecture (default: this machine's). Without
    namespaces, programs share more with the rest of the machine, so this filter also denies System V and POSIX message
    queues, System V shared memory and semaphores, changes to limits and priorities of other processes, to extended
    attributes, and all sockets but TCP. `bind`, `listen` and `connect` are left to the filter's listener.
    """
    machine = machine or platform.machine()
    numbers, partial = (table.get(machine) for table in (_ARCHITECTURES, _PARTIAL))
    if not isinstance(numbers, _Architecture) or not isinstance(partial, _PartialNumbers):
        return None
    denied = (*partial.denied, *((partial.truncate,) if version < _SINCE_TRUNCATE else ()))
    sendings = (
        _on(number, _load(flags), _if(_ANY_BIT, _FAST_OPEN, _error(errno.EACCES))) for number, flags in partial.sendings
    )
    of_itself = _if(_EQUAL, 0, _error(errno.EPERM), negated=True)
    more = (
        *(_if(_EQUAL, number, _error(errno.EACCES)) for number in denied),
        *(_if(_EQUAL, number, _error(errno.EOPNOTSUPP)) for number in partial.attributes),
        *(_on(number, _load(who), of_itself) for number, who in partial.ruling),
        *(_if(_EQUAL, number, _ASK) for number in CALLS[machine].values()),
        *sendings,
        _on_tcp(numbers.socket),
    )
    return _filter(numbers, more)


def _on_tcp(number: int) -> bytes:
    """Return the statements that allow no new internet sockets but those of TCP."""
    denied = _error(errno.EACCES)
    is_other = [_statement(_EQUAL, family, len(_INTERNET) - index) for index, family in enumerate(_INTERNET)]
    protocols = [_if(_EQUAL, protocol, _ALLOW) for protocol in _TCP]
    return _on(
        number,
        *(_load(_FIRST), *is_other, _return(denied)),
        *(_load(_SECOND), _statement(_AND, _TYPE), _if(_EQUAL, _STREAM, denied, negated=True)),
        *(_load(_THIRD), *protocols, _return(denied)),
    )


def seccomp_filter(machine: str = "") -> bytes | None:
    """Return the filter for an architecture (default: this machine's); None if it is not supported.

    System calls of another architecture kill the process, and those of x32 fail. `clone3` and `openat2` fail with
    ENOSYS, because a filter cannot read their flags; programs then use the older calls. Sockets may only be internet
    sockets, or netlink sockets for interfaces. Socket pairs cannot send to other sockets. No file can get setuid or
    setgid permissions.
    """
    numbers = _ARCHITECTURES.get(machine or platform.machine())
    return None if numbers is None else _filter(numbers)


def _filter(numbers: _Architecture, more: Iterable[bytes] = ()) -> bytes:
    """Return the filter; the `more` statements come before those about sockets."""
    error = _error(errno.EPERM)
    statements = (
        _load(_ARCHITECTURE),
        _if(_EQUAL, numbers.audit, _KILL, negated=True),
        _load(_NUMBER),
        _if(_AT_LEAST, _X32, _error(errno.ENOSYS)),
        *(_if(_EQUAL, number, _error(errno.ENOSYS)) for number in (numbers.clone3, _OPENAT2)),
        *(_if(_EQUAL, number, error) for number in numbers.denied),
        _on(numbers.clone, _load(_FIRST), _if(_ANY_BIT, _NEW_NAMESPACE, error)),
        _on(numbers.ioctl, _load(_SECOND), *(_if(_EQUAL, request, error) for request in _TYPES_INTO_TERMINAL)),
        *more,
        *_on_sockets(numbers),
        *_on_permissions(numbers),
        _return(_ALLOW),
    )
    return b"".join(statements)


def _on_sockets(numbers: _Architecture) -> Iterator[bytes]:
    """Yield the statements about new sockets and socket pairs."""
    denied = _error(errno.EACCES)
    yield _on(
        numbers.socket,
        _load(_FIRST),
        *(_if(_EQUAL, family, _ALLOW) for family in _INTERNET),
        _if(_EQUAL, _NETLINK, denied, negated=True),
        _load(_THIRD),
        _if(_EQUAL, 0, denied, negated=True),
    )
    kinds = (_if(_EQUAL, kind, _ALLOW) for kind in _CONNECTED)
    yield _on(numbers.socketpair, _load(_SECOND), _statement(_AND, _TYPE), *kinds, _return(denied))


def _on_permissions(numbers: _Architecture) -> Iterator[bytes]:
    """Yield the statements that deny setuid and setgid permissions where files are created or their permissions
    changed.
    """
    denial = _if(_ANY_BIT, _AS_OWNER, _error(errno.EPERM))
    for number, permissions in numbers.modes:
        yield _on(number, _load(permissions), denial)
    for number, flags, permissions in numbers.openings:
        only_creating = _if(_ANY_BIT, _CREATES, _ALLOW, negated=True)
        yield _on(number, _load(flags), only_creating, _load(permissions), denial)


def _on(number: int, *statements: bytes) -> bytes:
    """Return statements that decide on one system call and are skipped for all others; if none of them ends the filter,
    it is allowed.
    """
    body = b"".join((*statements, _return(_ALLOW)))
    return _statement(_EQUAL, number, 0, len(body) // 8) + body


def _if(test: int, value: int, outcome: int, *, negated: bool = False) -> bytes:
    """Return the statements that end the filter with `outcome` if the loaded value passes the test (`negated`: fails
    it).
    """
    return _statement(test, value, *((1, 0) if negated else (0, 1))) + _return(outcome)


def _load(offset: int) -> bytes:
    return _statement(_LOAD, offset)


def _return(outcome: int) -> bytes:
    return _statement(_RETURN, outcome)


def _statement(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _error(number: int) -> int:
    return _ERROR | number
