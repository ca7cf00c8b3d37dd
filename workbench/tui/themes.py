"""Themes: TOML files that come with the workbench and those in the person's folder; read once when the app starts."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.color import Color, ColorParseError
from textual.theme import Theme

from workbench.text import first_line

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
    """Our own variables for themes that do not set them."""
    return _DARK if dark else _LIGHT


@dataclass(frozen=True)
class Themes:
    """The themes that can be used, and one line on each file that cannot."""

    usable: tuple[Theme, ...]
    problems: tuple[str, ...]


def shipped_folder() -> Path:
    """Where the workbench's own themes are: inside the installed package, or beside it in a source tree."""
    package = Path(__file__).parents[1]
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def load_themes(*folders: Path) -> Themes:
    """Every `*.toml` of the folders; a later theme takes the place of an earlier one with its name."""
    usable: dict[str, Theme] = {}
    problems = []
    for path in _files(folders):
        try:
            theme = read_theme(path)
        except (OSError, ValueError, TypeError, AttributeError, ColorParseError) as error:
            problems.append(f"theme {path.name} is left out: {first_line(str(error), 120)}")
        else:
            usable[theme.name] = theme
    return Themes(tuple(usable.values()), tuple(problems))


def read_theme(path: Path) -> Theme:
    """One theme, checked: every colour of it can be used. Raises one of several errors that say what is wrong."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    variables = data.get("variables", {})
    if not isinstance(data.get("name"), str) or not isinstance(variables, dict):
        raise ValueError("a theme needs a name, and its variables are a table")
    theme = Theme(**data)
    theme.to_color_system().generate()
    for name in set(variables) & set(_DARK):
        Color.parse(variables[name])
    return theme


def _files(folders: Sequence[Path]) -> Iterable[Path]:
    for folder in folders:
        if folder.is_dir():
            yield from sorted(folder.glob("*.toml"))
