"""Fetches a URL over HTTP: every redirect is checked, size and time are limited, and no cookies or keys are sent.

A proxy is used only if the caller requests it: a proxy resolves names again, so it may reach an address that was not
checked.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from workbench import __version__
from workbench.web.network import NetworkPolicy, Unresolved, proxy_of, unused_note

if TYPE_CHECKING:
    import httpx

_PACKED = {"gzip", "x-gzip", "deflate"}
_STEP = 1 << 18


class BadBody(Exception):
    """The body cannot be decompressed; the message is for the model."""


class BodyReader:
    """Reads and decompresses a response body, up to `limit` decompressed bytes."""

    def __init__(self, encoding: str, limit: int) -> None:
        names = [
            name for name in (part.strip().lower() for part in encoding.split(",")) if name not in ("", "identity")
        ]
        if len(names) > 1 or not _PACKED.issuperset(names):
            raise BadBody(f"The response has a compression that was not requested ({', '.join(names)[:40]}).")
        self._unpacker = zlib.decompressobj(wbits=47) if names else None  # 32 + 15: gzip or zlib, by the header
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.is_cut = False
        """Whether the body is larger than the limit."""

    @property
    def content(self) -> bytes:
        """The decompressed body, as far as it has been read."""
        return b"".join(self._parts)

    async def read(self, chunks: AsyncIterable[bytes]) -> None:
        """Read chunks until they end or the limit is exceeded. Raises BadBody if they cannot be decompressed."""
        async for chunk in chunks:
            self._feed(chunk)
            if self.is_cut:
                return

    def _feed(self, chunk: bytes) -> None:
        if self._unpacker is None:
            self._keep(chunk)
            return
        while chunk and not self.is_cut and not self._unpacker.eof:
            try:
                unpacked = self._unpacker.decompress(chunk, _STEP)
            except zlib.error as error:
                raise BadBody(f"The response claims to be compressed, but is not ({error}).") from error
            self._keep(unpacked)
            chunk = self._unpacker.unconsumed_tail

    def _keep(self, data: bytes) -> None:
        remaining = self._limit - self._size
        self.is_cut = len(data) > remaining
        self._parts.append(data[:remaining])
        self._size += min(len(data), remaining)


MOST_HOPS = 8
_SILENCE = 15.0
"""Seconds without data after which a connection is closed."""
_SHARE = 0.9
"""The share of the total time after which an unfinished body is returned as far as it was read."""
_REDIRECTS = (301, 302, 303, 307, 308)
_HEADERS = {
    "User-Agent": f"ohw/{__version__} (reads pages for a user)",
    "Accept": "text/html, application/xhtml+xml, text/markdown, text/plain, application/json, */*;q=0.5",
    "Accept-Language": "en, *;q=0.5",
    "Accept-Encoding": "gzip",
}


class Unreachable(Exception):
    """There was no usable response; the message says why, for the model."""


@dataclass(frozen=True)
class FetchLimits:
    """The limits of a fetch: bytes after decompression, and seconds for all requests together."""

    size: int = 10_000_000
    seconds: float = 30.0


@dataclass(frozen=True)
class Fetched:
    """The response after all redirects, with its body as far as it was read."""

    url: str
    status: int
    content_type: str
    content: bytes
    hops: tuple[str, ...] = ()
    """The URLs that redirected, in order."""
    cut: str = ""
    """Why the body is incomplete: "size", "time" or "broken"; empty if it is complete."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether the status is a success (2xx)."""
        return 200 <= self.status < 300

    @property
    def status_line(self) -> str:
        """The status code and its phrase, such as `404 Not Found`."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


class _Way(NamedTuple):
    """How to connect: the TLS context, whether to use the environment's proxies, and the proxy for the current URL.

    The proxy is empty if the URL is fetched directly.
    """

    context: ssl.SSLContext
    through_proxy: bool
    proxy: str = ""


async def fetch(url: str, policy: NetworkPolicy, limits: FetchLimits, *, through_proxy: bool = False) -> Fetched:
    """Fetch a URL with GET, follow redirects and return the response; `through_proxy` uses the environment's proxies.

    Raises Unreachable if there is no usable response, and HostRefused if `policy` does not allow the address.
    """
    import httpx

    until = asyncio.get_running_loop().time() + limits.seconds * _SHARE
    way = _Way(httpx.create_ssl_context(), through_proxy)
    try:
        async with asyncio.timeout(limits.seconds):
            return await _followed(checked_url(url), policy, way, limits.size, until)
    except TimeoutError:
        raise Unreachable(f"{checked_url(url).host} did not answer within {limits.seconds:g} seconds.") from None


async def _followed(url: httpx.URL, policy: NetworkPolicy, way: _Way, size: int, until: float) -> Fetched:
    """Return the response after all redirects. Raises Unreachable if there are too many."""
    hops: list[str] = []
    while True:
        if len(hops) > MOST_HOPS:
            raise Unreachable(f"The server sent on more than {MOST_HOPS} times: {hops[0]} … {hops[-1]}.")
        way = way._replace(proxy=proxy_of(str(url)) if way.through_proxy else "")
        if way.proxy:
            with suppress(Unresolved):  # only the proxy may know the name
                await policy.of(url.host, port_of(url))
            response = await _get(url, [url.host], way, size, until)
        else:
            response = await _get(url, await policy.of(url.host, port_of(url)), way, size, until)
        target = response.headers.get("location", "")
        if response.status not in _REDIRECTS or not target:
            return replace(response, hops=tuple(hops))
        hops.append(str(url))
        url = _sent_on(url, target)


def checked_url(url: str) -> httpx.URL:
    """Return the parsed URL without its fragment. Raises Unreachable if it cannot be fetched."""
    import httpx

    try:
        parsed = httpx.URL(url.strip())
        port_of(parsed)
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        raise Unreachable(f"{url[:200]!r} is not a URL ({error}).") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise Unreachable(f"{str(parsed)[:200]} cannot be read: give a URL that starts with https:// or http://.")
    if parsed.userinfo:
        raise Unreachable("The URL contains a user name or password; give it without them.")
    return parsed.copy_with(fragment=None)


def port_of(url: httpx.URL) -> int:
    """Return the port of a URL, or the default port of its scheme."""
    return url.port or (443 if url.scheme == "https" else 80)


def _sent_on(url: httpx.URL, target: str) -> httpx.URL:
    import httpx

    try:
        return checked_url(str(url.join(target)))
    except (Unreachable, httpx.InvalidURL, ValueError) as error:
        raise Unreachable(f"{url} redirects to a URL that is not followed: {error}") from None


async def _get(url: httpx.URL, hosts: list[str], way: _Way, size: int, until: float) -> Fetched:
    """Return the response of the first of `hosts`, the addresses of the URL's host, to which a connection succeeds."""
    import httpx

    for number, host in enumerate(hosts, 1):
        try:
            return await _answer(url, host, way, size, until)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            if number == len(hosts) or certificate_fault(error):
                raise Unreachable(_failure(url, error, way.proxy)) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise Unreachable(_failure(url, error, way.proxy)) from error
    raise Unreachable(f"{url.host} has no address.")


