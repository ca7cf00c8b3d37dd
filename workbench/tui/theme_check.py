"""What is wrong with a theme file, with the line it stands in and the nearest name there is; used by `themes`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.config.edit import line_of
from workbench.suggest import near, nearest

_COLOURS = (
    *("primary", "secondary", "warning", "error", "success", "accent"),
    *("foreground", "background", "surface", "panel", "boost"),
)
_NUMBERS = ("luminosity_spread", "text_alpha")
_KEYS = ("name", "dark", "variables", *_COLOURS, *_NUMBERS)
_NO_COLOURS = re.compile(r".*-(style|hover-style)|button-.*")


Problem = tuple[int, str]
"""A line of the file, and what is wrong there."""


def problems(data: Mapping[str, Any], text: str, own: Collection[str]) -> Iterator[Problem]:
    """Each thing that is wrong, in the order of the keys; `own` are the workbench's variables."""
    meant = {nearest(key, _KEYS) for key in data if key not in _KEYS}  # a name with a slip is told once, not missed too
    name = data.get("name")
    if "name" not in meant and not (isinstance(name, str) and name.strip()):
        yield line_of("name", text), 'a theme needs a name: name = "mine"'
    if "primary" not in {*data, *meant}:
        yield 1, 'a theme needs a colour to begin with: primary = "#336699"'
    for key, value in data.items():
        said = _of_key(key, value)
        if said:
            yield line_of(key, text), said
    variables = data.get("variables", {})
    known = known_variables(own)
    for key, value in variables.items() if isinstance(variables, dict) else ():
        said = _of_variable(key, value, known)
        if said:
            yield line_of(key, text, "variables"), said


def known_variables(own: Collection[str]) -> set[str]:
    """Every variable a theme may set: the workbench's and Textual's."""
    return {*own, *Theme("known", "#336699").to_color_system().generate()}


def _of_key(key: str, value: object) -> str:
    if key not in _KEYS:
        return f"there is no {key!r} in a theme{near(key, _KEYS)}"
    if key in _COLOURS:
        return _of_colour(key, value)
    if key == "dark" and not isinstance(value, bool):
        return "dark is true or false"
    if key == "variables" and not isinstance(value, dict):
        return "variables is a table: [variables]"
    if key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"{key} is a number"
    return ""


def _of_variable(key: str, value: object, known: Collection[str]) -> str:
    if key not in known:
        return f"there is no variable {key!r}{near(key, known)}"
    if not isinstance(value, str):
        return f"{key} is text in quotes, not {value!r}"
    return "" if _NO_COLOURS.fullmatch(key) else _of_colour(key, value)


def _of_colour(key: str, value: object) -> str:
    try:
        Color.parse(_first_word(value))
    except (ColorParseError, TypeError, AttributeError):
        return f'{key} = {value!r} is no colour; write one as "#336699" or by a name such as "teal"'
    return ""


def _first_word(value: Any) -> Any:
    """A colour may be followed by how opaque it is."""
    return value.split(maxsplit=1)[0] if isinstance(value, str) and value.strip() else value
