"""The Textual app: themes, keys, output filters and an orderly exit; `start.py` runs it.

This module imports nothing from the session or engine packages: the client is created after the first frame.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
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
from workbench.protocol.commands import RequestControl
from workbench.tui.key_names import with_keys
from workbench.tui.messages import BehindScrolled
from workbench.tui.model_setup import ModelSetup
from workbench.tui.open_screens import (
    open_help,
    open_page,
    open_palette,
    open_settings,
)
from workbench.tui.problems import Problems
from workbench.tui.race_runner import RaceRunner
from workbench.tui.screens.main import MainScreen
from workbench.tui.session_switcher import SessionSources, SessionSwitcher
from workbench.tui.signals import Signals, is_under_a_shell
from workbench.tui.terminal.filters import ControlFilter
from workbench.tui.terminal.integration import TerminalApp
from workbench.tui.textual_seam.driver import TerminalDriver
from workbench.tui.textual_seam.layout import allow_any_width
from workbench.tui.textual_seam.memory import break_reference_cycles
from workbench.tui.textual_seam.scrollbar import paint_scrollbars_at_once
from workbench.tui.textual_seam.timing import never_lose_a_frame
from workbench.tui.theme_manager import ThemeDirectory
from workbench.tui.themes import variable_defaults
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession, show_scripted
from workbench.view.state import Changed, SessionState

if TYPE_CHECKING:
    from workbench.tui.palette_entries import PaletteEntry
    from workbench.tui.settings.settings_model import SettingsModel

_QUIT_SECONDS: Final = 2.0
"""Seconds within which a second ctrl+c quits."""
_WARNING: Final = "{leave-app=ctrl+c} again to quit; {leave=escape} stops the agent"
_MOST_RECENT = 5
_WALL = ControlFilter()
"""Shared by all lines, because each painted line caches its filtered form under the filter instance."""

allow_any_width()
break_reference_cycles()
paint_scrollbars_at_once()
never_lose_a_frame()


class UserKeymap:
    """Applies the user's own keys; invalid ones are reported and ignored."""

    def __init__(self, app: WorkbenchApp, file: Path | None) -> None:
        self._app = app
        self._file = file

    async def begin(self) -> None:
        """Apply the keys from the settings and the keymap, then report all problems in one notice."""
        if self._app.settings.keys or self._keys_of_the_keymap():
            await self.read()
        self._app.problems.notify()

    async def read(self) -> None:
        """Check the keys from the settings and apply the valid ones."""
        from workbench.tui.keys import read_keymap

        app, usual = self._app, self._keys_of_the_keymap()
        keys = {**usual, **app.settings.keys}
        keymap = await in_daemon(lambda: read_keymap(keys, self._file))
        app.problems.replace("keys", keymap.problems)
        app.keymap = {**usual, **keymap.usable}
        app.set_keymap(dict(app.keymap))
        app.switcher.main.show(Changed())  # hints and advice were painted with the unchecked keys

    def _keys_of_the_keymap(self) -> Mapping[str, str]:
        """Return other keys for the bindings whose default keys the prompt uses with this keymap."""
        if self._app.terminal.settings.keymap != "emacs":
            return {}
        from workbench.tui.widgets.emacs_prompt import EMACS_KEYS

        return EMACS_KEYS


