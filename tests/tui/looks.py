"""The sizes and themes in which a golden picture is taken, all of them out of one run of the app."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from textual._context import visible_screen_stack
from textual.app import App
from textual.geometry import Size
from textual.pilot import Pilot

from tests.tui.trial import wait_until

DARK, LIGHT = "ohw-dark", "ohw-light"
Look = tuple[tuple[int, int], str]
LOOKS: tuple[Look, ...] = (
    ((120, 40), DARK),
    ((120, 40), LIGHT),
    ((200, 60), DARK),
    ((80, 24), LIGHT),
    ((80, 24), DARK),
)
FIRST = LOOKS[0][0]
"""The size to begin with."""


async def unlike(pilot: Pilot[Any], picture: Callable[[App[Any], str], bool], name: str, looks: Iterable[Look] = LOOKS):
    """Show what is on the screen in each look; which of its pictures differ. It must bear every other size too."""
    wrong = []
    for (width, height), theme in looks:
        await seen_as(pilot, Size(width, height), theme)
        shown = f"{name}-" * bool(name) + f"{width}x{height}-{theme}"
        if not picture(pilot.app, shown):
            wrong.append(shown)
    size = pilot.app.size
    await squeezed(pilot)
    await seen_as(pilot, size, pilot.app.theme)
    return wrong


SQUEEZED = ((1, 1), (500, 1), (3, 50), (1, 200), (4, 4), (17, 5), (2, 3))
"""Sizes at which borders and padding leave no room at all."""


async def squeezed(pilot: Pilot[Any]) -> None:
    """Draw what is on screen at sizes nobody works at; whatever cannot be drawn ends the app, and the test."""
    for size in SQUEEZED:
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert pilot.app.size == size
        assert pilot.app.is_running


async def seen_as(pilot: Pilot[Any], size: Size, theme: str) -> None:
    """That size and theme, all of it drawn."""
    app = pilot.app
    if app.theme != theme:
        app.theme = theme
    if app.size != size:
        await pilot.resize_terminal(*size)
    await wait_until(pilot, lambda: app.screen.size == size)
    await at_rest(pilot)


def text_on(app) -> str:
    return "\n".join(strip.text for strip in strips_on(app))


def strips_on(app):
    """What is on the screen, with the screens below it: a first look from here would else be kept without them."""
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()


async def at_rest(pilot) -> None:
    """Nothing is laid out, written or coloured any more: several pictures in a row are the same."""
    last, same = [], 0

    def unchanged() -> bool:
        nonlocal last, same
        now = [list(line) for line in strips_on(pilot.app)]
        same, last = (same + 1 if now == last else 0), now
        return same >= 10

    await wait_until(pilot, unchanged)
    if pilot.app.screen.is_modal:
        await drawn(pilot)


async def drawn(pilot) -> None:
    """What stands behind a box is drawn too: several whole pictures in a row are the same."""
    last, same = "", 0

    def unchanged() -> bool:
        nonlocal last, same
        now = pilot.app.export_screenshot()
        same, last = (same + 1 if now == last else 0), now
        return same >= 4

    await wait_until(pilot, unchanged)
