"""The network: the machine's own services, other machines, and sockets that are not for the internet."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import socket
import struct
from pathlib import Path
from urllib.parse import urlsplit

from .attempt import Impossible, Out, World, escape

TIMEOUT = 2.0


def _tcp(world: World, host: str, port: int, protocol: int = 0, family: int = socket.AF_INET) -> None:
    """Connect and send the mark."""
    with socket.socket(family, socket.SOCK_STREAM, protocol) as sender:
        sender.settimeout(TIMEOUT)
        sender.connect((host, port))
        sender.sendall(world.mark.encode())


def _udp(world: World, host: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(world.mark.encode(), (host, world.facts["victim"]["udp"]))


def _port(world: World) -> int:
    return world.number("tcp")


def _own_host(world: World) -> str:
    if not world.facts["host"]:
        raise Impossible("the machine has no other host")
    return str(world.facts["host"])


@escape
def tcp_to_loopback(world: World) -> None:
    """A service of the machine, on 127.0.0.1."""
    _tcp(world, "127.0.0.1", _port(world))


@escape
def tcp_to_any(world: World) -> None:
    """A service of the machine, on 0.0.0.0, which is the machine itself."""
    _tcp(world, "0.0.0.0", _port(world))


@escape
def tcp_to_other_loopback(world: World) -> None:
    """A service of the machine, on another number of the loopback network."""
    _tcp(world, "127.9.9.9", _port(world))


@escape
def tcp_to_loopback_of_version_6(world: World) -> None:
    """A service of the machine, on ::1."""
    _tcp(world, "::1", world.number("tcp6"), family=socket.AF_INET6)


@escape
def tcp_to_mapped_loopback(world: World) -> None:
    """A service of the machine, on 127.0.0.1 written in version 6."""
    _tcp(world, "::ffff:127.0.0.1", _port(world), family=socket.AF_INET6)


@escape
def tcp_out(world: World) -> None:
    """The network of the machine: its own number there, as any other machine has one."""
    _tcp(world, _own_host(world), _port(world))


@escape
def tcp_by_many_paths(world: World) -> None:
    """A service of the machine, by MPTCP, which rules for TCP alone do not meet."""
    _tcp(world, "127.0.0.1", _port(world), protocol=262)


@escape
def tcp_with_first_packet(world: World) -> None:
    """A service of the machine, by TCP fast open: data without `connect`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("qq", int(TIMEOUT), 0))
        sender.sendto(world.mark.encode(), socket.MSG_FASTOPEN, ("127.0.0.1", _port(world)))


@escape
def tcp_by_shared_memory(world: World) -> None:
    """A service of the machine, by SMC, which falls back to TCP."""
    family = 43
    _opens(family, socket.SOCK_STREAM, 0, "a socket of SMC")
    sender = socket.socket(family, socket.SOCK_STREAM, 0)
    data = struct.pack("!HH4s8x", 0, _port(world), socket.inet_aton("127.0.0.1"))
    data = struct.pack("H", socket.AF_INET) + data[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.connect(sender.fileno(), data, len(data)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    os.write(sender.fileno(), world.mark.encode())


@escape
def udp_to_loopback(world: World) -> None:
    """A service of the machine, by UDP."""
    _udp(world, "127.0.0.1")


@escape
def udp_out(world: World) -> None:
    """The network of the machine, by UDP."""
    _udp(world, _own_host(world))


@escape
def udp_to_all(world: World) -> None:
    """Every machine of the network, by broadcast."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sender.sendto(world.mark.encode(), ("127.255.255.255", world.facts["victim"]["udp"]))


@escape
def listen_for_outside(world: World) -> str:
    """A port of the machine, on which programs outside may be received."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", 0))
    namespace = Path("/proc/self/ns/net").stat()
    return f"inode {namespace.st_dev}:{namespace.st_ino}"


