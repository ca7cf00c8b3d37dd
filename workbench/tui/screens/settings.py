"""The Settings screen, with the editor of one setting."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import counted, visible
from workbench.tui.key_names import key_of, page_hints
from workbench.tui.problems import Problems
from workbench.tui.settings.entries import (
    SettingEntry,
    SettingRow,
    about,
    first_named,
    fitting,
    is_profile,
    section,
    setting_row,
)
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.themes import theme_order
from workbench.tui.widgets.dock import DockedPanel, show_hints
from workbench.tui.widgets.grouped_list import GroupedList
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.formatting.timeline_rows import from_home
from workbench.view.wrapping import Line, Piece

if TYPE_CHECKING:
    from workbench.files.toml_edit import KeyPath
    from workbench.tui.settings.model_offers import ModelOffer


class SettingList(GroupedList):
    """Shows rows below the names of their sections; Enter or a click chooses one."""

    keeps_cursor = True

    class Chosen(Message):
        """Posted to change the setting of a row."""

        def __init__(self, row: SettingRow) -> None:
            super().__init__()
            self.row = row

    class Moved(Message):
        """Posted when the cursor has moved to another row."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: Sequence[SettingRow] = ()
        self._empty = "…"

    @property
    def current(self) -> SettingRow | None:
        """The row under the cursor."""
        return self._rows[self.row_index] if self._rows and self.row_index >= 0 else None

    def show(self, rows: Sequence[SettingRow], first: int) -> None:
        """Replace the rows, keeping the cursor on its setting if it is among them; otherwise it goes to `first`."""
        before = self.current
        self._rows, self._empty = rows, "No match"
        paths = [row.entry.path for row in rows]
        at = paths.index(before.entry.path) if before and before.entry.path in paths else first
        self.set_rows([row.entry.group for row in rows], lambda index: section(rows[index].entry.group), at)
        self.post_message(self.Moved())

    def row_line(self, index: int, width: int) -> Line:
        """Return one row."""
        return setting_row(self._rows[index], width) if self._rows else [Piece(self._empty, "dim")]

    def choose_row(self, index: int) -> None:
        """Change the setting under the cursor."""
        self.post_message(self.Chosen(self._rows[index]))

    def watch_cursor(self, before: int, after: int) -> None:
        """Report the move, so that the screen describes the row."""
        super().watch_cursor(before, after)
        self.post_message(self.Moved())


_KEYS: Final = "Enter Change   {settings.filter=slash} Filter   %s Reset to default   {settings.close=escape} %s"
_FILTER_KEYS: Final = "Enter Go to the list   {settings.close=escape} Clear"


