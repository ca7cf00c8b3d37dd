"""The Settings screen: every setting with what holds and where it comes from; filtered, changed, taken back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.key_names import key_of
from workbench.tui.mistakes import Mistakes
from workbench.tui.settings.book import SettingsBook
from workbench.tui.settings.entries import is_profile
from workbench.tui.settings.rows import SettingRow, about, fitting
from workbench.tui.themes import theme_order
from workbench.tui.widgets.painting import as_content, css_beside
from workbench.tui.widgets.setting_list import SettingList
from workbench.view.approval.questions import Confirmation
from workbench.view.formatting.rows import from_home
from workbench.view.formatting.wrapping import Piece

if TYPE_CHECKING:  # tomlkit is needed when something is saved
    from workbench.config.edit import Place

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
        from workbench.tui.screens.setting_edit import SettingEdit

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
