"""The themes of a running app: chooses one, and reloads the user's theme files when they change."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from workbench.config.toml_file import line_of
from workbench.errors import WorkbenchError
from workbench.suggest import near
from workbench.text import visible
from workbench.tui.problems import Problems
from workbench.tui.themes import DEFAULT, Themes, builtin_directory, directory_state, load_themes, theme_order

if TYPE_CHECKING:
    from workbench.tui.settings.settings_model import SettingsModel

EVERY = 1.5
"""Seconds between two checks of the directory."""


class ThemeDirectory:
    """Registers our own themes and the user's, and reports problems in theme files when they are read."""

    def __init__(self, app: App[Any], directory: Path | None, problems: Problems) -> None:
        self._app = app
        self._problems = problems
        self._directory = directory
        self._state = directory_state(directory) if directory else ()
        self._register()

    def begin_with(self, name: str, settings_file: Path | None) -> None:
        """Set the theme before anything is styled, because a later change would style everything twice.

        If there is no theme of that name, report a problem in the settings and use the default theme.
        """
        app, themes = self._app, self._app.available_themes
        self._problems.replace("theme", [] if name in themes else [no_such_theme(name, themes, settings_file)])
        app.set_reactive(App.theme, name if name in themes else DEFAULT)
        app.set_class(app.current_theme.dark, "-dark-mode", update=False)
        app.set_class(not app.current_theme.dark, "-light-mode", update=False)
        app.stylesheet.set_variables(app.get_css_variables())

    def choose(self, name: str, settings_model: SettingsModel | None) -> None:
        """Use the named theme; if the name is empty, open the list of themes and save the choice."""
        from workbench.tui.screens.theme_choice import ThemeChoice

        app = self._app

        def save(chosen: str | None) -> None:
            if chosen is None or settings_model is None:
                return
            app.theme = chosen
            try:
                settings_model.write({("theme",): chosen})
            except WorkbenchError as error:
                app.notify(visible(str(error)), severity="error", markup=False)
            else:
                app.notify(visible(f"{chosen} saved to your settings"), markup=False)

        if not name:
            if not isinstance(app.screen, ThemeChoice):
                app.push_screen(ThemeChoice(theme_order(app.available_themes), app.theme), save)
        elif name in app.available_themes:
            app.theme = name
        else:
            message = f"there is no theme {name}{near(name, app.available_themes)}"
            app.notify(visible(message, lines=False), severity="warning", markup=False)

    def watch(self) -> None:
        """Start checking the directory for changes, every `EVERY` seconds."""
        if self._directory is not None:
            self._app.set_interval(EVERY, self.poll)

    def poll(self) -> None:
        """Read the directory again if a file in it has changed, and apply changes to the current theme."""
        now = directory_state(self._directory) if self._directory else ()
        if now == self._state:
            return
        self._state = now
        before = self._app.current_theme
        if self._register().problems:
            self._problems.notify()
        if self._app.current_theme != before:
            self._app.mutate_reactive(App.theme)

    def _register(self) -> Themes:
        own = load_themes(*([self._directory] if self._directory else []))
        for theme in (*load_themes(builtin_directory(), is_checked=False).usable, *own.usable):
            self._app.register_theme(theme)
        self._problems.replace("themes", own.problems)
        return own


def no_such_theme(name: str, available: Iterable[str], file: Path | None) -> str:
    """Return the message about an unknown theme, with the path and line if the settings file sets it."""
    message = f"there is no theme {name}{near(name, available)}; using {DEFAULT}"
    try:
        text = file.read_text(encoding="utf-8") if file is not None else ""
        is_from_file = tomllib.loads(text).get("theme") == name
    except (OSError, ValueError):
        return message
    return f"{file}:{line_of('theme', text)}: {message}" if is_from_file else message
