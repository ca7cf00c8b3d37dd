"""Calls an operation over HTTP with limits of time and size; the response becomes text for the model."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import httpx

from workbench import __version__
from workbench.text import visible
from workbench.tools.executor import ToolExecutor
from workbench.tools.openapi.operations import Body, Operation, Parameter, Scheme
from workbench.tools.openapi.source import Source
from workbench.tools.schema import Action, Observation
from workbench.tools.web_read.pages import charset_of, decoded, kind_of
from workbench.web.fetch import BadBody, BodyReader, certificate_fault, port_of
from workbench.web.interruptible_calls import Calls, Interrupted, OutOfTime
from workbench.web.network import HostRefused, NetworkPolicy, Unresolved, proxy_of

_SEPARATORS = {"spaceDelimited": " ", "pipeDelimited": "|"}
Pairs = list[tuple[str, str]]


@dataclass
class Request:
    """An HTTP request before it is signed and encoded."""

    method: str
    url: str
    query: Pairs = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: Pairs = field(default_factory=list)
    content: bytes | None = None
    form: dict[str, Any] | None = None
    """The fields of a multipart body, which the HTTP client encodes."""


def request_of(operation: Operation, arguments: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
    """Return the request of a call, without keys. Raises ValueError for a value that cannot be serialized."""
    path = operation.path
    request = Request(operation.method.upper(), "", headers={"Accept": "application/json, */*;q=0.5", **headers})
    for parameter in operation.parameters:
        if parameter.argument not in arguments or arguments[parameter.argument] is None:
            continue
        value = arguments[parameter.argument]
        if parameter.where == "path":
            path = path.replace(f"{{{parameter.name}}}", _in_path(parameter, value))
        elif parameter.where == "query":
            request.query += _in_query(parameter, value)
        elif parameter.where == "header":
            request.headers[parameter.name] = _header(_simple(parameter, value))
        else:
            request.cookies += _in_query(parameter, value)
    request.url = operation.base_url.rstrip("/") + "/" + path.lstrip("/")
    if operation.body and operation.body.argument in arguments:
        _write_body(request, operation.body, arguments[operation.body.argument])
    return request


def _in_path(parameter: Parameter, value: Any) -> str:
    """Return the value as one path segment; a value cannot change the rest of the path."""
    text = _simple(parameter, value)
    prefix = {"label": ".", "matrix": f";{parameter.name}="}.get(parameter.style, "")
    if not text or text in (".", ".."):
        raise ValueError(f"`{parameter.argument}` cannot be {text!r}: it is a part of the path")
    return prefix + quote(text, safe="," if isinstance(value, list | dict) else "")


def _in_query(parameter: Parameter, value: Any) -> Pairs:
    explode = parameter.explode if parameter.explode is not None else parameter.style in ("", "form", "deepObject")
    if parameter.media or not isinstance(value, list | dict):
        return [(parameter.name, _written(parameter, value))]
    if isinstance(value, list):
        if explode and parameter.style not in _SEPARATORS:
            return [(parameter.name, _text(part)) for part in value]
        return [(parameter.name, _SEPARATORS.get(parameter.style, ",").join(map(_text, value)))]
    if parameter.style == "deepObject":
        return [(f"{parameter.name}[{key}]", _text(part)) for key, part in value.items()]
    if explode:
        return [(str(key), _text(part)) for key, part in value.items()]
    return [(parameter.name, ",".join(f"{key},{_text(part)}" for key, part in value.items()))]


def _simple(parameter: Parameter, value: Any) -> str:
    """Return the value in the "simple" style of OpenAPI, which path segments and headers use."""
    if parameter.media or not isinstance(value, list | dict):
        return _written(parameter, value)
    if isinstance(value, list):
        return ",".join(map(_text, value))
    separator = "=" if parameter.explode else ","
    return ",".join(f"{key}{separator}{_text(part)}" for key, part in value.items())


def _written(parameter: Parameter, value: Any) -> str:
    return json.dumps(value) if parameter.media and "json" in parameter.media else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # the model wrote an integer for a `number`
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _header(text: str) -> str:
    if any(character in text for character in "\r\n\0"):
        raise ValueError("a header cannot contain a line break")
    return text


def _write_body(request: Request, body: Body, value: Any) -> None:
    kind = body.media.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        fields = value if isinstance(value, dict) else {"value": value}
        request.form = {str(name): _text(part) for name, part in fields.items()}
        return
    request.headers["Content-Type"] = "application/json" if body.media == "*/*" else body.media
    if kind == "application/x-www-form-urlencoded" and isinstance(value, dict):
        pairs = [(name, each) for name, part in value.items() for each in (part if isinstance(part, list) else [part])]
        request.content = urlencode([(str(name), _text(part)) for name, part in pairs]).encode()
    elif "json" in kind or kind == "*/*" or not isinstance(value, str):
        request.content = json.dumps(value, ensure_ascii=False).encode()
    else:
        request.content = value.encode(errors="replace")


_PLAIN = ("accept", "accept-language", "content-type", "user-agent")
_popped: dict[str, str] = {}


class NoKey(Exception):
    """A required key is missing; the message is for the model."""


def pop_variable(variable: str) -> str:
    """Remove a variable from the environment and return its value, the same on later calls; "" if it was never set."""
    if value := os.environ.pop(variable, ""):
        _popped[variable] = value
    return _popped.get(variable, "")


class Keys:
    """The keys of one document, read from the environment variables in its settings."""

    def __init__(self, source: Source) -> None:
        self._source = source
        names = [name for name in (source.key_env, *source.auth.values()) if name]
        self.values: Mapping[str, str] = {name: key for name in names if (key := pop_variable(name))}
        """The keys by variable name."""

    def sign(self, request: Request, operation: Operation) -> None:
        """Add the keys that the operation requires to the request. Raises NoKey."""
        way = self._way(operation.security)
        for scheme in way:
            _put(request, scheme, self._key(scheme))
        if not way and self._source.key_env and not operation.security:
            _put(request, Scheme("", "bearer"), self._key(Scheme("", "bearer")))

    def _way(self, ways: Sequence[Sequence[Scheme]]) -> Sequence[Scheme]:
        """Return the first alternative whose keys are all configured; else one without keys if allowed, or
        the first.
        """
        for way in ways:
            if way and all(self._variable(scheme) for scheme in way):
                return way
        return () if not ways or () in ways else ways[0]

    def _variable(self, scheme: Scheme) -> str:
        return self._source.auth.get(scheme.name) or self._source.key_env

    def _key(self, scheme: Scheme) -> str:
        variable = self._variable(scheme)
        table = f"[tools.openapi.{self._source.name}]"
        if not variable:
            raise NoKey(f"This call needs a key ({scheme.name}), and the settings name none: key_env in {table}.")
        if variable not in self.values:
            raise NoKey(
                f"This call needs the key in the variable {variable} (see {table} of the settings file); it is not set."
            )
        return self.values[variable].strip()

    def masked(self, text: str) -> str:
        """Return the text with all keys masked."""
        for name, key in (*self._written(), *_signing(self._source.headers)):
            if len(key) >= 6:
                text = text.replace(key, f"‹secret {name}›")
        return text

    def _written(self) -> Iterator[tuple[str, str]]:
        """Yield name and value of each key in every encoding in which it may be sent, longest first."""
        for name, value in self.values.items():
            key = value.strip()
            ways = {key, quote(key, safe=""), base64.b64encode(key.encode()).decode()}
            yield from ((name, way) for way in sorted(ways, key=len, reverse=True))


def _signing(headers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the configured headers that may hold keys, without a scheme such as `Bearer` before the value."""
    for name, value in headers.items():
        if name.lower() not in _PLAIN:
            yield name, value.rpartition(" ")[2]


