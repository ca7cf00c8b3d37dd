"""A compile cache for playwright's driver, which saves a third of its start.

`impl` passes the directory, `program` fills it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations, private_directory
from workbench.errors import WorkbenchError

_VARIABLE: Final = "NODE_COMPILE_CACHE"
_AFTER = 3.0
"""Seconds to wait first: the first page has priority."""


def kept_code() -> dict[str, str]:
    """Return the variable that names the driver's private cache directory; empty if there can be none."""
    try:
        folder = private_directory(Locations.from_environment().data / "browser-code")
    except WorkbenchError:
        return {}
    return {_VARIABLE: str(folder)}


async def keep_code() -> None:
    """Fill the cache once: a driver writes it only on a regular end, which the driver of a running browser never
    has."""
    folder = os.environ.get(_VARIABLE)
    if not folder or any(Path(folder).glob("*/*")):
        return
    # The engine imports this module, but needs no asyncio here.
    import asyncio

    from playwright.async_api import Error, async_playwright

    await asyncio.sleep(_AFTER)
    with suppress(Error, OSError):
        driver = await async_playwright().start()
        await driver.stop()
