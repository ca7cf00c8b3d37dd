"""Parse Python within limits, index its nodes by type, and track the values to which names are bound."""

from __future__ import annotations

import ast
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from workbench.risk.reason import too_long

LONGEST = 20_000
"""The maximum number of characters of code that are analyzed."""
_MOST_LINES = 1_500
_QUIETLY = threading.Lock()
_Node = TypeVar("_Node", bound=ast.AST)
_Other = TypeVar("_Other", bound=ast.AST)


class TooMuchCode(Exception):
    """The code is too long or too deeply nested to be analyzed."""


def parsed(code: str) -> ast.Module:
    """Return the syntax tree. Raises SyntaxError, or TooMuchCode if the code is too long or too deeply nested."""
    if len(code) > LONGEST:
        raise TooMuchCode(too_long(LONGEST))
    if code.count("\n") + code.count(";") > _MOST_LINES:
        raise TooMuchCode(f"has more than {_MOST_LINES:,} lines, so it was not analyzed")
    try:
        with _QUIETLY, warnings.catch_warnings():  # do not show the user warnings about the code
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (RecursionError, MemoryError):
        raise TooMuchCode("too deeply nested to be analyzed") from None
    except ValueError as error:  # such as a NUL
        raise SyntaxError(str(error)) from None


class Nodes:
    """All nodes of a tree by type, except operators and contexts; within a type, parents come before children."""

    def __init__(self, tree: ast.AST) -> None:
        self._of: dict[type[ast.AST], list[Any]] = defaultdict(list)
        todo = [tree]
        for node in todo:
            self._of[node.__class__].append(node)
            for name in _FIELDS[node.__class__]:
                value: Any = getattr(node, name, None)
                kind = value.__class__
                if kind is list:
                    todo += [each for each in value if each.__class__ not in _NO_NODES]
                elif kind not in _NO_NODES:
                    todo.append(value)

    def of(self, kind: type[_Node]) -> list[_Node]:
        """Return the nodes of this type."""
        return self._of[kind]

    def either(self, kind: type[_Node], other: type[_Other]) -> list[_Node | _Other]:
        """Return the nodes of both types, those of `kind` before those of `other`."""
        return [*self._of[kind], *self._of[other]]


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields that may contain nodes, by type of node."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        """Store and return the fields of a type."""
        names = () if kind is ast.Constant else kind._fields
        fields = self[kind] = tuple(name for name in names if name not in _NO_NODE_FIELDS)
        return fields


_FIELDS = _Fields()
_NO_NODE_FIELDS = frozenset({"id", "attr", "arg", "ctx", "op", "ops", "kind", "type_comment"})
"""Fields that contain only names, operators and contexts in every type of node."""


def _characters() -> set[type]:
    """Return the classes of field values that contain no nodes to index."""
    bases = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    plain = {str, bytes, int, float, complex, bool, type(None), type(Ellipsis)}
    return plain | {kind for base in bases for kind in base.__subclasses__()}


_NO_NODES = _characters()


class Lines:
    """The lines of the code, for quoting its nodes."""

    def __init__(self, code: str) -> None:
        self._lines = code.split("\n")

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a node; if it spans several lines, the first one followed by `…`."""
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        if node.end_lineno != node.lineno:
            return f"{line.encode()[node.col_offset :].decode(errors='replace').strip()} …"
        return line.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")


