"""What becomes of a line that is sent: a message, a command, or a shell command of the person's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on

from workbench.config.settings import NO_MODEL as NONE
from workbench.protocol.commands import RunUserCommand, SendMessage
from workbench.tui.opening import open_tools
from workbench.tui.screens.server_prompts import ServerPrompts
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.writing import Writing
from workbench.view.commands import UnknownCommand, parse_command

if TYPE_CHECKING:
    from workbench.tui.app import WorkbenchApp

NO_MODEL = "no model is set up; /setup finds one, /demo needs none"


class Sending(ServerPrompts):
    """The part of the main screen that sends; without a model only what needs none."""

    has_session = True
    """Whether there is a session behind the screen; one without a model begins with a shell command."""
    writing: Writing

    @on(Prompt.Submitted)
    async def on_prompt_submitted(self, submitted: Prompt.Submitted) -> None:
        """A command is run, everything else is sent; a server's words are a message, whatever they begin with."""
        if submitted.is_foreign:
            self.send(submitted.text)
            return
        if self.has_session and self.asks_prompt(submitted.text):
            return
        try:
            command = parse_command(submitted.text)
        except UnknownCommand as error:
            self._refuse(submitted.text, str(error))
            return
        if command is not None:
            found, argument = command
            await self.run_action(f"{found.action}({argument!r})" if argument else found.action)
        elif (own := submitted.text.strip()).startswith("!"):
            await self._run_own(own[1:].strip())
        elif self.has_session and self.state.model != NONE:
            self.send(submitted.text, submitted.written)
        else:
            self._refuse(submitted.text, NO_MODEL)

    async def _run_own(self, command: str) -> None:
        """In this session's shell; where there is none yet, in that of one without a model."""
        if self.has_session:
            self.link.send(RunUserCommand(command=command))
        else:
            await cast("WorkbenchApp", self.app).begin_with_command(command)

    def action_tools(self) -> None:
        """The tools the agent has."""
        open_tools(self.app, self.state, cast("WorkbenchApp", self.app).opened.workspace)

    def action_init(self, wishes: str = "") -> None:
        """Have the agent write, or refresh, its notes on this folder: a message like any other."""
        from workbench.agent.notes import wanted_notes

        if self.has_session and self.state.model != NONE:
            self.send(wanted_notes(cast("WorkbenchApp", self.app).opened.workspace, wishes))
        else:
            self.say(NO_MODEL)

    def send(self, text: str, written: str = "") -> None:
        """A message of the person's; `written` is what they see of it, with the files it mentions."""
        self.outbox.sent(text)
        self.link.send(SendMessage(text=text, mentions=tuple(self.writing.mentioned(written))))
        self.writing.recall([text])
        self.show_welcome()
        self.refresh_hints()

    def _refuse(self, text: str, why: str) -> None:
        self.query_one(Prompt).give_back(text)
        self.say(why)

    def show_welcome(self) -> None:
        """How to begin, or what is on its way, while there is nothing else."""
        raise NotImplementedError

    def refresh_hints(self) -> None:
        """The keys that work now."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """One line for the person."""
        raise NotImplementedError
