"""The HTTP that a proxy has to understand (RFC 9112): CONNECT, or one request with an absolute URL per connection.

The parser is strict and refuses whatever it does not understand exactly, so that the server cannot read other or more
requests from the forwarded bytes than this module did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.sandbox.host_access import BadHost, endpoint_text, host_of

LONGEST_HEAD: Final = 1 << 16
ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_LINE: Final = lazy_pattern(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}) ([!-~]+) HTTP/1\.[01]")
_FIELD: Final = lazy_pattern(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_URL: Final = lazy_pattern(r"(?i:http)://([^/?#@]*)(/[^#]*|\?[^#]*|)(?:#.*)?")
_AUTHORITY: Final = lazy_pattern(r"(?:\[([0-9a-fA-F:.]+)\]|([^\[\]:]+))(?::(\d{1,5})?)?")
_LENGTH: Final = lazy_pattern(r"\d{1,18}")
_CHUNK: Final = lazy_pattern(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?")
_INTERIM: Final = lazy_pattern(rb"HTTP/1\.[01] 1(?!01)")
_PERSISTENCE: Final = lazy_pattern(rb"(?i:(?:proxy-)?connection|keep-alive)[ \t]*:")
_LONGEST_LINE: Final = 4096
_MOST_TRAILERS: Final = 100
_HOP: Final = frozenset(
    [
        *("connection", "proxy-connection", "proxy-authorization", "proxy-authenticate", "keep-alive"),
        *("te", "trailer", "upgrade", "host"),
    ]
)
"""Headers that are not forwarded: those for the proxy alone, and Host, which is replaced."""


class BadHttp(Exception):
    """The request cannot be served; `reply` is the response for the client."""

    def __init__(self, message: str, status: str = "400 Bad Request") -> None:
        super().__init__(message)
        self.reply = response(status, message)


@dataclass(frozen=True)
class HttpRequest:
    """A request for a tunnel, or a request to forward: its head as the server gets it, and the length of its body."""

    host: str
    port: int
    is_tunnel: bool
    head: bytes = b""
    length: int | None = 0
    """The length of the body in bytes; None if it is chunked."""


def response(status: str, text: str, headers: str = "") -> bytes:
    """Return a complete response with the given status and text, after which the connection ends."""
    body = f"{text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n{headers}"
    return f"{head}Connection: close\r\n\r\n".encode("ascii") + body


def refusal(text: str) -> bytes:
    """Return the response to a request that the sandbox refuses."""
    return response("403 Forbidden", text, "X-Sandbox: refused\r\n")


def parse_head(head: bytes) -> HttpRequest:
    """Parse the head of a request, including the empty line at its end. Raises BadHttp."""
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    line = _LINE.fullmatch(first)
    fields = [_FIELD.fullmatch(each) for each in lines]
    if line is None or None in fields:
        raise BadHttp("This is not an HTTP request that the proxy understands.")
    headers = [(match[1], match[2].rstrip(" \t")) for match in fields if match is not None]
    method, target = line[1], line[2]
    if method == "CONNECT":
        host, port = _endpoint(target, None)
        return HttpRequest(host, port, is_tunnel=True)
    url = _URL.fullmatch(target)
    if url is None:
        raise BadHttp("The proxy serves CONNECT, and requests with an absolute URL that starts with http://.")
    host, port = _endpoint(url[1], 80)
    path = url[2] if url[2].startswith("/") else f"/{url[2]}"
    length = _body_length(headers)
    return HttpRequest(host, port, False, _forwarded(f"{method} {path}", host, port, headers), length)


def _forwarded(request: str, host: str, port: int, headers: list[tuple[str, str]]) -> bytes:
    """Return the head for the server, with the server's own name as Host and without the headers for proxies."""
    listed = {
        name.strip().lower() for each, value in headers if each.lower() == "connection" for name in value.split(",")
    }
    dropped = (_HOP | listed) - {"content-length", "transfer-encoding"}
    fields = [f"{name}: {value}" for name, value in headers if name.lower() not in dropped]
    name = endpoint_text(host, port).removesuffix(":80")
    return "\r\n".join([f"{request} HTTP/1.1", f"Host: {name}", *fields, "Connection: close", "", ""]).encode("latin-1")


