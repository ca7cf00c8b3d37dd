"""Collects the current problems in the user's settings, keys and themes, and reports them in one short notice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App
from textual.content import Content

from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.view.formatting.problems import in_short, mistakes_page

_SECONDS = 10


class Mistakes:
    """The problems of each source, such as "settings" or "keys"; a new check replaces the problems of its source."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._problems: dict[str, tuple[str, ...]] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """All problems, one line each."""
        return tuple(line for problems in self._problems.values() for line in problems)

    def replace(self, where: str, lines: Iterable[str]) -> None:
        """Replace the problems of the source `where` with `lines`."""
        self._problems[where] = tuple(lines)

    def key(self) -> str:
        """Return the name of the key that shows the problems."""
        return key_of(self._app, "mistakes", "f10")

    def notify(self) -> None:
        """Show one notice if there are any problems."""
        if self.lines:
            message = visible(in_short(self.lines, self.key()), lines=False)
            self._app.notify(message, title="Settings", severity="warning", markup=False, timeout=_SECONDS)

    def open(self) -> None:
        """Show all problems in a pager, or a notice if there are none."""
        from workbench.tui.screens.pager import PagerScreen

        if not self.lines:
            self._app.notify("No problems in settings and themes", markup=False, timeout=3)
        elif not isinstance(self._app.screen, PagerScreen):
            self._app.push_screen(PagerScreen(Content("Problems in settings and themes"), mistakes_page(self.lines)))
