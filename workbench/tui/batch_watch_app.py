"""The app of `ohw batch watch`: the screen that follows a run, with the themes, keys and filters of every screen."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widgets import Input

from workbench.batch.attempt_states import WAITING
from workbench.batch.watched_run import WatchedRun
from workbench.client.threads import in_daemon
from workbench.config.settings import Settings
from workbench.tui.app import QuitGuard, WorkbenchApp
from workbench.tui.keys import read_keymap
from workbench.tui.open_screens import open_help
from workbench.tui.problems import Problems
from workbench.tui.screens.batch_watch import WatchScreen
from workbench.tui.signals import is_under_a_shell
from workbench.tui.terminal.filters import ControlFilter
from workbench.tui.terminal.integration import TerminalApp
from workbench.tui.textual_seam.driver import TerminalDriver
from workbench.tui.theme_manager import ThemeDirectory
from workbench.tui.themes import variable_defaults
from workbench.view.batch_watch import OpenedAttempt, WatchPosition
from workbench.view.state import SessionState

_CONTROLS = ControlFilter()
_SHARED = ("help", "help-sign", "quit", "leave-app")
"""The keys of the app around a session that this one has too."""


class BatchWatchApp(TerminalApp):
    """Follows one run until the user quits, or opens a session: `position.opened` is then that session."""

    TITLE = "ohw batch watch"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in WorkbenchApp.BINDINGS if isinstance(binding, Binding) and binding.id in _SHARED
    ]

    def __init__(
        self,
        run: WatchedRun,
        position: WatchPosition,
        settings: Settings,
        *,
        themes: Path | None = None,
        settings_file: Path | None = None,
    ) -> None:
        """`themes` is the user's directory of themes."""
        super().__init__(settings.terminal)
        self.run_watched = run
        self.position = position
        position.opened = None
        self.state = SessionState(workspace=str(run.directory.path))
        self.keymap = settings.keys
        self._settings_file = settings_file
        self._guard = QuitGuard(self, time.monotonic, "{leave-app=ctrl+c} again to quit; the run continues")
        self.install_signals = self._guard.install_signals
        self._themes = ThemeDirectory(self, themes, Problems(self))
        self._themes.begin_with(settings.theme, settings_file)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the terminal's filters, and last the one that drops control characters."""
        return [*self.terminal.line_filters(super().get_line_filters()), _CONTROLS]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the defaults of our own theme variables."""
        return variable_defaults(self.current_theme.dark)

    def get_default_screen(self) -> Screen[Any]:
        """Return the screen of the run."""
        return WatchScreen(self.run_watched, self.position, self._open_session)

    def get_driver_class(self) -> type[Driver]:
        """Return our own driver in place of Textual's driver for Unix terminals."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def on_mount(self) -> None:
        """Apply the user's keys, and handle stop signals."""
        self._guard.install_stops()
        self._themes.watch()
        if self.keymap:
            self.run_worker(self._read_keys())

    async def _read_keys(self) -> None:
        keymap = await in_daemon(partial(read_keymap, self.keymap, self._settings_file))
        self.keymap = dict(keymap.usable)
        self.set_keymap(dict(keymap.usable))

    @on(WatchScreen.Refreshed)
    def on_refreshed(self, event: WatchScreen.Refreshed) -> None:
        """Let the window's title and notices say whether the run is running and needs an answer."""
        self.state.is_running = event.view.is_running
        self.state.waiting = ["an attempt"] * event.view.states.get(WAITING, 0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible now: text fields get the question mark themselves."""
        if action == "suspend_process":
            return is_under_a_shell()
        if action == "help" and parameters:
            return not isinstance(self.focused, Input)
        return super().check_action(action, parameters)

    def action_help(self, by_sign: bool = False) -> None:
        """Show the keys of the current focus and the guides; `by_sign` is true if the question mark was pressed."""
        open_help(self)

    def action_leave(self) -> None:
        """Copy the selection; without one, quit on the second call in a row."""
        self._guard.copy_or_quit()

    def _open_session(self, opened: OpenedAttempt) -> None:
        self.position.opened = opened
        self.exit(0)