class QuitGuard:
    """Ends the app on the second ctrl+c in a row, or on a signal."""

    def __init__(self, app: TerminalApp, clock: Callable[[], float], warning: str = _WARNING) -> None:
        """`warning` is what the first ctrl+c shows, with keys as in `with_keys`."""
        self._app = app
        self._clock = clock
        self._warning = warning
        self._warned_until = 0.0
        self._signals: Signals | None = None

    def install_signals(self) -> None:
        """Handle ending signals; called before the driver takes over the terminal, so that it is always restored."""
        if self._signals is None:
            window = self._app.terminal.window
            self._signals = Signals(self.end, self._warn, window.ending, window.end)
            self._signals.install(asyncio.get_running_loop())

    def install_stops(self) -> None:
        """Handle the signals for stopping and continuing too; called once there is a driver."""
        if self._signals is not None:
            self._signals.install_stops(asyncio.get_running_loop())

    def copy_or_quit(self) -> None:
        """Copy the selection; without one, warn, and quit on a second call within `_QUIT_SECONDS`."""
        app, focused = self._app, self._app.focused
        text = app.screen.get_selected_text() or (focused.selected_text if isinstance(focused, Prompt) else "")
        if text:
            app.copy_to_clipboard(text)
            app.notify("Copied", timeout=2)
        elif self._clock() < self._warned_until:
            self.end(0)
        else:
            self._warn()

    def end(self, code: int) -> None:
        """End the app with this exit code."""
        self._app.exit(code, return_code=code)

    def _warn(self) -> None:
        self._warned_until = self._clock() + _QUIT_SECONDS
        self._app.notify(with_keys(self._app, self._warning), timeout=_QUIT_SECONDS)


