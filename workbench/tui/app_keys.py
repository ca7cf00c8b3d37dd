"""What the app does on a key or a command wherever one is: help, palette, models, themes, and another session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import Input, TextArea

from workbench.config import Settings
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tui.background import in_daemon
from workbench.tui.fold.state import SessionState
from workbench.tui.garbage import look_through
from workbench.tui.opened import Opened
from workbench.tui.opening import (
    export_session,
    open_first_run,
    open_help,
    open_models,
    open_palette,
    open_sessions,
    open_settings,
    open_trust,
)
from workbench.tui.screens.main import MainScreen
from workbench.tui.theming import choose_theme
from workbench.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from workbench.tui.palette.entries import Entry, PastSession
    from workbench.tui.setting.book import SettingsBook
    from workbench.tui.setting.ways import Way


class AppKeys(App[int]):
    """The part of the app that opens screens and sessions; `WorkbenchApp` is the whole."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="help", priority=True),
        Binding("question_mark", "help(True)", "Help", id="help-sign", priority=True, show=False),
        Binding("f9", "demo", "Start the demo", id="demo", priority=True, show=False),
        Binding("ctrl+o", "sessions", "Sessions", id="sessions", priority=True, show=False),
        Binding("ctrl+p", "palette", "Palette", id="palette", priority=True, show=False),
    ]
    ENABLE_COMMAND_PALETTE = False  # ours takes its place

    opened: Opened
    settings: Settings
    state: SessionState
    keymap: Mapping[str, str]
    """Binding id -> keys, of the person's own; what is wrong among them is taken out."""
    settings_file: Path | None
    book: SettingsBook | None = None
    problems: Sequence[str]
    """What is wrong in the settings, a line each."""
    demo: Callable[[], Opened] | None = None
    start: Callable[[str], Opened] | None = None
    ways: Callable[[], Sequence[Way]] | None = None
    sessions: Callable[[], Sequence[PastSession]] | None = None
    resume: Callable[[str], Opened] | None = None

    @abstractmethod
    def main_screen(self) -> MainScreen:
        """A main screen on what is opened now."""

    def action_help(self, by_sign: bool = False) -> None:
        """Keys of where we are, and the guides; `by_sign` where it was asked for by a sign that could be written."""
        open_help(self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A question mark asks for help where it is not written, nor meant for the prompt behind a question."""
        if action != "help" or not parameters:
            return super().check_action(action, parameters)
        return not isinstance(self.focused, Input | TextArea) and not hasattr(self.screen, "takes_words")

    def action_palette(self) -> None:
        """Everything there is to do, found by a few letters."""
        below = self.screen

        async def chosen(entry: Entry | None) -> None:
            if entry is not None:
                await self.run_action(entry.action, entry.node or below)

        workspace = self.opened.workspace if isinstance(below, MainScreen) else None
        sessions = self.sessions if workspace is not None else None
        open_palette(self, self.settings, workspace, sessions, chosen)

    async def action_model(self, name: str = "") -> None:
        """Another model from here on: by its name, or chosen from a list; without a session yet, one begins on it."""
        if not name:
            open_models(self, self.settings, self.state.model, self.action_model)
        elif self.opened.link is not None:
            self.opened.link.set_model(name)
        elif self.start is not None:
            start = self.start
            await self.show(lambda: start(name))

    def action_change_theme(self, name: str = "") -> None:
        """Other colours: by name, or tried in a list."""
        choose_theme(self, name, self._keep_theme)

    def _keep_theme(self, name: str | None) -> None:
        if name is not None and self.book is not None:
            self.theme = name
            try:
                self.book.write({("theme",): name})
            except WorkbenchError as error:
                self.notify(visible(str(error)), severity="error", markup=False)
            else:
                self.notify(visible(f"{name} is kept in your settings"), markup=False)

    def action_setup(self) -> None:
        """Choose a model to begin with: found, tested, kept."""
        if self.ways is not None:
            open_first_run(self, self.ways, self._begin_on)

    async def _begin_on(self, way: Way | None) -> None:
        """A session on what was chosen; it is kept for the next time where that is possible."""
        from workbench.tui.screens.first_run import DEMO

        start = self.start
        if way is None or self.book is None or start is None:
            return
        if way is DEMO:
            await self.action_demo(anywhere=True)
            return
        name, problem = self.book.keep(way)
        if problem:
            self.notify(visible(f"it is not kept: {problem}"), severity="warning", markup=False)
        await self.show(lambda: start(name))

    def action_settings(self) -> None:
        """Every setting, to be looked at and changed."""
        if self.book is not None:
            open_settings(self, self.book)

    def action_compact(self, *, undo: bool = False) -> None:
        """Have the history condensed, or the last condensing taken back."""
        if self.opened.link is not None:
            self.opened.link.compact(undo=undo)

    def action_compact_undo(self) -> None:
        """Have the model get the history whole again."""
        self.action_compact(undo=True)

    async def action_demo(self, anywhere: bool = False) -> None:
        """Into the demo: on its key only from the advice of an empty start, as a command from any session."""
        if self.demo is not None and (anywhere or self.opened.link is None):
            await self.show(self.demo)

    def action_sessions(self, search: str = "") -> None:
        """All sessions, or those in which some words stand."""
        link = self.opened.link

        async def chosen(name: str | None) -> None:
            if name is not None:
                await self.action_session(name)

        open_sessions(self, self.state.session_id, search, link.set_title if link else lambda _: None, chosen)

    def action_export(self, file: str = "") -> None:
        """Write the session to a file, whose end names the form; without one as Markdown where `ohw` was started."""
        self.run_worker(self._export(self.state.session_id, file))

    async def _export(self, name: str, file: str) -> None:
        said = await export_session(name, file) if name else "there is no session yet"
        self.notify(visible(said), markup=False)

    async def action_session(self, name: str) -> None:
        """Go on with another session, by its id; this one is left as if the screen were closed."""
        if self.resume is not None and name != self.state.session_id:
            resume = self.resume
            await self.show(lambda: resume(name))

    async def show(self, make: Callable[[], Opened]) -> None:
        """Another session takes the place of the one on screen; why it cannot is said, and nothing changes."""
        try:
            opened = await in_daemon(make)
        except WorkbenchError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
            return
        before, self.opened = self.opened.link, opened
        written = "" if before else "".join(prompt.text for prompt in self.screen_stack[0].query(Prompt))
        self.state = SessionState(workspace=str(opened.workspace))
        if before is not None:
            before.close()
        self.run_worker(self._replace_main("" if opened.message else written))

    def ask_trust(self) -> None:
        """Whether the folder is trusted, where that has to be asked; its session begins after the answer."""
        question = self.opened.trust
        if question is None:
            return
        main = self.screen

        def typed(text: str) -> None:
            main.query_one(Prompt).type_in(text)

        def answered() -> None:
            self.settings = replace(self.settings, trusted=(*self.settings.trusted, *question.wait()))

        open_trust(self, question, typed, answered)

    async def _replace_main(self, written: str) -> None:
        """The first screen cannot be taken away, so the others lie over it; it follows its session no more.

        A worker of the app's: the screen that goes may be the one that asked, and would wait for its own end.
        """
        look_through()
        while len(self.screen_stack) > 1 and not isinstance(self.screen, MainScreen):
            self.pop_screen()
        if len(self.screen_stack) > 1:
            await self.switch_screen(self.main_screen())
        else:
            self.workers.cancel_node(self.screen)
            await self.push_screen(self.main_screen())
        if written:
            self.screen.query_one(Prompt).give_back(written)
        self.ask_trust()
