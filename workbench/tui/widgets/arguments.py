"""The arguments that the list above the prompt offers for each command."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.config.modes import MODE_NAMES, MODES
from workbench.config.settings import Settings
from workbench.tui.themes import theme_order
from workbench.view.prompt.completion import Names


def arguments_now(settings: Callable[[], Settings], themes: Callable[[], Iterable[str]]) -> dict[str, Names]:
    """Return, for each command, a function that lists names with descriptions."""
    return {
        "mode": lambda: [(name, MODE_NAMES[name]) for name in MODES],
        "model": lambda: [(name, settings().profile(name).model) for name in settings().models],
        "theme": lambda: [(name, "") for name in theme_order(themes())],
    }
