"""The Textual app: themes, keys, the filters before the terminal, and an orderly end; `start.py` runs it.

Nothing of the session or the engine is imported here: the client is made after the first frame.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widgets import Input, TextArea

from workbench.client.threads import in_daemon
from workbench.config.settings import Settings
from workbench.protocol.commands import ChangeSettings
from workbench.tui.messages import BehindScrolled
from workbench.tui.mistakes import Mistakes
from workbench.tui.opening import (
    open_help,
    open_models,
    open_palette,
    open_rules,
    open_servers,
    open_settings,
    open_tools,
)
from workbench.tui.safe import ControlFilter
from workbench.tui.screens.main import MainScreen
from workbench.tui.session_switcher import SessionSources, SessionSwitcher
from workbench.tui.signals import Signals
from workbench.tui.terminal.integration import TerminalApp
from workbench.tui.textual_seam.driver import TerminalDriver
from workbench.tui.textual_seam.layout import allow_any_width
from workbench.tui.textual_seam.memory import break_reference_cycles
from workbench.tui.themes import variable_defaults
from workbench.tui.theming import ThemeFolder
from workbench.tui.widgets.prompt import Prompt
from workbench.view.opened import Opened
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.palette.entries import PaletteEntry
    from workbench.tui.settings.book import SettingsBook

_QUIT_SECONDS: Final = 2.0
"""Seconds in which a second ctrl+c quits."""
_WALL = ControlFilter()
"""One for all lines: each painted line remembers what a filter made of it."""

allow_any_width()
break_reference_cycles()


class UserKeymap:
    """The user's own keys; those that are wrong are reported and left out."""

    def __init__(self, app: WorkbenchApp, file: Path | None) -> None:
        self._app = app
        self._file = file

    async def begin(self) -> None:
        """Check the keys of the settings, then report all mistakes in one notice."""
        if self._app.settings.keys:
            await self.read()
        self._app.mistakes.tell()

    async def read(self) -> None:
        """Check the keys of the settings and use those that are right."""
        from workbench.tui.keys import read_keymap

        app, keys = self._app, self._app.settings.keys
        keymap = await in_daemon(lambda: read_keymap(keys, self._file))
        app.mistakes.found("keys", keymap.problems)
        app.keymap = keymap.usable
        app.set_keymap(dict(keymap.usable))
        app.switcher.main.show(Changed())  # hints and advice were painted with the keys that do not count


class QuitGuard:
    """Ends the app: at the second ctrl+c in a row, or at a signal."""

    def __init__(self, app: WorkbenchApp, clock: Callable[[], float]) -> None:
        self._app = app
        self._clock = clock
        self._warned_until = 0.0
        self._signals: Signals | None = None

    def install_signals(self) -> None:
        """Handle signals; the driver calls this before it takes the terminal, so that it is always given back."""
        if self._signals is None:
            window = self._app.terminal.window
            self._signals = Signals(self.end, self._warn, window.ending, window.end)
            self._signals.install(asyncio.get_running_loop())

    def install_stops(self) -> None:
        """Handle stopping and continuing as well; there is a driver now."""
        if self._signals is not None:
            self._signals.install_stops(asyncio.get_running_loop())

    def copy_or_quit(self) -> None:
        """Copy what is selected; without a selection the second call in a row quits."""
        app, focused = self._app, self._app.focused
        text = app.screen.get_selected_text() or (focused.selected_text if isinstance(focused, Prompt) else "")
        if text:
            app.copy_to_clipboard(text)
            app.notify("copied", timeout=2)
        elif self._clock() < self._warned_until:
            self.end(0)
        else:
            self._warn()

    def end(self, code: int) -> None:
        """End the app with this exit code."""
        self._app.exit(code, return_code=code)

    def _warn(self) -> None:
        self._warned_until = self._clock() + _QUIT_SECONDS
        self._app.notify("ctrl+c again to quit; esc stops the agent", timeout=_QUIT_SECONDS)


