"""Replays recorded sessions on the screen without an engine, and exports them as SVG pictures and asciicasts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.color import ColorSystem
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input, TextArea

from workbench.client.client import Incoming
from workbench.config.settings import Settings
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.events import ModelAsked, Rewound, SettingsChanged
from workbench.protocol.live import EngineState
from workbench.session.storage.active_path import ActivePath, Rewind
from workbench.session.storage.paging import Branch
from workbench.tui.app import WorkbenchApp
from workbench.tui.deferred_imports import load_later
from workbench.tui.textual_seam.screen import rendered_lines
from workbench.tui.widgets.status_line import StatusLine
from workbench.view import clock
from workbench.view.app_session import AppSession
from workbench.view.reducer import apply
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.protocol.commands import Command
    from workbench.protocol.events import Event


class ReplayClient:
    """A client that delivers the events passed to `play`, with the engine state derived from them."""

    def __init__(self) -> None:
        self._coming: asyncio.Queue[Incoming] = asyncio.Queue()
        self._state = SessionState()
        self._played: list[Event] = []

    def history(self) -> Sequence[Event | Branch]:
        """Return the events played so far, with a branch in place of those that a rewind undid."""
        played = list(self._played)
        if not played:
            return ()
        rewinds = [
            Rewind(each.seq, each.target) for each in played if isinstance(each, Rewound) if each.scope != "files"
        ]
        path = ActivePath(played[-1].seq, rewinds)
        others = [range(one.stop, other.start) for one, other in pairwise(path.ranges)]
        on_path: list[Event | Branch] = []
        for event in played:
            if others and event.seq >= others[0].stop:
                on_path += _branch(others.pop(0), played)
            if event.seq in path or isinstance(event, SettingsChanged | ModelAsked):
                on_path.append(event)
        return on_path

    async def receive(self) -> Sequence[Incoming]:
        """Wait for played events and return all that have not been received yet."""
        first = await self._coming.get()
        return [first, *(self._coming.get_nowait() for _ in range(self._coming.qsize()))]

    def play(self, events: Sequence[Event]) -> None:
        """Deliver these events, then the state of the engine after them."""
        for event in events:
            apply(self._state, event)
            self._played.append(event)
            self._coming.put_nowait(event)
        self._coming.put_nowait(EngineState(state=_work(self._state)))

    def close(self, *, stop: bool = False) -> None:
        """Do nothing, because the client holds no resources."""

    def send(self, command: Command) -> None:
        """Drop the command, because there is no engine to receive it."""


def _branch(numbers: range, played: Sequence[Event]) -> list[Branch]:
    """Return the branch of these events, if it has any messages or actions."""
    kinds = [event.kind for event in played if event.seq in numbers]
    messages, actions = kinds.count("user_message"), kinds.count("action_proposed") + kinds.count("person_command")
    return [Branch(numbers.start, numbers.stop - 1, messages, actions)] if messages or actions else []


def _work(state: SessionState) -> Literal["idle", "thinking", "deciding", "acting"]:
    if state.waiting:
        return "deciding"
    if state.running:
        return "acting"
    return "thinking" if state.is_running else "idle"


_AT_REST = 0.7
"""Seconds without a change after which a picture is taken; by then a question shows its keys."""
_PATIENCE = 20.0
_PAINTED = 0.04
_POLL_SECONDS = 0.1
_FONT = lazy_pattern(r"\s*@font-face\s*\{[^}]*\}")
"""Matches the web fonts that Textual names, so that a picture loads nothing from the network."""


class Replay:
    """The screen at a moment of a recorded session; `show` advances to later events."""

    def __init__(self, events: Sequence[Event], size: tuple[int, int], theme: str, themes: Path | None = None) -> None:
        self._began = events[0].at if events else datetime.now(UTC)
        self._now = self._began
        self.size = size
        self.client = ReplayClient()
        workspace = Path(getattr(events[0], "workspace", "/")) if events else Path("/")
        settings = Settings(model="recorded", theme=theme)
        self.app = WorkbenchApp(AppSession(self.client, workspace), settings, themes=themes, clock=self._clock)
        self.app.animation_level = "none"
        self._pilot: Pilot[int]

    def _clock(self) -> float:
        return (self._now - self._began).total_seconds()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Replay]:
        """Run the app, with an empty screen at first, until the end of the block."""
        load_later()
        clock.stand_at(self._now)
        async with self.app.run_test(size=self.size) as self._pilot:
            self.app.screen.query_one(StatusLine).is_live = False
            yield self

    async def show(self, events: Sequence[Event]) -> None:
        """Play events and wait until they are applied; slow parts may not be painted until the next call."""
        self._now = events[-1].at
        clock.stand_at(self._now)
        self.client.play(events)
        until = time.monotonic() + _PATIENCE
        while self.app.state.last_seq < events[-1].seq and time.monotonic() < until:
            await asyncio.sleep(0.01)
        await self._pilot.pause(_PAINTED)

    async def rest(self, seconds: float = _AT_REST) -> None:
        """Wait until the screen has not changed for `seconds`, for at most `_PATIENCE` seconds."""
        until = time.monotonic() + _PATIENCE
        same, before = 0, self.strips()
        while time.monotonic() < until and same * _POLL_SECONDS < seconds:
            await self._pilot.pause(_POLL_SECONDS)  # by then every widget has handled its messages
            now = self.strips()
            same, before = (same + 1 if now == before else 0), now

    def strips(self) -> list[Strip]:
        """Return the rows of the screen."""
        for each in self.app.screen.query(TextArea):
            each.cursor_blink = False
        for entry in self.app.screen.query(Input):
            entry.cursor_blink = False
        return rendered_lines(self.app)

    def svg(self) -> str:
        """Return the screen as a self-contained SVG picture."""
        drawn = _FONT.sub("", self.app.export_screenshot(title="ohw"))
        blanks = drawn.replace("&#160;", " ")  # some programs drop non-breaking spaces
        return blanks.replace("<text ", '<text xml:space="preserve" ')


def picture(events: Sequence[Event], size: tuple[int, int], theme: str, themes: Path | None = None) -> str:
    """Return the screen after these events as an SVG picture."""

    async def draw() -> str:
        async with Replay(events, size, theme, themes).running() as replay:
            await replay.show(events)
            await replay.rest()
            return replay.svg()

    return asyncio.run(draw())


def moments(events: Sequence[Event], least: float, most: int) -> Iterator[list[Event]]:
    """Yield the events in groups that each span less than `least` seconds, or longer if there would be more than about
    `most` groups.
    """
    together: list[Event] = []
    few = len(events) // most
    for event in events:
        if len(together) > few and (event.at - together[0].at).total_seconds() >= least:
            yield together
            together = []
        together.append(event)
    if together:
        yield together


_LONGEST_PAUSE = 2.0
"""Longest pause in an asciicast, in seconds; longer ones are shortened to it."""
_TOGETHER = 0.1
_MOST = 3_000
_SETTLED = 0.4
_LAST = 1.0
"""Seconds for which the last frame is shown."""


def cast(
    events: Sequence[Event], size: tuple[int, int], theme: str, title: str, themes: Path | None = None
) -> Iterator[str]:
    """Yield the lines of an asciicast (version 2): a header, then one line for each frame with its time in seconds."""
    columns, rows = size
    header = {"version": 2, "width": columns, "height": rows, "title": title, "env": {"TERM": "xterm-256color"}}
    header |= {"timestamp": int(events[0].at.timestamp())} if events else {}
    yield json.dumps(header)
    for at, text in asyncio.run(_frames(events, size, theme, themes)):
        yield json.dumps([round(at, 3), "o", text])


async def _frames(
    events: Sequence[Event], size: tuple[int, int], theme: str, themes: Path | None
) -> list[tuple[float, str]]:
    async with Replay(events, size, theme, themes).running() as replay:
        return [frame async for frame in _played(replay, events)]


async def _played(replay: Replay, events: Sequence[Event]) -> AsyncIterator[tuple[float, str]]:
    await replay.rest(_SETTLED)
    before = replay.strips()
    yield 0.0, f"\x1b[?25l{drawn(before, [])}"
    at, last = 0.0, events[0].at if events else None
    for together in moments(events, _TOGETHER, _MOST):
        at += min(_LONGEST_PAUSE, max(0.0, (together[-1].at - (last or together[0].at)).total_seconds()))
        last = together[-1].at
        await replay.show(together)
        now = replay.strips()
        if text := drawn(now, before):
            yield at, text
        before = now
    await replay.rest(_SETTLED)
    yield at + _LAST, f"{drawn(replay.strips(), before)}\x1b[?25h"


def drawn(rows: Sequence[Strip], before: Sequence[Strip]) -> str:
    """Return the text that draws the changed rows on a terminal, with escape sequences for position and style only."""
    previous = dict(enumerate(before))
    return "".join(f"\x1b[{y + 1};1H{_row(strip)}" for y, strip in enumerate(rows) if previous.get(y) != strip)


def _row(strip: Strip) -> str:
    parts = []
    for text, style, control in strip:
        if control:
            continue
        codes = Strip.render_ansi(style, ColorSystem.TRUECOLOR) if style is not None else ""
        parts.append(f"\x1b[{codes}m{text}\x1b[0m" if codes else text)
    return "".join(parts)
