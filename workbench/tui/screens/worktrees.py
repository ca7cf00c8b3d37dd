"""The Worktrees screen (/worktree): the worktrees of the repository; one can be opened, merged back and removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from msgspec import structs
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.key_names import hint_content, key_of
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import css_beside
from workbench.view.approval.quiet_time import Confirmation
from workbench.view.formatting.worktrees import worktree_line, worktree_note
from workbench.view.notices import READ_ONLY
from workbench.view.review.review import Review
from workbench.view.worktrees import Worktree, Worktrees
from workbench.view.wrapping import Line

_KEYS: Final = (
    "↑↓ Move   Enter Open   {worktrees.merge=m} Merge…   {worktrees.remove=d} Remove   {worktrees.close=escape} Close"
)
_ALONE: Final = "No other worktree yet: /worktree NAME starts a session in its own directory and branch"


class WorktreeList(LineList):
    """The worktrees; Enter or a click opens one."""

    class Opened(Message):
        """Posted to open a worktree."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    class Moved(Message):
        """Posted when the user moves the cursor."""

    def __init__(self) -> None:
        super().__init__(id="worktrees-list")
        self.worktrees: Sequence[Worktree] = ()
        self._names = 0

    def update(self, worktrees: Sequence[Worktree]) -> None:
        """Show these worktrees."""
        self.worktrees = worktrees
        self._names = max((cell_len(each.name) for each in worktrees), default=0)
        self.set_count(len(worktrees))
        self.forget()

    @property
    def current(self) -> Worktree | None:
        """The worktree under the cursor."""
        return self.worktrees[self.cursor] if self.cursor < len(self.worktrees) else None

    def line(self, index: int, width: int) -> Line:
        """Return one row."""
        return worktree_line(self.worktrees[index], self._names, width)

    def choose(self, index: int) -> None:
        """Open a worktree."""
        self.post_message(self.Opened(index))

    def move_to(self, index: int) -> None:
        """Put the cursor on a worktree, and report that it has moved."""
        super().move_to(index)
        self.post_message(self.Moved())


class WorktreesScreen(ModalScreen[Worktree]):
    """Lists the worktrees; dismisses with the one to open. Merging one back changes the workspace of the `review`."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Close", id="worktrees.close"),
        Binding("m", "merge", "Apply its changes here", id="worktrees.merge"),
        Binding("d", "remove", "Remove the worktree", id="worktrees.remove"),
    ]

    def __init__(self, worktrees: Worktrees, review: Review) -> None:
        super().__init__(id="worktrees")
        self._worktrees = worktrees
        self._review = review
        self._list = WorktreeList()
        self._note = Static("Asking git …", id="worktrees-note")
        self._is_removing = False
        self.confirmation = Confirmation(self.call_after_refresh, time.monotonic)
        """Confirms a removal that loses changes, by a second press."""

    def compose(self) -> ComposeResult:
        """Yield the list, and below it what is known about the worktree under the cursor."""
        with Vertical(id="worktrees-box", classes="page-box") as box:
            box.border_title = "Worktrees"
            box.border_subtitle = hint_content(self.app, _KEYS)
            yield self._list
            yield self._note

    def on_mount(self) -> None:
        """Read the worktrees in a thread."""
        self.set_focus(self._list)
        self.run_worker(self._load(""), group="worktrees", exclusive=True)

    async def _load(self, message: str) -> None:
        try:
            worktrees = await in_daemon(self._worktrees.all)
        except WorkbenchError as error:
            self._show(str(error))
            return
        self._list.update(worktrees)
        self._show(message or (_ALONE if len(worktrees) == 1 else self._about))

    @property
    def _about(self) -> str:
        worktree = self._list.current
        return worktree_note(worktree) if worktree is not None else ""

    def _show(self, text: str) -> None:
        self._note.update(Content(visible(text)))

    @on(WorktreeList.Moved)
    def on_moved(self) -> None:
        """Show what is known about the worktree; cancel a pending removal of another one."""
        self.confirmation.forget()
        if self._list.worktrees:
            self._show(self._about)

    def on_key(self, event: events.Key) -> None:
        """Stop a key that was pressed before the question was visible, so that it removes nothing."""
        if not self.confirmation.hears(event.key, time.monotonic() - event.time):
            event.stop()

    @on(WorktreeList.Opened)
    def on_opened(self, opened: WorktreeList.Opened) -> None:
        """Open the session that worked there last, or a new one."""
        worktree = self._list.worktrees[opened.index]
        if worktree.is_missing:
            self._show(worktree_note(worktree))
        elif worktree.is_here:
            self._show("This session is in that worktree")
        else:
            self.dismiss(worktree)

    def action_merge(self) -> None:
        """Show the changes of the worktree under the cursor in the diff viewer, to apply them here."""
        worktree = self._list.current
        if worktree is None:
            return
        if worktree.is_here:
            self._show("These are the changes of this workspace; move to another worktree")
            return
        scopes = [self._worktrees.merge_scope(worktree)]
        self.app.push_screen(DiffViewerScreen((), str(self._review.directory), review=self._review, scopes=scopes))

    def action_remove(self) -> None:
        """Remove the worktree under the cursor; if that loses changes, on the second press only."""
        worktree = self._list.current
        if worktree is None or self._is_removing:
            return
        about = structs.replace(worktree, session=None)
        is_confirmed = self.confirmation.is_answered(about)
        if not self._review.live.has_control:
            self._show(READ_ONLY)
        elif worktree.own_work and not (worktree.is_main or worktree.is_here or is_confirmed):
            self.confirmation.ask(about)
            key = key_of(self.app, "worktrees.remove", "d")
            self._show(f"{worktree.name} has {worktree.own_work}.\n{_lost(worktree)} Press {key} again to remove it")
        else:
            self.confirmation.forget()
            self._is_removing = True
            remove = partial(self._worktrees.remove, worktree, is_confirmed=is_confirmed)
            self.run_worker(self._remove(remove), group="remove")

    async def _remove(self, remove: Callable[[], str]) -> None:
        try:
            message = await in_daemon(remove)
        except WorkbenchError as error:
            message = f"Not removed: {error}"
        finally:
            self._is_removing = False
        await self._load(message)

    def action_leave(self) -> None:
        """Close without opening one."""
        self.dismiss(None)


def _lost(worktree: Worktree) -> str:
    work = worktree.work
    parts = ("uncommitted changes" * bool(work.changed), "submodules" * bool(work.submodules))
    lost = ", ".join(filter(None, (*parts, "ignored files" * bool(work.ignored))))
    files = "Whatever is in it will be lost." if work.problem else f"The {lost} will be lost." if lost else ""
    commits = ""
    if worktree.ahead != 0:
        commits = "The commits stay on its branch." if worktree.branch else "The commits will be on no branch."
    return " ".join(filter(None, (files, commits)))
