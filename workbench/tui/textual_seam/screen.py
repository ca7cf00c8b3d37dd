"""A screen that paints sooner after a key than Textual's own, and functions that use private parts of a screen."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from textual import events, messages
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.layouts.stream import StreamLayout
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from workbench.tui import keystrokes

try:
    from workbench.tui.textual_seam.compositor import FrontToBackCompositor
except ImportError:  # Textual has moved the private classes that our compositor uses
    FrontToBackCompositor = None  # type: ignore[assignment, misc]


_INTERNALS: Final = ("_dirty_widgets", "_layout_widgets", "_layout_required", "_compositor", "_compositor_refresh")


class LowLatencyScreen(Screen[None]):
    """A screen that paints the response to a key at once, and lays out nested streams in one pass.

    Reason: Textual 8.2.8 paints with the next tick of a clock, up to two ticks late after a slow frame. It restyles a
    screen that has just been styled, and does not paint the changes of one below two others. It reports a change of
    size to the innermost two containers only, so outer stream layouts keep an old height.
    Upstream: `Screen._on_idle`, `_on_layout`, `_compositor_refresh`, and the sets `_dirty_widgets` and
    `_layout_widgets`; `StreamLayout._cached_placements`; `App._batch_count`.
    Without it: if one of these is gone, the handlers return and Textual's own do the work.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        paint_front_to_back(self)
        self._has_internals = all(hasattr(self, name) for name in _INTERNALS)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Restyle only a screen that is resumed: a new one was styled when it was mounted."""
        event.refresh_styles = event.refresh_styles and self.stack_updates > 0

    async def on_idle(self) -> None:
        """Paint what the last key changed in the focused widget; Textual's own handler then paints the rest."""
        _paint_focused(self)

    def _compositor_refresh(self) -> None:
        with _repainted_above(self):
            super()._compositor_refresh()

    async def on_layout(self, message: messages.Layout) -> None:
        """Schedule a layout of every container around the changed widget, in place of Textual's handler."""
        if self._has_internals:
            _require_layout(self, message)


@contextmanager
def _repainted_above(screen: LowLatencyScreen) -> Iterator[None]:
    """Repaint the screens between this one and the top one where this one is painted within the block.

    They have cached what is below them; Textual itself repaints only the top one.
    """
    changed = tuple(screen._compositor._dirty_regions) if screen._has_internals else ()
    yield
    stack = screen.app.screen_stack
    if changed and screen in stack:
        for above in stack[stack.index(screen) + 1 : -1]:
            above.refresh(*changed)


def _paint_focused(screen: LowLatencyScreen) -> None:
    """Paint the focused widget if a key is waiting for it, and it has changed but keeps its size."""
    if not screen._has_internals or not keystrokes.is_frame_due():
        return
    focused = screen.focused
    if focused is None or focused not in screen._dirty_widgets:
        return
    is_growing = any(focused in widgets for widgets in screen._layout_widgets.values())
    if is_growing or is_batching(screen.app) or not screen.is_current:
        return
    keystrokes.note_frame()
    rest = screen._dirty_widgets - {focused}
    screen._compositor.update_widgets({focused})
    screen._compositor_refresh()
    screen._dirty_widgets |= rest


def _require_layout(screen: Screen[Any], message: messages.Layout) -> None:
    """Schedule a layout of every container around the changed widget, up to the first one of a fixed size."""
    message.stop()
    message.prevent_default()
    widget = changed = message.widget
    if isinstance(widget.layout, StreamLayout):
        widget.layout._cached_placements = None  # other children may have moved, so old placements are void
    for ancestor in changed.ancestors:
        if not isinstance(ancestor, Widget):
            break
        screen._layout_widgets.setdefault(ancestor, set()).add(widget)
        if not ancestor.styles.auto_dimensions:
            break
        widget = ancestor
    screen._layout_required = True
    screen.check_idle()


def paint_front_to_back(screen: Screen[Any]) -> None:
    """Give a screen the compositor that does not render covered widgets, or keep Textual's if ours cannot be imported.

    Reason: Textual 8.2.8 has no public way to choose a compositor.
    Upstream: `Screen._compositor`.
    Without it: the screen ignores the attribute and paints as Textual does.
    """
    if FrontToBackCompositor is not None:
        screen._compositor = FrontToBackCompositor()


def is_batching(app: App[Any]) -> bool:
    """Return whether frames are held back by `App.batch_update`.

    Reason: Textual 8.2.8 has no public way to find out.
    Upstream: `App._batch_count`.
    Without it: False; a frame inside a batch counts as painted.
    """
    return bool(getattr(app, "_batch_count", 0))


def widgets_in_sight(screen: Screen[Any]) -> Container[Widget]:
    """Return the widgets that have at least one cell on the screen.

    Reason: Textual 8.2.8 offers `Screen.find_widget`, which raises for each widget out of sight and ignores clipping.
    Upstream: `Screen._compositor` and its public `visible_widgets`.
    Without it: every widget of the screen is returned.
    """
    compositor = getattr(screen, "_compositor", None)
    return compositor.visible_widgets if compositor is not None else [*screen.walk_children(Widget)]


def repaint(screen: Screen[Any]) -> None:
    """Write every cell of a screen to the terminal again, at once.

    Reason: `Screen.refresh` of Textual 8.2.8 paints with a later tick; after a stop nothing on the terminal is ours.
    Upstream: `Compositor._dirty_regions` and `Screen._compositor_refresh`.
    Without it: the screen is refreshed as usual.
    """
    try:
        screen._compositor._dirty_regions.add(screen._compositor.size.region)
        screen._compositor_refresh()
    except AttributeError:
        screen.refresh()


def rendered_lines(app: App[Any]) -> list[Strip]:
    """Return the rows that the app shows now, including screens that show through a modal one.

    Reason: Textual 8.2.8 exports pictures, but no lines.
    Upstream: `App._background_screens` and `Screen._compositor`, as `App.export_screenshot` uses them.
    Without it: an AttributeError; only the export of recordings calls this.
    """
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens, simplify=True)
    return [Strip.join(row) for row in getattr(update, "strips", ())]


def own_bindings(node: DOMNode) -> Mapping[str, Sequence[Binding]]:
    """Return the bindings of a widget or screen by key, in order, including inherited ones and the user's keys.

    Reason: `Screen.active_bindings` of Textual 8.2.8 keeps one binding per key, and none of disabled actions.
    Upstream: `DOMNode._bindings`, a public `BindingsMap`.
    Without it: no bindings; hints of the focused widget are not shown.
    """
    bindings = getattr(node, "_bindings", None)
    return bindings.key_to_bindings if bindings is not None else {}


def binding_owner(screen: Screen[Any], key: str) -> DOMNode | None:
    """Return the nearest node, from the focused widget to the app, that binds a key; the action may be disabled.

    Reason: `Screen.active_bindings` of Textual 8.2.8 asks every action whether it is enabled, for each key press.
    Upstream: `Screen._modal_binding_chain`.
    Without it: the owner of the enabled binding is returned.
    """
    chain = getattr(screen, "_modal_binding_chain", None)
    if chain is None:
        active = screen.active_bindings.get(key)
        return active.node if active is not None else None
    return next((node for node, bindings in chain if key in bindings.key_to_bindings), None)