class WorkbenchApp(TerminalApp):
    """One session in one terminal; `state` describes it, also after the end. The parts do the work of the actions."""

    TITLE = "ohw"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (150, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (12, "-low"), (30, "-high")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False  # ours takes its place
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="help", priority=True),
        Binding("question_mark", "help(True)", "Help", id="help-sign", priority=True, show=False),
        Binding("f9", "demo", "Start the demo", id="demo", priority=True, show=False),
        Binding("ctrl+o", "sessions", "Sessions", id="sessions", priority=True, show=False),
        Binding("f10", "mistakes", "Mistakes in settings and themes", id="mistakes", priority=True, show=False),
        Binding("ctrl+p", "palette", "Palette", id="palette", priority=True, show=False),
        Binding("ctrl+q", "quit", "Quit", id="quit", priority=True, show=False),
        Binding("ctrl+c", "leave", "Copy; twice: quit", id="leave-app", priority=True, show=False),
    ]

    def __init__(
        self,
        opened: Opened,
        settings: Settings,
        sources: SessionSources | None = None,
        *,
        themes: Path | None = None,
        history: Path | None = None,
        settings_file: Path | None = None,
        book: SettingsBook | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`themes` is the user's directory of themes, `history` the file of what was sent.

        `book` writes the settings, which were read from `settings_file`.
        """
        super().__init__(settings.terminal)
        self.opened = opened
        self.settings = settings
        self.clock = clock
        self.state = SessionState(workspace=str(opened.workspace), model=settings.model or "", mode=settings.mode)
        self.state.work = "starting" if opened.link is not None else "idle"
        self.switcher = SessionSwitcher(self, sources or SessionSources(), history)
        self.book, self.keymap = book, settings.keys
        self.mistakes = Mistakes(self)
        self.mistakes.found("settings", settings.problems)
        self.user_keys = UserKeymap(self, settings_file)
        self._guard = QuitGuard(self, clock)
        self.take_signals = self._guard.install_signals
        self._themes = ThemeFolder(self, themes, self.mistakes)
        self._themes.begin_with(settings.theme, settings_file)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the search highlight, the usual filters, and the last wall: no control character passes."""
        search = self.screen.view.search.line_filters if isinstance(self.screen, MainScreen) else ()
        return [*search, *self.terminal.line_filters(super().get_line_filters()), _WALL]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our own variables for themes that do not set them."""
        return variable_defaults(self.current_theme.dark)

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen; there is nothing below it."""
        screen = self.switcher.make_main()
        self.early_input.hold_until_painted(screen)
        return screen

    def get_driver_class(self) -> type[Driver]:
        """Return our own driver where Textual would take the one for Unix terminals."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def on_mount(self) -> None:
        """Use keys and signals, ask what has to be asked first, and report mistakes in the settings."""
        if self.keymap:
            self.set_keymap(dict(self.keymap))
        self._guard.install_stops()
        self._themes.watch()
        self.call_after_refresh(self.switcher.ask_trust)
        self.run_worker(self.user_keys.begin())
        if self.opened.link is None:
            self.call_after_refresh(self.action_setup)

    @on(BehindScrolled)
    def on_behind_scrolled(self, event: BehindScrolled) -> None:
        """Scroll the conversation behind a question."""
        self.switcher.main.action_scroll(event.lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let a question mark ask for help where it is not text, nor meant for the prompt behind a question."""
        if action != "help" or not parameters:
            return super().check_action(action, parameters)
        return not isinstance(self.focused, Input | TextArea) and not hasattr(self.screen, "takes_words")

    def action_help(self, by_sign: bool = False) -> None:
        """Show the keys of this place and the guides; `by_sign` if a printable key asked for it."""
        open_help(self)

    def action_palette(self) -> None:
        """Find anything there is to do by a few letters."""
        below = self.screen

        async def run(entry: PaletteEntry | None) -> None:
            if entry is not None:
                await self.run_action(entry.action, entry.node or below)

        open_palette(self, run)

    async def action_model(self, name: str = "") -> None:
        """Change the model, by name or from a list; without a session one begins on it."""
        if not name:
            open_models(self, self.settings, self.state.model, self.action_model)
        elif self.opened.link is not None:
            self.opened.link.send(ChangeSettings(model=name))
        else:
            await self.switcher.begin_on_model(name)

    def action_change_theme(self, name: str = "") -> None:
        """Change the colours, by name or from a list in which each can be tried."""
        self._themes.choose(name, self.book)

    def action_setup(self) -> None:
        """Choose a model to begin with."""
        self.switcher.choose_first_model()

    async def action_demo(self, anywhere: bool = False) -> None:
        """Begin the demo: by its key only from an empty start, by its command from any session."""
        if anywhere or self.opened.link is None:
            await self.switcher.begin_demo()

    def action_sessions(self, search: str = "") -> None:
        """Show all sessions, or those that hold some words."""
        self.switcher.choose(search)

    async def action_session(self, session_id: str) -> None:
        """Resume another session."""
        await self.switcher.resume(session_id)

    def action_mistakes(self) -> None:
        """Show what is wrong in settings, keys and themes."""
        self.mistakes.open()

    def action_settings(self) -> None:
        """Show and change every setting."""
        if self.book is not None:
            open_settings(self, self.book)

    def action_rules(self) -> None:
        """Show the rules and what they match in this session."""
        open_rules(self, self.state, self.opened.workspace, self.settings.trusted, self.opened.link)

    def action_servers(self) -> None:
        """Show the MCP servers, their tools and logs."""
        open_servers(self, self.settings, self.opened.workspace)

    def action_tools(self) -> None:
        """Show the tools of the agent."""
        open_tools(self, self.state, self.opened.workspace)

    def action_leave(self) -> None:
        """Copy the selection; twice without one quits."""
        self._guard.copy_or_quit()
