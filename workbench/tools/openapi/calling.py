"""Calls an operation over HTTP, with limits of time and size; what comes back is text for the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from workbench import __version__
from workbench.text import visible
from workbench.tools.executor import ToolExecutor
from workbench.tools.openapi.keys import Keys, NoKey
from workbench.tools.openapi.operation import Operation
from workbench.tools.openapi.sending import Request, request_of
from workbench.tools.openapi.source import Source
from workbench.tools.schema import Action, Observation
from workbench.tools.web_read.pages import charset_of, decoded, kind_of
from workbench.web.addresses import Addresses, AddressRefused, proxy_of
from workbench.web.calls import Calls, Interrupted, OutOfTime
from workbench.web.fetch import BadBody, BodyReader, certificate_fault

if TYPE_CHECKING:
    import httpx

_MOST = 2_000_000
_MOST_HOPS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


class OperationObservation(Observation):
    """What a server answered."""

    status: int | None = None
    url: str = ""


class OperationExecutor(ToolExecutor[Any, OperationObservation]):
    """Calls one operation; one that only reads may be called side by side."""

    def __init__(self, operation: Operation, source: Source, keys: Keys, *, goes_anywhere: bool = True) -> None:
        """`goes_anywhere`: the person named the server, so it may be one of their own network."""
        self._operation = operation
        self._addresses = None if goes_anywhere else Addresses(setting=f"`base_url` in [tools.openapi.{source.name}]")
        self.source = source
        self._keys = keys
        self._calls = Calls()
        self.side_by_side = operation.reads_only

    @property
    def secrets(self) -> dict[str, str]:
        """The keys that calls are signed with, by the variables they come from."""
        return dict(self._keys.values)

    def __call__(self, action: Action) -> OperationObservation:
        """The answer of the server."""
        arguments = action.model_dump(mode="json", by_alias=True, exclude_unset=True)
        try:
            request = request_of(self._operation, arguments, self.source.headers)
            self._keys.sign(request, self._operation)
            return self._calls.run(lambda: self._answered(request), self.source.seconds)
        except (ValueError, NoKey) as error:
            return self._failed(f"The call was not made: {error}")
        except AddressRefused as error:
            return self._failed(f"The call was not made: the document names a server that is not called. {error}")
        except Interrupted:
            return self._failed(f"The call was interrupted.{self._unknown}")
        except OutOfTime:
            return self._failed(f"The server did not answer within {self.source.seconds:g} seconds.{self._unknown}")

    @property
    def _unknown(self) -> str:
        return "" if self._operation.reads_only else " Whether it was carried out is not known."

    def interrupt(self) -> None:
        """End the calls that run."""
        self._calls.interrupt()

    def close(self) -> None:
        """End the calls that run."""
        self._calls.interrupt()

    def _failed(self, text: str) -> OperationObservation:
        return OperationObservation.from_text(self._keys.masked(visible(text)), is_error=True)

    async def _answered(self, request: Request) -> OperationObservation:
        import httpx

        try:  # the time of the whole call is limited where it is run
            async with httpx.AsyncClient(timeout=None, **_way(request.url, self._addresses)) as client:
                sent = client.build_request(**_wire(request))
                for _ in range(_MOST_HOPS):
                    answer = await client.send(sent, stream=True)
                    try:
                        further = self._further(answer)
                        if further is None:
                            return await self._told(answer)
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
        """Where a call that reads is sent on to on the same server; keys go to no other one."""
        target = answer.headers.get("location")
        if answer.status_code not in _REDIRECTS or not target or not self._operation.reads_only:
            return None
        place = answer.request.url.join(target)
        here = answer.request.url
        return place if (place.scheme, place.host, place.port) == (here.scheme, here.host, here.port) else None

    async def _told(self, answer: httpx.Response) -> OperationObservation:
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


def _way(url: str, addresses: Addresses | None) -> dict[str, Any]:
    """How the client gets there: only to what `addresses` allows, where there are any."""
    import httpx

    context, proxy = httpx.create_ssl_context(), proxy_of(url)
    if addresses is None:
        return {"trust_env": False, "proxy": proxy or None, "verify": context}
    from workbench.tools.openapi.reaching import CheckedTransport

    return {"trust_env": False, "transport": CheckedTransport(addresses, proxy, verify=context)}


def _wire(request: Request) -> dict[str, Any]:
    """The request as the client takes it."""
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
