"""The package's own source, parsed once for all contracts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Module:
    """One module of the package: dotted name, path below the repository, text and syntax tree."""

    name: str
    path: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the syntax tree; walking it once for all contracts saves most of their time."""
        return tuple(ast.walk(self.tree))

    @property
    def package(self) -> str:
        """The dotted name of its directory."""
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]


@cache
def modules() -> dict[str, Module]:
    """Every module of `workbench` by dotted name, without the project that the demo copies."""
    imports = {}
    for path in sorted((ROOT / "workbench").rglob("*.py")):
        relative = path.relative_to(ROOT)
        if "demo/project" not in relative.as_posix():
            name = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text()
            imports[name] = Module(name, relative.as_posix(), text, ast.parse(text))
    return imports


@cache
def imports(module: Module) -> tuple[tuple[str, str, str], ...]:
    """Return the imports of our modules anywhere in a module; see `_imports`."""
    return tuple(_imports(module))


def _imports(module: Module) -> Iterator[tuple[str, str, str]]:
    """Yield the names imported from our modules: local name, source module, and name there ("" for the module
    itself).
    """
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "workbench":
            for each in node.names:
                whole = f"{node.module}.{each.name}"
                origin = (whole, "") if whole in modules() else (node.module or "", each.name)
                yield each.asname or each.name, *origin
        elif isinstance(node, ast.Import):
            yield from ((each.name, each.name, "") for each in node.names if each.name.split(".")[0] == "workbench")


def lines_of(node: ast.ClassDef | Function) -> int:
    """Return the number of lines from the name to the end."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def methods_of(node: ast.ClassDef) -> list[str]:
    """Return the names of the functions in a class body, each overload once."""
    return sorted({each.name for each in node.body if isinstance(each, Function)})


def classes() -> dict[str, ast.ClassDef]:
    """Return every class at the top level of a module, by `module:name`."""
    return {
        f"{module.name}:{node.name}": node
        for module in modules().values()
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    }


def _base(module: Module, expression: ast.expr, known: dict[str, ast.ClassDef]) -> str:
    """Return the `module:name` of a base class of ours, "" for one of another package."""
    expression = expression.value if isinstance(expression, ast.Subscript) else expression
    head, _, rest = ast.unparse(expression).partition(".")
    if f"{module.name}:{head}" in known:
        return f"{module.name}:{head}"
    for local, origin, name in imports(module):
        if local == head:
            return next((key for key in (f"{origin}:{name or rest}",) if key in known), "")
    return ""


def lineage(key: str, known: dict[str, ast.ClassDef]) -> set[str]:
    """Return a class and all of our classes that it inherits from, by `module:name`."""
    module = modules()[key.partition(":")[0]]
    parents = {base for each in known[key].bases if (base := _base(module, each, known))} - {key}
    return {key}.union(*(lineage(parent, known) for parent in parents))
