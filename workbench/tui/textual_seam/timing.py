"""Timers that always run, and frames that are painted after the batch that held them back."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from workbench.tui.textual_seam.memory import patch
from workbench.tui.textual_seam.screen import is_batching

if TYPE_CHECKING:
    from textual.app import App
    from textual.timer import Timer

TIMER: Final = "textual.timer:Timer.__init__"
END_BATCH: Final = "textual.app:App._end_batch"


def never_lose_a_frame() -> None:
    """Patch Textual so that a delayed call always runs, and what is laid out in a batch is painted after it.

    Reason: a one-shot timer of Textual 8.2.8 counts its only tick as skipped, and never runs, if the process is held up
    between the two clock readings at its start. The timer that reports a new size waits 8 ms, which is less than a
    busy machine may hold up a process, and no later size is reported while it is pending. A batch drops the frames
    that are painted during it, and its end wakes the app, but not the screen: one that gets a new size meanwhile, or
    is uncovered, shows its old picture until another message arrives.
    Upstream: `Timer.__init__` and `App._end_batch`. `tests/tui/test_frames.py` fails without either of them.
    Without it: a target that is gone is skipped (`patch`).
    """
    patch(TIMER, _run_once_in_any_case)
    patch(END_BATCH, _wake_screen)


def _run_once_in_any_case(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def __init__(timer: Timer, *args: Any, **options: Any) -> None:
        if options.get("repeat") == 0:
            options["skip"] = False
        original(timer, *args, **options)

    return __init__


def _wake_screen(original: Callable[..., None]) -> Callable[..., None]:
    def _end_batch(app: App[Any]) -> None:
        original(app)
        if not is_batching(app) and app.screen_stack:
            app.screen.check_idle()

    return _end_batch
