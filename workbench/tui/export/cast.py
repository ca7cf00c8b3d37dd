"""A recording of a session as asciicast 2: the real screen, fed with its events in the time they took."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.color import ColorSystem
from textual.strip import Strip

from workbench.tui.export.replay import Replay, moments

if TYPE_CHECKING:
    from workbench.protocol.events import Event

_LONGEST_PAUSE = 2.0
"""Seconds that nothing happens for are cut to this."""
_TOGETHER = 0.1
_MOST = 3_000
_SETTLED = 0.4
_LAST = 1.0
"""Seconds that the end is shown for."""


def cast(
    events: Sequence[Event], size: tuple[int, int], theme: str, title: str, themes: Path | None = None
) -> Iterator[str]:
    """The lines of the file: a header, then one frame a line, each with its second."""
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
    """What writes the rows that differ on a terminal: places, colours and text, and no other sequence."""
    known = dict(enumerate(before))
    return "".join(f"\x1b[{y + 1};1H{_row(strip)}" for y, strip in enumerate(rows) if known.get(y) != strip)


def _row(strip: Strip) -> str:
    parts = []
    for text, style, control in strip:
        if control:
            continue
        codes = Strip.render_ansi(style, ColorSystem.TRUECOLOR) if style is not None else ""
        parts.append(f"\x1b[{codes}m{text}\x1b[0m" if codes else text)
    return "".join(parts)
