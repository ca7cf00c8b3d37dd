"""Python code parsed within bounds, and its nodes by their kind; used by the analysis."""

from __future__ import annotations

import ast
import threading
import warnings
from collections import defaultdict
from typing import Any, TypeVar

LONGEST = 20_000
"""Characters of code that are looked at at all."""
_QUIETLY = threading.Lock()
_Node = TypeVar("_Node", bound=ast.AST)
_Other = TypeVar("_Other", bound=ast.AST)


class TooMuchCode(Exception):
    """Longer or deeper than what is looked at."""


def parsed(code: str) -> ast.Module:
    """The syntax tree; SyntaxError where there is none, TooMuchCode where nobody should look for one."""
    if len(code) > LONGEST:
        raise TooMuchCode(f"longer than {LONGEST:,} characters, so it was not analysed")
    try:
        with _QUIETLY, warnings.catch_warnings():  # a stray backslash in a text is the code's own affair
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (RecursionError, MemoryError):
        raise TooMuchCode("too deeply nested to be analysed") from None
    except ValueError as error:  # such as a NUL
        raise SyntaxError(str(error)) from None


class Nodes:
    """All nodes of a tree by their kind, but for the signs between them; those of a kind stand behind their parents."""

    def __init__(self, tree: ast.AST) -> None:
        self._of: dict[type[ast.AST], list[Any]] = defaultdict(list)
        todo = [tree]
        for node in todo:
            self._of[node.__class__].append(node)
            for value in node.__dict__.values():
                kind = value.__class__
                if kind is list:
                    todo += [each for each in value if each.__class__ not in _NO_NODES]
                elif kind not in _NO_NODES:
                    todo.append(value)

    def of(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of this kind."""
        return self._of[kind]

    def either(self, kind: type[_Node], other: type[_Other]) -> list[_Node | _Other]:
        """The nodes of both kinds, those of the first before those of the other."""
        return [*self._of[kind], *self._of[other]]


def _signs() -> set[type]:
    """Classes of what stands in a node and is none, or has nothing in it."""
    bases = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    plain = {str, bytes, int, float, complex, bool, type(None), type(Ellipsis)}
    return plain | {kind for base in bases for kind in base.__subclasses__()}


_NO_NODES = _signs()


class Lines:
    """The code by its lines, to quote a node of it."""

    def __init__(self, code: str) -> None:
        self._lines = code.split("\n")

    def of(self, node: ast.expr | ast.stmt) -> str:
        """The text of a node; of one over several lines the first, marked."""
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        if node.end_lineno != node.lineno:
            return f"{line.encode()[node.col_offset :].decode(errors='replace').strip()} …"
        return line.encode()[node.col_offset : node.end_col_offset].decode(errors="replace")
