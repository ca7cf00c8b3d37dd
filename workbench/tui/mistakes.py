"""What is wrong in the person's settings, keys and themes as they are now; told in one short notice by the app."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App
from textual.content import Content

from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.view.formatting.mistakes import in_short, mistakes_page

_SECONDS = 10


class Mistakes:
    """By where they were found: looking there again takes the place of what was found before."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._found: dict[str, tuple[str, ...]] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them, a line each."""
        return tuple(line for found in self._found.values() for line in found)

    def found(self, where: str, lines: Iterable[str]) -> None:
        """These are there now."""
        self._found[where] = tuple(lines)

    def key(self) -> str:
        """The key that shows them."""
        return key_of(self._app, "mistakes", "f10")

    def tell(self) -> None:
        """One notice, where there are any."""
        if self.lines:
            said = visible(in_short(self.lines, self.key()), lines=False)
            self._app.notify(said, title="Settings", severity="warning", markup=False, timeout=_SECONDS)

    def open(self) -> None:
        """All of them in a pager."""
        from workbench.tui.screens.pager import PagerScreen

        if not self.lines:
            self._app.notify("nothing is wrong in your settings and themes", markup=False, timeout=3)
        elif not isinstance(self._app.screen, PagerScreen):
            self._app.push_screen(PagerScreen(Content("Mistakes in settings and themes"), mistakes_page(self.lines)))
