"""The whole app around a fake client, for tests of the main screen."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from textual import events

from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import WORKSPACE
from tests.tui.waiting import until as wait_until
from workbench.config.settings import Settings
from workbench.tui.app import WorkbenchApp
from workbench.tui.session_switcher import SessionSources
from workbench.view.app_session import AppSession


def workbench_app(client: FakeClient | None, **more: Any) -> WorkbenchApp:
    """Return an app whose clock stands still."""
    settings = Settings(**{"model": "scripted/demo", **more.pop("set", {})})
    sources = SessionSources(**{name: more.pop(name) for name in SessionSources.__struct_fields__ if name in more})
    directory, message, keep = more.pop("directory", Path(WORKSPACE)), more.pop("message", ""), more.pop("keep", None)
    session = AppSession(client, directory, message, keep=keep)
    return WorkbenchApp(session, settings, sources, clock=more.pop("clock", lambda: 0.0), **more)


async def armed(pilot: Any) -> None:
    """Wait until the screen accepts the answer keys of its question: it has been in sight for the quiet time."""
    await wait_until(pilot, lambda: pilot.app.screen.confirmation.is_armed)


def type_while_it_stands_still(app: WorkbenchApp, *keys: str, seconds: float = 0.9) -> None:
    """Block the event loop, and let keys arrive meanwhile from another thread, as those of a terminal do."""

    def type_in() -> None:
        time.sleep(0.1)
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else None))

    typing = threading.Thread(target=type_in)
    typing.start()
    time.sleep(seconds)
    typing.join()


__all__ = ["armed", "type_while_it_stands_still", "wait_until", "workbench_app"]
