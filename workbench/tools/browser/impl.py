"""Runs `browser`: starts the driver program at the first call, and turns its answers into observations."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any

from workbench.lazy_pattern import lazy_pattern
from workbench.processes.leftovers import prefix
from workbench.processes.rpc import RpcWorker
from workbench.processes.spawn import small_python
from workbench.text import visible
from workbench.tools.browser.calls import parse_calls
from workbench.tools.browser.definition import SECONDS, BrowserAction, BrowserObservation
from workbench.tools.browser.installation import Missing, cache_environment, find_chromium
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import ImageContent, TextContent

_START, _ANSWER, _AFTER_STOP = 60.0, 120.0, 0.15
_MOST_OUTPUT = 1_500
_SHORT = 60
_LONGEST_NAME = 80
_ELEMENT = lazy_pattern(r"(?m)^ *- ([a-z]+(?: \"[^\"\n]*\")?)[^\n]*?\[ref=(\w+)\]")
"""A line of the tree: role, name and ID."""
_LOST = "The browser ended and its tabs are gone; the next call starts it again."


class BrowserExecutor(ToolExecutor[BrowserAction, BrowserObservation]):
    """Owns the browser of one session; calls run one after the other."""

    recalls_last = True

    def __init__(
        self,
        workspace: Path,
        state_dir: Path | None = None,
        *,
        executable: str = "",
        private: bool | list[str] = False,
        pictures: bool = True,
        seconds: float = SECONDS,
        hidden_env: Collection[str] = (),
    ) -> None:
        self._workspace = workspace
        self._state_dir = state_dir
        self._executable = executable
        self._private = private
        self._pictures = pictures
        self._seconds = seconds
        self._hidden = hidden_env
        self._one_call = threading.Lock()
        self._worker: RpcWorker | None = None
        self._running: RpcWorker | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._was_used_before = False
        self.url = ""
        """The URL of the active tab, for the risk rating."""
        self.elements: dict[str, str] = {}
        """Descriptions of the page's elements, by ID."""

    def __call__(self, action: BrowserAction) -> BrowserObservation:
        """Perform the calls."""
        with self._one_call:
            try:
                worker = self._ready()
                return self._done(worker, action)
            except Missing as missing:
                text = f"Tell the user: {missing}."
                return BrowserObservation.from_text(text, is_error=True, error=text).lacking("browser")
            finally:
                self._running = None

    def _ready(self) -> RpcWorker:
        """Return the running browser, or a new one. Raises Missing."""
        if self._worker is not None and not self._worker.is_gone:
            self._worker.forget_stop()
            self._running = self._worker
            return self._worker
        self._end()
        program = find_chromium(self._executable)
        try:
            words = small_python("workbench.tools.browser.program", bare=False)
            self._worker = self._running = RpcWorker(
                lambda number: [*words, str(number)],
                self._workspace,
                hidden_env=self._hidden,
                env=_short_tmpdir() | cache_environment(),
            )
        except OSError as error:
            raise Missing(f"the browser could not be started in {self._workspace}: {error.strerror}") from error
        self._open(self._worker, program)
        return self._worker

    def _open(self, worker: RpcWorker, program: str) -> None:
        output = bytearray()
        worker.ask(
            {
                "executable": program,
                "profile": str(self._profile()),
                "private": self._private,
                "seconds": self._seconds,
                "workspace": str(self._workspace),
            }
        )
        end, answer = worker.answer(_START, output.extend)
        failed = str(answer.get("failed", "")) if end == "answer" else output.decode(errors="replace").strip() or end
        if failed:
            self._end()
            raise Missing(f"{program} could not be started: {failed[-_MOST_OUTPUT:]}")

    def _profile(self) -> Path:
        """Return a private directory for the session's profile (cookies and the like), separate from the user's own
        profile.
        """
        if self._state_dir is not None:
            directory = self._state_dir / "browser"
        else:
            if self._temporary is None:
                self._temporary = tempfile.TemporaryDirectory(prefix=prefix("browser"), ignore_cleanup_errors=True)
            directory = Path(self._temporary.name)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory

    def _done(self, worker: RpcWorker, action: BrowserAction) -> BrowserObservation:
        calls = [(call.name, dict(call.arguments)) for call in parse_calls(action.code)]
        worker.ask({"calls": calls, "tab": action.tab, "pictures": self._pictures})
        output = bytearray()
        end, answer = worker.answer(_ANSWER, output.extend)
        if end in ("stop", "time"):
            worker.notify({"stop": True})
            end, answer = worker.answer(_AFTER_STOP, output.extend)
            if end in ("stop", "time"):
                return BrowserObservation.from_text("[Interrupted.]", is_error=True, error="interrupted", url=self.url)
        if end == "gone":
            self._end()
            self.url = ""
            return BrowserObservation.from_text(f"[{_LOST}]", is_error=True, error=_LOST)
        lead = ["[The browser was restarted; its earlier tabs are gone.]"] if self._was_used_before else []
        self._was_used_before = False
        return self._observation(answer, lead)

    def _observation(self, answer: dict[str, Any], lead: list[str]) -> BrowserObservation:
        self.url = str(answer.get("url", ""))
        self.elements = {match[2]: match[1][:_LONGEST_NAME] for match in _ELEMENT.finditer(str(answer.get("tree", "")))}
        error, tree, tabs = str(answer["error"]), str(answer.get("tree", "")), list(answer.get("tabs", ()))
        lines = [*lead, *([f"[Error: {error}]"] if error else [])]
        lines += [f"[{note}]" for note in answer["notes"]]
        lines += [f"Address: {self.url}", *([f"Title: {answer['title']}"] if answer.get("title") else [])]
        lines += ["Tabs:", *(f"  {number}. {each}" for number, each in enumerate(tabs, 1))] if len(tabs) > 1 else []
        pdfs = [_pdf("this" if url == self.url else url) for url in answer.get("pdfs", ())]
        read = [*([tree] if tree else []), *pdfs]
        lines += ["", *(read or [_without_elements(str(answer.get("type", "")))])]
        content: list[TextContent | ImageContent] = [TextContent(text="\n".join(lines))]
        if answer.get("picture"):
            content.append(ImageContent(data=answer["picture"], mime_type="image/jpeg"))
        return BrowserObservation(
            content=content,
            is_error=bool(error),
            url=self.url,
            title=str(answer.get("title", "")),
            tabs=tabs,
            error=error,
            downloads=list(answer["downloads"]),
        )

    def recall(self, observation: dict[str, Any]) -> None:
        """Note that the browser was in use before a restart of the workbench."""
        self._was_used_before = True

    def interrupt(self) -> None:
        """Stop the running calls; the browser stays open."""
        running = self._running
        if running is not None:
            running.stop()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def close(self) -> None:
        """End the browser with all its processes."""
        running = self._running
        if running is not None:
            running.hang_up()
        with self._one_call:
            self._end()
            if self._temporary is not None:
                with contextlib.suppress(OSError):
                    self._temporary.cleanup()
                self._temporary = None


def _short_tmpdir() -> dict[str, str]:
    """Return TMPDIR with a short path, or nothing if the default is short enough.

    Chromium creates a socket in it, and the length of a socket's path is limited.
    """
    return {} if len(tempfile.gettempdir()) < _SHORT else {"TMPDIR": "/tmp"}


def _pdf(name: str) -> str:
    return f"({name} is a PDF, whose text the browser cannot read; web_read reads it by its URL)"


def _without_elements(media_type: str) -> str:
    """Return the text that stands for the elements of a page without any."""
    if media_type and media_type not in ("text/html", "application/xhtml+xml"):
        return f"(this is {visible(media_type[:80], lines=False)} and has no elements to read)"
    return "(the page is empty)"