_MOST = 12
"""The maximum number of values that are considered for a name."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Binding(NamedTuple):
    """A value bound to a name: an expression, or an element of an iterated one; the expression is None if unknown."""

    value: ast.expr | None
    is_element: bool = False
    at: tuple[int, ...] = ()
    """The index of the item at each level, if the value is unpacked."""


UNKNOWN_BINDING = Binding(None)


class Bindings:
    """The names bound in a piece of code, and the values to which they are bound."""

    def __init__(self, nodes: Nodes) -> None:
        self.imported: dict[str, list[str]] = defaultdict(list)
        self.stars: list[str] = []
        """Modules from which everything is imported."""
        self.bound: dict[str, list[Binding]] = defaultdict(list)
        self.defined: dict[str, ast.arguments] = {}
        self.called: set[int] = set()
        """The ids of expressions that are called directly."""
        self._loose: set[str] = set()
        """Functions that are passed on, so other code may call them."""
        self._reached: set[str] = set()
        """Functions that are both defined and called in the code."""
        for call in nodes.of(ast.Call):
            self.called.add(id(call.func))
            self._grow(call)
        self._hand_on(nodes)
        self._define(nodes)
        self._assign(nodes)
        self._enter(nodes)
        for call in nodes.of(ast.Call):
            self._hand_over(call)
        for name, arguments in self.defined.items():
            self._parameters(name, arguments)

    def _hand_on(self, nodes: Nodes) -> None:
        for name in nodes.of(ast.Name):
            if id(name) not in self.called and name.ctx.__class__ is ast.Load:
                self._loose.add(name.id)
        for attribute in nodes.of(ast.Attribute):
            if id(attribute) not in self.called:
                self._loose.add(attribute.attr)

    def _import(self, names: Iterable[ast.alias], module: str = "") -> None:
        for each in names:
            if each.name == "*":
                self.stars.append(module)
            elif each.asname or module:
                self.imported[each.asname or each.name].append(module + each.name)
            else:
                first = each.name.partition(".")[0]
                self.imported[first].append(first)

    def _define(self, nodes: Nodes) -> None:
        for statement in nodes.of(ast.Import):
            self._import(statement.names)
        for taken in nodes.of(ast.ImportFrom):
            self._import(taken.names, f"{'.' * taken.level}{taken.module or ''}.")
        for function in nodes.either(ast.FunctionDef, ast.AsyncFunctionDef):
            if function.name != "__init__":
                self.defined[function.name] = function.args
        for held in nodes.of(ast.ClassDef):  # calling a class calls its `__init__`
            created = next(
                (each for each in held.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None
            )
            self.defined[held.name] = created.args if created is not None else _fields(held)
        for nameless in nodes.of(ast.Lambda):
            self._unknown(_names(nameless.args))

    def _assign(self, nodes: Nodes) -> None:
        for assigned in nodes.of(ast.Assign):
            for target in assigned.targets:
                self._bind(target, Binding(assigned.value))
        for named in nodes.either(ast.AnnAssign, ast.NamedExpr):
            if named.value is not None:
                self._bind(named.target, Binding(named.value))
        for changed in nodes.of(ast.AugAssign):
            self._bind(changed.target, UNKNOWN_BINDING)
        self._unknown(each.name for each in nodes.either(ast.MatchAs, ast.MatchStar) if each.name)

    def _enter(self, nodes: Nodes) -> None:
        for loop in nodes.either(ast.For, ast.AsyncFor):
            self._bind(loop.target, Binding(loop.iter, is_element=True))
        for each in nodes.of(ast.comprehension):
            self._bind(each.target, Binding(each.iter, is_element=True))
        for entered in nodes.of(ast.withitem):
            if entered.optional_vars is not None:
                self._bind(entered.optional_vars, Binding(entered.context_expr))

    def _bind(self, target: ast.expr, source: Binding) -> None:
        if isinstance(target, ast.Name):
            self._bind_name(target.id, source)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            self._bind_name(f"{target.value.id}.{target.attr}", source)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and source.value is not None:
            self._bind_name(target.value.id, Binding(ast.Dict([target.slice], [source.value])))
        elif isinstance(target, ast.Tuple | ast.List):
            for at, part in enumerate(target.elts):
                self._bind(part, source._replace(at=(*source.at, at)) if source.value is not None else source)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, UNKNOWN_BINDING)

    def _bind_name(self, name: str, source: Binding) -> None:
        bound = self.bound[name]
        if len(bound) < _MOST:
            bound.append(source)
        elif bound[-1] is not UNKNOWN_BINDING:
            bound.append(UNKNOWN_BINDING)

    def _grow(self, call: ast.Call) -> None:
        """Add to a collection's bindings the values that a method such as `append` adds to it."""
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name) or not call.args:
            return
        name, verb, value = call.func.value.id, call.func.attr, call.args[-1]
        if verb in {"append", "add", "insert", "appendleft"}:
            self._bind_name(name, Binding(ast.List([value])))
        elif verb in {"extend", "update"}:
            self._bind_name(name, Binding(value))

    def _hand_over(self, call: ast.Call) -> None:
        """Bind the parameters of a function defined in the code to the arguments of a call."""
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        arguments = self.defined.get(name)
        if arguments is None:
            return
        self._reached.add(name)
        names = _names(arguments)
        if any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords):
            self._unknown(names)
        for parameter, value in zip(names, call.args, strict=False):
            self._bind_name(parameter, Binding(value))
        for keyword in call.keywords:
            if keyword.arg:
                self._bind_name(keyword.arg, Binding(keyword.value))

    def _parameters(self, name: str, arguments: ast.arguments) -> None:
        names = _names(arguments)
        for parameter, value in zip(reversed(names), reversed(arguments.defaults), strict=False):
            self._bind_name(parameter, Binding(value))
        for only, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                self._bind_name(only.arg, Binding(default))
        if name in self._loose or name not in self._reached:
            self._unknown([*names, *(each.arg for each in arguments.kwonlyargs)])

    def _unknown(self, names: Iterable[str]) -> None:
        for name in names:
            self.bound[name].append(UNKNOWN_BINDING)


def _fields(held: ast.ClassDef) -> ast.arguments:
    """Return the annotated fields of a class without `__init__` as the parameters of its constructor."""
    fields = [each for each in held.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    names = [ast.arg(each.target.id) for each in fields if isinstance(each.target, ast.Name)]
    return ast.arguments([], names, None, [], [], None, [])


def _names(arguments: ast.arguments) -> list[str]:
    """Return the names of the positional parameters, without `self` or `cls`."""
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names
