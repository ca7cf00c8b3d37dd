"""The TCP ports on which programs started from a session's shells listen, as Linux reports them: see
proc_net_tcp(5).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final

from workbench.processes.descendants import descendants_of
from workbench.protocol.live import ListeningPort
from workbench.secrets.masker import MASKER

_LISTENS: Final = "0A"
_SUPERVISOR: Final = b"workbench.processes.shell_supervisor"
_LONGEST: Final = 200
_MOST: Final = 50

Sockets = dict[int, tuple[str, int]]
"""The host and port of each listening socket, by inode; the host is how other programs on the machine reach it."""


def listening_ports(engine: int) -> tuple[ListeningPort, ...] | None:
    """Return the ports of the programs in all shells of the process `engine`, sorted; None if the system does not
    report them.

    If several processes share a socket, only the first is named.
    """
    if not Path("/proc/net/tcp").exists():
        return None
    ours, sockets = _network("self"), dict[str, Sockets]()
    ports: dict[tuple[int, bool], ListeningPort] = {}
    for pid in _programs_of_shells(engine):
        with suppress(OSError, ValueError):  # it has ended
            network = _network(pid)
            if network not in sockets:
                sockets[network] = _listening_sockets(pid)
            for inode in _socket_inodes(pid) & sockets[network].keys():
                host, port = sockets[network][inode]
                key = (port, network != ours)
                if key not in ports or host == "localhost" != ports[key].host:
                    ports[key] = ListeningPort(
                        port=port, host=host, program=_command_line(pid), is_isolated=network != ours
                    )
    return tuple(ports[key] for key in sorted(ports))[:_MOST]


def _programs_of_shells(engine: int) -> Iterator[int]:
    """Yield the pids of the programs in all shells, parents first: the descendants of the shells' supervisors."""
    for supervisor in descendants_of(engine):
        with suppress(OSError):
            if _SUPERVISOR in Path(f"/proc/{supervisor}/cmdline").read_bytes():
                yield from descendants_of(supervisor)


def _network(pid: int | str) -> str:
    """Return the name of the network namespace of a process. Raises OSError."""
    return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115 - asked for each process


def _socket_inodes(pid: int) -> set[int]:
    """Return the inodes of the sockets that a process has open. Raises OSError."""
    inodes = set()
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            kind, _, inode = os.readlink(entry.path).partition(":")  # noqa: PTH115
            if kind == "socket":
                inodes.add(int(inode.strip("[]")))
    return inodes


def _listening_sockets(pid: int) -> Sockets:
    """Return the listening sockets in the network namespace of a process. Raises OSError or ValueError."""
    sockets: Sockets = {}
    for table in ("tcp", "tcp6"):
        with suppress(FileNotFoundError):  # a kernel without IPv6
            for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS:
                    words, _, port = fields[1].partition(":")
                    sockets[int(fields[9])] = (_host(words), int(port, 16))
    return sockets


def _host(digits: str) -> str:
    """Return the host for an IP address written as hexadecimal words in the byte order of the machine."""
    words = (digits[start : start + 8] for start in range(0, len(digits), 8))
    return host_of(ip_address(b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)))


def host_of(ip: IPv4Address | IPv6Address) -> str:
    """Return the host by which a program on the same machine reaches a server that listens on an IP address.

    >>> host_of(ip_address("0.0.0.0")), host_of(ip_address("::1")), host_of(ip_address("::ffff:10.0.0.2"))
    ('localhost', '[::1]', '10.0.0.2')
    """
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is None:
            return "localhost" if ip.is_unspecified else f"[{ip}]"
        ip = ip.ipv4_mapped
    return "localhost" if ip.is_unspecified or ip == IPv4Address("127.0.0.1") else str(ip)


def _command_line(pid: int) -> str:
    """Return the first characters of a process's command line, with secrets masked. Raises OSError."""
    raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    # A part of a secret would not be recognized as one, so this is cut afterwards.
    return MASKER.masked(raw.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace"))[:_LONGEST]