async def _answer(url: httpx.URL, host: str, way: _Way, size: int, until: float) -> Fetched:
    """Return the response from one address; the Host header and the certificate check use the host name."""
    import httpx

    timeout = httpx.Timeout(_SILENCE)
    headers = {**_HEADERS, "Host": url.netloc.decode("ascii")}
    async with (
        httpx.AsyncClient(
            verify=way.context, trust_env=False, timeout=timeout, follow_redirects=False, proxy=way.proxy or None
        ) as client,
        client.stream(
            "GET",
            url.copy_with(host=host),
            headers=headers,
            extensions={"sni_hostname": url.raw_host.decode("ascii")},
        ) as answer,
    ):
        content, cut = (b"", "") if answer.status_code in _REDIRECTS else await _body(answer, size, until)
    received = {name.lower(): value for name, value in answer.headers.items()}
    return Fetched(str(url), answer.status_code, received.get("content-type", ""), content, cut=cut, headers=received)


async def _body(answer: httpx.Response, size: int, until: float) -> tuple[bytes, str]:
    """Return the body and, if it is cut, the reason: "size", "time" or "broken".

    Raises Unreachable if the body cannot be decompressed, or if an error occurs before any of it arrives.
    """
    import httpx

    try:
        body = BodyReader(answer.headers.get("content-encoding", ""), size)
        async with asyncio.timeout_at(until):
            await body.read(answer.aiter_raw())
    except BadBody as error:
        raise Unreachable(str(error)) from error
    except (TimeoutError, httpx.TimeoutException):
        return _what_came(body, answer, "time")
    except httpx.HTTPError:
        return _what_came(body, answer, "broken")
    return body.content, "size" if body.is_cut else ""


def _what_came(body: BodyReader, answer: httpx.Response, why: str) -> tuple[bytes, str]:
    if not body.content:
        problem = "sent nothing within the time" if why == "time" else "broke off before it sent anything"
        raise Unreachable(f"{answer.request.headers['host']} answered {answer.status_code} and {problem}.")
    return body.content, why


def certificate_fault(error: BaseException | None) -> str:
    """Return why a certificate was rejected, or an empty string if none was."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message or "it cannot be verified"
        error = error.__cause__ or error.__context__
    return ""


def _failure(url: httpx.URL, error: Any, proxy: str) -> str:
    fault = certificate_fault(error)
    if fault:
        return f"The certificate of {url.host} is not valid ({fault}), so nothing was read from it."
    kind = type(error).__name__
    note = unused_note(str(url)) if kind.startswith("Connect") and not proxy else ""
    note = f" It was asked for through the proxy {urlsplit(proxy).hostname}." if proxy else note
    if "Timeout" in kind:
        return f"{url.host} did not answer within {_SILENCE:g} seconds.{note}"
    return f"{url.host} could not be read: {str(error) or kind}.{note}"
