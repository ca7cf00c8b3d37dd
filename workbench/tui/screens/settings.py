"""The Settings screen: every setting with what holds and where it comes from; filtered, changed, taken back."""

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

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.mistakes import Mistakes
from workbench.tui.settings.book import SettingsBook
from workbench.tui.settings.entries import SettingRow, about, fitting, is_profile
from workbench.tui.themes import theme_order
from workbench.tui.widgets.painting import as_content, css_beside
from workbench.tui.widgets.setting_list import SettingList
from workbench.view.approval.questions import Confirmation
from workbench.view.formatting.rows import from_home
from workbench.view.formatting.wrapping import Piece

if TYPE_CHECKING:
    from workbench.config.edit import Place
    from workbench.tui.settings.entries import Entry

_KEYS = "enter change · / filter · u usual value · esc close"


class SettingsScreen(ModalScreen[None]):
    """Shows the settings of a book; what is changed is saved at once."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="settings.close"),
        Binding("slash", "filter", "Filter", id="settings.filter"),
        Binding("u", "usual", "Back to the usual value", id="settings.usual"),
        Binding("down", "rows", "To the rows", show=False, id="settings.rows"),
    ]

    def __init__(self, book: SettingsBook) -> None:
        super().__init__(id="settings")
        self._book = book
        self._rows: list[SettingRow] = []
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        self._said: tuple[Place, str] = ((), "")

    def compose(self) -> ComposeResult:
        """A line to filter by, the rows, and what there is to say of one."""
        with Vertical(id="settings-box") as box:
            box.border_title = "Settings"
            box.border_subtitle = _KEYS
            line = Input(
                placeholder="words of a name, a value or a meaning", select_on_focus=False, id="settings-filter"
            )
            line.display = False
            yield Static(id="settings-wrong")
            yield line
            yield SettingList(id="settings-list")
            yield Static(id="settings-about")

    def on_mount(self) -> None:
        """Read them beside the screen."""
        self.set_focus(self.query_one(SettingList))
        self.run_worker(self._load())

    async def _load(self) -> None:
        themes = theme_order(self.app.available_themes)
        entries = await in_daemon(lambda: self._book.read(themes))
        if not self.is_attached:
            return
        self._rows = [SettingRow(entry, self._book.held(entry)) for entry in entries]
        title = f"Settings · {visible(from_home(self._book.file), lines=False)}"
        self.query_one("#settings-box").border_title = Content(title)
        self._tell_mistakes()
        self._show()

    def _tell_mistakes(self) -> None:
        """A line on what does not count, where there is any."""
        mistakes = getattr(self.app, "mistakes", None)
        if isinstance(mistakes, Mistakes):
            mistakes.found("settings", self._book.problems)
        count = len(mistakes.lines if isinstance(mistakes, Mistakes) else self._book.problems)
        key = key_of(self.app, "mistakes", "f10")
        words = "1 mistake, which does" if count == 1 else f"{count} mistakes, which do"
        line = self.query_one("#settings-wrong", Static)
        line.update(Content(f"! {words} not count · {key} reads {'it' if count == 1 else 'them'}"))
        line.display = bool(count)

    def _show(self) -> None:
        self.query_one(SettingList).show(fitting(self._rows, self.query_one(Input).value))

    @on(Input.Changed)
    def on_typed(self) -> None:
        """Other words."""
        self._show()

    @on(Input.Submitted)
    def action_rows(self) -> None:
        """From the line to the rows; it stays while it says something."""
        line = self.query_one(Input)
        line.display = bool(line.value.strip())
        self.set_focus(self.query_one(SettingList))

    def action_filter(self) -> None:
        """Write what to filter by."""
        self.query_one(Input).display = True
        self.set_focus(self.query_one(Input))

    def action_leave(self) -> None:
        """Back to all the rows, then out."""
        line = self.query_one(Input)
        if line.value or line.has_focus:
            line.value = ""
            self.action_rows()
        else:
            self.dismiss(None)

    @on(SettingList.Moved)
    def on_moved(self) -> None:
        """What the row under the cursor is about."""
        row = self.query_one(SettingList).current
        if row is None or not self.confirmation.is_asked(row.entry.place):
            self.confirmation.forget()
        lines = about(row) if row is not None else []
        place, said = self._said
        if row is not None and row.entry.place == place:
            lines.append([Piece(visible(said, lines=False), "accent")])
        self.query_one("#settings-about", Static).update(as_content(lines))

    @on(SettingList.Chosen)
    def on_chosen(self, chosen: SettingList.Chosen) -> None:
        """Change it."""
        if chosen.row.entry.is_secret:
            self._say(self._book.check(chosen.row.entry, "-"))
            return

        def written(text: str | None) -> None:
            if text is not None:
                self.run_worker(self._save(chosen.row, text))

        self.app.push_screen(SettingEdit(chosen.row, self._book.check), written)

    def action_usual(self) -> None:
        """Take what stands in the file out of it."""
        row = self.query_one(SettingList).current
        if row is None or isinstance(self.focused, Input):
            return
        if is_profile(row.entry.place) and row.held.is_yours:
            self._remove(row)
        elif row.held.is_yours or row.held.problem:
            self.run_worker(self._save(row, ""))
        else:
            self._say("it does not stand in your file")

    async def _save(self, row: SettingRow, text: str) -> None:
        try:
            profile = self._book.save(row.entry, text)
        except WorkbenchError as error:
            self._say(f"✗ {error}")
            return
        if profile:
            line = self.query_one(Input)
            line.value, line.display = f"profile {profile}", True
        await self._load()
        if not self.is_attached:
            return
        said = "saved" if text else "taken out of your file"
        self._say(f"✓ {said}" if row.held.note else f"✓ {said}; this counts {row.entry.when}")

    def _remove(self, row: SettingRow) -> None:
        """A whole profile, when it is asked for twice."""
        warning = f"This removes all of the profile {row.held.text}; the same key again does it."
        if self._said != (row.entry.place, warning) or not self.confirmation.is_answered(row.entry.place):
            self.confirmation.ask(row.entry.place)
            self._say(warning)
            return
        self.confirmation.forget()
        try:
            self._book.remove(row.entry)
        except WorkbenchError as error:
            self._say(f"✗ {error}")
            return
        self.query_one(Input).value = ""
        self.action_rows()
        self.run_worker(self._load())

    def on_key(self, event: events.Key) -> None:
        """A key that was pressed before the warning stood there removes nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    def _say(self, text: str) -> None:
        """A line below the setting under the cursor."""
        row = self.query_one(SettingList).current
        self._said = (row.entry.place if row is not None else (), text)
        self.on_moved()


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
