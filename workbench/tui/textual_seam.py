"""The places where a private part of Textual is replaced; each with its version, its reason and what would end it."""

from __future__ import annotations

from typing import Any, Final

from textual.content import Content
from textual.widget import Widget

_WRAP: Final = Content._wrap_and_format
_EXIT: Final = Widget._message_loop_exit


def draw_at_any_width() -> None:
    """Let text be laid out in a widget of no width at all: at one to four columns borders and padding leave none.

    Textual 8.2.8 divides the line by the width there (`range() arg 3 must not be zero` in `Content` and in Rich's
    `chop_cells`), which ends the app. `test_any_size` fails without this; it can go when it no longer does.
    """
    Content._wrap_and_format = _wrap_at_least_one  # type: ignore[method-assign, assignment]


def free_removed_widgets() -> None:
    """Let a widget go as soon as nothing shows it any more, without the garbage collector.

    Textual 8.2.8 leaves each removed widget in a cycle with its own styles. A card lives long enough to be in the
    oldest generation by then, which is hardly ever looked through: 0.2 MB a step were kept for good.
    """
    Widget._message_loop_exit = _exit_without_cycle  # type: ignore[method-assign, assignment]


async def _exit_without_cycle(widget: Widget) -> None:
    await _EXIT(widget)
    for styles in (widget._css_styles, widget._inline_styles):
        styles.node = None


def _wrap_at_least_one(content: Content, width: int, *rest: Any, **more: Any) -> Any:
    return _WRAP(content, max(1 + 2 * more.get("line_pad", 0), width), *rest, **more)
