"""The server's side of SOCKS5 (RFC 1928), as far as connecting to a host needs it: no authentication, only CONNECT."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Final

from workbench.sandbox.host_access import BadHost, host_of

VERSION: Final = 5
NO_METHOD: Final = b"\x05\xff"
NO_AUTHENTICATION: Final = b"\x05\x00"
SUCCEEDED, FAILED, NOT_ALLOWED, UNREACHABLE, REFUSED, NO_COMMAND, NO_SUCH_TYPE = 0, 1, 2, 4, 5, 7, 8
_CONNECT: Final = 1
_IPV4, _DOMAIN, _IPV6 = 1, 3, 4
_LENGTHS: Final = {_IPV4: 4, _IPV6: 16}


class BadSocks(Exception):
    """The request cannot be served; `reply` is the answer for the client."""

    def __init__(self, code: int) -> None:
        super().__init__(f"SOCKS reply {code}")
        self.reply = reply(code)


@dataclass(frozen=True)
class SocksRequest:
    """A request to connect to a host."""

    host: str
    port: int


def reply(code: int) -> bytes:
    """Return the reply with this code; it gives the bound address as 0.0.0.0:0, which clients ignore."""
    return bytes((VERSION, code, 0, _IPV4)) + bytes(6)


def method_reply(greeting: bytes) -> bytes:
    """Return the answer to the authentication methods in a client's greeting."""
    return NO_AUTHENTICATION if 0 in greeting else NO_METHOD


def length_of(head: bytes) -> int:
    """Return how many bytes follow the first 5 bytes of a request. Raises BadSocks if the request is not supported."""
    version, command, reserved, kind, first = head
    if version != VERSION or reserved != 0:
        raise BadSocks(FAILED)
    if command != _CONNECT:
        raise BadSocks(NO_COMMAND)
    if kind == _DOMAIN:
        return first + 2
    if kind not in _LENGTHS:
        raise BadSocks(NO_SUCH_TYPE)
    return _LENGTHS[kind] + 1


def parse_request(request: bytes) -> SocksRequest:
    """Parse a complete request: 5 bytes, and as many as `length_of` returned. Raises BadSocks."""
    kind, body = request[3], request[4:-2]
    (port,) = struct.unpack("!H", request[-2:])
    try:
        host = host_of(body[1:].decode("ascii")) if kind == _DOMAIN else ipaddress.ip_address(body).compressed
    except (BadHost, UnicodeDecodeError):
        raise BadSocks(NOT_ALLOWED) from None
    if port == 0:
        raise BadSocks(NOT_ALLOWED)
    return SocksRequest(host, port)
