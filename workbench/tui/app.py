"""The Textual app: themes, keys, the wall before the terminal, and an orderly end; `start.py` runs it.

Nothing of the session or the engine is imported here: the link is made behind the first frame.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.screen import Screen

from workbench.client.threads import in_daemon
from workbench.config.settings import Settings
from workbench.tui.app_keys import AppKeys
from workbench.tui.messages import BehindScrolled
from workbench.tui.mistakes import Mistakes
from workbench.tui.safe import ControlFilter
from workbench.tui.screens.main import MainScreen
from workbench.tui.signals import Signals
from workbench.tui.terminal.integration import TerminalApp
from workbench.tui.textual_seam.driver import TerminalDriver
from workbench.tui.textual_seam.layout import allow_any_width
from workbench.tui.textual_seam.memory import break_reference_cycles
from workbench.tui.themes import DEFAULT, variable_defaults
from workbench.tui.theming import ThemeFolder, no_such_theme
from workbench.tui.widgets.arguments import arguments_now
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.writing import Writing
from workbench.view.opened import Opened
from workbench.view.prompt.completion import ServerOffers
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.tui.palette.entries import PastSession
    from workbench.tui.settings.book import SettingsBook
    from workbench.tui.settings.providers import Way

_AGAIN = 2.0
"""Seconds in which a second ctrl+c quits."""
_WALL = ControlFilter()
"""One for all lines: each painted line remembers what a filter made of it."""

allow_any_width()
break_reference_cycles()


class WorkbenchApp(TerminalApp, AppKeys):
    """One session in one terminal; `state` holds what is known of it, also after the end."""

    TITLE = "ohw"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (150, "-broad")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (12, "-low"), (30, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="quit", priority=True, show=False),
        Binding("ctrl+c", "leave", "Copy; twice: quit", id="leave-app", priority=True, show=False),
    ]

    _signals: Signals | None = None

    def __init__(
        self,
        opened: Opened,
        settings: Settings,
        *,
        themes: Path | None = None,
        history: Path | None = None,
        demo: Callable[[], Opened] | None = None,
        start: Callable[[str], Opened] | None = None,
        shell: Callable[[], Opened] | None = None,
        ways: Callable[[], Sequence[Way]] | None = None,
        sessions: Callable[[], Sequence[PastSession]] | None = None,
        resume: Callable[[str], Opened] | None = None,
        settings_file: Path | None = None,
        book: SettingsBook | None = None,
        problems: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`themes` is the person's folder, `history` the file of what they sent; when no model is set up, `demo` makes
        a session of the demo, `start` one on the model of that name, `shell` one for commands of the person's own, and
        `ways` finds what there is to begin with. `sessions` finds the sessions there are, `resume` opens one by its id.
        `book` writes the settings; `problems` are what was wrong in `settings_file`.
        """
        super().__init__(settings.terminal)
        self.opened = opened
        self.settings = settings
        self.clock = clock
        self.state = SessionState(workspace=str(opened.workspace), model=settings.model or "", mode=settings.mode)
        self.state.work = "starting" if opened.link is not None else "idle"
        self.demo, self.start, self.shell = demo, start, shell
        self.sessions, self.resume = sessions, resume
        self.ways = ways
        self.settings_file, self.book, self.keymap = settings_file, book, settings.keys
        self.mistakes = Mistakes(self)
        self.mistakes.found("settings", problems)
        self._history = history
        self._leave_until = 0.0
        self._themes = ThemeFolder(self, themes, self.mistakes)
        self._begin_with(settings.theme if settings.theme in self.available_themes else DEFAULT)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What was found, the usual ones, and the wall last: no control character passes."""
        search = self.screen.view.search.line_filters if isinstance(self.screen, MainScreen) else ()
        return [*search, *self.terminal.line_filters(super().get_line_filters()), _WALL]

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own variables for themes that know nothing of them."""
        return variable_defaults(self.current_theme.dark)

    def get_default_screen(self) -> Screen[None]:
        """The main screen is the first one; there is nothing below it."""
        screen = self.main_screen()
        self.early_input.hold_until_painted(screen)
        return screen

    def get_driver_class(self) -> type[Driver]:
        """Our own where Textual would take the one for Unix terminals."""
        found = super().get_driver_class()
        return TerminalDriver if found is LinuxDriver else found

    def take_signals(self) -> None:
        """Called by the driver before it takes the terminal: no signal may end the process without giving it back."""
        if self._signals is None:
            self._signals = Signals(self._end, self._warn, self.terminal.window.ending, self.terminal.window.end)
            self._signals.install(asyncio.get_running_loop())

    def on_mount(self) -> None:
        """Keys and signals; what is wrong in the settings is said once."""
        if self.settings.keys:
            self.set_keymap(dict(self.keymap))
        if self._signals is not None:
            self._signals.install_stops(asyncio.get_running_loop())
        self._themes.watch()
        self.call_after_refresh(self.ask_trust)
        self.run_worker(self._report())
        if self.opened.link is None:
            self.call_after_refresh(self.action_setup)

    async def _report(self) -> None:
        """One notice of all that is wrong in the settings; what is wrong does not count."""
        theme = self.settings.theme
        wrong = (
            [] if theme in self.available_themes else [no_such_theme(theme, self.available_themes, self.settings_file)]
        )
        self.mistakes.found("theme", wrong)
        if self.settings.keys:
            await self.read_keys()
        self.mistakes.tell()

    async def read_keys(self) -> None:
        """Take over the person's keys, but for what is wrong among them."""
        from workbench.tui.keys import read_keymap

        keys = self.settings.keys
        found = await in_daemon(lambda: read_keymap(keys, self.settings_file))
        self.mistakes.found("keys", found.problems)
        self.keymap = found.usable
        self.set_keymap(dict(found.usable))
        self.main.refresh_status()  # the footer was painted with the keys that do not count

    @on(BehindScrolled)
    def on_behind_scrolled(self, scrolled: BehindScrolled) -> None:
        """The conversation moves behind a question."""
        self.main.action_scroll(scrolled.lines)

    def action_leave(self) -> None:
        """Copy what is selected; otherwise the second press in a row quits."""
        if self._copied():
            self.notify("copied", timeout=2)
        elif self.clock() < self._leave_until:
            self._end(0)
        else:
            self._warn()

    def _begin_with(self, theme: str) -> None:
        """Choose a theme before anything is styled: a change later would style everything twice."""
        self.set_reactive(App.theme, theme)
        self.set_class(self.current_theme.dark, "-dark-mode", update=False)
        self.set_class(not self.current_theme.dark, "-light-mode", update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def _copied(self) -> bool:
        focused = self.focused
        text = self.screen.get_selected_text() or (focused.selected_text if isinstance(focused, Prompt) else "")
        if text:
            self.copy_to_clipboard(text)
        return bool(text)

    def _warn(self) -> None:
        self._leave_until = self.clock() + _AGAIN
        self.notify("ctrl+c again to quit; esc stops the agent", timeout=_AGAIN)

    def _end(self, code: int) -> None:
        self.exit(code, return_code=code)

    def main_screen(self) -> MainScreen:
        """On what is opened now, for the size there is."""
        opened = self.opened
        arguments = arguments_now(lambda: self.settings, lambda: self.available_themes)
        offers = ServerOffers(lambda: self.settings, opened.workspace)
        writing = Writing(opened.workspace, self._history, arguments, offers, vim=self.terminal.settings.vim)
        screen = MainScreen(opened, self.state, writing, self.begin_with_command)
        screen.add_class(*_sizes(self), update=False)
        return screen


def _sizes(app: WorkbenchApp) -> Iterator[str]:
    """Classes of the size there is, so that the first layout is the right one and not styled over again."""
    for length, steps in zip(app.size, (app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS), strict=True):
        yield next(name for least, name in reversed(steps) if length >= least)
