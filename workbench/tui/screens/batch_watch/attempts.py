"""The attempts of one cell of the grid, and the page of one attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen

from workbench.batch.attempt_page import attempt_text, log_text
from workbench.batch.attempt_states import WAITING
from workbench.batch.run_directory import RunDirectory
from workbench.batch.watched_run import AttemptStatus, RunView
from workbench.client.threads import in_daemon
from workbench.session.session_names import SUFFIX
from workbench.text import visible
from workbench.tui.key_names import page_hints
from workbench.tui.open_screens import open_text
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.line_list import LineList
from workbench.view import clock
from workbench.view.batch_watch import OpenedAttempt, status_in
from workbench.view.formatting.batch_watch import attempt_line
from workbench.view.review.patch_files import LARGEST, files_of_patch
from workbench.view.wrapping import Line

if TYPE_CHECKING:
    from workbench.view.state import FileState

_KEYS: Final = "↑↓ Move   Enter Open   {attempts.close=escape} Close"


class AttemptList(LineList):
    """The attempts at one task with one model; Enter or a click opens one."""

    class Opened(Message):
        """Posted to open the page of an attempt."""

        def __init__(self, status: AttemptStatus) -> None:
            super().__init__()
            self.status = status

    def __init__(self, statuses: Sequence[AttemptStatus]) -> None:
        super().__init__(id="attempts-list")
        self._statuses = statuses

    def on_mount(self) -> None:
        """Show the attempts."""
        self.update(self._statuses)

    def update(self, statuses: Sequence[AttemptStatus]) -> None:
        """Replace the attempts."""
        self._statuses = statuses
        self.set_count(len(statuses))
        self.forget()

    def line(self, index: int, width: int) -> Line:
        """Return one attempt."""
        return attempt_line(self._statuses[index], width, clock.now().timestamp())

    def choose(self, index: int) -> None:
        """Open an attempt."""
        self.post_message(self.Opened(self._statuses[index]))


class AttemptsScreen(ModalScreen[None]):
    """Lists the attempts of a cell of the grid, and follows them."""

    DEFAULT_CSS = "AttemptsScreen #attempts-list { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close", id="attempts.close")]

    def __init__(self, statuses: Sequence[AttemptStatus], open_page: Callable[[AttemptStatus], None]) -> None:
        """`open_page` opens the page of an attempt."""
        super().__init__()
        self._attempt = statuses[0].attempt
        self._list = AttemptList(statuses)
        self._open_page = open_page

    def compose(self) -> ComposeResult:
        """Yield the list."""
        with Vertical(classes="page-box") as box:
            title = visible(f"{self._attempt.task.id} · {self._attempt.model}", lines=False)
            box.border_title = Content(title)
            yield self._list

    def on_resize(self) -> None:
        """Fit the keys to the width."""
        self.query_one(".page-box").border_subtitle = page_hints(self.app, _KEYS, self.size.width)

    def follow(self, view: RunView) -> None:
        """Show the attempts as they are now."""
        row = next((row for row in view.rows if row.task.id == self._attempt.task.id), None)
        if row is not None:
            self._list.update(row.cells.get(self._attempt.model, ()))

    @on(AttemptList.Opened)
    def on_opened(self, opened: AttemptList.Opened) -> None:
        """Open the page of an attempt."""
        self._open_page(opened.status)

    def action_close(self) -> None:
        """Close the list."""
        self.dismiss(None)


class AttemptPage(PagerScreen):
    """All that is known of one attempt, which it follows; other keys open its session, its diff and its logs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "session", "Timeline of its session", id="attempt.session"),
        Binding("a", "session(True)", "Answer in its session", id="attempt.answer"),
        Binding("d", "diff", "Diff", id="attempt.diff"),
        Binding("c", "log('check')", "Output of the check", id="attempt.check"),
        Binding("s", "log('setup')", "Output of the setup", id="attempt.setup"),
    ]
    hint_names = (
        ("attempt.answer", "Answer"),
        ("attempt.session", "Timeline"),
        ("attempt.diff", "Diff"),
        ("attempt.check", "Check"),
        ("attempt.setup", "Setup"),
        ("pager.search", "Search"),
        ("pager.quit", "Close"),
    )

    def __init__(
        self, directory: RunDirectory, status: AttemptStatus, open_session: Callable[[OpenedAttempt], None]
    ) -> None:
        """`open_session` shows a session in place of this screen."""
        self._directory = directory
        self._status_of_attempt = status
        self._open_session = open_session
        self._text = ""
        self._files = directory.of_attempt(status.attempt.key)
        super().__init__(Content(visible(_title(status), lines=False)), "", headings=True)

    @property
    def names(self) -> tuple[str, str, int]:
        """The names of the attempt."""
        return self._status_of_attempt.attempt.names

    def on_mount(self) -> None:
        """Read the page."""
        self.run_worker(self._read())

    def follow(self, view: RunView) -> None:
        """Show the attempt as it is now."""
        status = status_in(view, self.names)
        if status is not None and (status != self._status_of_attempt or status.outcome is None):
            self._status_of_attempt = status
            self.run_worker(self._read(), exclusive=True, group="page")

    async def _read(self) -> None:
        text = await in_daemon(partial(attempt_text, self._directory, self._status_of_attempt, clock.now().timestamp()))
        if self.is_attached:
            self.refresh_bindings()
            if text != self._text:  # otherwise a search would lose its marks
                self._text = text
                self.replace_text(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what this attempt does not have."""
        status = self._status_of_attempt
        if action == "session":
            has_session = status.session if status.outcome is None else status.outcome.session
            return bool(has_session) and bool(parameters) == (status.state == WAITING)
        if action == "diff":
            return status.outcome is not None and bool(status.outcome.patch)
        if action == "log":
            return (self._files / f"{parameters[0]}.log").is_file()
        return super().check_action(action, parameters)

    def action_session(self, answers: bool = False) -> None:
        """Show the session: of an ended attempt what is stored, else the running one."""
        status = self._status_of_attempt
        if status.outcome is None:
            self._open_session(OpenedAttempt(session=status.session))
            return
        file = self._directory.sessions / f"{status.outcome.session}{SUFFIX}"
        if file.is_file():
            self._open_session(OpenedAttempt(file))
        else:
            self._warn(f"there is no session file {file.name} in this run")

    def action_diff(self) -> None:
        """Show what the attempt changed."""
        self.run_worker(self._show_diff(), exclusive=True, group="diff")

    async def _show_diff(self) -> None:
        try:
            files = await in_daemon(partial(self._changed_files, "/"))
        except OSError as error:
            self._warn(f"the patch cannot be read: {error.strerror}")
            return
        if files:
            self.app.push_screen(DiffViewerScreen(files, "/"))
        else:
            self._warn("the patch is too large to be shown; it is in attempts/…/changes.patch")

    def _changed_files(self, directory: str) -> list[FileState]:
        """Return the files of the patch; none if it is too large. Raises OSError."""
        path = self._files / "changes.patch"
        return files_of_patch(path.read_bytes(), directory) if path.stat().st_size <= LARGEST else []

    def action_log(self, name: str) -> None:
        """Show what the setup or the check printed."""
        self.run_worker(self._show_log(name), exclusive=True, group="log")

    async def _show_log(self, name: str) -> None:
        try:
            text = await in_daemon(partial(log_text, self._files / f"{name}.log"))
        except OSError as error:
            self._warn(f"the output cannot be read: {error.strerror}")
        else:
            open_text(self.app, f"Output of the {name}", text)

    def _warn(self, text: str) -> None:
        self.notify(visible(text), severity="warning", markup=False)


def _title(status: AttemptStatus) -> str:
    task, model, number = status.attempt.names
    return f"{task} · {model} · attempt {number}"


def follow_run(app: App[object], view: RunView) -> None:
    """Let the open screens about attempts show the run as it is now."""
    for screen in app.screen_stack:
        if isinstance(screen, AttemptsScreen | AttemptPage):
            screen.follow(view)
