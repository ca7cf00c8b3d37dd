"""The private parts of Textual that the seam needs are unchanged; a new Textual fails here first, name by name.

A digest that differs: read the new method, check that the reason in `textual_seam` still holds, then write the digest
that the message names.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import pkgutil
import textwrap
from typing import Any

import pytest
import textual
from textual.app import App
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Static

from tests.contracts.source import Function, modules
from tests.contracts.test_borders import SEAM, private_names
from workbench.tui.textual_seam import driver, layout, memory, screen

METHODS = {
    "textual._compositor:Compositor._arrange_root": "371c8d3116b5",
    "textual._compositor:Compositor._regions_to_spans": "f12ef9bf9300",
    "textual._compositor:Compositor._render_chops": "12a7979c94d3",
    "textual._compositor:Compositor.reflow": "0ab52ea19663",
    "textual._compositor:Compositor.render_partial_update": "b61a8d739101",
    "textual._compositor:Compositor.update_widgets": "d7d0002aee1a",
    "textual._node_list:NodeList.updated": "15c582326563",
    "textual._styles_cache:StylesCache.get_inner_outer": "63b84a59e324",
    "textual.app:App._background_screens": "35815044ee32",
    "textual.app:App._end_batch": "c7c873de0b85",
    "textual.app:App._fatal_error": "8ea137f9297a",
    "textual.cache:LRUCache.clear": "134283f89000",
    "textual.content:Content._wrap_and_format": "ff73b6c94c4b",
    "textual.css.stylesheet:Stylesheet._process_component_classes": "e9e79bb72959",
    "textual.dom:DOMNode._get_component_classes": "76e63beb32b6",
    "textual.dom:DOMNode.get_component_styles": "4824812e2225",
    "textual.drivers.linux_driver:LinuxDriver._disable_line_wrap": "2e2368ac8689",
    "textual.drivers.linux_driver:LinuxDriver._enable_bracketed_paste": "ed50bbf2c6ad",
    "textual.drivers.linux_driver:LinuxDriver._enable_mouse_support": "4dbc2470d8d1",
    "textual.drivers.linux_driver:LinuxDriver._get_terminal_size": "8333e916e9a4",
    "textual.drivers.linux_driver:LinuxDriver._sigcont_application": "0ba4c34e8748",
    "textual.drivers.linux_driver:LinuxDriver.close": "71014b5b4f14",
    "textual.drivers.linux_driver:LinuxDriver.run_input_thread": "3c7a9834635c",
    "textual.drivers.linux_driver:LinuxDriver.start_application_mode": "56410163b604",
    "textual.drivers.linux_driver:LinuxDriver.stop_application_mode": "764208acba9d",
    "textual.message_pump:MessagePump._detach": "11cb832efa6f",
    "textual.message_pump:MessagePump._attach": "8ef35814d18c",
    "textual.screen:Screen._compositor_refresh": "30c01d22baee",
    "textual.screen:Screen._modal_binding_chain": "c8b875c3ac94",
    "textual.screen:Screen._on_idle": "90bcadb26d13",
    "textual.screen:Screen._on_layout": "bc3e2f97c400",
    "textual.screen:Screen._on_screen_resume": "e00b4ec53a62",
    "textual.screen:Screen._on_timer_update": "b429ac023000",
    "textual.scroll_view:ScrollView._size_updated": "641e3f6ed6fb",
    "textual.timer:Timer.__init__": "f61453221b6c",
    "textual.widget:Widget.__init__": "3b39426f6720",
    "textual.widget:Widget._check_anchor": "227c917211b6",
    "textual.widget:Widget._message_loop_exit": "05f52ccc23e7",
    "textual.widget:Widget._set_dirty": "c594af460d13",
    "textual.widget:Widget._size_updated": "2819b3f84f2a",
    "textual.widget:Widget.anchor": "c1f718e7bea0",
    "textual.widget:Widget.release_anchor": "847325bdd41f",
    "textual.widgets._markdown:MarkdownBlock.set_content": "45ed792865e5",
    "textual.worker:Worker._run": "428d64e1718b",
}
"""Methods that are overridden, patched or called, with the first digits of the SHA-256 of their source."""

ATTRIBUTES = {
    "textual.app:App": ("_batch_count", "_driver"),
    "textual.cache:LRUCache": ("_cache", "_full", "_head"),
    "textual._compositor:Compositor": ("_dirty_regions", "_full_map", "_visible_map"),
    "textual._node_list:NodeList": ("_displayed_nodes", "_displayed_visible_nodes"),
    "textual._styles_cache:StylesCache": ("_cache",),
    "textual.dom:DOMNode": ("_bindings", "_component_styles"),
    "textual.driver:Driver": ("_app", "_auto_restart"),
    "textual.drivers.linux_driver:LinuxDriver": ("_file", "_in_band_window_resize", "_writer_thread"),
    "textual.layouts.stream:StreamLayout": ("_cached_placements",),
    "textual.screen:Screen": ("_compositor", "_dirty_widgets", "_layout_widgets", "_layout_required"),
    "textual.widget:Widget": ("_anchored", "_anchor_released", "_render_cache", "_styles_cache"),
    "textual.widgets._markdown:MarkdownBlock": ("_blocks", "_content", "_token"),
}
"""Attributes that are read or assigned, by the class that assigns them."""


def digest(target: str) -> str:
    """Digest the source of a method, read from Textual's file: the method itself may be patched."""
    owner, _, name = target.rpartition(".")
    source = textwrap.dedent(inspect.getsource(pkgutil.resolve_name(owner)))
    method = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, Function) and n.name == name)
    return hashlib.sha256((ast.get_source_segment(source, method) or "").encode()).hexdigest()[:12]


