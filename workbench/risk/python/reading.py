"""Resolve names and expressions of one piece of Python."""

from __future__ import annotations

import ast

from workbench.risk.python import model as known
from workbench.risk.python import values
from workbench.risk.python.source import Bindings, Given, Nodes
from workbench.risk.python.values import NOTHING_KNOWN, UNKNOWN, Values

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
"""Modules by which others reach far: `shutil.os.system` is `os.system`."""


class Reading:
    """The names and values of one piece of code."""

    def __init__(self, nodes: Nodes, home: str) -> None:
        self.bindings = Bindings(nodes)
        self.home: str = home
        self._names: dict[int, tuple[str, ...]] = {}
        self._values: dict[int, Values] = {}
        self._called: dict[str, list[str]] = {}
        self._held: dict[str, Values] = {}
        self._kept: list[ast.expr] = []
        """Expressions that were looked at: as long as they are kept no other one has their identity."""
        self._depth = 0

    def values(self, node: ast.expr) -> Values:
        """All that an expression may come to; UNKNOWN in it for what the code alone does not say."""
        result = self._values.get(id(node))
        if result is not None:
            return result
        if self._depth > _DEEPEST:
            return NOTHING_KNOWN
        self._kept.append(node)
        self._values[id(node)] = NOTHING_KNOWN  # what goes round in a circle
        self._depth += 1
        try:
            result = self._values[id(node)] = values.evaluated(self, node)
        finally:
            self._depth -= 1
        return result

    def text(self, node: ast.expr | None) -> str:
        """The one text that an expression comes to, or UNKNOWN."""
        result = values.texts(self.values(node)) if node is not None else [UNKNOWN]
        return result[0] if len(result) == 1 else UNKNOWN

    def of_name(self, name: str) -> Values:
        """All that a name is given."""
        result = self._held.get(name)
        if result is None:
            self._held[name] = NOTHING_KNOWN
            source = self.bindings.given.get(name, ())
            result = self._held[name] = values.limited(value for each in source for value in self._given(each))
        return result

    def _given(self, source: Given) -> Values:
        if source.value is None:
            return NOTHING_KNOWN
        result = self.values(source.value)
        if source.is_element:
            result = values.elements(result)
        for at in source.at:
            result = values.item(result, at)
        return result

    def names(self, node: ast.expr) -> tuple[str, ...]:
        """What a function or module is really called, by imports and other names for it: `os.path.join`.

        What a call makes has its name with brackets behind: `requests.Session().post`. Empty where it is not known.
        """
        result = self._names.get(id(node))
        if result is not None:
            return result
        if self._depth > _DEEPEST:
            return ()
        self._kept.append(node)
        self._names[id(node)] = ()
        self._depth += 1
        try:
            result = tuple(dict.fromkeys(map(plain, self._named(node))))[:_MOST_NAMES]
        finally:
            self._depth -= 1
        self._names[id(node)] = result
        return result

    def _named(self, node: ast.expr) -> list[str]:
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute):
            mine = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
            held = [name for source in self.bindings.given.get(mine, ()) for name in self._names_given(source)]
            return held + [f"{base}.{node.attr}" for base in self.names(node.value)]
        if isinstance(node, ast.Call):
            return self._made(node)
        if isinstance(node, ast.Subscript):
            return known.looked_up(self, node)
        return [name for each in _inside(node) for name in self.names(each)]

    def _name(self, name: str) -> list[str]:
        result = self._called.get(name)
        if result is None:
            self._called[name] = []
            result = list(self.bindings.imported.get(name, ()))
            for source in self.bindings.given.get(name, ()):
                result += self._names_given(source)
            if not result and name not in self.bindings.given and name not in self.bindings.defined:
                result = [name, *(f"{module}{name}" for module in self.bindings.stars)]
            self._called[name] = result
        return result

    def _names_given(self, source: Given) -> tuple[str, ...]:
        return self.names(source.value) if source.value is not None and not source.is_element and not source.at else ()

    def _made(self, call: ast.Call) -> list[str]:
        """What the result of a call is called: what `getattr` and imports by name fetch is what they name."""
        result: list[str] = []
        for name in self.names(call.func):
            result += known.fetched(self, name, call) or [f"{name}()"]
        return result

    def opened(self, node: ast.expr) -> Values:
        """The paths of the file that an expression is, where the code opens it; empty where it is none."""
        if isinstance(node, ast.Name):
            source = [each.value for each in self.bindings.given.get(node.id, ()) if each.value is not None]
            result = [self.opened(each) for each in source if not isinstance(each, ast.Name)]
            return values.limited(text for each in result for text in each) if result and all(result) else ()
        if not isinstance(node, ast.Call):
            return ()
        if node.args and {"open", "gzip.open", "bz2.open"} & set(self.names(node.func)):
            return self.values(node.args[0])
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "open"
        return self.values(node.func.value) if is_method and isinstance(node.func, ast.Attribute) else ()

    def called(self, call: ast.Call) -> Values:
        """What a call comes to."""
        return known.result(self, call)

    def known_item(self, node: ast.Subscript, key: str) -> Values:
        """Return the value under a key of an object from outside the code, such as `os.environ`."""
        return known.variable(self, key) if "os.environ" in self.names(node.value) else NOTHING_KNOWN

    def known_attribute(self, node: ast.Attribute) -> Values:
        """What an attribute of a module is known to be."""
        return next((known.ATTRIBUTES[name] for name in self.names(node) if name in known.ATTRIBUTES), ())


def _inside(node: ast.expr) -> list[ast.expr]:
    """What an expression may come to, where that is one of its parts."""
    if isinstance(node, ast.NamedExpr | ast.Await):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return node.values if isinstance(node, ast.BoolOp) else []


def plain(name: str) -> str:
    """A dotted name without detours: `shutil.os.system` and `posix.system` are `os.system`."""
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
