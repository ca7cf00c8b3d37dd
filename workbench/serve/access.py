"""Decides who may open the web view, by one-time links, cookies, and the hosts and origins that requests may name.

A page of another site can make the browser send requests here. It cannot read the link, so it never gets a cookie, and
its requests name its own origin. A host name that was rebound to this machine (DNS rebinding) is rejected.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

LINK_SECONDS = 600.0
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on this host can be reached only from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Admission:
    """What a browser gets for a link: a cookie, and a key that it must send to open a connection.

    The key is needed because browsers send cookies to every port of a host. It is only in the page that the link opens,
    and the browser stores it by origin, which includes the port.
    """

    cookie: str
    key: str


class Access:
    """The token of the latest link, and the admissions for earlier ones; all become invalid when the process ends."""

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`host` is the name or address on which the server listens."""
        self._is_local = is_loopback(host)
        self._names = _LOCAL | ({host} if self._is_local else {host.lower(), socket.gethostname().lower()})
        self._clock = clock
        self._token, self._until = "", 0.0
        self._admissions: list[Admission] = []
        self.cookie_name = f"ohw-{secrets.token_hex(4)}"
        """Unique to this server, because the browser shares cookies between all servers on this host."""

    def new_token(self) -> str:
        """Return a new token that opens the view once, within ten minutes; the previous one becomes invalid."""
        self._token, self._until = secrets.token_urlsafe(32), self._clock() + LINK_SECONDS
        return self._token

    def redeem(self, token: str) -> Admission | None:
        """Exchange a token, which can then not be used again, for an admission; return None if the token is invalid."""
        if not self._token or self._clock() > self._until or not _is_equal(token, self._token):
            return None
        self._token = ""
        self._admissions.append(Admission(secrets.token_urlsafe(32), secrets.token_urlsafe(32)))
        return self._admissions[-1]

    def has_cookie(self, cookie: str) -> bool:
        """Return whether this cookie was given out for a token."""
        return any(_is_equal(cookie, each.cookie) for each in self._admissions)

    def has_key(self, cookie: str, keys: Iterable[str]) -> bool:
        """Return whether one of the keys was given out together with this cookie."""
        keys = tuple(keys)
        return any(
            _is_equal(cookie, each.cookie) and any(_is_equal(key, each.key) for key in keys)
            for each in self._admissions
        )

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header names this machine.

        If the server listens for other machines too, any IP address is accepted: only a name can be rebound.
        """
        name = _hostname(f"//{host}")
        return name in self._names or (not self._is_local and _is_ip(name))

    def is_same_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header names the same server as the Host header."""
        return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())


def _is_equal(text: str, other: str) -> bool:
    """Return whether the texts are equal; the time does not reveal how much of a wrong secret is right."""
    return secrets.compare_digest(text.encode(errors="replace"), other.encode())


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
