"""What methods of texts, paths, lists and files give back, whoever has them; for `known`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.risk.paths import words
from workbench.risk.python.values import (
    CONTENT,
    NOTHING_KNOWN,
    PLAIN,
    UNKNOWN,
    Fields,
    Items,
    Values,
    elements,
    joined,
    limited,
    parent,
    path,
    texts,
)

if TYPE_CHECKING:
    from workbench.risk.python.reading import Reading

_READERS = words("read readline readlines read_text read_bytes communicate getvalue json read_csv")
_SAME_TEXT = words(
    "resolve absolute as_posix strip rstrip lstrip encode decode copy casefold expanduser __str__ __fspath__ "
    "removeprefix removesuffix"
)


def home_of(reading: Reading, text: str) -> str:
    """A path with the home folder in the place of `~`."""
    return f"{reading.home}{text[1:]}" if text == "~" or text.startswith("~/") else text


def of_method(reading: Reading, func: ast.Attribute, call: ast.Call) -> Values:
    """What a method of something gives back: of a text, a path, a dict, a file."""
    verb = func.attr
    made = _METHODS.get(verb)
    if made is not None:
        return made(reading, func.value, call)
    if verb in _SAME_TEXT:
        return tuple(home_of(reading, text) for text in texts(reading.values(func.value)))
    return (CONTENT,) if verb in _READERS else NOTHING_KNOWN


def _joined(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    parts = reading.values(call.args[0]) if call.args else NOTHING_KNOWN
    between = texts(reading.values(of))[0]
    return joined(parts[0].items, between) if isinstance(parts[0], Items) and len(parts) == 1 else NOTHING_KNOWN


def _formatted(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    """A text with `{}` filled in, as far as each is given one text."""
    given = [reading.text(each) for each in call.args]
    named = {each.arg: reading.text(each.value) for each in call.keywords if each.arg}
    rest = iter(given)

    def put(found: re.Match[str]) -> str:
        name = re.split(r"[.!:\[]", found[1])[0]
        if name.isdigit():
            return given[int(name)] if int(name) < len(given) else UNKNOWN
        return named.get(name, UNKNOWN) if name else next(rest, UNKNOWN)

    return tuple(re.sub(r"\{([^{}]*)\}", put, text) for text in texts(reading.values(of)))


def _replaced(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    if len(call.args) < 2:  # a file that is put in the place of another
        return reading.values(call.args[0]) if call.args else NOTHING_KNOWN
    old, new = reading.text(call.args[0]), reading.text(call.args[1])
    known = UNKNOWN not in old + new and old != ""
    return tuple(text.replace(old, new) if known else UNKNOWN for text in texts(reading.values(of)))


def _split_text(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    text, sign = reading.text(of), reading.text(call.args[0]) if call.args else ""
    if sign == UNKNOWN or text in {UNKNOWN, CONTENT}:
        return (Items(((CONTENT if text == CONTENT else UNKNOWN,),)),)
    return (Items(tuple((word,) for word in (text.split(sign) if sign else text.split()))),)


def _fetched(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    key = reading.text(call.args[0]) if call.args else UNKNOWN
    more = reading.values(call.args[1]) if len(call.args) > 1 else ()
    found = [each for value in reading.values(of) if isinstance(value, Fields) for each in value.items.get(key, ())]
    return limited([*found, *more])


def _pairs(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    found = reading.values(of)
    if not isinstance(found[0], Fields):
        return (Items(((Items((NOTHING_KNOWN, NOTHING_KNOWN)),),)),)
    return (Items(tuple((Items(((key,), value)),) for key, value in found[0].items.items())),)


def _held(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    found = reading.values(of)
    return (Items(tuple(found[0].items.values())),) if isinstance(found[0], Fields) else NOTHING_KNOWN


def _found_below(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    name = reading.text(call.args[0]) if call.args else PLAIN
    names = (re.sub(r"\*+", PLAIN, name),) if name != UNKNOWN else (PLAIN,)
    return (Items((path([reading.values(of), names]),)),)


def _beside(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    names = reading.values(call.args[0]) if call.args else NOTHING_KNOWN
    return path([tuple(map(parent, texts(reading.values(of)))), names])


def _with_ending(reading: Reading, of: ast.expr, call: ast.Call) -> Values:
    ending = reading.text(call.args[0]) if call.args else UNKNOWN
    whole = texts(reading.values(of))
    return tuple(f"{re.sub(r'[.][^./]*$', '', text)}{PLAIN if ending == UNKNOWN else ending}" for text in whole)


_METHODS: dict[str, Callable[[Reading, ast.expr, ast.Call], Values]] = {
    "join": _joined,
    "format": _formatted,
    "replace": _replaced,
    "split": _split_text,
    "splitlines": lambda reading, of, call: (Items((elements(reading.values(of)),)),),
    "get": _fetched,
    "pop": _fetched,
    "items": _pairs,
    "values": _held,
    "keys": lambda reading, of, call: reading.values(of),
    "joinpath": lambda reading, of, call: path([reading.values(each) for each in (of, *call.args)]),
    "glob": _found_below,
    "rglob": _found_below,
    "iterdir": _found_below,
    "with_name": _beside,
    "with_suffix": _with_ending,
    "with_stem": _beside,
    "strftime": lambda reading, of, call: (PLAIN,),
    "lower": lambda reading, of, call: tuple(text.lower() for text in texts(reading.values(of))),
    "upper": lambda reading, of, call: tuple(text.upper() for text in texts(reading.values(of))),
}
