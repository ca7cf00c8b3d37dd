"""The palette (ctrl+p): an input for a few letters, and below it every entry that matches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.client.threads import in_daemon
from workbench.session.file_search import FileIndex
from workbench.text import visible
from workbench.tui.palette_entries import (
    PaletteEntry,
    PastSession,
    file_entries,
    fitting,
    recent_first,
    session_entries,
)
from workbench.tui.widgets.dock import SIDES, DockedPanel, show_hints
from workbench.tui.widgets.strips import css_beside
from workbench.view.prompt.completion import match_offsets

_MOST = 200
_NAMES = 20
"""Columns for the name of an entry; a longer name takes more."""
_KINDS = 9
"""Columns for the kind of an entry."""

FindSessions = Callable[[], Sequence[PastSession]]


class PaletteScreen(ModalScreen[PaletteEntry | None]):
    """The palette; dismisses with the chosen entry, or None if the user closes it."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="palette.close"),
        Binding("down", "move(1)", "Next", id="palette.next", show=False),
        Binding("up", "move(-1)", "Previous", id="palette.previous", show=False),
        Binding("pagedown", "move(8)", "Eight on", id="palette.page-down", show=False),
        Binding("pageup", "move(-8)", "Eight back", id="palette.page-up", show=False),
    ]

    class FileMatches(Message):
        """Posted when the file index has found files for a query."""

        def __init__(self, query: str, paths: list[str]) -> None:
            super().__init__()
            self.query, self.paths = query, paths

    def __init__(
        self,
        entries: Sequence[PaletteEntry],
        directory: Path | None,
        sessions: FindSessions | None,
        recent: Sequence[str] = (),
        *,
        title: str = "Palette",
        hint: str = "A command, a model, a session, a theme, a file",
    ) -> None:
        """`directory` is searched for files, and `sessions` returns the past sessions; each is omitted if None.

        Entries with the actions in `recent` come first, in that order. `hint` is shown in the empty input line.
        """
        super().__init__(id="palette")
        self._title, self._hint = title, hint
        self._recent = list(recent)
        self._entries = recent_first(entries, recent)
        self._find_sessions = sessions
        self._index = FileIndex(directory, self._post_files) if directory is not None else None
        self._files: list[PaletteEntry] = []
        self._matches: list[PaletteEntry] = []
        self.has_sessions = sessions is None
        """Whether the sessions have been added to the entries, or never will be."""

    def compose(self) -> ComposeResult:
        """Yield the box with the input line and the list."""
        with DockedPanel(id="palette-box"):
            yield Static(Content.styled(self._title, "bold"), id="title")
            yield Input(placeholder=self._hint, id="palette-query")
            yield OptionList(id="palette-list")
            yield Static(id="keys")

    async def on_mount(self) -> None:
        """Show the entries, then add the sessions, which are read in a thread."""
        self._show()
        if self._find_sessions is not None:
            sessions = session_entries(await in_daemon(self._find_sessions))
            if not self.is_attached:
                return
            self._entries = recent_first([*self._entries, *sessions], self._recent)
            self.has_sessions = True
            self._show()

    def on_resize(self) -> None:
        """Fit the rows to the width of the box."""
        self._show()

    def on_unmount(self) -> None:
        """Close the file index."""
        if self._index is not None:
            self._index.close()

    @on(Input.Changed)
    def on_typed(self, event: Input.Changed) -> None:
        """Show the entries that match the text; files are added once they are found."""
        self._files = []
        if self._index is not None and event.value.strip():
            self._index.ask(event.value.strip())
        self._show()

    @on(FileMatches)
    def on_file_matches(self, matches: FileMatches) -> None:
        """Show the files found, unless the text has changed since."""
        if matches.query == self.query_one(Input).value.strip():
            at = self.query_one(OptionList).highlighted
            self._files = file_entries(matches.paths)
            self._show(at or 0)

    @on(Input.Submitted)
    def on_submitted(self) -> None:
        """Dismiss with the entry under the cursor."""
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self._matches) and self.is_current:
            self.dismiss(self._matches[at])

    @on(OptionList.OptionSelected)
    def on_clicked(self, chosen: OptionList.OptionSelected) -> None:
        """Dismiss with the entry that was clicked."""
        self.dismiss(self._matches[chosen.option_index])

    def action_move(self, by: int) -> None:
        """Move the cursor by some rows; a step of one wraps around, a longer one stops at the ends."""
        rows = self.query_one(OptionList)
        if self._matches:
            at, last = (rows.highlighted or 0) + by, len(self._matches) - 1
            rows.highlighted = at % (last + 1) if abs(by) == 1 else max(0, min(at, last))

    def _post_files(self, query: str, paths: list[str]) -> None:
        if self.is_running:
            self.post_message(self.FileMatches(query, paths))

    def _show(self, at: int = 0) -> None:
        query = self.query_one(Input).value.strip()
        self._matches = fitting(query, [*self._entries, *self._files], _MOST)
        rows, width = self.query_one(OptionList), self._width()
        rows.clear_options()
        rows.add_options(Option(_row(entry, query, width)) for entry in self._matches)
        rows.highlighted = min(at, len(self._matches) - 1) if self._matches else None
        keys = "↑↓ Choose   Enter Open   {palette.close=escape} Close"
        show_hints(self, keys, "" if self._matches else "No match")

    def _width(self) -> int:
        """Return the width of a row in columns: the panel without its bar, margins and scrollbar."""
        return max(20, self.size.width - SIDES - 1)


def _row(entry: PaletteEntry, query: str, width: int) -> Content:
    """Return the row of an entry: name, description, and at the end its key and its kind."""
    label, words = visible(entry.label, lines=False), visible(entry.words, lines=False)
    key, kind = visible(entry.key, lines=False), f"{entry.kind:>{_KINDS}}"
    available = width - cell_len(kind) - cell_len(key) - 2
    name = Content(label)
    if query and label == entry.label:
        offset = 1 if label.startswith("/") else 0
        for at in match_offsets(query, label[offset:]):
            name = name.stylize("bold $primary", at + offset, at + offset + 1)
    gap = " " * max(2, _NAMES - cell_len(label)) if words else ""
    line = Content.assemble(name, gap, (words, "$dim")).truncate(available, ellipsis=True, pad=True)
    return Content.assemble(line, "  ", (key, "bold $footer-key-foreground"), (kind, "$dim"))
