"""Golden pictures: the looks in which they are taken, sessions shown in an app, and an app at rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from textual._context import visible_screen_stack
from textual.pilot import Pilot

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from workbench.protocol import live
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.widgets.status_line import StatusLine


@dataclass(frozen=True)
class Look:
    """A terminal size in cells and a theme, in which a golden picture is taken."""

    width: int
    height: int
    theme: str

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self.width, self.height

    def __str__(self) -> str:
        return f"{self.width}x{self.height}-{self.theme}"


SMALL, USUAL, LARGE = Look(80, 24, "ohw-dark"), Look(120, 40, "ohw-light"), Look(200, 60, "ohw-dark")
README = Look(120, 40, "ohw-dark")
"""The README shows its pictures in both themes."""
LOOKS = (SMALL, USUAL, LARGE)


def in_looks(*looks: Look) -> pytest.MarkDecorator:
    """Mark a test to take one picture for each look."""
    return pytest.mark.parametrize("look", looks, ids=str)


in_each_look = in_looks(*LOOKS)
"""Take a picture in each look."""


def is_settled(app: WorkbenchApp, events: Sequence[Any]) -> bool:
    """Return whether all events are applied, and the screens they open are open and accept keys."""
    if app.state.last_seq < max(getattr(event, "seq", 0) for event in events):
        return False
    if not app.state.waiting:
        return True
    return takes_answers(app)


def takes_answers(app: WorkbenchApp) -> bool:
    """Return whether a question has been in sight long enough for a key to answer it."""
    return isinstance(app.screen, ApprovalScreen) and app.screen.quiet.is_armed


async def show_events(pilot: Pilot[int], client: FakeClient, events: Sequence[Any]) -> None:
    """Show all events on the main screen, and wait for the mark of a changed branch too."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    client.bring(*(event for event in events if not getattr(event, "seq", 0)), live.EngineState(state=work_of(events)))
    await wait_until(pilot, lambda: app.state.work != "starting" and is_settled(app, events))
    await wait_until(pilot, lambda: "main*" in app.screen_stack[0].query_one(StatusLine).render().plain)


def work_of(events: Sequence[Any]) -> str:
    return getattr(events[-1], "state", "idle")


def app_with(events: Sequence[Any], directory: Path, theme: str, **more: Any) -> tuple[FakeClient, WorkbenchApp]:
    client = FakeClient([event for event in events if getattr(event, "seq", 0)])
    return client, workbench_app(client, directory=directory, set={"theme": theme, **more})


ODD_SIZES = ((1, 1), (500, 1), (3, 50), (300, 100))
"""Sizes at which borders and padding leave no room at all, and one that is larger than any screen."""


async def bears_every_size(pilot: Pilot[Any]) -> None:
    """Draw what the app shows at very small and very large sizes."""
    for size in ODD_SIZES:
        await pilot.resize_terminal(*size)  # waits until the app has drawn
        assert pilot.app.size == size
    assert pilot.app.is_running


def text_on(app) -> str:
    return "\n".join(strip.text for strip in strips_on(app))


def strips_on(app):
    """Return what is on the screen and on those below it; reading it here would otherwise cache it without them."""
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


async def at_rest(pilot) -> None:
    """Wait until layout, output and styling are finished: nothing has changed for 0.1 s."""
    last, same = [], 0

    def unchanged() -> bool:
        nonlocal last, same
        now = [list(line) for line in strips_on(pilot.app)]
        same, last = (same + 1 if now == last else 0), now
        return same >= 4

    await wait_until(pilot, unchanged, every=0.025)  # drawing the whole screen more often costs more than the picture
    if pilot.app.screen.is_modal:
        await drawn(pilot)


async def drawn(pilot) -> None:
    """Wait until the screens behind a modal are drawn too: several whole pictures in a row are the same."""
    last, same = [], 0
    app = pilot.app

    def unchanged() -> bool:
        nonlocal last, same
        drawing = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
        now = [list(line) for line in drawing.strips]
        same, last = (same + 1 if now == last else 0), now
        return same >= 4

    await wait_until(pilot, unchanged)
