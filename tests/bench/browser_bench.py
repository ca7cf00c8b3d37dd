"""Overhead of the browser tool on a page of a local server, compared with playwright alone.

Run it alone: `python -m tests.bench.browser_bench`. It needs Chromium.
"""

from __future__ import annotations

import os
import re
import statistics
import tempfile
import time

from playwright.sync_api import sync_playwright

from tests.bench.measure import Measure
from tests.tools.web.site import Site
from workbench.tools import BrowserTool
from workbench.tools.browser.installation import find_chromium

PAGE = b"<title>Page</title>" + b"<p>A line with <a href='/'>a link</a>.</p>" * 100
BUTTON = b"<button onclick='document.title += 1'>Count</button>"


def use(tool: BrowserTool, code: str) -> tuple[float, str]:
    began = time.perf_counter()
    seen = tool(tool.action_from_arguments({"code": code}))
    assert not seen.is_error, seen.text
    return time.perf_counter() - began, seen.text


def bare_start(directory: str) -> float:
    """Measure playwright with an empty page, without any code of ours."""
    began = time.perf_counter()
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            directory, executable_path=find_chromium(), chromium_sandbox=os.getuid() != 0
        )
        took = time.perf_counter() - began
        context.close()
    return took


def measures() -> list[Measure]:
    """Measure the time from the start to the first answer, and from a click to the resulting page."""
    starts, bare, clicks = [], [], []
    with Site({"/": lambda visit: visit.answer(BUTTON + PAGE)}) as site:
        for _ in range(3):
            with tempfile.TemporaryDirectory(prefix="browser-bench-", ignore_cleanup_errors=True) as directory:
                bare.append(bare_start(f"{directory}/bare"))
                with BrowserTool(directory) as tool:
                    starts.append(use(tool, "noop(0)")[0])
                    text = use(tool, f"goto('{site.url()}')")[1]
                    match = re.search(r'button "Count".*?\[ref=(\w+)\]', text)
                    assert match
                    clicks += [use(tool, f"click('{match[1]}')")[0] for _ in range(10)]
    start, click = min(starts), statistics.median(clicks)
    return [
        Measure("browser: start to the first answer", start, "s", min(bare), 1.5, start <= 1.5),
        Measure("browser: a click, and the page after it", click, "s", None, 0.3, click <= 0.3),
    ]


if __name__ == "__main__":
    for row in measures():
        print(row)
