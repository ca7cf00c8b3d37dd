"""Opens the screens of a rewind, and sends what the user chooses to the engine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.screen import Screen

from workbench.client.client import Client
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.commands import PreviewRewind, RewindSession
from workbench.text import visible
from workbench.tui.focus import focus_now
from workbench.tui.messages import BranchChosen, ForkRequested, PastRequested, RedoRequested, RewindRequested
from workbench.tui.open_screens import open_text
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession
from workbench.view.state import ActionItem, Changed, Item, SessionState

if TYPE_CHECKING:
    from workbench.protocol.rewind import RewindScope
    from workbench.tui.screens.rewind import RewindPreviewScreen
    from workbench.view.rewind import CheckpointRow, RewindChoice, RewindPreview

_SOON: Final = 0.8
"""The most seconds between two presses of Esc that open the checkpoints."""
_BUSY: Final = "the agent is working; stop it first (Esc)"


class RewindOpener:
    """Leads from the checkpoints through the preview to the rewind; at most one rewind is in progress."""

    def __init__(self, screen: Screen[None], client: Client, state: SessionState, session: AppSession) -> None:
        self._screen = screen
        self._session = session
        self._client = client
        self._state = state
        self._escaped = 0.0
        self._preview: tuple[RewindPreview, RewindPreviewScreen] | None = None
        self._text = ""
        """The message that returns to the prompt once the session has moved."""
        self._restored = ""
        """The text of the prompt right after the last rewind put a message into it; empty if it put none."""
        self._draft = ""
        """The text of the prompt before that."""

    def escape(self) -> None:
        """Note a press of Esc that did nothing else; the second one opens the checkpoints if the prompt is empty."""
        now = time.monotonic()
        if self._screen.query_one(Prompt).text:
            return
        if now - self._escaped < _SOON and self._state.items:
            self._escaped = 0.0
            self.open()
        else:
            self._escaped = now

    def handle(self, message: PastRequested) -> None:
        """Do what a command or a key in a panel asks for."""
        if isinstance(message, RewindRequested):
            self.open(message.item)
        elif isinstance(message, ForkRequested):
            self.fork_at(*_position(message.item))
        elif isinstance(message, RedoRequested):
            self.redo()
        elif isinstance(message, BranchChosen):
            self._screen.run_worker(self._show_branch(message.first, message.last), group="branch", exclusive=True)

    async def _show_branch(self, first: int, last: int) -> None:
        from workbench.view.rewind import branch_text

        try:
            text = await in_daemon(lambda: branch_text(self._session_file(), first, last))
        except WorkbenchError as error:
            text = visible(str(error))
        open_text(self._screen.app, "Undone by a rewind", text)

    def open(self, item: Item | None = None) -> None:
        """Show the checkpoints, with the cursor on that of an item or, without one, on the last."""
        self.open_at(*(_position(item) if item else (0, "")))

    def open_at(self, seq: int, action_id: str = "") -> None:
        """Show the checkpoints, with the cursor on that of an action or on the last one up to event `seq`."""
        self._show(seq, action_id)

    def fork_at(self, seq: int, action_id: str = "") -> None:
        """Fork the session from the checkpoint on which `open_at` would put the cursor."""
        self._screen.run_worker(self._fork(seq, action_id), group="fork")

    def redo(self) -> None:
        """Return to where the session was before the last rewind; show a preview first if it has gone on since."""
        if self._is_free():
            self._screen.run_worker(self._redo(), group="rewind", exclusive=True)

    def refresh(self, changed: Changed | None) -> None:
        """Show a preview that has arrived, or put the message into the prompt after the session was moved.

        Call this after each change of the session, with None when all of it was read again.
        """
        if changed is None:
            self._moved()
            return
        if changed.rewind is not None and self._preview is not None:
            preview, screen = self._preview
            if preview.update(changed.rewind.rewound, changed.rewind.deltas):
                screen.refuse("")
        if changed.refused:
            if not changed.refused.startswith("moved"):
                self._text = ""
            if self._preview is not None:
                self._preview[1].refuse(changed.refused)

    def _is_free(self) -> bool:
        """Return whether the session can be moved now; warn the user if it cannot."""
        state = self._state
        if not state.items:
            self._warn("there is nothing to go back to yet")
        elif state.is_running and state.work != "deciding":
            self._warn(_BUSY)
        else:
            return True
        return False

    def _show(self, seq: int = 0, action_id: str = "") -> None:
        from workbench.tui.screens.rewind import RewindScreen
        from workbench.view.rewind import read_checkpoints

        if self._is_free() and not isinstance(self._screen.app.screen, RewindScreen):
            read = partial(read_checkpoints, self._session_file())
            self._screen.app.push_screen(RewindScreen(read, seq, action_id), self._chosen)

    def _chosen(self, row: CheckpointRow | None) -> None:
        from workbench.tui.screens.rewind import RewindPreviewScreen
        from workbench.view.rewind import RewindPreview

        if row is not None:
            preview = RewindPreview(row, self._state.workspace, self._ask)
            self._preview = preview, RewindPreviewScreen(preview)
            self._screen.app.push_screen(self._preview[1], partial(self._confirmed, preview))
            preview.ask()

    def _ask(self, target: int, scope: RewindScope, overwrites: Sequence[str]) -> None:
        self._client.send(PreviewRewind(target=target, scope=scope, overwrites=tuple(overwrites)))

    def _confirmed(self, preview: RewindPreview, choice: RewindChoice | None) -> None:
        self._preview, row = None, preview.row
        if choice is None:
            self._show(row.seq)
            return
        if choice.is_fork:
            self._screen.run_worker(self._screen.app.run_action(f"app.fork('{row.seq}')"), group="fork")
            return
        self._text = row.message if choice.scope != "files" else ""
        previewed = preview.rewound.seq if preview.rewound is not None else 0
        self._client.send(
            RewindSession(target=row.target, scope=choice.scope, overwrites=choice.overwrites, previewed=previewed)
        )

    async def _fork(self, seq: int, action_id: str) -> None:
        from workbench.view.rewind import checkpoint_at, read_checkpoints

        try:
            rows = await in_daemon(lambda: read_checkpoints(self._session_file()))
        except WorkbenchError as error:
            self._warn(str(error))
            return
        event = str(rows[checkpoint_at(rows, seq, action_id)].seq) if rows else ""
        await self._screen.app.run_action(f"app.fork('{event}')")

    async def _redo(self) -> None:
        from workbench.view.rewind import read_last_rewind

        try:
            last = await in_daemon(lambda: read_last_rewind(self._session_file()))
        except WorkbenchError as error:
            self._warn(str(error))
            return
        if last is None:
            self._warn("there is no rewind to undo")
        elif last.has_gone_on:
            self._chosen(last.row)
        else:
            self._client.send(RewindSession(target=last.row.target, scope=last.row.scope))

    def _session_file(self) -> Path:
        return self._session.file_of(self._state.session_id)

    def _moved(self) -> None:
        """Put the user's message that the rewind undid into the prompt, in place of that of an earlier rewind."""
        prompt = self._screen.query_one(Prompt)
        if self._restored and prompt.text == self._restored:
            prompt.load_text(self._draft)
        self._restored, self._text, self._draft = self._text, "", prompt.text
        if self._restored:
            prompt.restore_text(self._restored)
            self._restored = prompt.text
            focus_now(prompt)

    def _warn(self, text: str) -> None:
        self._screen.notify(visible(text), severity="warning", markup=False)


def _position(item: Item) -> tuple[int, str]:
    """Return the number of an item's event, and its action's id if it is an action, else ""."""
    return item.seq, item.action_id if isinstance(item, ActionItem) else ""
