"""Serves one editor on this process's standard streams; run by `ohw acp`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import cast

import acp
from acp.agent.connection import AgentSideConnection

from workbench.acp.agent import EditorAgent
from workbench.config.locations import Locations
from workbench.config.settings import Settings

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_MAX_SECONDS_TO_CLOSE = 1.0
"""How long an editor that has closed its end may take to read what was still on the way to it."""
LONGEST_LINE = 64_000_000
"""The maximum number of bytes in one message, which may contain images."""


def serve(locations: Locations, read_settings: Callable[[], Settings]) -> int:
    """Answer an editor's requests until it closes the streams or a signal arrives; return the exit code."""
    return asyncio.run(_serve(EditorAgent(locations, read_settings)))


async def _serve(agent: EditorAgent) -> int:
    reader, writer = await acp.stdio_streams(limit=LONGEST_LINE)
    # Only the protocol may write there, whatever a library prints.
    sys.stdout = sys.stderr
    serving = asyncio.ensure_future(serve_streams(agent, reader, writer))
    code = 0

    def end(number: int) -> None:
        nonlocal code
        code = 128 + number
        serving.cancel()

    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        await serving
    except asyncio.CancelledError:
        if not code:
            raise
    return code


async def serve_streams(agent: EditorAgent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests from one editor until it closes its end, then close the agent."""
    protocol_agent = cast("acp.Agent", agent)
    connection = AgentSideConnection(protocol_agent, writer, reader, listening=False, use_unstable_protocol=True)
    with closing(agent):
        # An editor may go away while an update is being sent. It may also stop reading before it goes; the library
        # would wait for it without end.
        try:
            with suppress(ConnectionError):
                await connection.listen()
        finally:
            with suppress(ConnectionError, TimeoutError):
                await asyncio.wait_for(connection.close(), _MAX_SECONDS_TO_CLOSE)
