"""Evaluate Python expressions, as far as the code itself determines their values: strings, paths, lists."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from workbench.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from workbench.risk.python.resolver import Reading

UNKNOWN = "\0"
"""The placeholder in a string for content that is known only when the code runs."""
CONTENT = "\1"
"""The placeholder for content that was read from a file or printed by a program."""
PLAIN = "\2"
"""The placeholder for a number or a listed file name, which cannot lead out of a directory."""
_MOST = 8
_LONGEST = 12_000


class Items(NamedTuple):
    """A list or tuple, with the possible values of each item."""

    items: tuple[Values, ...]


class Fields(NamedTuple):
    """A dict with literal keys, and the possible values of each key."""

    items: Mapping[str, Values]


Value: TypeAlias = str | Items | Fields
Values: TypeAlias = tuple[Value, ...]
UNRESOLVED: Values = (UNKNOWN,)


def strings(values: Values) -> list[str]:
    """Return the distinct values as strings, with UNKNOWN for a value that is not a string."""
    return list(dict.fromkeys(value if isinstance(value, str) else UNKNOWN for value in values))


def elements(values: Values) -> Values:
    """Return the possible elements when any of the values is iterated over."""
    result: list[Value] = []
    for value in values:
        if isinstance(value, Items):
            result += [each for item in value.items for each in item]
        elif isinstance(value, Fields):
            result += value.items
        else:
            result.append(CONTENT if CONTENT in value else PLAIN if value == PLAIN else UNKNOWN)
    return limited(result)


def item(values: Values, at: int) -> Values:
    """Return the possible values of the item at index `at`."""
    result: list[Value] = []
    for value in values:
        if isinstance(value, Items) and -len(value.items) <= at < len(value.items):
            result += value.items[at]
        else:
            result.append(CONTENT if value == CONTENT else UNKNOWN)
    return limited(result)


def limited(values: Iterable[Value]) -> Values:
    """Return at most _MOST distinct values, with UNKNOWN for the rest; UNRESOLVED if there are none."""
    selected: list[Value] = []
    for value in values:
        if value not in selected:
            selected.append(value if not isinstance(value, str) or len(value) < _LONGEST else UNKNOWN)
        if len(selected) > _MOST:
            return (*selected[:_MOST], UNKNOWN)
    return tuple(selected) or UNRESOLVED


def joined(parts: Iterable[Values], between: str = "") -> Values:
    """Return all strings made by joining one value of each part; UNRESOLVED if there are too many."""
    every = [strings(part)[:_MOST] for part in parts]
    size = 1
    for part in every:
        size *= len(part)
    return limited(between.join(each) for each in product(*every)) if size <= 64 else UNRESOLVED


def path(parts: Iterable[Values]) -> Values:
    """Return all paths made from the parts, later parts below earlier ones; UNRESOLVED if there are too many parts."""
    every = [strings(part)[:4] for part in parts]
    return limited(_under(each) for each in product(*every[:6])) if len(every) <= 6 else UNRESOLVED


def _under(parts: Iterable[str]) -> str:
    created = ""
    for part in parts:
        created = part if part.startswith(("/", UNKNOWN, CONTENT)) or not created else f"{created.rstrip('/')}/{part}"
    return created


def evaluated(reading: Reading, node: ast.expr) -> Values:
    """Return the possible values of an expression."""
    evaluate = _KINDS.get(node.__class__)
    return UNRESOLVED if evaluate is None else evaluate(reading, node)


def _constant(reading: Reading, node: ast.Constant) -> Values:
    if isinstance(node.value, str):
        return (node.value if len(node.value) < _LONGEST else UNKNOWN,)
    if isinstance(node.value, bytes):
        return (node.value.decode(errors="replace"),)
    return (str(node.value),) if isinstance(node.value, int) and abs(node.value) < 1 << 64 else (PLAIN,)


def _f_string(reading: Reading, node: ast.JoinedStr) -> Values:
    return joined(reading.values(part) for part in node.values)


def _inserted(reading: Reading, node: ast.FormattedValue) -> Values:
    return reading.values(node.value)


def _operation(reading: Reading, node: ast.BinOp) -> Values:
    remaining, right = reading.values(node.left), reading.values(node.right)
    if isinstance(node.op, ast.Add):
        lists = [value for value in (*remaining, *right) if isinstance(value, Items)]
        if lists:
            return (Items(tuple(each for one in lists for each in one.items)),)
        return joined([remaining, right])
    if isinstance(node.op, ast.Div):
        return path([remaining, right])
    if isinstance(node.op, ast.Mod):
        return tuple(filled(text, right) for text in strings(remaining))
    return (PLAIN,) if {*remaining, *right} <= {PLAIN} else UNRESOLVED


_POSITION = lazy_pattern(r"%(?:\(\w+\))?[-+ #0]*[\d.]*([sdrifgxc])")


def filled(text: str, values: Values) -> str:
    """Return a string with values in place of simple `%` conversions, and UNKNOWN for unknown values."""
    items = values[0].items if values and isinstance(values[0], Items) else (values,)
    rest = list(items)

    def put(match: re.Match[str]) -> str:
        value = strings(rest.pop(0)) if rest else [UNKNOWN]
        return PLAIN if match[1] in "dixfg" else value[0] if len(value) == 1 else UNKNOWN

    return _POSITION.sub(put, text)


def _list(reading: Reading, node: ast.List | ast.Tuple | ast.Set) -> Values:
    result: list[Values] = []
    for each in node.elts[:200]:
        if isinstance(each, ast.Starred):
            inner = reading.values(each.value)
            result += inner[0].items if isinstance(inner[0], Items) else (UNRESOLVED,)
        else:
            result.append(reading.values(each))
    return (Items(tuple(result)),)


def _dict(reading: Reading, node: ast.Dict) -> Values:
    result: dict[str, Values] = {}
    for key, value in zip(node.keys[:200], node.values, strict=False):
        name = strings(reading.values(key)) if key is not None else [UNKNOWN]
        result[name[0]] = reading.values(value)
    return (Fields(result),)


def _subscript(reading: Reading, node: ast.Subscript) -> Values:
    of = reading.values(node.value)
    if isinstance(node.slice, ast.Slice):
        return tuple(_sliced(value, node.slice) for value in of)
    key = strings(reading.values(node.slice))[0]
    result: list[Value] = []
    for value in of:
        if isinstance(value, Fields):
            result += value.items.get(key, ())
        elif isinstance(value, Items):
            result += item((value,), int(key)) if re.fullmatch(r"-?\d{1,4}", key) else elements((value,))
        else:
            result += reading.environ_item(node, key)
    return limited(result)


def _sliced(value: Value, part: ast.Slice) -> Value:
    """Return a slice of a string or list if its bounds are literal, otherwise UNKNOWN."""
    try:
        limits = [None if each is None else ast.literal_eval(each) for each in (part.lower, part.upper, part.step)]
        cut = slice(*limits)
        if isinstance(value, Items):
            return Items(value.items[cut])
        is_literal = isinstance(value, str) and not {UNKNOWN, CONTENT, PLAIN} & set(value)
        return value[cut] if is_literal and isinstance(value, str) else CONTENT if value == CONTENT else UNKNOWN
    except (ValueError, TypeError):
        return UNKNOWN


def _either(reading: Reading, node: ast.IfExp) -> Values:
    return limited([*reading.values(node.body), *reading.values(node.orelse)])


def _first_true(reading: Reading, node: ast.BoolOp) -> Values:
    return limited(value for each in node.values for value in reading.values(each))


def _through(reading: Reading, node: ast.NamedExpr | ast.Await | ast.Starred) -> Values:
    return reading.values(node.value)


def _comprehended(reading: Reading, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Values:
    return (Items((reading.values(node.elt),)),)


def _name(reading: Reading, node: ast.Name) -> Values:
    return reading.of_name(node.id)


def _attribute(reading: Reading, node: ast.Attribute) -> Values:
    if isinstance(node.value, ast.Name) and f"{node.value.id}.{node.attr}" in reading.bindings.bound:
        return reading.of_name(f"{node.value.id}.{node.attr}")
    if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in reading.bindings.bound:
        return reading.of_name(node.attr)
    is_literal = reading.module_attribute(node)
    if is_literal:
        return is_literal
    if node.attr in {"stdout", "stderr", "text", "content", "args"}:
        return (CONTENT,)
    part = _PARTS.get(node.attr)
    return tuple(part(text) for text in strings(reading.values(node.value))) if part else UNRESOLVED


def parent(text: str) -> str:
    """Return the parent directory of a path."""
    directory, slash, _ = text.rpartition("/")
    return directory or slash or (UNKNOWN if text in {UNKNOWN, CONTENT} else ".")


_PARTS: dict[str, Callable[[str], str]] = {
    "parent": parent,
    "name": lambda text: text.rpartition("/")[2],
    "stem": lambda text: text.rpartition("/")[2].rpartition(".")[0] or text.rpartition("/")[2],
    "suffix": lambda text: PLAIN,
    "path": lambda text: text,
}
_KINDS: dict[type, Callable[..., Values]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _f_string,
    ast.FormattedValue: _inserted,
    ast.BinOp: _operation,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.IfExp: _either,
    ast.BoolOp: _first_true,
    ast.NamedExpr: _through,
    ast.Await: _through,
    ast.Starred: _through,
    ast.ListComp: _comprehended,
    ast.SetComp: _comprehended,
    ast.GeneratorExp: _comprehended,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: lambda reading, node: reading.called(node),
}


def split(text: str) -> Values:
    """Return the words of a string, split as a shell does; UNRESOLVED if quotes are unbalanced."""
    try:
        return (Items(tuple((word,) for word in shlex.split(text))),)
    except ValueError:
        return UNRESOLVED
