"""The screens of `/rewind`: the checkpoints of the session, then the preview of what returning to one would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.rewind import RewindScope
from workbench.text import counted, visible
from workbench.tui.key_names import hint_content
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.dock import DockedPanel, show_hints
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import css_beside
from workbench.view import clock
from workbench.view.rewind import (
    CheckpointRow,
    PreviewRow,
    RewindChoice,
    RewindPreview,
    checkpoint_at,
    checkpoint_row,
    preview_row,
)
from workbench.view.state import FileState
from workbench.view.wrapping import Line, Piece

_KEYS: Final = "↑↓ Move   Enter Preview   {rewind.close=escape} Close"
_PREVIEW_KEYS: Final = (
    "{preview.rewind=enter} %s   {preview.conversation=c} Conversation only   {preview.files=f} Files only   "
    "{preview.fork=n} New session   {preview.diff=d} Diff   {preview.back=escape} Back"
)
_NARROW_KEYS: Final = (
    "{preview.rewind=enter} Rewind   {preview.conversation=c} Conversation   {preview.files=f} Files   "
    "{preview.fork=n} New   {preview.diff=d} Diff   {preview.back=escape} Back"
)
_SCOPES: Final[tuple[RewindScope, ...]] = ("both", "conversation", "files")
_BOTH: Final = {"both": "Rewind both", "conversation": "Rewind conversation", "files": "Rewind files"}


class CheckpointLines(LineList, can_focus=False):
    """Shows the checkpoints that match; the input line above has the focus, a click chooses one."""

    class Chosen(Message):
        """Posted to show the preview of a checkpoint."""

        def __init__(self, row: CheckpointRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self) -> None:
        super().__init__(id="rewind-list")
        self.rows: Sequence[CheckpointRow] = ()
        self.empty = "Reading …"

    def update(self, rows: Sequence[CheckpointRow], cursor: int) -> None:
        """Show these rows with the cursor on one of them."""
        self.rows = rows
        self.set_count(len(rows) or 1)
        self.forget()
        self.move_to(cursor)

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        return checkpoint_row(self.rows[index], width, clock.now()) if self.rows else [Piece(self.empty, "dim")]

    def choose(self, index: int) -> None:
        """Choose a row."""
        if self.rows:
            self.post_message(self.Chosen(self.rows[index]))


class RewindScreen(ModalScreen[CheckpointRow | None]):
    """Lists the checkpoints; dismisses with the one to preview, or None."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", id="rewind.close"),
        Binding("up", "move(-1)", "Up", show=False, id="rewind.up"),
        Binding("down", "move(1)", "Down", show=False, id="rewind.down"),
        Binding("pageup", "page(-1)", "Page up", show=False, id="rewind.page-up"),
        Binding("pagedown", "page(1)", "Page down", show=False, id="rewind.page-down"),
    ]

    def __init__(self, read: Callable[[], list[CheckpointRow]], seq: int = 0, action_id: str = "") -> None:
        """`read` is called in a thread. The cursor starts on the action `action_id`, else on the last checkpoint up to
        event `seq`, else on the last one.
        """
        super().__init__(id="rewind")
        self._read = read
        self._seq = seq
        self._action_id = action_id
        self._rows: Sequence[CheckpointRow] = ()
        self._lines = CheckpointLines()

    def compose(self) -> ComposeResult:
        """Yield the filter and the rows."""
        with Vertical(id="rewind-box", classes="page-box") as box:
            box.border_title = "Rewind"
            box.border_subtitle = hint_content(self.app, _KEYS)
            yield Input(placeholder="Filter by text or file", id="rewind-filter", compact=True)
            yield self._lines

    def on_mount(self) -> None:
        """Read the checkpoints in a thread."""
        self.set_focus(self.query_one(Input))
        self._lines.set_count(1)
        self.run_worker(self._load())

    async def _load(self) -> None:
        try:
            self._rows = await in_daemon(self._read)
        except WorkbenchError as error:
            self._lines.empty = visible(str(error), lines=False)
        else:
            self._lines.empty = "No message yet"
        if self.is_attached:
            self._show(checkpoint_at(self._rows, self._seq, self._action_id))

    def _show(self, cursor: int) -> None:
        words = self.query_one(Input).value.lower().split()
        rows = [row for row in self._rows if row.fits(words)]
        self._lines.update(rows, cursor)
        if words:
            self._lines.empty = "No match"
        count = counted(len(self._rows), "checkpoint")
        title = f"Rewind · {len(rows)} of {count}" if words else f"Rewind · {count}"
        self.query_one("#rewind-box").border_title = Content(title)

    @on(Input.Changed)
    def on_typed(self) -> None:
        """Show the checkpoints that match, with the cursor on the last one."""
        self._show(len(self._rows))

    @on(Input.Submitted)
    def on_submitted(self) -> None:
        """Choose the checkpoint under the cursor."""
        self._lines.action_choose()

    @on(CheckpointLines.Chosen)
    def on_chosen(self, chosen: CheckpointLines.Chosen) -> None:
        """Dismiss with a checkpoint."""
        if self.is_current:
            self.dismiss(chosen.row)

    def action_move(self, by: int) -> None:
        """Move the cursor by some rows."""
        self._lines.action_move(by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screenful."""
        self._lines.action_page(by)

    def action_leave(self) -> None:
        """Clear the filter; without one, close the screen."""
        entry = self.query_one(Input)
        if entry.value:
            entry.value = ""
        else:
            self.dismiss(None)


class PreviewLines(LineList):
    """Shows what a rewind does to each file; a click opens the diff of one."""

    class Opened(Message):
        """Posted to show the diff of a file."""

        def __init__(self, row: PreviewRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self, preview: RewindPreview) -> None:
        super().__init__(id="preview-list")
        self._preview = preview
        self.followed = ""
        """The key of the row that the cursor follows when the rows are sorted again."""

    @property
    def current(self) -> PreviewRow | None:
        """The row under the cursor."""
        rows = self._preview.rows
        return rows[self.cursor] if self.cursor < len(rows) else None

    def update(self) -> None:
        """Show the rows as they are now."""
        rows = self._preview.rows
        self.set_count(len(rows))
        self.forget()
        if self.followed:
            self.move_to(next((at for at, row in enumerate(rows) if row.key == self.followed), self.cursor))
            self.followed = ""

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        return preview_row(self._preview.rows[index], width)

    def choose(self, index: int) -> None:
        """Show the diff of a file."""
        self.post_message(self.Opened(self._preview.rows[index]))


class RewindPreviewScreen(ModalScreen[RewindChoice | None]):
    """Shows what a rewind would do; dismisses with the user's choice, or with None to go back to the checkpoints."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "rewind('')", "Rewind", id="preview.rewind", priority=True),
        Binding("c", "rewind('conversation')", "Conversation only", id="preview.conversation"),
        Binding("f", "rewind('files')", "Files only", id="preview.files"),
        Binding("n", "fork", "New session from here", id="preview.fork"),
        Binding("d", "diff", "Diff", id="preview.diff"),
        Binding("space", "overwrite", "Use the earlier version, or keep yours", id="preview.overwrite"),
        Binding("escape", "back", "Back", id="preview.back"),
    ]

    def __init__(self, preview: RewindPreview) -> None:
        super().__init__(id="rewind-preview")
        self._preview = preview
        self._lines = PreviewLines(preview)
        self._refusal = ""

    def compose(self) -> ComposeResult:
        """Yield the facts, the files and the note."""
        with DockedPanel(id="preview-box"):
            title = f"Rewind to {visible(self._preview.row.title, lines=False)}"
            yield Static(Content.styled(title, "bold"), id="title")
            yield Static(id="preview-facts")
            yield self._lines
            yield Static(id="preview-note")
            yield Static(id="keys")

    def on_mount(self) -> None:
        """Show that the files are being compared."""
        self.set_focus(self._lines)
        self.update()

    def on_resize(self) -> None:
        """Show the keys that fit."""
        keys = _PREVIEW_KEYS % _BOTH[self._preview.row.scope]
        keys = keys if self.size.width >= 100 else _NARROW_KEYS
        show_hints(self, keys)

    def update(self) -> None:
        """Show the preview as it is now."""
        if self.is_attached:
            self._lines.update()
            self.query_one("#preview-facts", Static).update(Content("\n".join(self._preview.facts())))
            has_conflict = any(row.is_conflict for row in self._preview.rows) or bool(self._preview.overwrites)
            note = "{preview.overwrite=space} Use the earlier version of a file that you changed, or keep yours"
            content = Content(visible(self._refusal, lines=False)) if self._refusal else hint_content(self.app, note)
            line = self.query_one("#preview-note", Static)
            line.display = bool(self._refusal) or has_conflict
            line.update(content)

    def refuse(self, reason: str) -> None:
        """Show why the engine has no preview, or no reason any more."""
        self._refusal = reason
        self.update()

    @on(PreviewLines.Opened)
    def on_opened(self, opened: PreviewLines.Opened) -> None:
        """Show the diff, beginning with a file."""
        self._show_diff(opened.row)

    def action_diff(self) -> None:
        """Show the diff, beginning with the file under the cursor."""
        self._show_diff(self._lines.current)

    def _show_diff(self, row: PreviewRow | None) -> None:
        deltas = [each.delta for each in self._preview.rows if each.delta is not None]
        files = [FileState(delta.path, delta.before, delta.after, note=delta.cut) for delta in deltas]
        if not files:
            self.notify("No file will change", timeout=3)
            return
        chosen = row.delta.path if row is not None and row.delta is not None else None
        self.app.push_screen(DiffViewerScreen(files, self._preview.workspace, chosen))

    def action_overwrite(self) -> None:
        """Overwrite the conflicting file under the cursor, or keep it after all."""
        row = self._lines.current
        if row is not None and self._preview.toggle(row):
            self._lines.followed = row.key
        else:
            self.notify("Only a file that you changed too can be chosen", timeout=3)

    def action_rewind(self, scope: str) -> None:
        """Dismiss with the choice, once the preview is there; the conversation moves without one if there is none."""
        if self._preview.rewound is None and not (self._refusal and scope == "conversation"):
            return
        chosen = next((each for each in _SCOPES if each == scope), self._preview.row.scope)
        self.dismiss(RewindChoice(chosen, tuple(self._preview.overwrites)))

    def action_fork(self) -> None:
        """Leave this session as it is, and continue from the checkpoint in a new one."""
        self.dismiss(RewindChoice(self._preview.row.scope, is_fork=True))

    def action_back(self) -> None:
        """Go back to the checkpoints."""
        self.dismiss(None)
