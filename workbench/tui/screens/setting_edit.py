"""One setting to change: a line that is checked while one writes, or the values there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.text import visible
from workbench.tui.settings.rows import SettingRow
from workbench.tui.widgets.painting import css_beside
from workbench.view.approval.questions import Confirmation

if TYPE_CHECKING:
    from workbench.tui.settings.entries import Entry

_RISKY: Final = {("mode", "never"): "Every action would run without a question, in this session and in each new one."}


class SettingEdit(ModalScreen[str | None]):
    """Dismisses with the text to save, or None; `check` says what is wrong with a text."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Leave it as it is", id="setting.close")]

    def __init__(self, row: SettingRow, check: Callable[[Entry, str], str]) -> None:
        super().__init__(id="setting")
        self._entry = row.entry
        self._held = row.held
        self._check = check
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)

    def compose(self) -> ComposeResult:
        """What it is, the line or the values, and what is wrong."""
        entry = self._entry
        with Vertical(id="setting-box") as box:
            box.border_title = Content(visible(f"{entry.group} · {entry.title}", lines=False))
            box.border_subtitle = "↑↓ enter saves · esc leaves it" if entry.choices else "enter saves · esc leaves it"
            yield Static(Content(visible(entry.words, lines=False)), id="setting-words")
            if entry.choices:
                yield OptionList(*(Option(self._option(*choice)) for choice in entry.choices), id="setting-choices")
            else:
                yield Input(
                    self._begin(), placeholder=entry.explained(entry.usual), select_on_focus=False, id="setting-line"
                )
            yield Static(id="setting-note")

    def on_mount(self) -> None:
        """The cursor stands on what holds."""
        if self._entry.choices:
            rows = self.query_one(OptionList)
            rows.focus()
            names = [name for name, _ in self._entry.choices]
            rows.highlighted = names.index(self._held.text) if self._held.text in names else 0
        else:
            self.query_one(Input).focus()
        self._note("")

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Check it."""
        self._note(self._check(self._entry, event.value))

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Save what can be saved."""
        problem = self._check(self._entry, event.value)
        if problem:
            self._note(problem)
        else:
            self.dismiss(event.value.strip())

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """That value; one that takes a guard away is asked for twice."""
        name, _ = self._entry.choices[chosen.option_index]
        warning = _RISKY.get((self._entry.name, name), "")
        if warning and not self.confirmation.is_answered(name):
            self.confirmation.ask(name)
            self._note(f"{warning} Enter again saves it.")
        elif problem := self._check(self._entry, name):
            self._note(problem)
        else:
            self.dismiss(name)

    @on(OptionList.OptionHighlighted)
    def on_looked_at(self) -> None:
        """What was warned of is left."""
        self.confirmation.forget()
        self._note("")

    def on_key(self, event: events.Key) -> None:
        """A key that was pressed before the warning stood there saves nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Nor does such a click."""
        self.confirmation.hears("", time.monotonic() - event.time)

    def _begin(self) -> str:
        """What one goes on from: the text that holds, where one can go on from it."""
        is_set = self._held.source != "usual" or self._held.is_yours
        return self._held.text if is_set and not self._held.is_masked else ""

    def _option(self, name: str, words: str) -> Content:
        mark = "● " if name == self._held.text else "  "
        return Content.assemble((mark, "$primary"), visible(name.ljust(10), lines=False), (f"  {words}", "$dim"))

    def _note(self, problem: str) -> None:
        note = self.query_one("#setting-note", Static)
        usual = f"usual: {self._entry.explained(self._entry.usual)} · " if self._entry.usual else ""
        said = f"✗ {problem}" if problem else f"{usual}counts {self._entry.when}"
        note.update(Content.styled(visible(said, lines=False), "$sign-failed" if problem else "$dim"))
