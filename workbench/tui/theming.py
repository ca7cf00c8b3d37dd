"""The themes of a running app: choosing one, and following the person's folder while it is edited; used by the app."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from textual.app import App

from workbench.config.toml_file import line_of
from workbench.suggest import near
from workbench.text import visible
from workbench.tui.mistakes import Mistakes
from workbench.tui.themes import DEFAULT, Themes, folder_state, load_themes, shipped_folder, theme_order

EVERY = 1.5
"""Seconds between two looks at the folder."""


class ThemeFolder:
    """The themes that come along and those of the person; what is wrong with a file is said when it is read."""

    def __init__(self, app: App[Any], folder: Path | None, mistakes: Mistakes) -> None:
        self._app = app
        self._mistakes = mistakes
        self._folder = folder
        self._state = folder_state(folder) if folder else ()
        self._register()

    def watch(self) -> None:
        """Look for changes from here on."""
        if self._folder is not None:
            self._app.set_interval(EVERY, self.look)

    def look(self) -> None:
        """Read the folder again if a file of it has changed, and show the theme of now as it has become."""
        now = folder_state(self._folder) if self._folder else ()
        if now == self._state:
            return
        self._state = now
        before = self._app.current_theme
        if self._register().problems:
            self._mistakes.tell()
        if self._app.current_theme != before:
            self._app.mutate_reactive(App.theme)

    def _register(self) -> Themes:
        own = load_themes(*([self._folder] if self._folder else []))
        for theme in (*load_themes(shipped_folder(), is_checked=False).usable, *own.usable):
            self._app.register_theme(theme)
        self._mistakes.found("themes", own.problems)
        return own


def choose_theme(app: App[Any], name: str, keep: Callable[[str | None], None]) -> None:
    """The theme of that name, or a list that shows each at once; not twice. `keep` gets one to keep for good."""
    from workbench.tui.screens.theme_choice import ThemeChoice

    if not name:
        if not isinstance(app.screen, ThemeChoice):
            app.push_screen(ThemeChoice(theme_order(app.available_themes), app.theme), keep)
    elif name in app.available_themes:
        app.theme = name
    else:
        said = f"there is no theme {name}{near(name, app.available_themes)}"
        app.notify(visible(said, lines=False), severity="warning", markup=False)


def no_such_theme(name: str, known: Iterable[str], file: Path | None) -> str:
    """What is said of a theme that is set and is none, with the line of the settings' file where that sets it."""
    said = f"there is no theme {name}{near(name, known)}; using {DEFAULT}"
    try:
        text = file.read_text(encoding="utf-8") if file is not None else ""
        is_from_file = tomllib.loads(text).get("theme") == name
    except (OSError, ValueError):
        return said
    return f"{file}:{line_of('theme', text)}: {said}" if is_from_file else said
