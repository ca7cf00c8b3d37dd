"""Reads theme files, and reports problems in them with their line and the nearest known name."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from workbench.config.toml_file import line_of, syntax_problem
from workbench.lazy_pattern import lazy_pattern
from workbench.suggest import near, nearest
from workbench.text import first_line, visible

_COLORS = (
    *("primary", "secondary", "warning", "error", "success", "accent"),
    *("foreground", "background", "surface", "panel", "boost"),
)
_NUMBERS = ("luminosity_spread", "text_alpha")
_KEYS = ("name", "dark", "variables", *_COLORS, *_NUMBERS)
_NO_COLOURS = lazy_pattern(r".*-(style|hover-style)|button-.*")


Problem = tuple[int, str]
"""The number of a line, and what is wrong with it."""


def problems(data: Mapping[str, Any], text: str, own: Collection[str]) -> Iterator[Problem]:
    """Yield the problems of a theme: missing keys, invalid keys, invalid variables; `own` holds our own variables."""
    meant = {nearest(key, _KEYS) for key in data if key not in _KEYS}  # a misspelled key is not also missing
    name = data.get("name")
    if "name" not in meant and not (isinstance(name, str) and name.strip()):
        yield line_of("name", text), 'a theme needs a name: name = "mine"'
    if "primary" not in {*data, *meant}:
        yield 1, 'a theme needs a primary color: primary = "#336699"'
    for key, value in data.items():
        problem = _of_key(key, value)
        if problem:
            yield line_of(key, text), problem
    variables = data.get("variables", {})
    allowed = variable_names(own)
    for key, value in variables.items() if isinstance(variables, dict) else ():
        problem = _of_variable(key, value, allowed)
        if problem:
            yield line_of(key, text, "variables"), problem


def variable_names(own: Collection[str]) -> set[str]:
    """Return the names of all variables that a theme may set: the workbench's and Textual's."""
    return {*own, *Theme("known", "#336699").to_color_system().generate()}


def _of_key(key: str, value: object) -> str:
    if key not in _KEYS:
        return f"there is no {key!r} in a theme{near(key, _KEYS)}"
    if key in _COLORS:
        return _of_colour(key, value)
    if key == "dark" and not isinstance(value, bool):
        return "dark is true or false"
    if key == "variables" and not isinstance(value, dict):
        return "variables is a table: [variables]"
    if key in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"{key} is a number"
    return ""


def _of_variable(key: str, value: object, allowed: Collection[str]) -> str:
    if key not in allowed:
        return f"there is no variable {key!r}{near(key, allowed)}"
    if not isinstance(value, str):
        return f"{key} is text in quotes, not {value!r}"
    return "" if _NO_COLOURS.fullmatch(key) else _of_colour(key, value)


def _of_colour(key: str, value: object) -> str:
    try:
        Color.parse(_first_word(value))
    except (ColorParseError, TypeError, AttributeError):
        return f'{key} = {value!r} is not a color; write one as "#336699" or by a name such as "teal"'
    return ""


def _first_word(value: Any) -> Any:
    """Return a color without the opacity that may follow it."""
    return value.split(maxsplit=1)[0] if isinstance(value, str) and value.strip() else value


DEFAULT = "ohw-dark"

_DARK = {
    "risk-low": "#86c98f",
    "risk-medium": "#e8b15f",
    "risk-high": "#f28b82",
    "risk-unknown": "#c3a6f0",
    "sign-ok": "#86c98f",
    "sign-failed": "#f28b82",
    "sign-running": "#7cc4d8",
    "sign-waiting": "#e8b15f",
    "diff-added": "#16301f",
    "diff-removed": "#3a1c20",
    "diff-added-word": "#265c37",
    "diff-removed-word": "#742f35",
    "diff-gutter": "#8a94a3",
    "panel-title": "#a9b4c2",
    "panel-title-focus": "#7cc4d8",
    "dim": "#9aa5b4",
}
_LIGHT = {
    "risk-low": "#1e6b35",
    "risk-medium": "#8a5200",
    "risk-high": "#ac2a20",
    "risk-unknown": "#6b3fa0",
    "sign-ok": "#1e6b35",
    "sign-failed": "#ac2a20",
    "sign-running": "#0d6170",
    "sign-waiting": "#8a5200",
    "diff-added": "#dff2e1",
    "diff-removed": "#fbe2df",
    "diff-added-word": "#b0dfb8",
    "diff-removed-word": "#f4b9b2",
    "diff-gutter": "#5a6068",
    "panel-title": "#4d545d",
    "panel-title-focus": "#0d6170",
    "dim": "#565d66",
}


def variable_defaults(dark: bool) -> dict[str, str]:
    """Return the defaults of our own variables, for dark or light themes."""
    return _DARK if dark else _LIGHT


class Themes(Struct, frozen=True):
    """The usable themes, and one line about each problem in the other files."""

    usable: tuple[Theme, ...]
    problems: tuple[str, ...]


def builtin_directory() -> Path:
    """Return the directory of our own themes: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def load_themes(*directories: Path, is_checked: bool = True) -> Themes:
    """Return the themes in the `*.toml` files of the directories; if several have the same name, the last one wins.

    Built-in themes are loaded without the checks of `is_checked` to save time; tests check them.
    """
    usable: dict[str, Theme] = {}
    skipped = []
    for path in _files(directories):
        try:
            theme = read_theme(path, is_checked=is_checked)
        except ThemeError as error:
            skipped += error.messages(path)
        else:
            usable[theme.name] = theme
    return Themes(tuple(usable.values()), tuple(skipped))