class WorkbenchApp(TerminalApp):
    """Shows one session in one terminal; `state` describes the session, also after the app has ended."""

    TITLE = "ohw"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (150, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (12, "-low"), (30, "-high")]  # noqa: RUF012
    ENABLE_COMMAND_PALETTE = False  # our own palette replaces it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="help", priority=True),
        Binding("question_mark", "help(True)", "Help", id="help-sign", priority=True, show=False),
        Binding("f9", "demo", "Start the demo", id="demo", priority=True, show=False),
        Binding("ctrl+o", "sessions", "Sessions", id="sessions", priority=True, show=False),
        Binding("f10", "page('problems')", "Problems in settings and themes", id="problems", priority=True, show=False),
        Binding("ctrl+p", "palette", "Palette", id="palette", priority=True, show=False),
        Binding("ctrl+q", "quit", "Quit", id="quit", priority=True, show=False),
        Binding("ctrl+c", "leave", "Copy; twice: quit", id="leave-app", priority=True, show=False),
    ]

    def __init__(
        self,
        session: AppSession,
        settings: Settings,
        sources: SessionSources | None = None,
        *,
        themes: Path | None = None,
        history: Path | None = None,
        settings_file: Path | None = None,
        settings_model: SettingsModel | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`themes` is the user's directory of themes, `history` the file of submitted prompts.

        `settings` were read from `settings_file`, and `settings_model` writes changes to it.
        """
        super().__init__(settings.terminal)
        self.session = session
        self.settings = settings
        self.clock = clock
        self.state = SessionState(workspace=str(session.workspace), model=settings.model or "", mode=settings.mode)
        show_scripted(self.state, session)
        self.state.work = "starting" if session.client is not None else "idle"
        self.switcher = SessionSwitcher(self, sources or SessionSources(), history)
        self.models = ModelSetup(self, self.switcher)
        self.settings_model, self.keymap = settings_model, settings.keys
        self.problems = Problems(self)
        self.races = RaceRunner(self)
        self._recent_entries: list[str] = []
        """The actions of the entries chosen in the palette, the last one first."""
        self.problems.replace("settings", settings.problems)
        self.user_keys = UserKeymap(self, settings_file)
        self._guard = QuitGuard(self, clock)
        self.install_signals = self._guard.install_signals
        self._themes = ThemeDirectory(self, themes, self.problems)
        self._themes.begin_with(settings.theme, settings_file)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the search highlight, Textual's filters, and last the filter that drops control characters."""
        search = self.screen.view.search.line_filters if isinstance(self.screen, MainScreen) else ()
        return [*search, *self.terminal.line_filters(super().get_line_filters()), _WALL]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the defaults of our own theme variables."""
        return variable_defaults(self.current_theme.dark)

    def get_default_screen(self) -> Screen[None]:
        """Return the main screen, the lowest of the screen stack."""
        screen = self.switcher.make_main()
        self.early_input.hold_until_painted(screen)
        return screen

    def get_driver_class(self) -> type[Driver]:
        """Return our own driver in place of Textual's driver for Unix terminals."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def on_mount(self) -> None:
        """Apply keys, handle stop signals, watch themes, ask about trust, and offer models if there is no session."""
        if self.keymap:
            self.set_keymap(dict(self.keymap))
        self._guard.install_stops()
        self._themes.watch()
        self.call_after_refresh(self.switcher.ask_trust)
        self.run_worker(self.user_keys.begin())
        if self.session.client is None:
            self.call_after_refresh(self.action_setup)

    @on(BehindScrolled)
    def on_behind_scrolled(self, event: BehindScrolled) -> None:
        """Scroll the conversation behind a question."""
        self.switcher.main.action_scroll(event.lines)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible now.

        The question mark opens the help except in text fields and on screens that pass letters to the prompt. The demo
        is possible only without a session, the time view (on the same key) only with one. Suspending the app needs a
        shell.
        """
        if action == "suspend_process":
            return is_under_a_shell()
        if action == "demo" and not parameters:
            return self.session.client is None
        if action == "page" and parameters == ("time",):
            return self.session.client is not None
        if action != "help" or not parameters:
            return super().check_action(action, parameters)
        return not isinstance(self.focused, Input | TextArea) and not hasattr(self.screen, "takes_words")

    def action_help(self, by_sign: bool = False) -> None:
        """Show the keys of the current focus and the guides; `by_sign` is true if the question mark was pressed."""
        open_help(self)

    def action_palette(self) -> None:
        """Open the palette, and run the chosen entry on the screen below."""
        screen = self.screen

        async def run(entry: PaletteEntry | None) -> None:
            if entry is not None:
                self._recent_entries = list(dict.fromkeys([entry.action, *self._recent_entries]))[:_MOST_RECENT]
                await self.run_action(entry.action, entry.node or screen)

        open_palette(self, run, self._recent_entries)

    async def action_model(self, name: str = "") -> None:
        """Change the model, by name or from a list; if there is no session, begin one with it."""
        await (self.models.use_named(name) if name else self.models.choose())

    def action_change_theme(self, name: str = "") -> None:
        """Change the theme, by name or from a list that previews the theme under the cursor."""
        self._themes.choose(name, self.settings_model)

    def action_setup(self) -> None:
        """Open the screen that offers models to start with."""
        self.models.choose_first()

    def action_replace_key(self, is_unasked: bool = False) -> None:
        """Open the form for another key after one was rejected; `is_unasked` if the user did not ask for it."""
        self.models.replace_key(is_unasked=is_unasked)

    async def action_demo(self, anywhere: bool = False) -> None:
        """Begin the demo; unless `anywhere`, only if there is no session yet."""
        if anywhere or self.session.client is None:
            await self.switcher.begin_demo()

    def action_sessions(self, search: str = "") -> None:
        """Show all sessions, or those that contain the words of `search`."""
        self.switcher.choose(search)

    async def action_session(self, session_id: str = "") -> None:
        """Resume another session, or start a new one here; the engine of the current one finishes its run."""
        if session_id:
            await self.switcher.resume(session_id)
        else:
            await self.switcher.begin_new()

    async def action_fork(self, event: str = "") -> None:
        """Continue in a fork of the session, from a checkpoint or its end; the session continues on its own."""
        await self.switcher.fork(event)

    def action_request_control(self) -> None:
        """Take control of a session that another screen controls."""
        if self.state.has_control:
            self.notify("This screen controls the session already", timeout=3)
        if self.session.client is not None:
            self.session.client.send(RequestControl())

    def action_settings(self, search: str = "") -> None:
        """Show all settings, or those that contain the words of `search`."""
        if self.settings_model is not None:
            open_settings(self, self.settings_model, search)

    def action_page(self, name: str, argument: str = "") -> None:
        """Show a page: rules, decisions, trust, servers, usage, tools, problems, time, blame, a race or comparison."""
        open_page(self, name, argument)

    def action_leave(self) -> None:
        """Copy the selection; without one, quit on the second call in a row."""
        self._guard.copy_or_quit()
