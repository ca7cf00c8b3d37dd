"""The program behind `browser`: executes requests from a socket; started by `impl`, under a supervisor.

The first line holds the parameters of the browser; then each line is `{"id", "calls", "tab"}`, and `{"stop": true}`
cancels the running calls. Answers carry the same id, so a late one can be ignored.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
from typing import Any

from playwright.async_api import Error

from workbench.tools.browser.actions import Failed, do
from workbench.tools.browser.calls import Call
from workbench.tools.browser.driver_code import keep_code
from workbench.tools.browser.page_state import seen
from workbench.tools.browser.tabs import Tabs, opened

_LONGEST_LINE = 1 << 22
_SECONDS = 90.0
_NO_SANDBOX = (
    "it finds no sandbox on this machine, and is not started without one. Tell the person: install chromium-sandbox "
    "(Debian's package, or that of the system), or let programs have user namespaces of their own."
)
_METHOD = re.compile(r"\A[A-Z]\w+\.\w+: (?:Error: )?")
"""The prefix of playwright's error messages."""


def main() -> None:
    """Serve the socket with the given descriptor."""
    number = int(sys.argv[1])
    os.set_inheritable(number, False)
    asyncio.run(_serve(socket.socket(fileno=number)))


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel, limit=_LONGEST_LINE)

    async def say(message: dict[str, Any]) -> None:
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()

    request = json.loads(await reader.readline())
    try:
        tabs = await opened(request)
    except (Error, OSError) as error:
        await say({"id": request["id"], "failed": _reason(str(error))})
        return
    # Without a browser there is nothing to do; the workbench starts it again.
    tabs.context.on("close", lambda _: os._exit(1))
    await say({"id": request["id"]})
    keeping = asyncio.create_task(keep_code())
    running: asyncio.Task[None] | None = None
    while line := await reader.readline():
        request = json.loads(line)
        if running is not None and request.get("stop"):
            running.cancel()
        elif not request.get("stop"):
            if running is not None:
                await asyncio.wait([running])
            running = asyncio.create_task(_answered(tabs, request, say))
    keeping.cancel()


async def _answered(tabs: Tabs, request: dict[str, Any], say: Any) -> None:
    """Perform the calls and report the state of the page, even if a call failed."""
    error = ""
    try:
        async with asyncio.timeout(_SECONDS):
            error = await _done(tabs, request)
    except TimeoutError:
        error = f"the calls were not done within {_SECONDS:g} seconds"
    except asyncio.CancelledError:
        error = "interrupted"
    try:
        page = await seen(tabs, pictures=request["pictures"])
    except asyncio.CancelledError:
        page = {}
    await say({"id": request["id"], "error": error, **page, **tabs.notes()})


async def _done(tabs: Tabs, request: dict[str, Any]) -> str:
    """Perform the calls; return the error with the call that failed, or an empty string."""
    await tabs.revive()
    if request["tab"] is not None and not await tabs.choose(request["tab"]):
        return f"there is no tab {request['tab']}"
    for name, arguments in request["calls"]:
        call = Call(name, arguments)
        try:
            await do(tabs, call)
        except (Failed, Error) as error:
            return f"{call}: {_plain(error)}"
    return ""


def _reason(said: str) -> str:
    """Return why the browser did not start: the first line, and its fatal errors (or its last output)."""
    if "No usable sandbox" in said:
        return _NO_SANDBOX
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line.partition("[err] ")[2] for line in lines if "[err] " in line and not line.startswith("-")]
    fatal = [line for line in told if "FATAL" in line] or told[-3:]
    return "\n".join([_METHOD.sub("", lines[0]) if lines else "it gave no reason", *fatal])


def _plain(error: Exception) -> str:
    """Return the first line of an error, and the last line of its log."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip(" -")]
    lines = [line for line in lines if line != "Call log:"]
    said = _METHOD.sub("", lines[0]) if lines else type(error).__name__
    return f"{said} ({lines[-1]})" if len(lines) > 1 else said
