"""Switches the session that the app shows: begins, resumes and leaves sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.worker import Worker

from workbench.agent.custom_commands import CustomCommands
from workbench.client.threads import in_daemon
from workbench.config.locations import Locations
from workbench.config.modes import MODE_NAMES, MODES
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.protocol.commands import ChangeSettings, FindFiles, RunUserCommand
from workbench.text import visible
from workbench.tui.garbage_collection import collect_all
from workbench.tui.open_screens import open_never_ask, open_sessions, open_trust
from workbench.tui.screens.main import MainScreen
from workbench.tui.themes import theme_order
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession, show_scripted
from workbench.view.formatting.actions import short_path
from workbench.view.prompt.completion import Arguments, ServerOffers
from workbench.view.state import SessionState

if TYPE_CHECKING:
    from workbench.client.ssh_url import SshUrl
    from workbench.tui.app import WorkbenchApp
    from workbench.tui.palette_entries import PastSession
    from workbench.tui.settings.providers import Way

_OPENING_SECONDS, _OPENING_STEPS = 10.0, 200
"""How long, and how often, a session that is being opened is waited for."""


def arguments_of(app: WorkbenchApp) -> dict[str, Arguments]:
    """Return the possible arguments of each command that has a list of them."""
    return {
        "mode": Arguments(lambda: [(name, MODE_NAMES[name]) for name in MODES]),
        "model": Arguments(lambda: list(app.models.names()), app.models.listed.refresh),
        "blame": Arguments(lambda: [(short_path(path, app.state.workspace), "") for path in app.state.changes]),
        "theme": Arguments(lambda: [(name, "") for name in theme_order(app.available_themes)]),
    }


class SessionSources(Struct, frozen=True):
    """Functions that open or list sessions; None if not available. Those that open one may raise WorkbenchError."""

    demo: Callable[[], AppSession] | None = None
    """Opens a demo session."""
    start: Callable[[str], AppSession] | None = None
    """Opens a new session with the named model."""
    new: Callable[[SessionState], AppSession] | None = None
    """Opens a new session with the directory, model and mode of the given one."""
    at: Callable[[SessionState, Path], AppSession] | None = None
    """Opens a new session in a directory, with the model and mode of the given one."""
    there: Callable[[SessionState, SshUrl, str], AppSession] | None = None
    """Opens the session with an id in a directory on another machine or, for "", a new one like the given one."""
    shell: Callable[[], AppSession] | None = None
    """Opens a new session without a model, for the user's shell commands."""
    ways: Callable[[], Sequence[Way]] | None = None
    """Returns the models that a first session can begin with."""
    sessions: Callable[[], Sequence[PastSession]] | None = None
    """Returns the sessions that can be resumed."""
    resume: Callable[[str], AppSession] | None = None
    """Opens the session with that id."""
    fork: Callable[[str, int | None], AppSession] | None = None
    """Opens a fork of the session with that id, from a checkpoint or its end."""


