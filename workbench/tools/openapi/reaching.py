"""The way to a server that a document names and the person did not: public addresses only; used by `calling`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx

from workbench.web.addresses import Addresses, Unresolved
from workbench.web.fetch import port_of


class CheckedTransport(httpx.AsyncHTTPTransport):
    """Connects to the address that was checked, whatever the name leads to a moment later; raises Refused."""

    def __init__(self, addresses: Addresses, proxy: str, **options: Any) -> None:
        super().__init__(trust_env=False, proxy=proxy or None, **options)
        self._addresses = addresses
        self._is_direct = not proxy

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the first address that takes the connection."""
        if not self._is_direct:
            return await self._through_proxy(request)
        found = await self._addresses.of(request.url.host, port_of(request.url))
        for address in found[:-1]:
            try:
                return await super().handle_async_request(_to(request, address))
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
        return await super().handle_async_request(_to(request, found[-1]))

    async def _through_proxy(self, request: httpx.Request) -> httpx.Response:
        """A proxy looks names up itself; one that is known here must not be of the own network."""
        with suppress(Unresolved):  # behind a proxy names may be known to it alone
            await self._addresses.of(request.url.host, port_of(request.url))
        return await super().handle_async_request(request)


def _to(request: httpx.Request, address: str) -> httpx.Request:
    """The same request to this address; its name is what the certificate is checked for."""
    name = {"sni_hostname": request.url.raw_host.decode("ascii")}
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, **name},
    )
