"""The list of models to change to, on `/model` without a name and in the palette: the profiles of the settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from workbench.profiles import Profile
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.widgets.painting import css_beside

_NONE = "The settings name no model yet: a table [models.NAME] in settings.toml gives one a name.\n"
_MORE = "/model PROVIDER/NAME takes any other."


class ModelChoice(ModalScreen[str | None]):
    """Dismisses with the name that was chosen, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Keep the model", id="models.close"),
    ]

    def __init__(self, profiles: Sequence[Profile], current: str) -> None:
        """`current` is the name of the model the session has now, a profile or not; empty without one."""
        super().__init__(id="model-choice")
        known = list(profiles)
        if current and current not in [profile.name for profile in known]:
            known.insert(0, Profile(current, current))
        self._names = [profile.name for profile in known]
        self._rows = list(_rows(known, current))
        self._current = current
        self._note = _MORE if profiles else _NONE + _MORE

    def compose(self) -> ComposeResult:
        """A box in the middle."""
        with Vertical(id="models-box") as box:
            box.border_title = "Model from here on"
            box.border_subtitle = f"↑↓ enter · {key_of(self.app, 'models.close', 'escape')} keeps the model"
            yield OptionList(*(Option(row) for row in self._rows), id="models-list")
            yield Static(Content(self._note), id="models-note")

    def on_mount(self) -> None:
        """The cursor stands on the present model."""
        rows = self.query_one(OptionList)
        rows.focus()
        if self._names:
            rows.highlighted = self._names.index(self._current) if self._current else 0

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """That one it is."""
        self.dismiss(self._names[chosen.option_index])


def _rows(profiles: Sequence[Profile], current: str) -> Iterator[Content]:
    """A mark at the present one, the name, and behind a profile's the model it stands for."""
    width = max((len(profile.name) for profile in profiles), default=0)
    for profile in profiles:
        is_current = profile.name == current
        yield Content.assemble(
            ("● " if is_current else "  ", "$primary"),
            (visible(profile.name.ljust(width), lines=False), "bold" if is_current else ""),
            (visible(f"  {profile.model}" if profile.model != profile.name else "", lines=False), "$dim"),
            ("  now" if is_current else "", "$primary"),
        )