class SettingsScreen(ModalScreen[None]):
    """Lists the settings of a `SettingsModel`; a change is saved at once."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="settings.close"),
        Binding("slash", "filter", "Filter", id="settings.filter"),
        Binding("u", "reset", "Reset to default", id="settings.usual"),
        Binding("down", "rows", "To the rows", show=False, id="settings.rows"),
    ]

    def __init__(
        self,
        settings_model: SettingsModel,
        search: str = "",
        offer_models: Callable[[str, Callable[[ModelOffer], Awaitable[None]]], None] | None = None,
    ) -> None:
        """`search` are the words of the filter at the start. `offer_models` lets the user choose a model other than the
        given one and passes it to a function; without it, the name of the model is text.
        """
        super().__init__(id="settings")
        self._settings_model = settings_model
        self._search = search
        self._offer_models = offer_models
        self._rows: list[SettingRow] = []
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        self._notice: tuple[KeyPath, str] = ((), "")

    def compose(self) -> ComposeResult:
        """Yield the count of invalid settings, the filter, the rows, and the description of the current row."""
        with Vertical(id="settings-box", classes="page-box") as box:
            box.border_title = "Settings"
            line = Input(
                self._search,
                placeholder="Filter by name, value or description",
                select_on_focus=False,
                id="settings-filter",
            )
            line.display = bool(self._search)
            yield Static(id="settings-wrong")
            yield line
            yield SettingList(id="settings-list")
            yield Static(id="settings-about")

    def on_mount(self) -> None:
        """Load the rows in the background."""
        self.set_focus(self.query_one(SettingList))
        self.run_worker(self._load())

    def on_resize(self) -> None:
        """Show the keys that fit."""
        self._show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of the filter, where letters are text, or of the rows."""
        self._show_keys()

    def _show_keys(self) -> None:
        line = self.query_one(Input)
        reset = key_of(self.app, "settings.usual", "u")
        hints = _FILTER_KEYS if line.has_focus else _KEYS % (reset, "Clear" if line.value else "Close")
        self.query_one("#settings-box").border_subtitle = page_hints(self.app, hints, self.size.width)

    async def _load(self) -> None:
        themes = theme_order(self.app.available_themes)
        entries = await in_daemon(lambda: self._settings_model.read(themes))
        if not self.is_attached:
            return
        self._rows = [SettingRow(entry, self._settings_model.current(entry)) for entry in entries]
        title = f"Settings · {visible(from_home(self._settings_model.file), lines=False)}"
        self.query_one("#settings-box").border_title = Content(title)
        self._show_problems()
        self._show()

    def _show_problems(self) -> None:
        """Show the number of invalid settings, if there are any."""
        problems = getattr(self.app, "problems", None)
        if isinstance(problems, Problems):
            problems.replace("settings", self._settings_model.problems)
        count = len(problems.lines if isinstance(problems, Problems) else self._settings_model.problems)
        key = key_of(self.app, "problems", "f10")
        line = self.query_one("#settings-wrong", Static)
        line.update(Content(f"! {counted(count, 'invalid setting')} (ignored)   {key} Details"))
        line.display = bool(count)

    def _show(self) -> None:
        self._show_keys()
        query = self.query_one(Input).value
        rows = fitting(self._rows, query)
        self.query_one(SettingList).show(rows, first_named(rows, query))

    @on(Input.Changed)
    def on_typed(self) -> None:
        """Filter while typing."""
        self._show()

    @on(Input.Submitted)
    def action_rows(self) -> None:
        """Move from the filter to the rows; the filter stays visible while it has text."""
        line = self.query_one(Input)
        line.display = bool(line.value.strip())
        self.set_focus(self.query_one(SettingList))

    def action_filter(self) -> None:
        """Open the filter."""
        self.query_one(Input).display = True
        self.set_focus(self.query_one(Input))

    def action_leave(self) -> None:
        """Clear the filter first, then close."""
        line = self.query_one(Input)
        if line.value or line.has_focus:
            line.value = ""
            self.action_rows()
        else:
            self.dismiss(None)

    @on(SettingList.Moved)
    def on_moved(self) -> None:
        """Describe the current row."""
        row = self.query_one(SettingList).current
        if row is None or not self.confirmation.is_asked(row.entry.path):
            self.confirmation.forget()
        lines = about(row) if row is not None else []
        path, notice = self._notice
        if row is not None and row.entry.path == path:
            lines.append([Piece(visible(notice, lines=False), "accent")])
        self.query_one("#settings-about", Static).update(as_content(lines))

    @on(SettingList.Chosen)
    def on_chosen(self, chosen: SettingList.Chosen) -> None:
        """Open the editor of the row."""
        if chosen.row.entry.is_secret:
            self._show_notice(self._settings_model.check(chosen.row.entry, "-"))
            return

        if chosen.row.entry.path == ("model",) and self._offer_models is not None:
            self._offer_models(chosen.row.value.text, partial(self._save_model, chosen.row))
            return

        def written(text: str | None) -> None:
            if text is not None:
                self.run_worker(self._save(chosen.row, text))

        self.app.push_screen(SettingEdit(chosen.row, self._settings_model.check), written)

    def action_reset(self) -> None:
        """Remove the current row's entry from the file; removing a whole saved model must be confirmed."""
        row = self.query_one(SettingList).current
        if row is None or isinstance(self.focused, Input):
            return
        if is_profile(row.entry.path) and row.value.is_yours:
            self._remove(row)
        elif row.value.is_yours or row.value.problem:
            self.run_worker(self._save(row, ""))
        else:
            self._show_notice("Not set in your file")

    async def _save(self, row: SettingRow, text: str) -> None:
        try:
            profile = self._settings_model.save(row.entry, text)
        except WorkbenchError as error:
            self._show_notice(f"✗ {error}")
            return
        if profile:
            line = self.query_one(Input)
            line.value, line.display = f"model {profile}", True
        await self._load()
        if not self.is_attached:
            return
        done = "saved" if text else "removed from your file"
        self._show_notice(f"✓ {done}" if row.value.note else f"✓ {done}; takes effect {row.entry.takes_effect}")

    async def _save_model(self, row: SettingRow, offer: ModelOffer) -> None:
        """Save the model of new sessions; one at a server's URL becomes a saved model."""
        if offer.way is None:
            await self._save(row, offer.name)
            return
        _, problem = self._settings_model.save_model(offer.way)
        await self._load()
        if self.is_attached:
            self._show_notice(f"✗ {problem}" if problem else f"✓ saved; takes effect {row.entry.takes_effect}")

    def _remove(self, row: SettingRow) -> None:
        """Delete a whole saved model on the second press; the first one asks."""
        warning = (
            f"Delete saved model {row.value.text}? Press {key_of(self.app, 'settings.usual', 'u')} again to confirm."
        )
        if self._notice != (row.entry.path, warning) or not self.confirmation.is_answered(row.entry.path):
            self.confirmation.ask(row.entry.path)
            self._show_notice(warning)
            return
        self.confirmation.forget()
        try:
            self._settings_model.remove(row.entry)
        except WorkbenchError as error:
            self._show_notice(f"✗ {error}")
            return
        self.query_one(Input).value = ""
        self.action_rows()
        self.run_worker(self._load())

    def on_key(self, event: events.Key) -> None:
        """Ignore a key that was pressed before the warning was shown."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    def _show_notice(self, text: str) -> None:
        """Show a line below the description of the current row."""
        row = self.query_one(SettingList).current
        self._notice = (row.entry.path if row is not None else (), text)
        self.on_moved()


_RISKY: Final = {
    ("mode", "never"): "Actions will run without asking, in new sessions too. "
    "Protected files, unrecoverable deletions and your rules still ask."
}


class SettingEdit(ModalScreen[str | None]):
    """Edits one setting; dismisses with the text to save, or None. `check` returns what is wrong with a text."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", id="setting.close")]

    def __init__(self, row: SettingRow, check: Callable[[SettingEntry, str], str]) -> None:
        super().__init__(id="setting")
        self._entry = row.entry
        self._value = row.value
        self._check = check
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)

    def compose(self) -> ComposeResult:
        """Yield the description, the input line or the choices, and a note about the text."""
        entry = self._entry
        with DockedPanel(id="setting-box"):
            yield Static(Content.styled(visible(f"{entry.group} · {entry.title}", lines=False), "bold"), id="title")
            yield Static(Content(visible(entry.about, lines=False)), id="setting-words")
            if entry.choices:
                yield OptionList(*(Option(self._option(*choice)) for choice in entry.choices), id="setting-choices")
            else:
                yield Input(
                    self._start_text(),
                    placeholder=entry.explained(entry.default),
                    select_on_focus=False,
                    id="setting-line",
                )
            yield Static(id="setting-note")
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Focus the list of choices, at the current value, or else the input line."""
        if self._entry.choices:
            rows = self.query_one(OptionList)
            rows.focus()
            names = [name for name, _ in self._entry.choices]
            rows.highlighted = names.index(self._value.text) if self._value.text in names else 0
        else:
            self.query_one(Input).focus()
        self._note("")

    def on_resize(self) -> None:
        """Show the keys that fit."""
        move = "↑↓ Move   " if self._entry.choices else ""
        show_hints(self, f"{move}Enter Save   {{setting.close=escape}} Cancel")

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Check the text while it is typed."""
        self._note(self._check(self._entry, event.value))

    @on(Input.Submitted)
    def on_submitted(self, event: Input.Submitted) -> None:
        """Save the text if it is valid."""
        problem = self._check(self._entry, event.value)
        if problem:
            self._note(problem)
        else:
            self.dismiss(event.value.strip())

    @on(OptionList.OptionSelected)
    def on_chosen(self, chosen: OptionList.OptionSelected) -> None:
        """Save the choice; ask for confirmation first if it removes a safeguard."""
        name, _ = self._entry.choices[chosen.option_index]
        warning = _RISKY.get((self._entry.name, name), "")
        if warning and not self.confirmation.is_answered(name):
            self.confirmation.ask(name)
            text = f"! {warning} Press Enter again to save."
            self.query_one("#setting-note", Static).update(Content.styled(text, "$sign-waiting"))
        elif problem := self._check(self._entry, name):
            self._note(problem)
        else:
            self.dismiss(name)

    @on(OptionList.OptionHighlighted)
    def on_highlighted(self) -> None:
        """Cancel a pending confirmation when the cursor moves."""
        self.confirmation.forget()
        self._note("")

    def on_key(self, event: events.Key) -> None:
        """Ignore a key that was pressed before the warning was shown."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Record a click, so that one made before the warning was shown does not confirm it."""
        self.confirmation.hears("", time.monotonic() - event.time)

    def _start_text(self) -> str:
        """Return the current value, or an empty string if it is a default or partly masked."""
        is_set = self._value.source != "default" or self._value.is_yours
        return self._value.text if is_set and not self._value.is_masked else ""

    def _option(self, name: str, words: str) -> Content:
        mark = "● " if name == self._value.text else "  "
        width = max(10, *(len(self._entry.label(value)) for value, _ in self._entry.choices))
        label = visible(self._entry.label(name).ljust(width), lines=False)
        return Content.assemble((mark, "$primary"), label, (f"  {words}", "$dim"))

    def _note(self, problem: str) -> None:
        note = self.query_one("#setting-note", Static)
        default = f"default: {self._entry.explained(self._entry.default)} · " if self._entry.default else ""
        text = f"✗ {problem}" if problem else f"{default}takes effect {self._entry.takes_effect}"
        note.update(Content.styled(visible(text, lines=False), "$sign-failed" if problem else "$dim"))
