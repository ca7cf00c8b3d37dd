"""Performs one call in the active tab; used by `program`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from playwright.async_api import Error, Locator

from workbench.tools.browser.calls import Call
from workbench.tools.browser.tabs import Tabs

_ACTION = 5_000.0
_REST = 3.0
_SETTLES = 0.03


class Failed(Exception):
    """A call failed; the text says why."""


async def do(tabs: Tabs, call: Call) -> None:
    """Perform the call, and wait until its effects have settled."""
    page = tabs.front
    arguments = call.arguments
    if call.name in _OF_PAGE:
        await _OF_PAGE[call.name](tabs, arguments)
    elif call.name == "drag_and_drop":
        source, target = await _found(tabs, arguments["from_bid"]), await _found(tabs, arguments["to_bid"])
        await source.drag_to(target, timeout=_ACTION)
    else:
        await _OF_ELEMENT[call.name](await _found(tabs, arguments["bid"]), arguments)
    if call.name != "noop":
        await asyncio.sleep(_SETTLES)
        await _loaded(tabs)
        await tabs.quiet(_REST if tabs.front is not page or call.name in _LOADS else 1.0)


async def _found(tabs: Tabs, bid: str) -> Locator:
    found = tabs.front.locator(f"aria-ref={bid}")
    if not await found.count():
        raise Failed(f"there is no element {bid} on the page now; take the id from the tree below")
    return found


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
        with tabs.gate.going(url):
            await tabs.front.goto(url, wait_until="commit", timeout=tabs.seconds * 1000)
    except Error as error:
        raise Failed(_why(str(error), url)) from None


def _why(said: str, url: str) -> str:
    """Return the reason in plain words why a page could not be opened."""
    if "ERR_CERT" in said or "ERR_SSL" in said:
        return f"the certificate of {url} is wrong, so the page was not opened ({_code(said)})"
    if "ERR_TUNNEL" in said or "ERR_CONNECTION" in said or "ERR_EMPTY" in said or "ERR_NAME" in said:
        return f"{url} cannot be reached ({_code(said)})"
    if "ERR_UNSAFE_PORT" in said:
        return f"{url} cannot be opened safely: browsers do not open pages at that port"
    if "Download is starting" in said or "ERR_ABORTED" in said:
        return "it is no page: it is downloaded, or the page stopped its own loading"
    return "it did not answer in time" if "Timeout" in said else said


def _code(said: str) -> str:
    at = said.find("ERR_")
    return said[at:].split()[0] if at >= 0 else "no answer"


async def _go(tabs: Tabs, *, back: bool) -> None:
    page = tabs.front
    with tabs.gate.going():
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
    "click": lambda at, given: at.click(button=given["button"], modifiers=given["modifiers"], timeout=_ACTION),
    "dblclick": lambda at, given: at.dblclick(button=given["button"], modifiers=given["modifiers"], timeout=_ACTION),
    "hover": lambda at, given: at.hover(timeout=_ACTION),
    "focus": lambda at, given: at.focus(timeout=_ACTION),
    "clear": lambda at, given: at.clear(timeout=_ACTION),
    "fill": lambda at, given: at.fill(given["value"], timeout=_ACTION),
    "press": lambda at, given: at.press(given["key_comb"], timeout=_ACTION),
    "select_option": lambda at, given: at.select_option(given["options"], timeout=_ACTION),
    "upload_file": lambda at, given: at.set_input_files(given["file"], timeout=_ACTION),
}
