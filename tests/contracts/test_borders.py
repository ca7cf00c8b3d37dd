"""Borders between modules: sibling directories, names of tools, private parts of Textual, late imports."""

import ast
import inspect
import textwrap
from functools import cache
from importlib import import_module
from pathlib import Path

import textual

from tests.contracts.late_imports import HEAVY, OF_OURS
from tests.contracts.source import Function, Module, imports, modules
from workbench.tools.manifest import BUILTIN_TOOLS

SEAM = "workbench.tui.textual_seam"


def test_sibling_packages_import_in_one_direction_only():
    arrows = {
        pair
        for module in modules().values()
        for _, origin, _ in imports(module)
        for pair in _siblings(module.package, modules()[origin].package if origin in modules() else origin)
    }
    assert [f"{a} <-> {b}" for a, b in sorted(arrows) if a < b and (b, a) in arrows] == []


def _siblings(one: str, other: str) -> list[tuple[str, str]]:
    """Return the two sibling directories that an import crosses, if it crosses two."""
    mine, theirs = one.split("."), other.split(".")
    depth = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    return [] if depth is None else [(".".join(mine[: depth + 1]), ".".join(theirs[: depth + 1]))]


OTHER_THINGS = {
    "workbench.acp.tool_calls": ({"think"}, "a kind of tool call in the Agent Client Protocol"),
    "workbench.risk.python.model": ({"glob"}, "the module of Python's standard library"),
    "workbench.rules.indirect_paths": ({"grep"}, "the program, and the verb of git"),
}
"""Strings that equal a tool's name but mean something else: their meaning by module and string."""


def test_only_the_tools_package_names_tools():
    names = set(BUILTIN_TOOLS)
    literals = {
        (module.name, node.value)
        for module in modules().values()
        if not module.name.startswith("workbench.tools.")
        for node in module.nodes
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert literals == {(module, name) for module, (others, _) in OTHER_THINGS.items() for name in others}


@cache
def private_names() -> frozenset[str]:
    """Return the private names that Textual defines anywhere."""
    names = set()
    for path in Path(inspect.getfile(textual)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.attr)
    return frozenset(name for name in names if name.startswith("_") and not name.startswith("__"))


def own_names(module: Module) -> set[str]:
    """Return the private names that the module itself defines, or uses from the standard library."""
    stored = (n.attr for n in module.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    called = (n.attr for n in module.nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "os")
    return {*stored, *called, *(n.name for n in module.nodes if isinstance(n, Function))}


def in_seam(module: str) -> bool:
    return f"{module}.".startswith(f"{SEAM}.")


def private_names_of(cls: type) -> set[str]:
    """Return the private names that a class itself defines, or assigns to its instances."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    stored = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    defined = {node.name for node in ast.iter_child_nodes(tree.body[0]) if isinstance(node, Function)}
    return {name for name in stored | defined if name.startswith("_") and not name.startswith("__")}


def test_no_class_overrides_a_private_name_of_textual():
    private_names_of_base = cache(private_names_of)
    both = {}
    for name in modules():
        if not name.startswith("workbench.tui") or in_seam(name):
            continue
        for cls in vars(import_module(name)).values():
            if inspect.isclass(cls) and cls.__module__ == name:
                bases = [base for base in cls.__mro__ if base.__module__.startswith("textual.")]
                names = set().union(*map(private_names_of_base, bases)) & private_names_of(cls) if bases else ()
                both |= {f"{name}:{cls.__name__}": sorted(names)} if names else {}
    assert both == {}


def test_private_names_of_textual_are_used_only_in_the_seam():
    used = {}
    for module in modules().values():
        if not module.name.startswith("workbench.tui") or in_seam(module.name):
            continue
        foreign = private_names() - own_names(module)
        read = {n.attr for n in module.nodes if isinstance(n, ast.Attribute) and n.attr in foreign}
        private_modules = {
            node.module
            for node in module.nodes
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual") and "._" in node.module
        }
        if read | private_modules:
            used[module.name] = ", ".join(sorted(read | private_modules))
    assert used == {}


def test_imports_are_at_the_top_or_give_a_reason():
    late = {
        (module.name, name)
        for module in modules().values()
        for function in module.nodes
        if isinstance(function, Function)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _imported(node)
    }
    of_ours = {module for module, name in late if name.startswith("workbench")}
    of_others = {name.partition(".")[0] for _, name in late if not name.startswith("workbench")}
    assert of_ours ^ OF_OURS.keys() == set()
    assert of_others ^ HEAVY.keys() == set()


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