class SessionSwitcher:
    """Replaces the session on screen; the old one is left as if the screen had been closed."""

    def __init__(self, app: WorkbenchApp, sources: SessionSources, history: Path | None) -> None:
        """`history` is the file of submitted prompts."""
        self._app = app
        self._history = history
        self.sources = sources

    def make_main(self) -> MainScreen:
        """Return a main screen for the opened session, with the CSS classes of the current terminal size."""
        app, session = self._app, self._app.session
        # The servers of another machine are not those in the settings here.
        offers = ServerOffers(Settings if session.machine else lambda: app.settings, session.workspace)
        commands = CustomCommands(lambda: app.settings, session.workspace, Locations.from_environment())
        keymap = app.terminal.settings.keymap
        composer = Composer(
            session.workspace,
            self._history,
            arguments_of(app),
            offers=offers,
            commands=commands,
            keymap=keymap,
            find_remotely=_file_finder(session),
        )
        screen = MainScreen(session, app.state, composer, self.begin_in_shell)
        screen.add_class(*_size_classes(app), update=False)
        return screen

    @property
    def main(self) -> MainScreen:
        """The main screen of the current session."""
        return next(screen for screen in reversed(self._app.screen_stack) if isinstance(screen, MainScreen))

    async def show(self, open_session: Callable[[], AppSession]) -> Worker[None] | None:
        """Show another session and return the worker that shows it, or None; if it cannot be opened, report why.

        A worker of the app may wait for that worker; a part of the screen that is replaced must not.
        """
        app = self._app
        try:
            session = await in_daemon(open_session)
        except WorkbenchError as error:
            app.notify(visible(str(error)), severity="error", markup=False)
            return None
        client, app.session = app.session.client, session
        # Text typed before the first session begins is meant for it.
        typed = "" if client else "".join(prompt.text for prompt in app.screen_stack[0].query(Prompt))
        app.state = SessionState(workspace=str(session.workspace))
        show_scripted(app.state, session)
        if client is not None:
            client.close()
        # Run by the app, because the screen to be removed may be the caller: it would wait for its own removal.
        return app.run_worker(self._replace_main("" if session.message else typed))

    async def begin_demo(self) -> None:
        """Begin a demo session."""
        if self.sources.demo is not None:
            await self.show(self.sources.demo)

    async def begin_on_model(self, name: str) -> None:
        """Start a session with the named model."""
        start = self.sources.start
        if start is not None:
            await self.show(lambda: start(name))

    async def begin_new(self) -> None:
        """Begin a new session with the directory, model and mode of the current one, unless that is still empty."""
        new, state = self.sources.new, self._app.state
        if new is None or self._app.session.client is None or not state.items:
            self._app.notify("This session is still empty", timeout=3)
            return
        await self.show(lambda: new(state))
        if state.is_running:
            self._app.notify("The previous session continues; /sessions lists it")

    async def begin_in(self, directory: Path) -> Worker[None] | None:
        """Begin a new session in another directory, with the model and mode of the current one, as `show` does."""
        begin, state, url = self.sources.at, self._app.state, self._app.session.url
        if url is not None:
            return await self.begin_there(url.at(str(directory)))
        return await self.show(lambda: begin(state, directory)) if begin is not None else None

    async def begin_there(self, url: SshUrl, session_id: str = "") -> Worker[None] | None:
        """Resume a session in a directory on another machine; without its id, begin one as `begin_in` does."""
        there, state = self.sources.there, self._app.state
        return await self.show(lambda: there(state, url, session_id)) if there is not None else None

    async def fork(self, event: str = "") -> None:
        """Show a fork of the session, from the checkpoint with this number or, without one, from its end."""
        fork, state = self.sources.fork, self._app.state
        if fork is None or self._app.session.client is None or not state.items:
            self._app.notify("There is nothing to fork yet", timeout=3)
        elif event and not (event.isascii() and event.isdecimal()):
            self._app.notify("/fork takes the number of a checkpoint; /rewind lists them", severity="warning")
        else:
            await self.show(lambda: fork(state.session_id, int(event[:18]) if event else None))
            if state.is_running:
                self._app.notify("The session it was forked from continues; /sessions lists it")

    async def begin_in_shell(self, command: str) -> None:
        """Start a session without a model by running a shell command of the user's in it."""
        if self.sources.shell is not None:
            await self.show(self.sources.shell)
            if self._app.session.client is not None:
                self._app.session.client.send(RunUserCommand(command=command))

    async def resume(self, session_id: str) -> None:
        """Resume another session."""
        resume = self.sources.resume
        if resume is not None and session_id != self._app.state.session_id:
            await self.show(lambda: resume(session_id))

    async def show_action(self, session_id: str, action_id: str, seq: int) -> None:
        """Show an action in the conversation; if it is in another session, resume that one.

        `seq` is the number of an event after the action's proposal.
        """
        app = self._app
        if session_id != app.state.session_id:
            await self.resume(session_id)
        if app.state.session_id in ("", session_id):
            app.run_worker(self._go_to_action(session_id, action_id, seq), group="action", exclusive=True)

    async def _go_to_action(self, session_id: str, action_id: str, seq: int) -> None:
        """Close what covers the main screen, wait until it shows the session, and go to the action."""
        app = self._app
        for _ in range(_OPENING_STEPS):
            if self.main.state is app.state and app.state.session_id == session_id:
                break
            await asyncio.sleep(_OPENING_SECONDS / _OPENING_STEPS)
        else:
            return  # it could not be opened, which was reported
        while not isinstance(app.screen, MainScreen):
            app.pop_screen()
        await self.main.view.go_to_action(action_id, seq)

    def choose(self, search: str) -> None:
        """Let the user choose among all sessions, or those that contain the words of `search`."""
        client = self._app.session.client

        def rename(title: str) -> None:
            if client is not None:
                client.send(ChangeSettings(title=title))

        async def resume(session_id: str | None) -> None:
            if session_id:
                await self.resume(session_id)
            elif session_id is not None:
                await self.begin_new()

        open_sessions(self._app, self._app.state.session_id, search, rename, resume)

    def type_in(self, text: str) -> None:
        """Put text that was typed or pasted while another screen was on top into the main screen's prompt."""
        self.main.query_one(Prompt).type_in(text)

    def ask_trust(self) -> None:
        """Ask whether to trust the directory, then to confirm a mode that never asks, each only if needed.

        The session begins once both are answered. The race that is to be shown first is below the confirmation.
        """
        app, question, type_in = self._app, self._app.session.trust, self.type_in

        def confirm_never() -> None:
            if app.session.race:
                app.races.show(app.session.race)
            if app.session.never_ask is not None:
                open_never_ask(app, app.session.never_ask, type_in)

        if question is None:
            confirm_never()
            return

        def answered() -> None:
            app.settings = replace(app.settings, trusted=(*app.settings.trusted, *question.wait()))
            confirm_never()

        open_trust(app, question, type_in, answered)

    async def _replace_main(self, typed: str) -> None:
        """Show a main screen for the opened session, with the text `typed` in the prompt.

        The first screen cannot be removed, so later ones are pushed over it, and it stops following its session.
        """
        app = self._app
        collect_all()
        while len(app.screen_stack) > 1 and not isinstance(app.screen, MainScreen):
            app.pop_screen()
        if len(app.screen_stack) > 1:
            await app.switch_screen(self.make_main())
        else:
            app.workers.cancel_node(app.screen)
            await app.push_screen(self.make_main())
        if typed:
            app.screen.query_one(Prompt).restore_text(typed)
        self.ask_trust()


def _file_finder(session: AppSession) -> Callable[[str], None] | None:
    """Return the function that has the engine on another machine find files; None if they are on this one."""
    client = session.client
    return (lambda query: client.send(FindFiles(query=query))) if session.machine and client is not None else None


def _size_classes(app: WorkbenchApp) -> Iterator[str]:
    """Yield the CSS classes for the app's size; set in advance, they spare the screen a second styling and layout."""
    for length, steps in zip(app.size, (app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS), strict=True):
        yield next(name for least, name in reversed(steps) if length >= least)
