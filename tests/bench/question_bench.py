"""How long it takes until a question is on the screen, also one with a diff of 5,000 lines."""

from __future__ import annotations

import asyncio
import gc
import time

from rich.console import RenderableType
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from tests.bench.measure import Measure
from tests.tui.diff_app import ScreenApp
from workbench.protocol.events import FileDelta
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.question_base import QuestionScreen
from workbench.view.approval.questions import Asked
from workbench.view.state import ActionItem

LIMIT = 0.05
HUGE_LIMIT = 1.0
_TRIES = 5


class _Terminal(ScreenApp):
    """Records which screen the last frame showed."""

    painted: object = None

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        self.painted = screen


class _Bare(QuestionScreen[None]):
    """A modal of one line: the lower bound for the time any question takes."""

    def __init__(self) -> None:
        super().__init__()
        self.painted = asyncio.Event()
        _watch(self)

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Static("?")

    def show_keys(self) -> None:
        """Return no keys."""

    def no_answer(self) -> None:
        """Ignore the answer."""


class _Watched(ApprovalScreen):
    """A question that sets an event when it has been painted."""

    def __init__(self, action: ActionItem) -> None:
        super().__init__(Asked(action))
        self.painted = asyncio.Event()
        _watch(self)


def _watch(screen: _Bare | _Watched) -> None:
    """Set the event when the quiet time of the screen begins, which is when it has been painted."""
    begin = screen.quiet.begin

    def begin_and_tell() -> None:
        assert isinstance(screen.app, _Terminal)
        assert screen.app.painted is screen
        begin()
        screen.painted.set()

    screen.quiet.begin = begin_and_tell  # type: ignore[method-assign]


def measures() -> list[Measure]:
    """Measure the seconds from a question to its first frame; a bare modal is the reference."""
    bare = _best(None)
    # a new action each time, because results computed from its texts are cached
    huge = min(_best(_edit_of_huge_file(), tries=1) for _ in range(2))
    name = "question on screen, one line of 1,000,000"
    return [
        *(_measure(lines, bare) for lines in (1, 5_000)),
        Measure(name, huge, "s", bare, HUGE_LIMIT, huge <= HUGE_LIMIT),
    ]


def _measure(lines: int, bare: float) -> Measure:
    best = _best(_action(lines))
    return Measure(f"question on screen, its diff {lines:,} changed lines", best, "s", bare, LIMIT, best <= LIMIT)


def _action(lines: int) -> ActionItem:
    before = "".join(f"    value_{number} = compute({number})\n" for number in range(lines))
    delta = FileDelta(path="/w/a.py", before=before, after=before.replace("compute", "calculate"))
    return ActionItem(1, 1, "a1", "str_replace_editor", {"path": "/w/a.py"}, risk="MEDIUM", preview=(delta,))


def _edit_of_huge_file() -> ActionItem:
    before = "".join(f"li {number}\n" for number in range(1_000_000))
    delta = FileDelta(path="/w/a.py", before=before, after=before.replace("li 500000\n", "LI 500000\n"))
    return ActionItem(1, 1, "a1", "str_replace_editor", {"path": "/w/a.py"}, risk="MEDIUM", preview=(delta,))


def _best(action: ActionItem | None, tries: int = _TRIES) -> float:
    return min(asyncio.run(_shown(action)) for _ in range(tries))


async def _shown(action: ActionItem | None) -> float:
    """Return the seconds from the action's arrival until the question has been painted."""
    first = _Watched(_action(1))
    app = _Terminal(first)  # this first one loads everything that is loaded once
    async with app.run_test(size=(120, 40)):
        await first.painted.wait()
        await first.dismiss()
        gc.freeze()  # as the workbench does when it has started
        begun = time.perf_counter()
        screen = _Bare() if action is None else _Watched(action)
        await app.push_screen(screen)
        await screen.painted.wait()
        return time.perf_counter() - begun
