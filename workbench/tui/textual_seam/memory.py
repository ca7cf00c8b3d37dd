"""Patches that let Textual free widgets, layouts, caches and workers without the garbage collector."""

from __future__ import annotations

import pkgutil
from asyncio import CancelledError
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Final

from textual.cache import LRUCache
from textual.geometry import Size
from textual.style import Style
from textual.worker import active_worker

if TYPE_CHECKING:
    from textual._compositor import Compositor
    from textual.color import Color
    from textual.css.styles import RenderStyles
    from textual.css.stylesheet import Stylesheet
    from textual.dom import DOMNode
    from textual.widget import Widget
    from textual.worker import Worker


def break_reference_cycles() -> None:
    """Patch Textual so that removed objects are freed at once, without the garbage collector.

    Reason: Textual 8.2.8 leaves reference cycles behind. Their objects are old by then, and the oldest generation is
    hardly ever collected: with the collector off, each step of a session leaked 3 MB. These leave cycles:

    - each layout: the recursive closure in `Compositor._arrange_root` holds the map of all widgets;
    - each widget outside the tree, and each of its component styles: a node and its styles refer to each other;
    - each `LRUCache`: its entries form a ring, which holds placements and painted lines of removed widgets;
    - each finished worker: its task's context variables, or the traceback of the cancellation, hold it.

    Two caches outlive the widgets they describe: `StylesCache.get_inner_outer` remembers 1,024 results by instance, and
    `NodeList` keeps the displayed children as of the last time a style asked for them.

    Upstream: the targets of `PATCHES`, and `LRUCache`. `tests/tui/test_removed_widgets.py` has a test for each; a patch
    whose test passes without it can go.
    Without it: a target that is gone is skipped (`patch`); memory then grows, nothing else changes.
    """
    for target, wrap in PATCHES.items():
        patch(target, wrap)
    if all(hasattr(LRUCache(1), name) for name in ("_cache", "_full", "_head")):
        LRUCache.clear = _clear_ring  # type: ignore[method-assign, assignment]
        LRUCache.__del__ = _clear_ring  # type: ignore[attr-defined]


def patch(target: str, wrap: Callable[[Any], Any]) -> bool:
    """Replace `module:Class.name` with the result of `wrap`; return False, and change nothing, if it does not exist."""
    owner_path, _, name = target.rpartition(".")
    try:
        owner = pkgutil.resolve_name(owner_path)
        original = getattr(owner, name)
    except (ImportError, AttributeError):
        return False
    setattr(owner, name, wrap(original))
    return True


def drop_painted_lines(widget: Widget) -> None:
    """Drop the lines that a widget caches for its next paint, about four kilobytes each.

    Reason: Textual 8.2.8 keeps them for as long as the widget is mounted, however far it is scrolled out of sight.
    Upstream: `Widget._render_cache`, `Widget._styles_cache` and `Widget._set_dirty`.
    Without it: the lines stay.
    """
    render_cache = getattr(widget, "_render_cache", None)
    styles_cache = getattr(widget, "_styles_cache", None)
    if render_cache is None or styles_cache is None:
        return
    if render_cache.lines or getattr(styles_cache, "_cache", None):
        widget._set_dirty()
        widget._render_cache = type(render_cache)(Size(), [])


def clear_layout_caches() -> None:
    """Empty the caches of regions and of the widths of texts; most of them describe what has scrolled away.

    Reason: Textual 8.2.8 and Rich 15 keep up to 4,096 results of each of these functions, several megabytes after an
    hour. What a frame needs of them is computed again in less than a millisecond.
    Upstream: the caches of `textual.geometry.Region`, `rich.cells.cached_cell_len` and `Strip.render_ansi`.
    Without it: a cache that is gone is skipped; the others stay within their own bounds.
    """
    for name in CACHES:
        with suppress(ImportError, AttributeError):
            pkgutil.resolve_name(name).cache_clear()


def _empty_old_maps(original: Callable[..., Any]) -> Callable[..., Any]:
    def _arrange_root(compositor: Compositor, *args: Any, **options: Any) -> Any:
        # The closure of an earlier call keeps its map: empty the map once the compositor has a newer one.
        current = (compositor._full_map, compositor._visible_map, compositor.widgets)
        # The list is an attribute of the compositor: in a table of ours it would keep a closed screen alive.
        maps: list[dict[Any, Any] | set[Any]] = vars(compositor).setdefault("_arranged_maps", [])
        for old in [each for each in maps if not any(each is one for one in current)]:
            old.clear()
        maps[:] = [each for each in maps if any(each is one for one in current)]
        result = original(compositor, *args, **options)  # may recurse into this function
        maps.extend(result)
        return result

    return _arrange_root


