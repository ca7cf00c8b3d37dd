"""Checks which network addresses may be reached: public ones, and those the user allowed.

A name is resolved once, and connections are made only to addresses checked in this module.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern

_UNUSED = (
    " The environment names a proxy for it, and pages are not read through proxies; `proxy = true` in [tools.web_read] "
    "lets web_read do so."
)
_OWN = lazy_pattern(r"(?:.+\.)?localhost|127(?:\.\d+){3}|::1", re.IGNORECASE)


def proxy_of(url: str) -> str:
    """Return the URL of the proxy for a URL, by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    The result is an empty string if no proxy applies, and always for addresses of this machine.
    """
    parts = urlsplit(url)
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not proxy or _OWN.fullmatch(parts.hostname or "") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def unused_note(url: str) -> str:
    """Return a note for an unreachable URL if the environment names a proxy for it that was not used; else empty."""
    return _UNUSED if proxy_of(url) else ""


IP: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve: TypeAlias = Callable[[str, int], Iterable[str]]
"""A function that returns the addresses of a host and port as strings. It raises OSError if there are none."""

_METADATA = (ipaddress.ip_network("169.254.169.254/32"), ipaddress.ip_network("fd00:ec2::254/128"))
"""The metadata services of cloud machines, which hand out keys; `private = true` does not include them."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
_SITE_LOCAL = ipaddress.ip_network("fec0::/10")
_MOST = 8


class HostRefused(Exception):
    """The host may not be reached, or its name has no address; the message is for the model."""


class Unresolved(HostRefused):
    """The name cannot be resolved on this machine."""


class NetworkPolicy:
    """The addresses that may be reached: public ones, and the private ones that `private` allows: all (True), none
    (False), or those of the listed hosts and networks.
    """

    def __init__(
        self,
        private: bool | Sequence[str] = False,
        resolve: Resolve | None = None,
        setting: str = "`private` in [tools.web_read]",
    ) -> None:
        """Set the allowed private addresses. Raises UsageError if a listed one is not a host or network.

        `setting` names, for messages, the setting in which the user can allow more.
        """
        self._setting = setting
        self._all = private is True
        self._resolve = resolve or _resolved
        self._hosts: set[str] = set()
        self._networks: list[Network] = []
        for each in () if isinstance(private, bool) else private:
            self._allow(each)

    def _allow(self, named: str) -> None:
        try:
            self._networks.append(ipaddress.ip_network(named))
        except ValueError:
            if not named.strip() or "/" in named:
                raise UsageError(
                    f"private contains {named!r}, which is neither a host nor a network such as 10.0.0.0/8"
                ) from None
            self._hosts.add(named.strip().lower())

    async def of(self, host: str, port: int) -> list[str]:
        """Return the host's addresses that may be connected to, at most 8. Raises HostRefused if there are none."""
        plain = _plain(host)
        try:
            resolved = await _in_thread(lambda: list(self._resolve(plain, port)))
        except (OSError, UnicodeError) as error:
            note = unused_note(f"{'https' if port == 443 else 'http'}://{plain}:{port}")
            raise Unresolved(f"The name {host} could not be resolved ({_why(error)}).{note}") from None
        return self._permitted(host, resolved)

    def resolved(self, host: str, port: int) -> list[str]:
        """Return the same as `of`, but wait in this thread for as long as the resolver takes. Raises HostRefused."""
        try:
            resolved = list(self._resolve(_plain(host), port))
        except (OSError, UnicodeError) as error:
            raise Unresolved(f"The name {host} could not be resolved ({_why(error)}).") from None
        return self._permitted(host, resolved)

    def _permitted(self, host: str, resolved: Sequence[str]) -> list[str]:
        plain, resolved = _plain(host), list(dict.fromkeys(resolved))
        allowed = [each for each in resolved if plain in self._hosts or self._may(each)]
        if not allowed:
            what = (
                f"{host} is"
                if plain in resolved
                else f"{host} leads to {', '.join(resolved[:3]) or 'nothing'}, which is"
            )
            raise HostRefused(
                f"{what} not a public address, and those are not reached from here. The user can allow it in the "
                f"settings ({self._setting})."
            )
        return allowed[:_MOST]

    def _may(self, text: str) -> bool:
        ip = _embedded(ipaddress.ip_address(text.partition("%")[0]))
        if any(ip in network for network in self._networks):
            return True
        return (self._all and not any(ip in network for network in _METADATA)) or is_public(ip)


def _plain(host: str) -> str:
    return host.strip("[]").lower().rstrip(".")


def is_public(ip: IP) -> bool:
    """Return whether this is a public unicast address, or an IPv6 address that embeds a public IPv4 address."""
    ip = _embedded(ip)
    # The deprecated private networks of IPv6.
    is_own = ip in _SITE_LOCAL
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not is_own


def _embedded(ip: IP) -> IP:
    """Return the IPv4 address embedded in an IPv6 address, otherwise the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _TRANSLATED:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None) or ip


def _resolved(host: str, port: int) -> list[str]:
    return [str(resolved[4][0]) for resolved in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


async def _in_thread(work: Callable[[], list[str]]) -> list[str]:
    """Return the result of `work`, run in a daemon thread, because a resolver that hangs cannot be interrupted.

    When the wait is canceled, the thread keeps running and its result is dropped.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[list[str]] = loop.create_future()

    def finish(result: list[str] | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result or [])

    def run() -> None:
        outcome: tuple[list[str] | None, BaseException | None]
        try:
            outcome = (work(), None)
        except (OSError, UnicodeError) as error:
            outcome = (None, error)
        try:
            loop.call_soon_threadsafe(finish, *outcome)
        except RuntimeError:  # the wait was canceled and the loop is closed
            return

    threading.Thread(target=run, daemon=True, name="resolver").start()
    return await done


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or "it is not a valid name"
