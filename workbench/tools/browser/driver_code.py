"""The driver of playwright in compiled form, kept between starts: to compile it is a third of one.

Used by `impl`, which says where, and `program`, which has it written.
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
"""Seconds: the first page has its turn before."""


def kept_code() -> dict[str, str]:
    """Where the driver is to keep it: a private folder of the person's; nothing where there can be none."""
    try:
        folder = private_directory(Locations.from_environment().data / "browser-code")
    except WorkbenchError:
        return {}
    return {_VARIABLE: str(folder)}


async def keep_code() -> None:
    """Have it kept, once: a driver writes it when it ends in order, which that of a browser does not."""
    folder = os.environ.get(_VARIABLE)
    if not folder or any(Path(folder).glob("*/*")):
        return
    import asyncio  # here: the engine reads this module and needs none of its own

    from playwright.async_api import Error, async_playwright

    await asyncio.sleep(_AFTER)
    with suppress(Error, OSError):
        driver = await async_playwright().start()
        await driver.stop()
