"""Memory, queues and sockets shared with programs outside."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
from pathlib import Path

from .attempt import LIBC, World, check, escape, open_descriptors

TIMEOUT = 2.0


@escape
def shared_memory(world: World) -> str:
    """A segment of System V shared memory, read."""
    return ctypes.string_at(_attached(world)).decode()


@escape
def change_shared_memory(world: World) -> None:
    """A segment of System V shared memory, changed."""
    ctypes.memmove(_attached(world) + world.slot() - world.number("slots") + 64, world.mark.encode(), len(world.mark))


def _attached(world: World) -> int:
    LIBC.shmat.restype = ctypes.c_long
    return check(LIBC.shmat(world.number("shared_memory"), None, 0))


@escape
def message_queue(world: World) -> None:
    """A message in a System V queue."""
    message = (1).to_bytes(8, "little") + world.mark.encode()
    check(LIBC.msgsnd(world.number("queue"), message, ctypes.c_size_t(len(world.mark)), 0o4000))


@escape
def semaphore(world: World) -> None:
    """A System V semaphore, changed."""
    set_value = 16
    check(LIBC.semctl(world.number("semaphore"), 0, set_value, 7))


@escape
def posix_queue(world: World) -> None:
    """A message in a POSIX queue."""
    descriptor = check(LIBC.mq_open(world.facts["victim"]["posix_queue"].encode(), os.O_WRONLY | os.O_NONBLOCK))
    check(LIBC.mq_send(descriptor, world.mark.encode(), ctypes.c_size_t(len(world.mark)), 0))


def _send(world: World, address: str | bytes, kind: int = socket.SOCK_STREAM) -> None:
    """Send the mark to a Unix socket."""
    with socket.socket(socket.AF_UNIX, kind) as sender:
        sender.settimeout(TIMEOUT)
        sender.connect(address)
        sender.send(world.mark.encode())


def _path(world: World, name: str) -> str:
    return str(Path(world.facts["runtime"], name))


@escape
def engine_socket(world: World) -> None:
    """The socket of the engine: it would approve what is asked."""
    _send(world, _path(world, "ohw/engine.sock"))


@escape
def docker_socket(world: World) -> None:
    """The socket of docker: root on the machine."""
    _send(world, _path(world, "docker.sock"))


@escape
def agent_socket(world: World) -> None:
    """The socket of the ssh agent: it signs with the user's keys."""
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        raise PermissionError("SSH_AUTH_SOCK is not set")
    _send(world, path)


@escape
def agent_socket_by_path(world: World) -> None:
    """The socket of the ssh agent, by its path."""
    _send(world, _path(world, "agent.sock"))


@escape
def bus_socket(world: World) -> None:
    """The bus of the desktop: it starts programs and opens key rings."""
    _send(world, _path(world, "bus"))


@escape
def key_agent_socket(world: World) -> None:
    """The socket of gpg-agent, in a hidden directory of home."""
    _send(world, str(world.home / ".gnupg/S.gpg-agent"))


@escape
def socket_outside(world: World) -> None:
    """A socket in a directory that is neither hidden nor temporary."""
    _send(world, str(world.canary.parent / "stream.sock"))


@escape
def socket_in_workspace(world: World) -> None:
    """A socket of a program outside in the workspace, such as a database's or an editor's."""
    _send(world, str(world.workspace / "stream.sock"))


@escape
def socket_in_tmp(world: World) -> None:
    """A socket in /tmp, such as that of a display or of tmux."""
    _send(world, str(Path(world.facts["temporary"], "stream.sock")))


@escape
def socket_through_link(world: World) -> None:
    """A socket outside, through a link that is made inside."""
    link = world.workspace / f"link-{world.name}"
    link.symlink_to(world.canary.parent / "stream.sock")
    _send(world, str(link))


@escape
def socket_through_own_root(world: World) -> None:
    """A socket outside, through /proc/self/root."""
    _send(world, f"/proc/self/root{world.canary.parent}/stream.sock")


@escape
def datagram_socket(world: World) -> None:
    """A datagram socket outside, such as that of the system's log."""
    _send(world, str(world.canary.parent / "datagram.sock"), socket.SOCK_DGRAM)


@escape
def packet_sequence_socket(world: World) -> None:
    """A sequential-packet socket outside."""
    _send(world, str(world.canary.parent / "packets.sock"), socket.SOCK_SEQPACKET)


@escape
def abstract_socket(world: World) -> None:
    """An abstract socket outside, such as that of a display."""
    _send(world, b"\0" + world.facts["abstract"].encode())


@escape
def abstract_datagram_socket(world: World) -> None:
    """An abstract datagram socket outside."""
    _send(world, b"\0" + world.facts["abstract"].encode() + b"-datagram", socket.SOCK_DGRAM)


@escape
def pair_sends_to_path(world: World) -> None:
    """A datagram socket outside, from one of a pair: a filter that refuses `socket` allows `socketpair`."""
    sender, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.sendto(world.mark.encode(), str(world.canary.parent / "datagram.sock"))


@escape
def pair_sends_to_abstract(world: World) -> None:
    """An abstract datagram socket outside, from one of a pair."""
    sender, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.sendto(world.mark.encode(), b"\0" + world.facts["abstract"].encode() + b"-datagram")


@escape
def raw_pair_sends_to_path(world: World) -> None:
    """The same from a pair of type SOCK_RAW, which the kernel takes for datagrams."""
    sender, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    sender.sendto(world.mark.encode(), str(world.canary.parent / "datagram.sock"))


@escape
def flagged_pair_sends_to_path(world: World) -> None:
    """The same with flags in the type, which a filter that compares the whole number does not meet."""
    kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    sender, _peer = socket.socketpair(socket.AF_UNIX, kind)
    sender.sendto(world.mark.encode(), str(world.canary.parent / "datagram.sock"))


@escape
def pair_connects_to_abstract(world: World) -> None:
    """An abstract datagram socket outside, to which one of a pair is connected again."""
    sender, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.connect(b"\0" + world.facts["abstract"].encode() + b"-datagram")
    sender.send(world.mark.encode())


@escape
def pair_connects_to_path(world: World) -> None:
    """A datagram socket outside, to which one of a pair is connected again."""
    sender, _peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    sender.connect(str(world.canary.parent / "datagram.sock"))
    sender.send(world.mark.encode())


@escape
def socket_of_supervisor(world: World) -> None:
    """A socket that the parent left open: the mark is sent to whatever is behind it."""
    sockets = []
    for number in open_descriptors():
        try:
            if number > 2 and stat.S_ISSOCK(os.fstat(number).st_mode):
                sockets.append(socket.socket(fileno=os.dup(number)))
        except OSError:
            continue
    for each in sockets:
        each.send(world.mark.encode())
    if not sockets:
        raise PermissionError("no socket is open")


@escape
def named_pipe(world: World) -> None:
    """A named pipe outside, which another program reads."""
    descriptor = os.open(world.canary.parent / "pipe", os.O_WRONLY | os.O_NONBLOCK)
    os.write(descriptor, world.mark.encode())