@escape
def name_resolution(world: World) -> Out:
    """A question to the name servers, which carries data out in the name that it asks for."""
    try:
        found = socket.getaddrinfo("walls.example.com", 80)
    except socket.gaierror as error:
        if error.errno == socket.EAI_NONAME:
            return Out("a name server answers that there is no such name")
        raise PermissionError(str(error)) from error
    return Out(f"the name resolves to {found[0][4]}")


@escape
def name_server(world: World) -> Out:
    """The same, asked of the name servers of the machine directly."""
    settings = Path("/etc/resolv.conf").read_text()
    servers = re.findall(r"^nameserver\s+([\d.]+)", settings, re.MULTILINE)
    if not servers:
        raise Impossible("the machine has no name server")
    question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x05walls\x07example\x03com\x00\x00\x01\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(TIMEOUT)
        sender.sendto(question, (servers[0], 53))
        return Out(f"{servers[0]} answers with {len(sender.recv(512))} bytes")


def _opens(family: int, kind: int, protocol: int, meaning: str) -> Out:
    """Open a socket; that it opens is what the wall must refuse."""
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT):
            raise Impossible(f"the kernel has no such socket, or a filter says so: {error}") from error
        raise
    return Out(f"{meaning} opens")


@escape
def raw_socket(world: World) -> Out:
    """Packets with any sender."""
    return _opens(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP, "a raw socket")


@escape
def packet_socket(world: World) -> Out:
    """All packets of the machine."""
    return _opens(socket.AF_PACKET, socket.SOCK_RAW, 0x0300, "a packet socket")


@escape
def network_of_machine(world: World) -> Out:
    """The interfaces of the machine and their numbers, by netlink."""
    host = socket.inet_aton(_own_host(world))
    list_addresses, request_all = 22, 0x301
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(TIMEOUT)
        link.send(struct.pack("=IHHIIBxxxI", 24, list_addresses, request_all, 1, 0, socket.AF_INET, 0))
        if host not in link.recv(65536):
            raise PermissionError("the interfaces are those of another network")
    return Out("the interfaces of the machine are listed")


@escape
def audit_socket(world: World) -> Out:
    """The records and events of the kernel, by netlink."""
    return _opens(socket.AF_NETLINK, socket.SOCK_RAW, 15, "a netlink socket for events of devices")


@escape
def machine_socket(world: World) -> Out:
    """The host of a virtual machine (vsock), which no network namespace closes."""
    return _opens(socket.AF_VSOCK, socket.SOCK_STREAM, 0, "a vsock socket")


@escape
def machine_socket_connects(world: World) -> Out:
    """A service of the host of a virtual machine."""
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as sender:
        sender.settimeout(TIMEOUT)
        try:
            sender.connect((2, 1))
        except ConnectionError as error:
            return Out(f"the host answers: {error}")
    return Out("the host answers")


@escape
def cipher_socket(world: World) -> Out:
    """The ciphers of the kernel (AF_ALG)."""
    return _opens(socket.AF_ALG, socket.SOCK_SEQPACKET, 0, "a cipher socket")


@escape
def other_sockets(world: World) -> Out:
    """Sockets of all other families: only those of the internet are needed."""
    tried = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET)
    opened = [
        family
        for family in set(range(1, 46)) - {int(each) for each in tried} - {socket.AF_VSOCK, socket.AF_ALG}
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
        if _can_open(family, kind)
    ]
    if not opened:
        raise PermissionError("no other family opens")
    return Out(f"families {sorted(set(opened))} open")


def _can_open(family: int, kind: int) -> bool:
    try:
        socket.socket(family, kind, 0).close()
    except OSError:
        return False
    return True


