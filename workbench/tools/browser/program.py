"""The program behind `browser`: executes requests from a socket; started by `impl`, under a supervisor.

The first line holds the browser's parameters. Each further line is `{"id", "calls", "tab", "pictures"}`, or `{"stop":
true}` to cancel the running calls. Answers carry the same ID, so a late one can be ignored.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Error, Locator, async_playwright

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.browser.calls import BrowserCall
from workbench.tools.browser.installation import CACHE_VARIABLE
from workbench.tools.browser.page_state import capture
from workbench.tools.browser.tabs import Tabs, opened

_ACTION = 5_000.0
_REST = 3.0
_SETTLES = 0.03


class Failed(Exception):
    """A call failed; the text says why."""


async def do(tabs: Tabs, call: BrowserCall) -> None:
    """Perform the call, and wait until its effects have settled."""
    page = tabs.front
    arguments = call.arguments
    if call.name in _OF_PAGE:
        await _OF_PAGE[call.name](tabs, arguments)
    elif call.name == "drag_and_drop":
        source, target = await _locate(tabs, arguments["from_bid"]), await _locate(tabs, arguments["to_bid"])
        await source.drag_to(target, timeout=_ACTION)
    else:
        await _OF_ELEMENT[call.name](await _locate(tabs, arguments["bid"]), arguments)
    if call.name != "noop":
        await asyncio.sleep(_SETTLES)
        await _loaded(tabs)
        await tabs.quiet(_REST if tabs.front is not page or call.name in _LOADS else 1.0)


async def _locate(tabs: Tabs, bid: str) -> Locator:
    locator = tabs.front.locator(f"aria-ref={bid}")
    try:
        count = await locator.count()
    except Error:
        count = 0  # the frame of its id is gone, or has never been there
    if not count:
        raise Failed(f"there is no element {bid} on the page now; take the id from the tree below")
    return locator


async def _loaded(tabs: Tabs) -> None:
    """Wait until the document has loaded; one that never finishes is shown as far as it loaded."""
    page = tabs.front
    try:
        await page.wait_for_load_state("domcontentloaded", timeout=tabs.seconds * 1000)
        await page.wait_for_load_state("load", timeout=min(_REST, tabs.seconds) * 1000)
    except Error as error:
        if "Timeout" not in str(error):
            return
        tabs.note("the page had not loaded to its end; what was there is shown")


async def _goto(tabs: Tabs, arguments: Mapping[str, Any]) -> None:
    url = arguments["url"]
    try:
        with tabs.proxy.going(url):
            response = await tabs.front.goto(url, wait_until="commit", timeout=tabs.seconds * 1000)
    except Error as error:
        raise Failed(tabs.proxy.refusal_of(url) or _why(str(error), url)) from None
    if refusal := tabs.proxy.refusal_of(response.url if response is not None else url):
        raise Failed(refusal)


def _why(message: str, url: str) -> str:
    """Return why a page could not be opened, in plain words."""
    if "ERR_CERT" in message or "ERR_SSL" in message:
        return f"the certificate of {url} is wrong, so the page was not opened ({_code(message)})"
    if "ERR_TUNNEL" in message or "ERR_CONNECTION" in message or "ERR_EMPTY" in message or "ERR_NAME" in message:
        return f"{url} cannot be reached ({_code(message)})"
    if "ERR_UNSAFE_PORT" in message:
        return f"{url} cannot be opened safely: browsers do not open pages at that port"
    if "Download is starting" in message or "ERR_ABORTED" in message:
        return "it is not a page: it is downloaded, or the page stopped its own loading"
    return "it did not answer in time" if "Timeout" in message else message


def _code(message: str) -> str:
    at = message.find("ERR_")
    return message[at:].split()[0] if at >= 0 else "no answer"


async def _go(tabs: Tabs, *, back: bool) -> None:
    page = tabs.front
    with tabs.proxy.going():
        went = await (page.go_back if back else page.go_forward)(wait_until="commit", timeout=tabs.seconds * 1000)
    if went is None and page.url == "about:blank":
        tabs.note(f"there is no page to go {'back' if back else 'forward'} to")


async def _wait(tabs: Tabs, arguments: Mapping[str, Any]) -> None:
    await asyncio.sleep(arguments["wait_ms"] / 1000)


async def _scroll(tabs: Tabs, arguments: Mapping[str, Any]) -> None:
    await tabs.front.mouse.wheel(arguments["delta_x"], arguments["delta_y"])


_OF_PAGE: Mapping[str, Callable[[Tabs, Mapping[str, Any]], Awaitable[None]]] = {
    "goto": _goto,
    "go_back": lambda tabs, _: _go(tabs, back=True),
    "go_forward": lambda tabs, _: _go(tabs, back=False),
    "noop": _wait,
    "scroll": _scroll,
}
_LOADS = frozenset({"goto", "go_back", "go_forward"})
_OF_ELEMENT: Mapping[str, Callable[[Locator, Mapping[str, Any]], Awaitable[Any]]] = {
    "click": lambda at, arguments: at.click(
        button=arguments["button"], modifiers=arguments["modifiers"], timeout=_ACTION
    ),
    "dblclick": lambda at, arguments: at.dblclick(
        button=arguments["button"], modifiers=arguments["modifiers"], timeout=_ACTION
    ),
    "hover": lambda at, arguments: at.hover(timeout=_ACTION),
    "focus": lambda at, arguments: at.focus(timeout=_ACTION),
    "clear": lambda at, arguments: at.clear(timeout=_ACTION),
    "fill": lambda at, arguments: at.fill(arguments["value"], timeout=_ACTION),
    "press": lambda at, arguments: at.press(arguments["key_comb"], timeout=_ACTION),
    "select_option": lambda at, arguments: at.select_option(arguments["options"], timeout=_ACTION),
    "upload_file": lambda at, arguments: at.set_input_files(arguments["file"], timeout=_ACTION),
}


_LONGEST_LINE = 1 << 22
_SECONDS = 90.0
_NO_SANDBOX = (
    "it finds no sandbox on this machine, and is not started without one. Tell the user: install chromium-sandbox "
    "(Debian's package, or that of the system), or let programs have user namespaces of their own."
)
_METHOD = lazy_pattern(r"\A[A-Z]\w+\.\w+: (?:Error: )?")
"""The prefix of playwright's error messages."""


