"""The whole app around a fake link, for tests of the main screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.tui.fake_link import FakeLink
from tests.tui.sample_session import WORKSPACE
from tests.tui.waiting import until as wait_until
from workbench.config import Settings
from workbench.tui.app import Opened, WorkbenchApp


def workbench_app(link: FakeLink | None, **more: Any) -> WorkbenchApp:
    """An app whose seconds stand still."""
    settings = Settings(**{"model": "scripted/demo", **more.pop("set", {})})
    opened = Opened(link, more.pop("folder", Path(WORKSPACE)), more.pop("message", ""))
    return WorkbenchApp(opened, settings, clock=more.pop("clock", lambda: 0.0), **more)


__all__ = ["wait_until", "workbench_app"]
