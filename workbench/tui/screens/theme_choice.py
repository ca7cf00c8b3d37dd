"""The list of themes, opened by `/theme` without a name; the theme under the cursor is applied at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.text import visible
from workbench.tui.widgets.dock import DockedPanel, show_hints
from workbench.tui.widgets.strips import css_beside

_KEYS = "Enter Use for this run   {themes.save=s} Save as default   {themes.close=escape} Restore"


class ThemeChoice(ModalScreen[str | None]):
    """Applies each theme while the cursor is on it; escape restores the previous one. The background is transparent.

    Dismisses with the name of the theme to save in the settings, or None.
    """

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "keep", "Keep the theme", id="themes.close"),
        Binding("s", "save", "Save as default", id="themes.save"),
    ]

    def __init__(self, names: Sequence[str], current: str) -> None:
        super().__init__(id="theme-choice")
        self._names = [*(name for name in names if name.startswith("ohw-")), *(n for n in names if n[:4] != "ohw-")]
        self._current = current

    def compose(self) -> ComposeResult:
        """Yield a panel that leaves most of the screen behind it in sight."""
        with DockedPanel(id="themes-box"):
            yield Static(Content.styled("Theme", "bold"), id="title")
            yield OptionList(*(Option(self._row(name)) for name in self._names), id="themes-list")
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Put the cursor on the current theme."""
        rows = self.query_one(OptionList)
        rows.focus()
        rows.highlighted = self._names.index(self._current) if self._current in self._names else 0

    def on_resize(self) -> None:
        """Show the keys that fit."""
        show_hints(self, _KEYS)

    @on(OptionList.OptionHighlighted)
    def on_looked_at(self, looked: OptionList.OptionHighlighted) -> None:
        """Apply the theme under the cursor."""
        if looked.option_index == self.query_one(OptionList).highlighted:
            self.app.theme = self._names[looked.option_index]

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Keep the chosen theme until the app ends."""
        self.app.theme = self._names[chosen.option_index]
        self.dismiss()

    def action_save(self) -> None:
        """Dismiss with the theme under the cursor, to save it in the settings."""
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(self._names[at])

    def action_keep(self) -> None:
        """Restore the previous theme and close."""
        self.app.theme = self._current
        self.dismiss()

    def _row(self, name: str) -> Content:
        mark = "● " if name == self._current else "  "
        return Content.assemble((mark, "$primary"), visible(name, lines=False))
