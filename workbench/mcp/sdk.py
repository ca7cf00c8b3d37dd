"""The SDK's client over the transport that a server needs; the one module that names the SDK's parts to open it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mcp import Client
from mcp import types as t

from workbench import __version__
from workbench.mcp.environment import server_environment
from workbench.mcp.faults import http_words
from workbench.mcp.servers import Server, expanded
from workbench.mcp.stdio import StderrTail, stdio_transport

if TYPE_CHECKING:
    from workbench.mcp.connection import Heard

_HTTP_SECONDS = 30.0


class Gone(Protocol):
    """Hears that the server is gone, or refuses everything."""

    def __call__(self, why: str, *, is_lost: bool = False) -> None:
        """Why; `is_lost` where only the session is."""


async def entered(
    stack: AsyncExitStack,
    server: Server,
    tail: StderrTail,
    gone: Gone,
    heard: Heard,
    *,
    mode: Literal["legacy", "auto"],
) -> Client:
    """A client that has shaken hands; `stack` closes it."""
    client: Client

    async def on_message(message: Any) -> None:
        if isinstance(message, t.ToolListChangedNotification):
            await heard.changed(client)

    async def on_log(params: t.LoggingMessageNotificationParams) -> None:
        heard.told(f"{params.level}: {params.data}")

    client = Client(
        _transport(server, tail, gone, os.environ),
        mode=mode,
        client_info=t.Implementation(name="ohw", version=__version__),
        message_handler=on_message,
        logging_callback=on_log,
        cache=None,
    )
    return await stack.enter_async_context(client)


def _transport(
    server: Server, tail: StderrTail, gone: Gone, env: Mapping[str, str]
) -> AbstractAsyncContextManager[Any]:
    if server.kind == "stdio":
        argv = [expanded(word, env) for word in (server.command, *server.args)]
        return stdio_transport(argv, expanded(server.cwd, env), server_environment(server, env), tail, gone)
    url = expanded(server.url, env)
    headers = {name: expanded(value, env) for name, value in server.headers.items()}
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(url, headers, timeout=_HTTP_SECONDS, sse_read_timeout=server.call_seconds)
    return _streamable(url, headers, server.call_seconds, gone)


def _streamable(url: str, headers: dict[str, str], seconds: float, gone: Gone) -> AbstractAsyncContextManager[Any]:
    from contextlib import asynccontextmanager

    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def look(response: httpx2.Response) -> None:
        """The SDK tells of a refusal without its number."""
        code = response.status_code
        if response.request.method == "POST" and (code in (401, 403, 404) or code >= 500):
            is_lost = code == 404 and "mcp-session-id" in response.request.headers
            gone(http_words(code, response.reason_phrase), is_lost=is_lost)

    @asynccontextmanager
    async def transport() -> Any:
        timeout = httpx2.Timeout(_HTTP_SECONDS, read=max(seconds, _HTTP_SECONDS))
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [look]}) as client,
            streamable_http_client(url, http_client=client) as streams,
        ):
            yield streams

    return transport()