def theme_order(names: Iterable[str]) -> list[str]:
    """Return the names sorted: first our own and the user's themes, then Textual's."""
    return sorted(names, key=lambda name: (name in BUILTIN_THEMES, name))


class ThemeError(ValueError):
    """The file is not a valid theme; `problems` holds the line and the reason of each problem."""

    def __init__(self, *problems: tuple[int, str]) -> None:
        super().__init__("\n".join(f"{line}: {reason}" for line, reason in problems))
        self.problems = problems

    def messages(self, path: Path) -> list[str]:
        """Return `PATH:LINE: reason` for each problem; the last line adds that the theme is not used."""
        lines = [f"{path}:{line}: {visible(reason, lines=False)[:300]}" for line, reason in self.problems]
        return [*lines[:-1], f"{lines[-1]}; theme skipped until fixed"]


def read_theme(path: Path, *, is_checked: bool = True) -> Theme:
    """Read a theme file; with `is_checked`, check its keys and colors first. Raises ThemeError."""
    try:
        if path.exists() and not path.is_file():
            raise OSError("not a regular file")
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(syntax_problem(error, text)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ThemeError((1, first_line(str(error), 160))) from None
    if is_checked:
        _check(data, text)
    try:
        theme = Theme(**data)
        if is_checked:
            theme.to_color_system().generate()
    except (ValueError, TypeError, AttributeError, ColorParseError) as error:
        raise ThemeError((1, first_line(str(error), 160))) from None
    return theme


def _check(data: dict[str, Any], text: str) -> None:
    if errors := list(problems(data, text, _DARK)):
        raise ThemeError(*errors)


def _files(directories: Sequence[Path]) -> Iterable[Path]:
    for directory in directories:
        if directory.is_dir():
            yield from sorted(directory.glob("*.toml"))


def directory_state(directory: Path) -> tuple[tuple[str, int, int], ...]:
    """Return a value that changes whenever a theme file in the directory does; cheap enough to compute every second."""
    state = []
    for path in _files([directory]):
        with suppress(OSError):
            info = path.stat()
            state.append((path.name, info.st_mtime_ns, info.st_size))
    return tuple(state)
