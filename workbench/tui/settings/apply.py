"""Applies settings that changed while the app is running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.config.settings import Settings

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp


def apply_settings(app: WorkbenchApp, settings: Settings) -> None:
    """Apply the theme, the keys, the terminal settings and the mode now; the others apply to the next session."""
    before, app.settings = app.settings, settings
    if settings.theme != before.theme and settings.theme in app.available_themes:
        app.theme = settings.theme
    app.problems.replace("settings", settings.problems)
    if settings.keys != before.keys:
        app.run_worker(app.user_keys.read(), group="keys", exclusive=True)
    if settings.terminal != before.terminal:
        app.terminal.change(settings.terminal)
    if settings.mode != before.mode and app.session.client is not None:
        app.switcher.main.action_mode(settings.mode)
