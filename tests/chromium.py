"""A headless Chromium for tests of pages, driven by playwright."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

PATIENCE = 40.0
_LOOK_MS = 30


@contextmanager
def headless(executable: str) -> Iterator[Browser]:
    """Yield a browser, and close it with all its pages."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, chromium_sandbox=os.getuid() != 0)
        try:
            yield browser
        finally:
            browser.close()


def wait_in(page: Page, is_so: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Return the first true value of `is_so`; the page goes on meanwhile. Fail if there is none in time."""
    until = time.monotonic() + seconds
    while not (answer := is_so()):
        assert time.monotonic() < until, f"waited {seconds} s for {what}"
        page.wait_for_timeout(_LOOK_MS)
    return answer
