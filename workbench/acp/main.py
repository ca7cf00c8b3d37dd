"""Serves one editor on this process's standard streams; run by `ohw acp`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import cast

import acp

from workbench.acp.agent import EditorAgent
from workbench.config.locations import Locations
from workbench.config.settings import Settings

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
LONGEST_LINE = 64_000_000
"""The maximum number of bytes in one message, which may contain images."""


def serve(locations: Locations, read_settings: Callable[[], Settings]) -> int:
    """Answer an editor's requests until it closes the streams or a signal arrives; return the exit code."""
    return asyncio.run(_serve(EditorAgent(locations, read_settings)))


async def _serve(agent: EditorAgent) -> int:
    reader, writer = await acp.stdio_streams(limit=LONGEST_LINE)
    # Only the protocol may write there, whatever a library prints.
    sys.stdout = sys.stderr
    serving = asyncio.ensure_future(acp.run_agent(cast("acp.Agent", agent), writer, reader, use_unstable_protocol=True))
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
    finally:
        agent.close()
    return code
