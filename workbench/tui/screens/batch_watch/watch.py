"""The screen that watches a run: its figures, the grid of its tasks and models, and the plots over time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from workbench.batch.attempt_states import RUNNING, STATE_GROUPS, WAITING
from workbench.batch.watched_run import AttemptStatus, RunView, TaskRow, WatchedRun
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.text import counted, visible
from workbench.tui.messages import QuestionRang
from workbench.tui.screens.batch_watch.attempts import AttemptPage, AttemptsScreen, follow_run
from workbench.tui.screens.batch_watch.grid import WatchGrid
from workbench.tui.screens.batch_watch.report import report_page
from workbench.tui.textual_seam.screen import LowLatencyScreen
from workbench.tui.widgets.key_hints import KeyHints, bound_keys
from workbench.tui.widgets.strips import as_content, css_beside, update_content
from workbench.view import clock
from workbench.view.batch_watch import SORTS, OpenedAttempt, WatchPosition, status_in, visible_rows
from workbench.view.formatting.batch_watch import GridContent, cell_line, figure_lines, grid_content, title_line

if TYPE_CHECKING:
    from workbench.tui.screens.batch_watch.plots import RunPlots

_EVERY: Final = 1.0
"""Seconds between two reads of the run."""
_NO_PLOTS: Final = "plots need textual-plotext, which the extra `batch` installs"
_HINTS: Final = (
    ("list.open", "Open"),
    ("watch.group", "State"),
    ("watch.search", "Search"),
    ("watch.sort", "Sort"),
    ("watch.plots", "Plots"),
    ("watch.report", "Report"),
    ("watch.close", ""),
    ("help", "Help"),
)


class WatchFooter:
    """The last lines: what is wrong with the attempts under the cursor, which tasks are to be seen, and the keys."""

    def __init__(self, screen: Screen[None], grid: WatchGrid, position: WatchPosition, close: str) -> None:
        """`close` is the name of the key that closes the screen."""
        self._screen = screen
        self._grid = grid
        self._position = position
        self._close = close
        self.cell, self.note, self.hints = Static(id="watch-cell"), Static(id="watch-note"), KeyHints()

    def show(self, count: int, total: int) -> None:
        """Show that `count` of `total` tasks are to be seen, and why."""
        position, words = self._position, visible(self._position.words.strip(), lines=False)
        parts = [
            f"{count:,} of {counted(total, 'task')}",
            position.group if position.group != "all" else "",
            f'"{words}"' if words else "",
            f"by {position.sort}" if position.sort != SORTS[0] else "",
        ]
        update_content(self.note, Content("" if position.shows_plots else " · ".join(filter(None, parts))))
        self.show_cell()
        self.show_keys()

    def show_problem(self, problem: str) -> None:
        """Show why the run cannot be read, in place of the tasks that are to be seen."""
        update_content(self.note, Content.styled(visible(problem, lines=False), "bold $sign-failed"))

    def show_cell(self) -> None:
        """Show what is wrong with the attempts under the cursor, or what they ask or did last."""
        line = cell_line(self._grid.statuses, clock.now().timestamp()) if not self._position.shows_plots else []
        update_content(self.cell, as_content([line]))

    def show_keys(self) -> None:
        """Show the keys of what has the focus."""
        keys, position = bound_keys(self._screen), self._position
        if isinstance(self._screen.focused, Input):
            self.hints.show([("Enter", "Go to the tasks"), (keys.get("watch.back", "Esc"), "Show all")])
            return
        names = {"watch.plots": "Grid" if position.shows_plots else "Plots", "watch.close": self._close}
        hints = [*(([("watch.back", "Show all")]) if position.is_filtered else []), *_HINTS]
        self.hints.show([(keys[name], names.get(name, words)) for name, words in hints if name in keys])


class WatchPlots:
    """The plots in place of the grid, which are made when they are first shown."""

    def __init__(self, screen: Screen[None], grid: WatchGrid, position: WatchPosition) -> None:
        self._screen = screen
        self._grid = grid
        self._position = position
        self._plots: RunPlots | None = None

    def update(self, view: RunView) -> None:
        """Show the run as it is now, if the plots are shown."""
        if self._plots is not None and self._position.shows_plots:
            self._plots.show(view)

    async def show(self, view: RunView, *, has_plots: bool) -> None:
        """Show the plots, or the grid again; without the package for plots, say so."""
        if has_plots and self._plots is None:
            try:
                from workbench.tui.screens.batch_watch.plots import RunPlots
            except ImportError:
                has_plots = False
                self._screen.notify(_NO_PLOTS, severity="warning", markup=False)
            else:
                self._plots = RunPlots()
                await self._screen.mount(self._plots, after=self._grid)
        self._position.shows_plots = has_plots
        self._grid.display = self._grid.header.display = not has_plots
        if self._plots is not None:
            self._plots.display = has_plots
        self.update(view)
        self._screen.set_focus(None if has_plots else self._grid)


class WatchScreen(LowLatencyScreen):
    """Follows a run; `position` has what the user has chosen, and keeps it when the screen is closed."""

    class Refreshed(Message):
        """Posted when the run was read."""

        def __init__(self, view: RunView) -> None:
            super().__init__()
            self.view = view

    DEFAULT_CSS = css_beside(__file__)
    close_name: ClassVar[str] = "Quit"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "group(1)", "Show attempts in the next state", id="watch.group"),
        Binding("F", "group(-1)", "Show attempts in the previous state", id="watch.previous-group"),
        Binding("slash", "search", "Search tasks and tags", id="watch.search"),
        Binding("s", "sort", "Sort", id="watch.sort"),
        Binding("p", "plots", "Plots of cost and solved tasks", id="watch.plots"),
        Binding("r", "report", "Report", id="watch.report"),
        Binding("escape", "back", "Show all", show=False, id="watch.back"),
        Binding("q", "close", "Quit", id="watch.close"),
    ]

    def __init__(self, run: WatchedRun, position: WatchPosition, open_session: Callable[[OpenedAttempt], None]) -> None:
        """`open_session` shows a session in place of the screen or its app."""
        super().__init__(id="watch")
        self._run = run
        self._position = position
        self._open_session = open_session
        self._view = RunView(run.directory.path.name)
        self._rows: Sequence[TaskRow] = ()
        self._content = GridContent()
        self._rows_of: Sequence[TaskRow] = ()
        """The rows of the view from which those were chosen, and below how."""
        self._choice: tuple[str, ...] = ()
        self._title, self._figures = Static(id="watch-title"), Static("Reading …", id="watch-figures")
        self._grid = WatchGrid()
        hint = "Words in the ID or the tags of a task"
        self._words = Input(position.words, placeholder=hint, id="watch-words")
        self._plots = WatchPlots(self, self._grid, position)
        self._footer = WatchFooter(self, self._grid, position, self.close_name)

    def compose(self) -> ComposeResult:
        """Yield the title, the figures, the grid, the input line, the note and the keys."""
        yield self._title
        yield self._figures
        yield self._grid.header
        yield self._grid
        yield self._words
        yield self._footer.cell
        yield self._footer.note
        yield self._footer.hints

    def on_mount(self) -> None:
        """Follow the run from now on."""
        self._words.display = False
        self._grid.focus()
        self.run_worker(self._follow())

    async def _follow(self) -> None:
        """Read the run once a second, in a thread."""
        await self._refresh()
        if self._position.shows_plots:
            await self._show_plots(has_plots=True)
        status = status_in(self._view, self._position.page) if self._position.page else None
        if status is not None:
            self._open_page(status)
        while True:
            await asyncio.sleep(_EVERY)
            await self._refresh()

    async def _refresh(self) -> None:
        try:
            view = await in_daemon(self._run.read)
        except WorkbenchError as error:
            title = "the run cannot be read" if self._run.directory.exists else "the run was deleted"
            update_content(self._title, Content.styled(title, "bold $sign-failed"))
            self._footer.show_problem(str(error))
            return
        if not self.is_attached:
            return  # the screen was closed meanwhile
        if view.states.get(WAITING, 0) > self._view.states.get(WAITING, 0) and self._view.rows:
            self.post_message(QuestionRang())
        self.post_message(self.Refreshed(view))
        is_changed = view.rows is not self._view.rows
        self._view = view
        self._show_figures()
        await self._show_rows()
        if is_changed:
            self._plots.update(view)
        follow_run(self.app, view)

    async def _show_rows(self) -> None:
        """Show the tasks that are to be seen now, which are chosen in a thread if there may be others."""
        position, view = self._position, self._view
        choice = (position.group, position.words, position.sort)
        has_changed = view.rows is not self._rows_of or choice != self._choice
        if has_changed:
            self._rows_of, self._choice = view.rows, choice
            rows, content = await in_daemon(lambda: _measured(visible_rows(view, *choice), view.models))
            if self._rows_of is not view.rows or self._choice != choice:
                return  # a later choice shows its own
            self._rows, self._content = rows, content
        if has_changed or view.states.get(RUNNING) or view.states.get(WAITING):  # their times advance
            self._grid.show(self._rows, view.models, self._content, task=position.task, model=position.model)
        self._footer.show(len(self._rows), len(view.rows))

    def _show_figures(self) -> None:
        width = max(20, self.size.width - 2)
        update_content(self._title, as_content([title_line(self._view)]))
        update_content(self._figures, as_content(figure_lines(self._view, width)))

    def on_resize(self) -> None:
        """Fit the figures to the width."""
        self._show_figures()

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus now."""
        self._footer.show_keys()

    @on(WatchGrid.Moved)
    def on_moved(self) -> None:
        """Note where the cursor is."""
        if self._grid.task_id:
            self._position.task, self._position.model = self._grid.task_id, self._grid.model
        self._footer.show_cell()

    @on(WatchGrid.Opened)
    def on_cell_opened(self, opened: WatchGrid.Opened) -> None:
        """Open the only attempt of a cell, or the list of its attempts."""
        if len(opened.statuses) == 1:
            self._open_page(opened.statuses[0])
        else:
            self.app.push_screen(AttemptsScreen(opened.statuses, self._open_page))

    def _open_page(self, status: AttemptStatus) -> None:
        def closed(_: None) -> None:
            self._position.page = None

        self._position.page = status.attempt.names
        self.app.push_screen(AttemptPage(self._run.directory, status, self._open_session), closed)

    async def action_group(self, by: int) -> None:
        """Show the tasks with an attempt in another group of states."""
        names = list(STATE_GROUPS)
        self._position.group = names[(names.index(self._position.group) + by) % len(names)]
        await self._show_rows()

    async def action_sort(self) -> None:
        """Show the tasks in another order."""
        self._position.sort = SORTS[(SORTS.index(self._position.sort) + 1) % len(SORTS)]
        await self._show_rows()

    def action_search(self) -> None:
        """Open the line for the words."""
        self._words.display = True
        self._words.focus()

    @on(Input.Changed)
    async def on_words_changed(self, event: Input.Changed) -> None:
        """Show the tasks that have the words."""
        self._position.words = event.value
        await self._show_rows()

    @on(Input.Submitted)
    def on_words_submitted(self) -> None:
        """Go back to the grid; the words remain."""
        self._close_line()

    async def action_back(self) -> None:
        """Close the line for the words, and show all tasks again."""
        self._position.words, self._position.group = "", "all"
        self._words.value = ""
        self._close_line()
        await self._show_rows()

    async def action_close(self) -> None:
        """Quit the app, which shows nothing else."""
        await self.app.action_quit()

    @property
    def has_filter(self) -> bool:
        """Whether some tasks may be hidden, or the line for words is open."""
        return bool(self._position.is_filtered or self._words.display)

    def _close_line(self) -> None:
        self._words.display = False
        self._grid.focus()
        self._footer.show_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys of the grid while the plots are shown."""
        return not (self._position.shows_plots and action in ("group", "search", "sort", "back"))

    async def action_report(self) -> None:
        """Open the report of what has ended so far."""
        try:
            page = await in_daemon(lambda: report_page(self._run.directory, self.size.width))
        except WorkbenchError as error:
            self.notify(visible(str(error), lines=False), severity="error", markup=False)
            return
        self.app.push_screen(page)

    async def action_plots(self) -> None:
        """Show the plots in place of the grid, or the grid again."""
        await self._show_plots(has_plots=not self._position.shows_plots)

    async def _show_plots(self, *, has_plots: bool) -> None:
        await self._plots.show(self._view, has_plots=has_plots)
        self.refresh_bindings()
        self._footer.show(len(self._rows), len(self._view.rows))


def _measured(rows: Sequence[TaskRow], models: Sequence[str]) -> tuple[Sequence[TaskRow], GridContent]:
    return rows, grid_content(rows, models)
