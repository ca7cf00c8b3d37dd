"""The dialog of `/model`: saved models (or those with a key that was found) and the current one; `t` tests one."""

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

from workbench.client.threads import in_daemon
from workbench.config.settings import Profile
from workbench.engine.model_test import ModelTest
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.widgets.strips import css_beside

_NONE = "No saved models. Add a table [models.NAME] to settings.toml.\n"
_MORE = "/model provider/model accepts any other."


class ModelChoice(ModalScreen[str | None]):
    """Dismisses with the chosen name, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Keep the model", id="models.close"),
        Binding("t", "test", "Make one test call", id="models.test"),
    ]

    def __init__(self, profiles: Sequence[Profile], current: str) -> None:
        """`current` is the session's model, by the name of its profile or its own; empty if there is none."""
        super().__init__(id="model-choice")
        choices = list(profiles)
        if current and current not in [profile.name for profile in choices]:
            choices.insert(0, Profile(current, current))
        self._names = [profile.name for profile in choices]
        self._rows = list(_rows(choices, current))
        self._current = current
        self._note = _MORE if profiles else _NONE + _MORE
        self._test: ModelTest | None = None

    def compose(self) -> ComposeResult:
        """Yield the list of models and the note."""
        with Vertical(id="models-box") as box:
            box.border_title = "Switch model"
            test, close = key_of(self.app, "models.test", "t"), key_of(self.app, "models.close", "escape")
            box.border_subtitle = f"Enter Use   {test} Test   {close} Keep the model"
            yield OptionList(*(Option(row) for row in self._rows), id="models-list")
            yield Static(Content(self._note), id="models-note")

    def on_mount(self) -> None:
        """Put the cursor on the current model."""
        rows = self.query_one(OptionList)
        rows.focus()
        if self._names:
            rows.highlighted = self._names.index(self._current) if self._current else 0

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Dismiss with the chosen model."""
        self.dismiss(self._names[chosen.option_index])

    def action_test(self) -> None:
        """Make a test call to the model under the cursor, and show the result below the list."""
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._stop()
            self._test = ModelTest(self._names[at])
            self._show_note(f"{self._names[at]}: testing one call …")
            self.run_worker(self._show_outcome(self._test), exclusive=True)

    async def _show_outcome(self, test: ModelTest) -> None:
        outcome = await in_daemon(test.result)
        if self.is_attached:
            self._show_note(f"{'✓' if outcome.works else '✗'} {outcome.line}")

    def _show_note(self, line: str) -> None:
        self.query_one("#models-note", Static).update(Content(visible(line, lines=False)))

    def on_unmount(self) -> None:
        """Stop the running test call, if any."""
        self._stop()

    def _stop(self) -> None:
        if self._test is not None:
            self._test.stop()


def _rows(profiles: Sequence[Profile], current: str) -> Iterator[Content]:
    """Yield a row for each profile: a mark at the current one, the name, and the model if it differs."""
    width = max((len(profile.name) for profile in profiles), default=0)
    for profile in profiles:
        is_current = profile.name == current
        yield Content.assemble(
            ("● " if is_current else "  ", "$primary"),
            (visible(profile.name.ljust(width), lines=False), "bold" if is_current else ""),
            (visible(f"  {profile.model}" if profile.model != profile.name else "", lines=False), "$dim"),
            ("  now" if is_current else "", "$primary"),
        )