def _endpoint(authority: str, default: int | None) -> tuple[str, int]:
    match = _AUTHORITY.fullmatch(authority)
    port = int(match[3]) if match is not None and match[3] else default
    if match is None or port is None or not 0 < port < 1 << 16 or bool(match[1]) != (":" in (match[1] or match[2])):
        raise BadHttp("The request does not name a host and port.")
    try:
        return host_of(match[1] or match[2]), port
    except BadHost as error:
        raise BadHttp(f"The request does not name a host: {error}.") from None


def _body_length(headers: list[tuple[str, str]]) -> int | None:
    """Return the length of the body, or None if it is chunked. Raises BadHttp if the headers are ambiguous."""
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    codings = [value for name, value in headers if name.lower() == "transfer-encoding"]
    if not codings and not lengths:
        return 0
    if len(codings) + len(lengths) == 1:
        if codings and codings[0].lower() == "chunked":
            return None
        if lengths and _LENGTH.fullmatch(lengths[0]):
            return int(lengths[0])
    raise BadHttp("The length of the request's body is not clear.")


class ResponseHead:
    """Rewrites the head of a response to say that the connection ends after it; interim responses before it pass
    unchanged.
    """

    def __init__(self) -> None:
        self.is_past = False
        """Whether the head is complete, so that all further bytes are forwarded unchanged."""
        self._data = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to forward; none while a head is incomplete. Empty `data` means the end of the response."""
        self._data += data
        forwarded = b""
        while not self.is_past and (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._data[:end])
            del self._data[: end + 4]
            self.is_past = _INTERIM.match(head) is None
            forwarded += (_closing(head) if self.is_past else head) + b"\r\n\r\n"
        if self.is_past or not data or len(self._data) > LONGEST_HEAD:
            forwarded += bytes(self._data)
            self._data.clear()
            self.is_past = True
        return forwarded


def _closing(head: bytes) -> bytes:
    lines = [line for line in head.split(b"\r\n") if not _PERSISTENCE.match(line)]
    return b"\r\n".join([*lines, b"Connection: close"])


class SizedBody:
    """A body of a given number of bytes; None means a tunnel, which has no end of its own."""

    def __init__(self, length: int | None) -> None:
        self._remaining = length

    @property
    def is_complete(self) -> bool:
        """Whether the whole body has been fed."""
        return self._remaining == 0

    def feed(self, data: bytes) -> int:
        """Return how many of the bytes belong to the body."""
        if self._remaining is None:
            return len(data)
        size = min(len(data), self._remaining)
        self._remaining -= size
        return size


class ChunkedBody:
    """A body with chunked encoding (RFC 9112, section 7.1); finds where it ends."""

    def __init__(self) -> None:
        self.is_complete = False
        self._remaining = 0
        """The number of bytes of the current chunk, and of the line end after it, that are still to come."""
        self._line = bytearray()
        self._in_trailers = False
        self._trailers = 0

    def feed(self, data: bytes) -> int:
        """Return how many of the bytes belong to the body. Raises BadHttp if the chunks are malformed."""
        position = 0
        while position < len(data) and not self.is_complete:
            if self._remaining > 0:
                position += self._skip(data[position : position + self._remaining])
            else:
                end = data.find(b"\n", position)
                stop = len(data) if end < 0 else end + 1
                self._line += data[position:stop]
                position = stop
                self._check_line(is_whole=end >= 0)
        return position

    def _skip(self, data: bytes) -> int:
        """Consume bytes of a chunk, the last two of which must be a line end; return how many. Raises BadHttp."""
        before = self._remaining
        self._remaining -= len(data)
        tail = data[max(0, before - 2) :]
        if tail != b"\r\n"[2 - min(before, 2) :][: len(tail)]:
            raise BadHttp("The chunks of the body are malformed.")
        return len(data)

    def _check_line(self, *, is_whole: bool) -> None:
        if len(self._line) > _LONGEST_LINE or (is_whole and not self._line.endswith(b"\r\n")):
            raise BadHttp("The chunks of the body are malformed.")
        if not is_whole:
            return
        line = bytes(self._line[:-2])
        self._line.clear()
        if self._in_trailers:
            self._trailers += 1
            self.is_complete = not line
            if self._trailers > _MOST_TRAILERS or (line and not _FIELD.fullmatch(line.decode("latin-1"))):
                raise BadHttp("The chunks of the body are malformed.")
            return
        size = _CHUNK.fullmatch(line)
        if size is None:
            raise BadHttp("The chunks of the body are malformed.")
        length = int(size[1], 16)
        self._remaining = length + 2 if length else 0
        self._in_trailers = length == 0