def main() -> None:
    """Serve the socket whose descriptor is the first argument."""
    number = int(sys.argv[1])
    os.set_inheritable(number, False)
    asyncio.run(_serve(socket.socket(fileno=number)))


async def _serve(channel: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=channel, limit=_LONGEST_LINE)

    async def send(message: dict[str, Any]) -> None:
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()

    request = json.loads(await reader.readline())
    try:
        tabs = await opened(request)
    except (Error, OSError) as error:
        await send({"id": request["id"], "failed": _reason(str(error))})
        return
    # Without a browser there is nothing to do; the workbench starts it again.
    tabs.context.on("close", lambda _: os._exit(1))
    await send({"id": request["id"]})
    cache_task = asyncio.create_task(keep_code())
    running: asyncio.Task[None] | None = None
    while line := await reader.readline():
        request = json.loads(line)
        if running is not None and request.get("stop"):
            running.cancel()
        elif not request.get("stop"):
            if running is not None:
                await asyncio.wait([running])
            running = asyncio.create_task(_answered(tabs, request, send))
    cache_task.cancel()


_FILL_AFTER = 3.0
"""Seconds to wait before the compile cache is filled: the first page has priority."""


async def keep_code() -> None:
    """Fill the compile cache once, with a second driver: a driver writes the cache only when it exits normally, which
    the driver of a running browser never does.
    """
    directory = os.environ.get(CACHE_VARIABLE)
    if not directory or any(Path(directory).glob("*/*")):
        return
    await asyncio.sleep(_FILL_AFTER)
    with suppress(Error, OSError):
        driver = await async_playwright().start()
        await driver.stop()


async def _answered(tabs: Tabs, request: dict[str, Any], send: Any) -> None:
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
        page = await capture(tabs, pictures=request["pictures"])
    except asyncio.CancelledError:
        page = {}
    events = tabs.notes()
    notes = [note for note in events["notes"] if note not in error]
    await send({"id": request["id"], "error": error, **page, **events, "notes": notes})


async def _done(tabs: Tabs, request: dict[str, Any]) -> str:
    """Perform the calls; return the error with the call that failed, or an empty string."""
    await tabs.revive()
    if request["tab"] is not None and not await tabs.choose(request["tab"]):
        return f"there is no tab {request['tab']}"
    for name, arguments in request["calls"]:
        call = BrowserCall(name, arguments)
        try:
            await do(tabs, call)
        except (Failed, Error) as error:
            return f"{call}: {_plain(error)}"
    return ""


def _reason(output: str) -> str:
    """Return why the browser did not start: the first line, and its fatal errors (or else its last three errors)."""
    if "No usable sandbox" in output:
        return _NO_SANDBOX
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.partition("[err] ")[2] for line in lines if "[err] " in line and not line.startswith("-")]
    fatal = [line for line in errors if "FATAL" in line] or errors[-3:]
    return "\n".join([_METHOD.sub("", lines[0]) if lines else "it gave no reason", *fatal])


def _plain(error: Exception) -> str:
    """Return the first line of an error, and the last line of its log."""
    lines = [line.strip(" -") for line in str(error).splitlines() if line.strip(" -")]
    lines = [line for line in lines if line != "Call log:"]
    message = _METHOD.sub("", lines[0]) if lines else type(error).__name__
    return f"{message} ({lines[-1]})" if len(lines) > 1 else message