def _put(request: Request, scheme: Scheme, key: str) -> None:
    if scheme.kind == "bearer":
        request.headers["Authorization"] = f"Bearer {key}"
    elif scheme.kind == "basic":
        request.headers["Authorization"] = f"Basic {base64.b64encode(key.encode()).decode()}"
    elif scheme.kind == "header":
        request.headers[scheme.field] = key
    elif scheme.kind == "query":
        request.query.append((scheme.field, key))
    else:
        request.cookies.append((scheme.field, key))


_MOST = 2_000_000
_MOST_HOPS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


class OperationObservation(Observation):
    """The response from the server."""

    status: int | None = None
    url: str = ""


class OperationExecutor(ToolExecutor[Any, OperationObservation]):
    """Calls one operation; calls of a read-only operation may run concurrently."""

    def __init__(self, operation: Operation, source: Source, keys: Keys, *, allows_private: bool = True) -> None:
        """`allows_private` means that the user named the server, so non-public addresses are allowed."""
        self._operation = operation
        self._allowed = (
            None if allows_private else NetworkPolicy(setting=f"`base_url` in [tools.openapi.{source.name}]")
        )
        self.source = source
        self._keys = keys
        self._calls = Calls()
        self.side_by_side = operation.reads_only

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that calls are signed with, by variable name."""
        return dict(self._keys.values)

    def __call__(self, action: Action) -> OperationObservation:
        """Call the server and return its response, or an error that says whether the call was made, as far as that is
        known.
        """
        arguments = action.model_dump(mode="json", by_alias=True, exclude_unset=True)
        try:
            request = request_of(self._operation, arguments, self.source.headers)
            self._keys.sign(request, self._operation)
            return self._calls.run(lambda: self._answered(request), self.source.seconds)
        except (ValueError, NoKey) as error:
            return self._failed(f"The call was not made: {error}")
        except HostRefused as error:
            return self._failed(f"The call was not made: the document names a server that is not called. {error}")
        except Interrupted:
            return self._failed(f"The call was interrupted.{self._unknown}")
        except OutOfTime:
            return self._failed(f"The server did not answer within {self.source.seconds:g} seconds.{self._unknown}")

    @property
    def _unknown(self) -> str:
        return "" if self._operation.reads_only else " Whether it was carried out is not known."

    def interrupt(self) -> None:
        """Cancel the running calls."""
        self._calls.interrupt()

    def close(self) -> None:
        """Cancel the running calls."""
        self._calls.interrupt()

    def _failed(self, text: str) -> OperationObservation:
        return OperationObservation.from_text(self._keys.masked(visible(text)), is_error=True)

    async def _answered(self, request: Request) -> OperationObservation:
        import httpx

        try:  # `Calls.run` limits the time of the whole call
            async with httpx.AsyncClient(timeout=None, **_way(request.url, self._allowed)) as client:
                sent = client.build_request(**_wire(request))
                for _ in range(_MOST_HOPS):
                    answer = await client.send(sent, stream=True)
                    try:
                        further = self._further(answer)
                        if further is None:
                            return await self._observation(answer)
                    finally:
                        await answer.aclose()
                    sent = client.build_request(sent.method, further, headers=_again(sent))
        except (httpx.HTTPError, httpx.InvalidURL, BadBody) as error:
            fault = certificate_fault(error)
            why = f"its certificate is not valid ({fault})" if fault else str(error) or type(error).__name__
            unknown = "" if isinstance(error, httpx.ConnectError) else self._unknown
            return self._failed(f"{self._operation.base_url} could not be called: {why}.{unknown}")
        return self._failed(f"{self._operation.base_url} sent on more than {_MOST_HOPS} times.")

    def _further(self, answer: httpx.Response) -> httpx.URL | None:
        """Return the target of a redirect if the call is read-only and stays on the same server, else None.

        Other servers must not get the keys.
        """
        target = answer.headers.get("location")
        if answer.status_code not in _REDIRECTS or not target or not self._operation.reads_only:
            return None
        next_url = answer.request.url.join(target)
        here = answer.request.url
        return (
            next_url if (next_url.scheme, next_url.host, next_url.port) == (here.scheme, here.host, here.port) else None
        )

    async def _observation(self, answer: httpx.Response) -> OperationObservation:
        body = BodyReader(answer.headers.get("content-encoding", ""), _MOST)
        await body.read(answer.aiter_raw())
        kind = answer.headers.get("content-type", "")
        lines = [f"{answer.status_code} {answer.reason_phrase}".strip()]
        if answer.status_code in _REDIRECTS:
            lines.append(f"[sent on to {answer.headers.get('location', '')}, which was not followed]")
        if body.is_cut:
            lines.append(f"[only the first {_MOST / 1e6:g} MB of the answer were read]")
        if not body.content:
            lines.append("[no content]")
        elif kind_of(kind, body.content) in ("text", "html"):
            lines.append(decoded(body.content, charset_of(kind)))
        else:
            lines.append(f"[{kind or 'data'}, {len(body.content):,} bytes, not shown]")
        text = self._keys.masked("\n".join(lines))
        is_error = answer.status_code >= 400
        return OperationObservation.from_text(
            text, is_error=is_error, status=answer.status_code, url=self._operation.base_url
        )


def _way(url: str, allowed: NetworkPolicy | None) -> dict[str, Any]:
    """Return the options of the HTTP client: a proxy, and a transport that checks addresses if `allowed` is given."""
    import httpx

    context, proxy = httpx.create_ssl_context(), proxy_of(url)
    if allowed is None:
        return {"trust_env": False, "proxy": proxy or None, "verify": context}

    return {"trust_env": False, "transport": CheckedTransport(allowed, proxy, verify=context)}


def _wire(request: Request) -> dict[str, Any]:
    """Return the request as arguments for the HTTP client."""
    query = urlencode(request.query, quote_via=quote)
    headers = {"User-Agent": f"ohw/{__version__}", "Accept-Encoding": "gzip", **request.headers}
    if request.cookies:
        headers["Cookie"] = "; ".join(f"{name}={quote(value, safe='')}" for name, value in request.cookies)
    url = f"{request.url}{'&' if '?' in request.url else '?'}{query}" if query else request.url
    wire = {"method": request.method, "url": url, "headers": headers}
    if request.form is not None:
        return {**wire, "files": {name: (None, value) for name, value in request.form.items()}}
    return {**wire, "content": request.content} if request.content is not None else wire


def _again(sent: httpx.Request) -> dict[str, str]:
    return {name: value for name, value in sent.headers.items() if name.lower() != "host"}


class CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects only to addresses that were checked, even if the name resolves to another one a moment later.

    Raises HostRefused.
    """

    def __init__(self, allowed: NetworkPolicy, proxy: str, **options: Any) -> None:
        super().__init__(trust_env=False, proxy=proxy or None, **options)
        self._allowed = allowed
        self._is_direct = not proxy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the first checked address that accepts a connection, or through the proxy if any."""
        if not self._is_direct:
            return await self._through_proxy(request)
        ips = await self._allowed.of(request.url.host, port_of(request.url))
        for ip in ips[:-1]:
            try:
                return await super().handle_async_request(_to(request, ip))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await super().handle_async_request(_to(request, ips[-1]))

    async def _through_proxy(self, request: httpx.Request) -> httpx.Response:
        """Send the request through a proxy, which resolves names itself; a name that resolves here is checked first."""
        with suppress(Unresolved):  # perhaps only the proxy can resolve the name
            await self._allowed.of(request.url.host, port_of(request.url))
        return await super().handle_async_request(request)


def _to(request: httpx.Request, ip: str) -> httpx.Request:
    """Return the request addressed to this IP; its certificate is still checked for the host name."""
    name = {"sni_hostname": request.url.raw_host.decode("ascii")}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=ip),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **name},
    )
