"""Resolve names and expressions in one piece of Python."""

from __future__ import annotations

import ast
from functools import lru_cache

from workbench.risk.python import model as known
from workbench.risk.python import values
from workbench.risk.python.source import Binding, Bindings, Nodes
from workbench.risk.python.values import UNKNOWN, UNRESOLVED, Values

_DEEPEST = 40
_MOST_NAMES = 6
_POWERFUL = frozenset(
    {
        "os",
        "sys",
        "subprocess",
        "shutil",
        "builtins",
        "socket",
        "importlib",
        "ctypes",
        "posix",
        "nt",
        "pty",
        "posixpath",
    }
)
"""Powerful modules that can also be reached through other modules: `shutil.os.system` is `os.system`."""


class Reading:
    """Resolves the names and values in one piece of code."""

    def __init__(self, nodes: Nodes, home: str) -> None:
        self.bindings = Bindings(nodes)
        self.home: str = home
        self._names: dict[int, tuple[str, ...]] = {}
        self._values: dict[int, Values] = {}
        self._called: dict[str, tuple[str, ...]] = {}
        self._held: dict[str, Values] = {}
        self._evaluated: list[ast.expr] = []
        """The expressions evaluated so far, kept alive so that no other expression gets the same id."""
        self._depth = 0

    def values(self, node: ast.expr) -> Values:
        """Return the possible values of an expression, with UNKNOWN for content that the code does not determine."""
        result = self._values.get(id(node))
        if result is not None:
            return result
        if self._depth > _DEEPEST:
            return UNRESOLVED
        self._evaluated.append(node)
        self._values[id(node)] = UNRESOLVED  # the value within a cycle
        self._depth += 1
        try:
            result = self._values[id(node)] = values.evaluated(self, node)
        finally:
            self._depth -= 1
        return result

    def text(self, node: ast.expr | None) -> str:
        """Return the string value of an expression that has exactly one possible value, otherwise UNKNOWN."""
        result = values.strings(self.values(node)) if node is not None else [UNKNOWN]
        return result[0] if len(result) == 1 else UNKNOWN

    def of_name(self, name: str) -> Values:
        """Return all values to which a name may be bound."""
        result = self._held.get(name)
        if result is None:
            self._held[name] = UNRESOLVED
            source = self.bindings.bound.get(name, ())
            result = self._held[name] = values.limited(value for each in source for value in self._bound(each))
        return result

    def _bound(self, source: Binding) -> Values:
        if source.value is None:
            return UNRESOLVED
        result = self.values(source.value)
        if source.is_element:
            result = values.elements(result)
        for at in source.at:
            result = values.item(result, at)
        return result

    def names(self, node: ast.expr) -> tuple[str, ...]:
        """Return the full names of a function or module, such as `os.path.join`, with imports and aliases resolved.

        The result of a call is named after the call: `requests.Session().post`. Empty if no name is known.
        """
        variable = node.id if isinstance(node, ast.Name) else ""
        result = self._called.get(variable) if variable else self._names.get(id(node))
        if result is not None:
            return result
        if self._depth > _DEEPEST:
            return ()
        if variable:
            return self._name(variable)
        self._evaluated.append(node)
        self._names[id(node)] = ()
        self._depth += 1
        try:
            result = _plain_names(self._named(node))
        finally:
            self._depth -= 1
        self._names[id(node)] = result
        return result

    def _named(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Attribute):
            mine = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
            held = [name for source in self.bindings.bound.get(mine, ()) for name in self._bound_names(source)]
            return held + [f"{base}.{node.attr}" for base in self.names(node.value)]
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Subscript):
            return known.looked_up(self, node)
        return [name for each in _inside(node) for name in self.names(each)]

    def _name(self, name: str) -> tuple[str, ...]:
        self._called[name] = ()
        results = list(self.bindings.imported.get(name, ()))
        self._depth += 1
        try:
            for source in self.bindings.bound.get(name, ()):
                results += self._bound_names(source)
        finally:
            self._depth -= 1
        if not results and name not in self.bindings.bound and name not in self.bindings.defined:
            results = [name, *(f"{module}{name}" for module in self.bindings.stars)]
        result = self._called[name] = _plain_names(results)
        return result

    def _bound_names(self, source: Binding) -> tuple[str, ...]:
        return self.names(source.value) if source.value is not None and not source.is_element and not source.at else ()

    def _of_call(self, call: ast.Call) -> list[str]:
        """Return the names of a call's result; for `getattr` and imports by name, the names of the returned object."""
        result: list[str] = []
        for name in self.names(call.func):
            result += known.fetched(self, name, call) or [f"{name}()"]
        return result

    def opened(self, node: ast.expr) -> Values:
        """Return the possible paths of a file that the code opens; empty if the expression is not an opened file."""
        if isinstance(node, ast.Name):
            source = [each.value for each in self.bindings.bound.get(node.id, ()) if each.value is not None]
            result = [self.opened(each) for each in source if not isinstance(each, ast.Name)]
            return values.limited(text for each in result for text in each) if result and all(result) else ()
        if not isinstance(node, ast.Call):
            return ()
        if node.args and {"open", "gzip.open", "bz2.open"} & set(self.names(node.func)):
            return self.values(node.args[0])
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "open"
        return self.values(node.func.value) if is_method and isinstance(node.func, ast.Attribute) else ()

    def called(self, call: ast.Call) -> Values:
        """Return the possible results of a call."""
        return known.result(self, call)

    def environ_item(self, node: ast.Subscript, key: str) -> Values:
        """Return the possible values of a key of `os.environ`, or UNRESOLVED for other objects."""
        return known.variable(self, key) if "os.environ" in self.names(node.value) else UNRESOLVED

    def module_attribute(self, node: ast.Attribute) -> Values:
        """Return the known values of a module's attribute; empty if unknown."""
        return next((known.ATTRIBUTES[name] for name in self.names(node) if name in known.ATTRIBUTES), ())


def _inside(node: ast.expr) -> list[ast.expr]:
    """Return the parts of an expression that may become its value, as in a conditional expression."""
    if isinstance(node, ast.NamedExpr | ast.Await):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return node.values if isinstance(node, ast.BoolOp) else []


def _plain_names(names: list[str]) -> tuple[str, ...]:
    """Return the distinct direct forms of the first names."""
    return (plain(names[0]),) if len(names) == 1 else tuple(dict.fromkeys(map(plain, names)))[:_MOST_NAMES]


@lru_cache(4_096)
def plain(name: str) -> str:
    """Return the direct form of a dotted name: `shutil.os.system` and `posix.system` become `os.system`."""
    parts = name.split(".")
    for at in range(len(parts) - 1, 0, -1):
        if parts[at].lstrip("_") in _POWERFUL and "(" not in name:
            parts = [parts[at].lstrip("_"), *parts[at + 1 :]]
            break
    if parts[0] in {"posix", "nt"}:
        parts[0] = "os"
    if parts[0] in {"builtins", "__builtins__"} and len(parts) > 1:
        parts = parts[1:]
    return ".".join("os.path" if part == "posixpath" else part for part in parts)
