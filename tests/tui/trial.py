"""The whole app around a fake link, for tests of the main screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.tui.fake_link import FakeLink
from tests.tui.sample_session import WORKSPACE
from workbench.config import Settings
from workbench.tui.app import Opened, WorkbenchApp

PATIENCE = 30.0


def workbench_app(link: FakeLink | None, **more: Any) -> WorkbenchApp:
    """An app whose seconds stand still."""
    settings = Settings(**{"model": "scripted/demo", **more.pop("set", {})})
    opened = Opened(link, more.pop("folder", Path(WORKSPACE)), more.pop("message", ""))
    return WorkbenchApp(opened, settings, clock=more.pop("clock", lambda: 0.0), **more)


async def wait_until(pilot: Any, condition: Callable[[], Any]) -> None:
    """Let the app work until the condition holds; fails after half a minute."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "the app did not get there"
        await pilot.pause()
        await asyncio.sleep(0.01)
    await pilot.pause()
