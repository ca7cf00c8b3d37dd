"""What is there to see: address, title, tabs, the tree of elements and a picture; used by `program`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import Any

from playwright.async_api import Error, Page

from workbench.tools.browser.secret_fields import STYLE, masked
from workbench.tools.browser.tabs import Tabs

LONGEST_TREE = 16_000
_PATIENCE = 5.0


async def seen(tabs: Tabs, *, pictures: bool) -> dict[str, Any]:
    """The page in front; a tab that does not answer is replaced."""
    await tabs.revive()
    page = tabs.front
    try:
        async with asyncio.timeout(_PATIENCE):
            tree, picture, title = await asyncio.gather(_tree(page), _picture(page, pictures), page.title())
    except (TimeoutError, Error) as error:
        if isinstance(error, TimeoutError) or not page.is_closed():
            await tabs.renew()
        return {"url": tabs.front.url, "title": "", "tabs": await _listed(tabs), "tree": "", "picture": ""}
    return {"url": page.url, "title": title, "tabs": await _listed(tabs), "tree": tree, "picture": picture}


async def _tree(page: Page) -> str:
    """The elements with their ids, without what stands in fields for passwords and the like."""
    if page.url == "about:blank":
        return ""
    tree = await masked(page, await page.aria_snapshot(mode="ai", timeout=_PATIENCE * 1000))
    if len(tree) <= LONGEST_TREE:
        return tree
    cut = tree.rfind("\n", 0, LONGEST_TREE)
    return f"{tree[:cut]}\n[… {tree[cut:].count(chr(10))} lines left out; scroll does not bring them, other pages do …]"


async def _picture(page: Page, wanted: bool) -> str:
    """What is in sight, as JPEG."""
    if not wanted or page.url == "about:blank":
        return ""
    data = await page.screenshot(
        type="jpeg", quality=70, scale="css", timeout=_PATIENCE * 1000, animations="disabled", style=STYLE
    )
    return base64.b64encode(data).decode()


async def _listed(tabs: Tabs) -> list[str]:
    """Each tab in a line."""
    lines = []
    for page in tabs.pages:
        title = ""
        with contextlib.suppress(Error, TimeoutError):
            title = await asyncio.wait_for(page.title(), 1)
        lines.append(f"{title or '(no title)'} {page.url}")
    return lines
