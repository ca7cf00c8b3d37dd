"""The part of the app that goes from one session to another; `AppKeys` builds on it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import App

from workbench.client.threads import in_daemon
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.protocol.commands import ChangeSettings, RunUserCommand
from workbench.text import visible
from workbench.tui.garbage import collect_all
from workbench.tui.opening import export_session, open_never_ask, open_sessions, open_trust
from workbench.tui.screens.main import MainScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.opened import Opened
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.tui.palette.entries import PastSession


class AppSessions(App[int]):
    """Opens, leaves and exports sessions."""

    opened: Opened
    settings: Settings
    state: SessionState
    demo: Callable[[], Opened] | None = None
    start: Callable[[str], Opened] | None = None
    shell: Callable[[], Opened] | None = None
    sessions: Callable[[], Sequence[PastSession]] | None = None
    resume: Callable[[str], Opened] | None = None

    @property
    def main(self) -> MainScreen:
        """The screen of the session that is open."""
        return next(screen for screen in reversed(self.screen_stack) if isinstance(screen, MainScreen))

    @abstractmethod
    def main_screen(self) -> MainScreen:
        """A main screen on what is opened now."""

    async def action_demo(self, anywhere: bool = False) -> None:
        """Into the demo: on its key only from the advice of an empty start, as a command from any session."""
        if self.demo is not None and (anywhere or self.opened.link is None):
            await self.show(self.demo)

    def action_sessions(self, search: str = "") -> None:
        """All sessions, or those in which some words stand."""
        link = self.opened.link

        def rename(title: str) -> None:
            if link is not None:
                link.send(ChangeSettings(title=title))

        async def chosen(name: str | None) -> None:
            if name is not None:
                await self.action_session(name)

        open_sessions(self, self.state.session_id, search, rename, chosen)

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

    async def begin_with_command(self, command: str) -> None:
        """A session without a model, and a shell command of the person's own in it."""
        if self.shell is not None:
            await self.show(self.shell)
            if self.opened.link is not None:
                self.opened.link.send(RunUserCommand(command=command))

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
        """Ask whether the folder is trusted, and have a mode that never asks confirmed; the session begins then."""
        question = self.opened.trust
        main = self.main

        def typed(text: str) -> None:
            main.query_one(Prompt).type_in(text)

        def ask_never() -> None:
            if self.opened.never_ask is not None:
                open_never_ask(self, self.opened.never_ask, typed)

        if question is None:
            ask_never()
            return

        def answered() -> None:
            self.settings = replace(self.settings, trusted=(*self.settings.trusted, *question.wait()))
            ask_never()

        open_trust(self, question, typed, answered)

    async def _replace_main(self, written: str) -> None:
        """The first screen cannot be taken away, so the others lie over it; it follows its session no more.

        A worker of the app's: the screen that goes may be the one that asked, and would wait for its own end.
        """
        collect_all()
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
