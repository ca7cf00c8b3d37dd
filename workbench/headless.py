"""`ohw run`: one run without a screen, in its own process; events as JSON lines on stdout, narration on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FrameType

import pydantic  # noqa: F401 - whole before litellm's thread starts: two threads must not import it at once

from workbench.config import Locations, Settings
from workbench.engine.worker import Worker
from workbench.errors import UsageError
from workbench.llm.background import import_early, is_importing
from workbench.llm.router import NO_MODEL
from workbench.narration import Narrator, OpenQuestion
from workbench.session.delegation.sub_agent import SubAgent
from workbench.session.events import Event, LiveEvent, ModelResponded, RunEnded
from workbench.session.names import new_id
from workbench.session.opening import OpenedSession, checked_workspace, start_session
from workbench.session.session import EXIT, Session
from workbench.session.written_mentions import mentioned
from workbench.text import visible

EXIT_CODES = {"finished": 0, "error": 1, "stuck": 1, "waiting": 0, "limit": 4, "interrupted": 130}
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUESTION = 3
_PIPE = 141
_LAST_STEP = 1.5  # seconds an interrupted step may take


def run(locations: Locations, settings: Settings, workspace: Path, prompt: str, *, as_json: bool) -> int:
    """One run; the exit code. Raises WorkbenchError for whatever is wrong before it begins."""
    if not settings.model:
        raise UsageError(NO_MODEL)
    if not prompt.strip():
        raise UsageError("there is nothing to do: give a PROMPT")
    if prompt.strip() == EXIT:
        sys.stderr.write("ohw: /exit ends a run; none was begun\n")
        return 0
    folder = checked_workspace(workspace)
    import_early(settings.profile(settings.model).model)
    outlet = Outlet(as_json)
    session_id = new_id(prompt)
    with contextlib.redirect_stdout(sys.stderr):  # what a tool prints must not stand among the events
        opened = start_session(locations, settings, folder, session_id, on_event=outlet.event, on_live=outlet.live)
        outlet.notices(opened.notices)
        try:
            driven = _Run(opened, outlet, folder)
            code = driven.drive(prompt)
            questions, unsaved = open_questions(opened.session, driven.left), opened.session.unsaved
        finally:
            opened.close()
    outlet.close(session_id, questions, unsaved)
    return _left_with(1 if unsaved else code)


def _left_with(code: int) -> int:
    """The exit code; everything is closed, so the process may end at once where an import would hold it."""
    if is_importing():
        for out in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                out.flush()
        os._exit(code)
    return code


def open_questions(session: Session, left: Sequence[SubAgent]) -> list[OpenQuestion]:
    """All that waits for the person, those of sub-agents first: the others wait for them."""
    below = [(action, one.agent) for one in left if one.session is not None for action in one.session.questions()]
    return [*below, *((action, "") for action in session.questions())]


class Outlet:
    """Where events go; a reader that goes away stops the run through `on_broken`."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._out = sys.stdout.buffer
        self._narrator = Narrator(sys.stderr)
        self._answer = ""
        self.on_broken: Callable[[], None] = lambda: None
        self.is_broken = False

    def event(self, event: Event) -> None:
        """One event, after it was written to the log."""
        self._narrator.event(event)
        if isinstance(event, ModelResponded):
            self._answer = event.text or self._answer
        elif isinstance(event, RunEnded):
            self._answer = event.detail if event.reason == "finished" and event.detail else self._answer
        if self._as_json:
            self._write(json_line(event))

    def notices(self, lines: Iterable[str]) -> None:
        """What to know from the start."""
        for line in lines:
            self._narrator.notice(line)

    def live(self, event: LiveEvent) -> None:
        """What is not stored: only retries and waits are told."""
        self._narrator.live(event)

    def close(self, session_id: str, questions: Sequence[OpenQuestion], unsaved: str) -> None:
        """The answer on stdout and how to go on on stderr."""
        if not self._as_json and self._answer:
            self._write(visible(self._answer.rstrip("\n")) + "\n")
        self._narrator.close(session_id, questions, unsaved)

    def _write(self, text: str) -> None:
        if self.is_broken:
            return
        try:
            self._out.write(text.encode("utf-8", "backslashreplace"))
            self._out.flush()
        except BrokenPipeError:
            self.is_broken = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            self.on_broken()


def json_line(event: Event) -> str:
    """An event as one line of plain ASCII, so that no terminal can be driven by what is in it."""
    return json.dumps(event.model_dump(mode="json")).replace("\x7f", "\\u007f") + "\n"


class _Run:
    """Drives a session in a worker thread; the main thread waits and takes the signals."""

    def __init__(self, opened: OpenedSession, outlet: Outlet, folder: Path) -> None:
        self._opened = opened
        self._folder = folder
        self._outlet = outlet
        self._rested = threading.Event()
        self._signal = 0
        self.left: list[SubAgent] = []
        """The sub-agents whose questions the run stopped at."""
        opened.delegates.on_wait = self._on_wait
        outlet.on_broken = self._stop_soon

    def drive(self, prompt: str) -> int:
        session = self._opened.session
        servers = self._opened.servers
        session.send(prompt, mentioned(prompt, self._folder, servers.is_resource if servers else None))
        worker = Worker(session, self._rested.set, self._opened.fail)
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        try:
            worker.start()
            self._rested.wait()
            worker.stop()
            self.left = self._opened.delegates.waiting
            self._opened.delegates.leave()
            worker.join(_LAST_STEP)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._code()

    def _code(self) -> int:
        if self._signal:
            return 128 + self._signal
        if self._outlet.is_broken:
            return _PIPE
        if self.left or self._opened.session.phase == "deciding":
            return _QUESTION
        return EXIT_CODES.get(self._opened.session.ended, 1)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signal:
            self._rested.set()  # the second one does not wait for the step
            return
        self._signal = number
        self._stop_soon()
        patience = threading.Timer(_LAST_STEP, self._rested.set)
        patience.daemon = True
        patience.start()

    def _on_wait(self) -> None:
        if self._opened.delegates.waiting:
            self._rested.set()

    def _stop_soon(self) -> None:
        threading.Thread(target=self._opened.session.interrupt, daemon=True).start()
