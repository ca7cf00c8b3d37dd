"""What the names in a piece of Python are given: imports, values, parameters; used by the reading.

It goes by the name alone: whatever a name is given anywhere in the code it may mean everywhere in it.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from workbench.risk.python.source import Nodes

_MOST = 12
"""Values of a name that are looked at."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Given(NamedTuple):
    """One thing that a name is given: an expression, or an element of what it goes over; None is not known."""

    value: ast.expr | None
    is_element: bool = False
    at: tuple[int, ...] = ()
    """Which item of it, and of that, where it is taken apart."""


NOT_KNOWN = Given(None)


class Bindings:
    """The names of a piece of code."""

    def __init__(self, nodes: Nodes) -> None:
        self.imported: dict[str, list[str]] = defaultdict(list)
        self.stars: list[str] = []
        """Modules of which all is imported."""
        self.given: dict[str, list[Given]] = defaultdict(list)
        self.defined: dict[str, ast.arguments] = {}
        self.called: set[int] = set()
        """Expressions that are called where they stand, by their identity."""
        self._loose: set[str] = set()
        """Names that are handed on, so that others may call them."""
        self._reached: set[str] = set()
        """Functions of the code that are called in it."""
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
        for held in nodes.of(ast.ClassDef):  # it is called as its `__init__`
            made = next((each for each in held.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)
            self.defined[held.name] = made.args if made is not None else _fields(held)
        for nameless in nodes.of(ast.Lambda):
            self._unknown(_names(nameless.args))

    def _assign(self, nodes: Nodes) -> None:
        for assigned in nodes.of(ast.Assign):
            for target in assigned.targets:
                self._bind(target, Given(assigned.value))
        for named in nodes.either(ast.AnnAssign, ast.NamedExpr):
            if named.value is not None:
                self._bind(named.target, Given(named.value))
        for changed in nodes.of(ast.AugAssign):
            self._bind(changed.target, NOT_KNOWN)
        self._unknown(each.name for each in nodes.either(ast.MatchAs, ast.MatchStar) if each.name)

    def _enter(self, nodes: Nodes) -> None:
        for loop in nodes.either(ast.For, ast.AsyncFor):
            self._bind(loop.target, Given(loop.iter, is_element=True))
        for each in nodes.of(ast.comprehension):
            self._bind(each.target, Given(each.iter, is_element=True))
        for entered in nodes.of(ast.withitem):
            if entered.optional_vars is not None:
                self._bind(entered.optional_vars, Given(entered.context_expr))

    def _bind(self, target: ast.expr, given: Given) -> None:
        if isinstance(target, ast.Name):
            self._give(target.id, given)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            self._give(f"{target.value.id}.{target.attr}", given)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and given.value is not None:
            self._give(target.value.id, Given(ast.Dict([target.slice], [given.value])))
        elif isinstance(target, ast.Tuple | ast.List):
            for at, part in enumerate(target.elts):
                self._bind(part, given._replace(at=(*given.at, at)) if given.value is not None else given)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, NOT_KNOWN)

    def _give(self, name: str, given: Given) -> None:
        known = self.given[name]
        if len(known) < _MOST:
            known.append(given)
        elif known[-1] is not NOT_KNOWN:
            known.append(NOT_KNOWN)

    def _grow(self, call: ast.Call) -> None:
        """A list that something is put into holds that too."""
        if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name) or not call.args:
            return
        name, verb, value = call.func.value.id, call.func.attr, call.args[-1]
        if verb in {"append", "add", "insert", "appendleft"}:
            self._give(name, Given(ast.List([value])))
        elif verb in {"extend", "update"}:
            self._give(name, Given(value))

    def _hand_over(self, call: ast.Call) -> None:
        """The parameters of a function of the code are given what it is called with."""
        name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        arguments = self.defined.get(name)
        if arguments is None:
            return
        self._reached.add(name)
        names = _names(arguments)
        if any(isinstance(each, ast.Starred) for each in call.args) or any(not each.arg for each in call.keywords):
            self._unknown(names)
        for parameter, value in zip(names, call.args, strict=False):
            self._give(parameter, Given(value))
        for keyword in call.keywords:
            if keyword.arg:
                self._give(keyword.arg, Given(keyword.value))

    def _parameters(self, name: str, arguments: ast.arguments) -> None:
        names = _names(arguments)
        for parameter, value in zip(reversed(names), reversed(arguments.defaults), strict=False):
            self._give(parameter, Given(value))
        for only, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if default is not None:
                self._give(only.arg, Given(default))
        if name in self._loose or name not in self._reached:
            self._unknown([*names, *(each.arg for each in arguments.kwonlyargs)])

    def _unknown(self, names: Iterable[str]) -> None:
        for name in names:
            self.given[name].append(NOT_KNOWN)


def _fields(held: ast.ClassDef) -> ast.arguments:
    """The fields of a class without `__init__`, as what it is called with."""
    fields = [each for each in held.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
    names = [ast.arg(each.target.id) for each in fields if isinstance(each.target, ast.Name)]
    return ast.arguments([], names, None, [], [], None, [])


def _names(arguments: ast.arguments) -> list[str]:
    """The parameters that are given by their place, but the one that is the object itself."""
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names