def _proxy(world: World) -> tuple[str, int]:
    """Return the proxy that the wall offers."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        parts = urlsplit(os.environ.get(name, ""))
        if parts.hostname and parts.port:
            return parts.hostname, parts.port
    raise Impossible("the wall offers no proxy")


def _by_proxy(world: World, request: str, *, is_tunnel: bool = True) -> str:
    """Send a request to the proxy and, once the tunnel is open, the mark; return the answer."""
    with socket.create_connection(_proxy(world), timeout=TIMEOUT) as proxy:
        proxy.sendall(request.encode("latin-1"))
        try:
            answer = proxy.recv(200).decode("latin-1")
            if is_tunnel and " 200" in answer[:20]:
                proxy.sendall(world.mark.encode())
        except TimeoutError as error:
            raise PermissionError("the proxy does not answer") from error
    return answer


def _tunnel(world: World, host: str, port: int | None = None) -> str:
    target = f"{host}:{port or _port(world)}"
    return _by_proxy(world, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")


@escape
def proxy_to_loopback(world: World) -> str:
    """A service of the machine, through the proxy of the wall."""
    return _tunnel(world, "127.0.0.1")


@escape
def proxy_to_localhost(world: World) -> str:
    """The same by name."""
    return _tunnel(world, "localhost")


@escape
def proxy_to_short_number(world: World) -> str:
    """The same by a number in another form."""
    return _tunnel(world, "127.1")


@escape
def proxy_to_hexadecimal_number(world: World) -> str:
    """The same by a hexadecimal number."""
    return _tunnel(world, "0x7f000001")


@escape
def proxy_to_whole_number(world: World) -> str:
    """The same by one whole number."""
    return _tunnel(world, "2130706433")


@escape
def proxy_to_mapped_number(world: World) -> str:
    """The same by a number of version 4 in version 6."""
    return _tunnel(world, "[::ffff:127.0.0.1]")


@escape
def proxy_to_any(world: World) -> str:
    """The same by 0.0.0.0."""
    return _tunnel(world, "0.0.0.0")


@escape
def proxy_to_name_of_loopback(world: World) -> str:
    """The same by a name of the program's own, whose name server answers with 127.0.0.1 (rebinding)."""
    return _tunnel(world, world.facts["loopback_name"])


@escape
def proxy_to_own_network(world: World) -> str:
    """The network of the machine, through the proxy."""
    return _tunnel(world, _own_host(world))


@escape
def proxy_without_tunnel(world: World) -> str:
    """A service of the machine, by a plain request through the proxy."""
    request = f"GET http://127.0.0.1:{_port(world)}/{world.mark} HTTP/1.1\r\nHost: allowed.example\r\n\r\n"
    return _by_proxy(world, request, is_tunnel=False)


@escape
def proxy_with_other_host(world: World) -> str:
    """A service of the machine, where the header `Host` names another one."""
    request = f"CONNECT 127.0.0.1:{_port(world)} HTTP/1.1\r\nHost: allowed.example:443\r\n\r\n"
    return _by_proxy(world, request)


def _socks(world: World, kind: int, host: bytes) -> str:
    """Ask the proxy for a connection by SOCKS5 and send the mark."""
    with socket.create_connection(_proxy(world), timeout=TIMEOUT) as proxy:
        proxy.sendall(b"\x05\x01\x00")
        if proxy.recv(2) != b"\x05\x00":
            raise PermissionError("the proxy does not speak SOCKS5 without a login")
        proxy.sendall(b"\x05\x01\x00" + bytes([kind]) + host + struct.pack("!H", _port(world)))
        answer = proxy.recv(10)
        if answer[1:2] == b"\x00":
            proxy.sendall(world.mark.encode())
        return answer.hex()


@escape
def socks_to_loopback(world: World) -> str:
    """A service of the machine, by SOCKS5."""
    return _socks(world, 1, socket.inet_aton("127.0.0.1"))


@escape
def socks_to_name_with_zero(world: World) -> str:
    """A service of the machine, by a name with NUL in it that ends like an allowed one."""
    name = b"127.0.0.1\0.allowed.example"
    return _socks(world, 3, bytes([len(name)]) + name)


@escape
def socks_to_name_of_loopback(world: World) -> str:
    """The same by SOCKS5 and a name of the program's own."""
    name = str(world.facts["loopback_name"]).encode()
    return _socks(world, 3, bytes([len(name)]) + name)


@escape
def socks_to_mapped_number(world: World) -> str:
    """A service of the machine, by SOCKS5 and a number of version 6."""
    return _socks(world, 4, socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1"))
