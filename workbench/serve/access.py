"""Who may open the web view: one-time links, cookies, and the hosts and origins that requests may name.

A page of another site can make the browser send requests here. It cannot read the link, so it never gets a cookie, and
its requests name its own origin. A name that is rebound to this machine (DNS rebinding) is not one of ours.
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
    """Return whether only programs on this machine can connect to a server that listens on the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Admission:
    """What a browser got for a link: a cookie, and a key for connections.

    Browsers send cookies to every port of a host. The key is in the page that the link opened and nowhere else, and is
    stored by origin, of which the port is a part.
    """

    cookie: str
    key: str


class Access:
    """The link that was printed last, and what links were exchanged for; all end with the process."""

    def __init__(self, host: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`host` is the address that the server listens on."""
        self._is_local = is_loopback(host)
        self._names = _LOCAL | ({host} if self._is_local else {host.lower(), socket.gethostname().lower()})
        self._clock = clock
        self._token, self._until = "", 0.0
        self._admissions: list[Admission] = []
        self.cookie_name = f"ohw-{secrets.token_hex(4)}"
        """Differs from that of other servers on this host, with which it shares the browser's cookies."""

    def new_token(self) -> str:
        """Return a token that opens the view once, within ten minutes; the one before is not valid any more."""
        self._token, self._until = secrets.token_urlsafe(32), self._clock() + LINK_SECONDS
        return self._token

    def redeem(self, token: str) -> Admission | None:
        """Return what a token is exchanged for, which is then spent; None if it is not valid."""
        if not self._token or self._clock() > self._until or not _is_equal(token, self._token):
            return None
        self._token = ""
        self._admissions.append(Admission(secrets.token_urlsafe(32), secrets.token_urlsafe(32)))
        return self._admissions[-1]

    def has_cookie(self, cookie: str) -> bool:
        """Return whether a token was exchanged for this cookie."""
        return any(_is_equal(cookie, each.cookie) for each in self._admissions)

    def has_key(self, cookie: str, keys: Iterable[str]) -> bool:
        """Return whether one of the keys was handed out with this cookie."""
        keys = tuple(keys)
        return any(
            _is_equal(cookie, each.cookie) and any(_is_equal(key, each.key) for key in keys)
            for each in self._admissions
        )

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header names this machine.

        Any address does if the server listens beyond the machine itself: only a name can be rebound.
        """
        name = _hostname(f"//{host}")
        return name in self._names or (not self._is_local and _is_ip(name))

    def is_same_origin(self, origin: str, host: str) -> bool:
        """Return whether an Origin header names the server that the Host header names."""
        return origin.lower() in (f"http://{host}".lower(), f"https://{host}".lower())


def _is_equal(text: str, other: str) -> bool:
    """Return whether they are equal; the time does not depend on how much of a wrong one is right."""
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