def _init_detached(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def __init__(widget: Widget, *children: Widget, **options: Any) -> None:
        original(widget, *children, **options)
        _detach_styles(widget.styles)

    return __init__


def _attach_styles(original: Callable[..., None]) -> Callable[..., None]:
    def _attach(widget: Widget, *args: Any) -> None:
        original(widget, *args)
        widget.styles.base.node = widget.styles.inline.node = widget

    return _attach


def _detach_with_styles(original: Callable[..., None]) -> Callable[..., None]:
    def _detach(widget: Widget) -> None:
        original(widget)
        _detach_styles(widget.styles)

    return _detach


def _detach_component_styles(original: Callable[..., Any]) -> Callable[..., Any]:
    async def _message_loop_exit(widget: Widget) -> None:
        components = [*widget._component_styles.values()]
        await original(widget)
        for each in components:
            _detach_styles(each)

    return _message_loop_exit


def _detach_replaced_styles(original: Callable[..., None]) -> Callable[..., None]:
    def _process_component_classes(stylesheet: Stylesheet, node: DOMNode) -> None:
        before = [*node._component_styles.values()]
        original(stylesheet, node)
        current = {id(each) for each in node._component_styles.values()}
        for each in before:
            if id(each) not in current:
                _detach_styles(each)

    return _process_component_classes


def _detach_styles(styles: RenderStyles) -> None:
    """Remove the references from unused styles to their node."""
    styles.base.node = styles.inline.node = None


def _clear_ring(cache: LRUCache[Any, Any]) -> None:
    for link in cache._cache.values():
        link.clear()
    cache._cache.clear()
    cache._full = False
    cache._head = []


def _release_worker(original: Callable[..., Any]) -> Callable[..., Any]:
    async def _run(worker: Worker[Any], *args: Any) -> None:
        try:
            await original(worker, *args)
        finally:
            active_worker.set(None)  # type: ignore[arg-type]
            if isinstance(worker.error, CancelledError):
                worker.error.with_traceback(None)

    return _run


def _forget_displayed(original: Callable[..., None]) -> Callable[..., None]:
    def updated(nodes: Any) -> None:
        original(nodes)
        nodes._displayed_nodes = nodes._displayed_visible_nodes = (-1, [])

    return updated


def _cache_by_colours(_: Callable[..., Any]) -> Callable[..., Any]:
    def get_inner_outer(_: Any, base_background: Color, background: Color) -> tuple[Style, Style]:
        return _backgrounds(base_background, background)

    return get_inner_outer


@lru_cache(1024)
def _backgrounds(base: Color, background: Color) -> tuple[Style, Style]:
    """Return the styles inside and outside of a border, as `StylesCache.get_inner_outer` does."""
    return Style(background=base + background), Style(background=base)


CACHES: Final = (
    *("textual.geometry:Region.intersection", "textual.geometry:Region.overlaps", "textual.geometry:Region.shrink"),
    *("textual.geometry:Region.union", "textual.geometry:Region.grow", "textual.geometry:Region.translate"),
    "rich.cells:cached_cell_len",
    "textual.strip:Strip.render_ansi",
)
"""The functions, as `module:Class.name`, whose caches are emptied."""
PATCHES: Final[Mapping[str, Callable[[Any], Any]]] = {
    "textual._compositor:Compositor._arrange_root": _empty_old_maps,
    "textual.widget:Widget.__init__": _init_detached,
    "textual.widget:Widget._attach": _attach_styles,
    "textual.widget:Widget._detach": _detach_with_styles,
    "textual.widget:Widget._message_loop_exit": _detach_component_styles,
    "textual.css.stylesheet:Stylesheet._process_component_classes": _detach_replaced_styles,
    "textual.worker:Worker._run": _release_worker,
    "textual._styles_cache:StylesCache.get_inner_outer": _cache_by_colours,
    "textual._node_list:NodeList.updated": _forget_displayed,
}
"""The patched functions, as `module:Class.name`, each with the function that wraps it."""