def stored(owner: str) -> set[str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(pkgutil.resolve_name(owner))))
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}


def private_names_used() -> set[str]:
    """The private names of Textual that the seam reads, overrides, patches or names in a string."""
    names = set()
    for module in modules().values():
        if f"{module.name}.".startswith(f"{SEAM}."):
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Attribute):
                    names.add(node.attr)
                elif isinstance(node, Function):
                    names.add(node.name)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
                    names.add(node.value.rpartition(".")[2])
    return names & private_names() - {"_modes"}  # a function of ours with a name that Textual uses too


def test_every_private_name_is_covered():
    watched = {target.rpartition(".")[2] for target in METHODS} | {n for names in ATTRIBUTES.values() for n in names}
    assert private_names_used() <= watched
    assert {name for names in ATTRIBUTES.values() for name in names} <= private_names_used()


@pytest.mark.parametrize("target", METHODS)
def test_private_method_of_textual_is_unchanged(target: str):
    assert digest(target) == METHODS[target], f"Textual {textual.__version__} has changed {target}"


@pytest.mark.parametrize("owner", ATTRIBUTES)
def test_private_attribute_of_textual_is_still_assigned(owner: str):
    assert set(ATTRIBUTES[owner]) <= stored(owner)


def test_each_entry_states_reason_upstream_and_fallback():
    entries = [
        node
        for module in modules().values()
        if f"{module.name}.".startswith(f"{SEAM}.")
        for node in module.tree.body
        if isinstance(node, ast.ClassDef | Function)
        if not node.name.startswith("_") and uses_private_names(node, helpers(module.tree))
    ]
    assert len(entries) >= 12
    for node in entries:
        words = ast.get_docstring(node) or ""
        assert all(f"{part}: " in words for part in ("Reason", "Upstream", "Without it")), node.name


def helpers(tree: ast.Module) -> dict[str, ast.AST]:
    """Return the private functions of a module by name; an entry that calls one also uses the names used in it."""
    return {node.name: node for node in tree.body if isinstance(node, Function) and node.name.startswith("_")}


def uses_private_names(node: ast.AST, helpers: dict[str, ast.AST]) -> bool:
    names = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    names |= {n.name for n in ast.walk(node) if isinstance(n, Function)}
    called = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & helpers.keys()
    rest = {name: helper for name, helper in helpers.items() if name not in called}
    return bool(names & private_names()) or any(uses_private_names(helpers[name], rest) for name in called)


@pytest.mark.parametrize(
    "target", ["textual.gone:Widget._size", "textual.widget:Gone._size", "textual.widget:Widget._gone"]
)
def test_patch_of_a_missing_target_is_skipped(target: str):
    assert not memory.patch(target, pytest.fail)


class Bare:
    """An object without any of the names."""

    is_headless = True

    @property
    def active_bindings(self) -> dict[str, Any]:
        return {}

    def walk_children(self, kind: type) -> list[Any]:
        return [self]


def test_functions_fall_back_if_a_private_name_is_missing():
    bare: Any = Bare()
    assert screen.own_bindings(bare) == {}
    assert screen.binding_owner(bare, "x") is None
    assert bare in screen.widgets_in_sight(bare)
    assert not screen.is_batching(bare)
    assert not layout.is_anchor_released(bare)
    memory.drop_painted_lines(bare)
    driver.write_to_terminal(bare, "x")


class Marked(Static):
    """A widget with a binding."""

    BINDINGS = (Binding("x", "bell", "Bell"),)


async def test_bindings_are_read_in_order():
    app = App[None]()
    async with app.run_test() as pilot:
        widget = Marked("x")
        widget.can_focus = True
        await app.mount(widget)
        widget.focus()
        await pilot.pause()
        assert [each.action for each in screen.own_bindings(widget)["x"]] == ["bell"]
        assert screen.binding_owner(app.screen, "x") is widget
        assert screen.binding_owner(app.screen, "f12") is None


async def test_textual_lays_out_and_paints_a_screen_without_the_private_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(screen, "FrontToBackCompositor", None)
    app = App[None]()
    async with app.run_test(size=(20, 5)) as pilot:
        bare = screen.LowLatencyScreen()
        bare._has_internals = False
        await app.push_screen(bare)
        await bare.mount(Vertical(Static("one"), Static("two")))
        await pilot.pause()
        assert [line.text.strip() for line in screen.rendered_lines(app)][:2] == ["one", "two"]
        in_sight = screen.widgets_in_sight(app.screen)
        assert all(each in in_sight for each in bare.query(Static))


async def test_screen_can_be_written_to_the_terminal_again():
    app = App[None]()
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        frames: list[Any] = []
        app._display = lambda shown, frame: frames.append(frame)  # type: ignore[method-assign]
        screen.repaint(app.screen)
        assert frames
        assert frames[0] is not None
