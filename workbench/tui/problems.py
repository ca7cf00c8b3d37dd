"""Collects the current problems in the user's settings, keys and themes, and reports them in one short notice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.content import Content

from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.view.formatting.timeline_rows import from_home

_PLACED: Final = lazy_pattern(r"(?P<file>/.*?):(?P<line>\d+): (?P<text>.*)", re.DOTALL)
_LEAVES: Final = "Everything else in these files takes effect; defaults replace what does not."


def in_short(problems: Sequence[str], key: str) -> str:
    """Return one line for a notice: the only problem, or how many there are; `key` shows all of them."""
    if len(problems) > 1:
        return f"{len(problems)} problems in settings and themes   {key} Details"
    placed = _PLACED.fullmatch(problems[0])
    text = f"{Path(placed['file']).name}:{placed['line']}: {placed['text']}" if placed else problems[0]
    return f"{text}   {key} Details"


def problems_page(problems: Iterable[str]) -> str:
    """Return all problems grouped by file, each with its line number."""
    by_file: dict[str, list[str]] = {}
    for problem in problems:
        placed = _PLACED.fullmatch(problem)
        file = from_home(Path(placed["file"])) if placed else "elsewhere"
        text = f"line {placed['line']:>4}  {placed['text']}" if placed else problem
        by_file.setdefault(file, []).append(f"  {text}")
    parts = [f"{file}\n\n" + "\n".join(lines) for file, lines in by_file.items()]
    return "\n\n".join([*parts, _LEAVES]) + "\n"


_SECONDS = 10


class Problems:
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
        return key_of(self._app, "problems", "f10")

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
            self._app.push_screen(PagerScreen(Content("Problems in settings and themes"), problems_page(self.lines)))
