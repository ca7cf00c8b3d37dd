"""The places where a private part of Textual is replaced; each with its version, its reason and what would end it."""

from __future__ import annotations

from asyncio import CancelledError
from functools import lru_cache, wraps
from typing import Any, Final
from weakref import WeakKeyDictionary

from textual._compositor import Compositor, CompositorMap
from textual._node_list import NodeList
from textual._styles_cache import StylesCache
from textual.app import App
from textual.cache import LRUCache
from textual.color import Color
from textual.content import Content
from textual.css.styles import RenderStyles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.style import Style
from textual.widget import Widget
from textual.worker import Worker, active_worker

_WRAP: Final = Content._wrap_and_format
_EXIT: Final = Widget._message_loop_exit
_STYLE_PARTS: Final = Stylesheet._process_component_classes
_WORK: Final = Worker._run
_ARRANGE: Final = Compositor._arrange_root
_INIT: Final = Widget.__init__
_ATTACH: Final = Widget._attach
_DETACH: Final = Widget._detach
_UPDATED: Final = NodeList.updated
_arranged: Final[WeakKeyDictionary[Compositor, list[dict[Any, Any] | set[Any]]]] = WeakKeyDictionary()
"""The maps and sets of widgets that each compositor has made and that are not emptied yet."""


def allow_any_width() -> None:
    """Let text be laid out in a widget of no width at all: at one to four columns borders and padding leave none.

    Textual 8.2.8 divides the line by the width there (`range() arg 3 must not be zero` in `Content` and in Rich's
    `chop_cells`), which ends the app. `test_any_size` fails without this; it can go when it no longer does.
    """
    Content._wrap_and_format = _wrap_at_least_one  # type: ignore[method-assign, assignment]


def break_reference_cycles() -> None:
    """Free what is no longer shown as soon as nothing refers to it, without the garbage collector.

    Textual 8.2.8 leaves reference cycles behind. What they hold is old by then, and the oldest generation is hardly
    ever collected, so each step of a session stayed for good (3 MB a step with the collector off):

    - each layout: the recursive closure of `Compositor._arrange_root` holds the map of all widgets;
    - each widget that is not (or no more) in the tree, and each of its component styles: a node and its styles refer
      to each other;
    - each `LRUCache`: its entries are a ring, with the placements and painted lines of what was removed;
    - each finished worker: its task's context variables hold it, or the traceback of what cancelled it.

    Two caches hold what no cycle does:

    - `StylesCache.get_inner_outer` remembers 1,024 results by the instance that asked, and with each instance the
      painted lines of a widget that is long gone;
    - `NodeList` holds the displayed children as they were when a style last asked for them.

    `test_removed_widgets.py` has a test for each; one that passes without its replacement here ends it.
    """
    Compositor._arrange_root = _arrange_and_empty  # type: ignore[method-assign, assignment]
    Widget.__init__ = _init_without_cycle  # type: ignore[method-assign, assignment]
    Widget._attach = _attach_with_styles  # type: ignore[method-assign, assignment]
    Widget._detach = _detach_with_styles  # type: ignore[method-assign, assignment]
    Widget._message_loop_exit = _exit_without_cycle  # type: ignore[method-assign, assignment]
    Stylesheet._process_component_classes = _style_parts_again  # type: ignore[method-assign, assignment]
    LRUCache.clear = _clear_ring  # type: ignore[method-assign, assignment]
    LRUCache.__del__ = _clear_ring  # type: ignore[attr-defined]
    Worker._run = _work_without_cycle  # type: ignore[method-assign, assignment]
    StylesCache.get_inner_outer = _inner_outer  # type: ignore[method-assign, assignment]
    NodeList.updated = _updated_without_rest  # type: ignore[method-assign, assignment]


def _arrange_and_empty(compositor: Compositor, *args: Any, **more: Any) -> tuple[CompositorMap, set[Widget]]:
    """Arrange; what earlier calls made and the compositor no longer shows is emptied, as the closures cannot be."""
    current = (compositor._full_map, compositor._visible_map, compositor.widgets)
    made = _arranged.setdefault(compositor, [])
    for each in [each for each in made if not any(each is one for one in current)]:
        each.clear()
    made[:] = [each for each in made if any(each is one for one in current)]
    result = _ARRANGE(compositor, *args, **more)  # may come here again
    made.extend(result)
    return result


@wraps(_INIT)
def _init_without_cycle(widget: Widget, *children: Widget, **more: Any) -> None:
    _INIT(widget, *children, **more)
    _part(widget.styles)


def _attach_with_styles(widget: Widget, parent: MessagePump) -> None:
    _ATTACH(widget, parent)
    widget.styles.base.node = widget.styles.inline.node = widget


def _detach_with_styles(widget: Widget) -> None:
    _DETACH(widget)
    _part(widget.styles)


async def _exit_without_cycle(widget: Widget) -> None:
    parts = [*widget._component_styles.values()]
    await _EXIT(widget)
    for each in parts:
        _part(each)


def _style_parts_again(stylesheet: Stylesheet, node: DOMNode) -> None:
    before = [*node._component_styles.values()]
    _STYLE_PARTS(stylesheet, node)
    now = {id(each) for each in node._component_styles.values()}
    for each in before:
        if id(each) not in now:
            _part(each)


def _part(styles: RenderStyles) -> None:
    """Part styles that are out of use from their node."""
    styles.base.node = styles.inline.node = None


def _clear_ring(cache: LRUCache[Any, Any]) -> None:
    for link in cache._cache.values():
        link.clear()
    cache._cache.clear()
    cache._full = False
    cache._head = []


async def _work_without_cycle(worker: Worker[Any], app: App[Any]) -> None:
    try:
        await _WORK(worker, app)
    finally:
        active_worker.set(None)  # type: ignore[arg-type]
        if isinstance(worker.error, CancelledError):
            worker.error.with_traceback(None)


def _updated_without_rest(nodes: NodeList) -> None:
    _UPDATED(nodes)
    nodes._displayed_nodes = nodes._displayed_visible_nodes = (-1, [])


def _inner_outer(_: StylesCache, base_background: Color, background: Color) -> tuple[Style, Style]:
    """Return the styles inside and outside of a border; remembered by the colours alone."""
    return _backgrounds(base_background, background)


@lru_cache(1024)
def _backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    return Style(background=base + background), Style(background=base)


def _wrap_at_least_one(content: Content, width: int, *rest: Any, **more: Any) -> Any:
    return _WRAP(content, max(1 + 2 * more.get("line_pad", 0), width), *rest, **more)
