"""The calls of the browser tool, parsed from text without evaluating it; used by the action and the risk rating."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from workbench.lazy_pattern import lazy_pattern

MOST_CALLS: Final = 20
LONGEST_WAIT: Final = 10_000
_ID = lazy_pattern(r"\[?(?:ref=)?((?:f\d+)?e\d+)\]?")
_BUTTONS = ("left", "right", "middle")
_KEYS = ("Alt", "Control", "Meta", "Shift", "ControlOrMeta")
_NEEDED: Final = object()


class CallError(ValueError):
    """The text is not a list of calls; the message says what is allowed."""


@dataclass(frozen=True)
class BrowserCall:
    """One call with all its arguments by name."""

    name: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        usual = CALLS[self.name]
        arguments = [
            repr(value) if usual[name][1] is _NEEDED else f"{name}={value!r}"
            for name, value in self.arguments.items()
            if value != usual[name][1]
        ]
        return f"{self.name}({', '.join(arguments)})"


def _element(value: Any) -> str:
    match = _ID.fullmatch(str(value).strip())
    if match is None:
        raise CallError(f"{value!r} is not the id of an element; ids look like e12 and are in the tree as [ref=e12]")
    return match[1]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CallError(f"{value!r} must be a text in quotes")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 100_000:
        raise CallError(f"{value!r} must be a number")
    return value


def _wait(value: Any) -> float:
    return min(max(_number(value), 0), LONGEST_WAIT)


def _strings(value: Any) -> list[str]:
    return [_text(each) for each in (value if isinstance(value, list) else [value])]


def _button(value: Any) -> str:
    if value not in _BUTTONS:
        raise CallError(f"{value!r} must be one of {', '.join(_BUTTONS)}")
    return str(value)


def _modifiers(value: Any) -> list[str]:
    if wrong := [each for each in _strings(value) if each not in _KEYS]:
        raise CallError(f"{wrong[0]!r} must be one of {', '.join(_KEYS)}")
    return _strings(value)


def _url(value: Any) -> str:
    url = _text(value).strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise CallError(f"{value!r} is not a URL") from None
    if url == "about:blank":
        return url
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise CallError(f"{value!r} cannot be opened: a URL starts with http:// or https:// and names a host")
    if parts.username is not None or parts.password is not None:
        raise CallError("a URL must not contain a user name or a password")
    return url


_CLICK = {"bid": (_element, _NEEDED), "button": (_button, "left"), "modifiers": (_modifiers, [])}
CALLS: Final[Mapping[str, Mapping[str, tuple[Any, Any]]]] = {
    "goto": {"url": (_url, _NEEDED)},
    "go_back": {},
    "go_forward": {},
    "noop": {"wait_ms": (_wait, 1000)},
    "scroll": {"delta_x": (_number, _NEEDED), "delta_y": (_number, _NEEDED)},
    "fill": {"bid": (_element, _NEEDED), "value": (_text, _NEEDED)},
    "select_option": {"bid": (_element, _NEEDED), "options": (_strings, _NEEDED)},
    "click": _CLICK,
    "dblclick": _CLICK,
    "hover": {"bid": (_element, _NEEDED)},
    "press": {"bid": (_element, _NEEDED), "key_comb": (_text, _NEEDED)},
    "focus": {"bid": (_element, _NEEDED)},
    "clear": {"bid": (_element, _NEEDED)},
    "drag_and_drop": {"from_bid": (_element, _NEEDED), "to_bid": (_element, _NEEDED)},
    "upload_file": {"bid": (_element, _NEEDED), "file": (_strings, _NEEDED)},
}
"""The parameters of each call, each with its validator and its default."""


def parse_calls(code: str) -> list[BrowserCall]:
    """Return the calls in order; only literals are allowed as arguments. Raises CallError."""
    try:
        tree = ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CallError(f"the code cannot be read ({error}); write one call a line, such as click('e12')") from None
    if not 0 < len(tree.body) <= MOST_CALLS:
        raise CallError(f"write 1 to {MOST_CALLS} calls, one a line; there are {', '.join(CALLS)}")
    return [_call(statement) for statement in tree.body]


def _call(statement: ast.stmt) -> BrowserCall:
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise CallError(f"line {statement.lineno} is not a plain call; write only calls, one per line")
    name = call.func.id
    if name not in CALLS:
        raise CallError(f"there is no call {name}; there are {', '.join(CALLS)}")
    arguments = dict(zip(CALLS[name], map(_literal, call.args), strict=False))
    if len(call.args) > len(CALLS[name]):
        raise CallError(f"{name} takes at most {len(CALLS[name])} arguments: {_signature(name)}")
    for keyword in call.keywords:
        parameter = keyword.arg or "**"
        if parameter not in CALLS[name] or parameter in arguments:
            raise CallError(f"{name} cannot be given {parameter} there: {_signature(name)}")
        arguments[parameter] = _literal(keyword.value)
    return BrowserCall(name, _checked(name, arguments))


def _checked(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    checked = {}
    for parameter, (check, default) in CALLS[name].items():
        if parameter not in arguments and default is _NEEDED:
            raise CallError(f"{name} needs {parameter}: {_signature(name)}")
        try:
            checked[parameter] = check(arguments[parameter]) if parameter in arguments else default
        except CallError as error:
            raise CallError(f"{name}: {error}") from None
    return checked


def _literal(node: ast.expr) -> Any:
    """Return the value of a literal."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
        raise CallError(f"line {node.lineno}: only strings, numbers and lists of them may be arguments") from None


def _signature(name: str) -> str:
    parts = [each if default is _NEEDED else f"{each}={default!r}" for each, (_, default) in CALLS[name].items()]
    return f"{name}({', '.join(parts)})"
