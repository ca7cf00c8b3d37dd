"""The browser and its tabs; events such as dialogs, downloads and new tabs are noted for the next answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Dialog, Download, Error, Page, Request, async_playwright

from workbench.files.root_directory import Root
from workbench.tools.browser.downloads import safe_name, save_download
from workbench.tools.browser.proxy import BrowserProxy

_MOST_TABS = 10
_MOST_NOTES = 10
_LARGEST = 200_000_000
_START = 55_000.0
_SIZE = {"width": 1280, "height": 800}
_FLAGS = (
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)


async def opened(request: dict[str, Any]) -> Tabs:
    """Start the browser with its profile, its proxy and one empty tab."""
    proxy = BrowserProxy(request["private"])
    proxy_url, playwright = await asyncio.gather(proxy.open(), async_playwright().start())
    context = await playwright.chromium.launch_persistent_context(
        request["profile"],
        executable_path=request["executable"],
        headless=True,
        # Root cannot use the sandbox; every other user does.
        chromium_sandbox=os.getuid() != 0,
        args=list(_FLAGS),
        proxy={"server": proxy_url},
        viewport=_SIZE,  # type: ignore[arg-type]
        accept_downloads=True,
        service_workers="block",
        timeout=_START,
    )
    return Tabs(context, proxy, Path(request["workspace"]) / "downloads", request["seconds"])


class Tabs:
    """The open tabs, the active one, and notes on events."""

    def __init__(self, context: BrowserContext, proxy: BrowserProxy, downloads: Path, seconds: float) -> None:
        """`seconds` limits the loading of a page."""
        self.context = context
        self.seconds = seconds
        self.proxy = proxy
        proxy.pages = lambda: [page.url for page in context.pages]
        self._directory, self._root = downloads, Root.at(downloads.parent)
        self._notes: dict[str, None] = {}
        self._saved: list[str] = []
        self._saving: set[asyncio.Task[None]] = set()
        self._loading: dict[Request, float] = {}
        self.front = context.pages[0]
        for page in context.pages:
            self._watch(page)
        context.on("page", self._opened)
        context.on("request", self._begins)
        for ended in ("requestfinished", "requestfailed"):
            context.on(ended, self._ends)

    @property
    def pages(self) -> list[Page]:
        """All tabs, oldest first."""
        return self.context.pages

    async def choose(self, number: int) -> bool:
        """Activate a tab; return False if the number does not exist."""
        if not 0 < number <= len(self.pages):
            return False
        self.front = self.pages[number - 1]
        await self.front.bring_to_front()
        return True

    async def revive(self) -> None:
        """Ensure an active tab, even if a page closed the last one."""
        if self.front.is_closed():
            self.front = self.pages[-1] if self.pages else await self.context.new_page()

    async def renew(self) -> None:
        """Replace a tab that does not respond with an empty one."""
        lost = self.front
        self.front = await self.context.new_page()
        with contextlib.suppress(Error):
            await asyncio.wait_for(lost.close(), 2)
        self.note("the tab did not answer any more and was closed")

    def note(self, text: str) -> None:
        """Add a line to the next answer."""
        if len(self._notes) < _MOST_NOTES:
            self._notes[text[:500]] = None

    def notes(self) -> dict[str, Any]:
        """Return the events since the last answer."""
        events = {"notes": [*self._notes, *self.proxy.refused], "downloads": self._saved}
        self._notes, self._saved = {}, []
        self.proxy.refused = {}
        return events

    async def quiet(self, seconds: float) -> None:
        """Wait until nothing is loading, at most `seconds`; a request that has been loading for 2 s does not count."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            now = time.monotonic()
            if not self._saving and not any(now - begun < 2 for begun in self._loading.values()):
                return
            await asyncio.sleep(0.02)

    def _begins(self, request: Request) -> None:
        self.proxy.expect(request.url)
        self._loading[request] = time.monotonic()

    def _ends(self, request: Request) -> None:
        self._loading.pop(request, None)

    def _opened(self, page: Page) -> None:
        if len(self.pages) > _MOST_TABS:
            self._later(page.close())
            self.note(f"a page wanted to open one more tab; there are {_MOST_TABS} already")
            return
        self._watch(page)
        self.front = page

    def _watch(self, page: Page) -> None:
        page.on("dialog", self._answer)
        page.on("download", self._download)
        page.on("websocket", lambda socket: self.proxy.expect(socket.url))
        page.on("close", self._closed)
        page.on("crash", lambda _: self.note("the page crashed"))

    def _closed(self, page: Page) -> None:
        if self.front is page and self.pages:
            self.front = self.pages[-1]

    async def _answer(self, dialog: Dialog) -> None:
        """Answer a dialog, which cannot wait for the next call: accept alerts and leaving the page, dismiss
        questions.
        """
        accepts = dialog.type in ("alert", "beforeunload")
        with contextlib.suppress(Error):
            await (dialog.accept() if accepts else dialog.dismiss())
        self.note(f"a dialog ({dialog.type}) was answered with {'OK' if accepts else 'Cancel'}: {dialog.message}")

    def _download(self, download: Download) -> None:
        self._later(self._save(download))

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save(self, download: Download) -> None:
        """Save a download into the workspace, under a safe name that is not in use."""
        name = safe_name(download.suggested_filename)
        try:
            path = await asyncio.wait_for(download.path(), 60)
            size = path.stat().st_size
            if size > _LARGEST:
                raise OSError(0, f"it has {size // 10**6} MB; at most {_LARGEST // 10**6} are kept")
            whole = save_download(path, name, self._root.path / self._directory.name, self._root)
            self._saved.append(str(self._directory / whole.name))
        except (Error, OSError, TimeoutError) as error:
            why = getattr(error, "strerror", "") or str(error) or "it took more than 60 seconds"
            self.note(f"the download {name} was not saved: {why}")
            with contextlib.suppress(Error):
                await download.cancel()
        else:
            self.note(f"downloaded: {self._saved[-1]}")
