"""Handles submitted lines: messages, commands, prompts of MCP servers, and the user's own shell commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from textual.content import Content
from textual.screen import Screen

from workbench.agent.custom_commands import InvalidCommand
from workbench.client.client import Client
from workbench.config.settings import NO_MODEL
from workbench.protocol.commands import RunUserCommand, SendMessage, UnqueueMessage
from workbench.protocol.events import CustomCommand
from workbench.text import visible
from workbench.tui.focus import focus_now
from workbench.tui.screens.main.mcp_prompts import PromptRequests
from workbench.tui.screens.main.outbox import Outbox
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.message_queue import QueueList
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.strips import entitle
from workbench.view.app_session import AppSession
from workbench.view.commands import UnknownCommand, parse_command
from workbench.view.state import Changed, SessionState, UserItem

BeginShell: TypeAlias = Callable[[str], Awaitable[None]]
"""Begins a session by running a command."""

_QUITS: Final = ("exit", "quit")
"""Messages that quit, as they do in a shell."""
RETRY: Final = "Continue where the error stopped you."
"""The message that an empty line sends after an error."""
NO_MODEL_MESSAGE: Final = "No model configured: /setup to add one, /demo to try without"


class Submitter:
    """Sends messages and runs the user's commands; without a model, only commands that need none."""

    def __init__(
        self,
        screen: Screen[None],
        session: AppSession,
        client: Client,
        state: SessionState,
        *,
        composer: Composer,
        begin_shell: BeginShell,
        show_pending: Callable[[Sequence[str]], None],
    ) -> None:
        """Commands run as actions of the `screen`.

        `show_pending` shows messages that are not in the log yet.
        """
        self._screen = screen
        self._client = client
        self._state = state
        self._workspace = session.workspace
        self._first_message = session.message
        self._has_session = session.client is not None
        self._composer = composer
        self._begin_shell = begin_shell
        self._show_pending = show_pending
        self.outbox = Outbox(state)
        self.server_prompts = PromptRequests(client, composer.offers, lambda: self._prompt, screen.notify)

    async def submit(self, event: Prompt.Submitted) -> None:
        """Send a line or run it as a command; text from an MCP server is always sent, whatever it starts with.

        An empty line after an error asks the agent to try again; if the API key was rejected, it asks for another one.
        """
        if event.is_foreign or not event.text:
            await self._submit_unread(event.text)
            return
        if self._has_session and self.server_prompts.request(event.text):
            return
        try:
            parsed = parse_command(event.text)
        except UnknownCommand as error:
            self._submit_custom(event.text, otherwise=str(error))
            return
        line = event.text.strip()
        if line in _QUITS:
            await self._screen.run_action("app.quit")
        elif parsed is not None:
            command, argument = parsed
            await self._screen.run_action(command.action_with(argument))
        elif line.startswith("!"):
            await self._run_in_shell(line[1:].strip())
        elif self.has_model:
            self.send(event.text, event.written)
        else:
            self._refuse(event.text, NO_MODEL_MESSAGE)

    async def _submit_unread(self, text: str) -> None:
        """Send a text that is not a command; an empty one continues after an error, or replaces a rejected API key."""
        if text:
            self.send(text)
        elif self._state.can_retry and self.has_model and not self.outbox.pending:
            if self._state.rejected_key:
                await self._screen.run_action("app.replace_key")
            else:
                self.send(RETRY)

    def _submit_custom(self, line: str, otherwise: str = "") -> bool:
        """Send the message of the custom command that a line names.

        If it names none, return False, and refuse the line if `otherwise` gives a reason.
        """
        try:
            message = self._composer.commands.message(line)
        except InvalidCommand as error:
            self._refuse(line, str(error))
            return True
        if message is None:
            if otherwise:
                self._refuse(line, otherwise)
            return False
        if not self.has_model:
            self._refuse(line, NO_MODEL_MESSAGE)
            return True
        if message.notice:
            self._warn(message.notice)
        self.send(message.text, message.text, message.command)
        return True

    def choose(self, name: str) -> None:
        """Send a custom command, or request a server's prompt; one that takes arguments goes into the prompt first."""
        command = next((each for each in self._composer.commands.listed if each.name == name), None)
        if command is None:
            self.server_prompts.choose(name)
        elif command.hint:
            self._prompt.restore_text(f"/{name} ")
            focus_now(self._prompt)
        else:
            self._submit_custom(f"/{name}")

    def send(self, text: str, written: str = "", command: CustomCommand | None = None) -> None:
        """Send a message; `written` is the text as the user wrote it, which names the files to send with it."""
        self.outbox.add(text)
        mentions = self._composer.mentioned(written)
        folded = written if mentions is None and written != text else ""
        self._client.send(SendMessage(text=text, mentions=mentions, command=command, written=folded))
        if command is None:  # the up key recalls the command's line
            self._composer.recall([text])
        self._show_pending(self.outbox.pending)
        self.show_waiting()

    def send_first(self) -> None:
        """Send the message that the session was opened with, if any; without a session, insert it into the prompt."""
        if self._first_message and self._has_session:
            if not self._submit_custom(self._first_message):
                self.send(self._first_message, self._first_message)
        elif self._first_message:
            self._prompt.restore_text(self._first_message)

    def restore(self, changed: Changed | None) -> None:
        """Insert undelivered and withdrawn messages, and a prompt that an MCP server has sent, into the prompt.

        Files that were found on another machine are passed on to its list.
        """
        self._composer.receive(changed)
        self.outbox.restore(self._prompt, changed)
        self.server_prompts.insert(changed)
        if changed is None:
            self._composer.recall(_recallable_messages(self._state))

    def show_waiting(self) -> None:
        """Show queued messages above the prompt; the prompt's border says how many are being sent, or that a server
        wrote its text.
        """
        prompt, pending = self._prompt, len(self.outbox.pending) if self._state.work == "starting" else 0
        note = f"{pending} being sent" if pending else ""
        entitle(prompt, Content("a server's words: sent as a message" if prompt.is_foreign else note), as_subtitle=True)
        self._composer.show_state(self._state, has_model=self.has_model)

    def withdraw(self, event: QueueList.Withdrawn) -> None:
        """Withdraw a queued message; if it is to be edited, it returns to the prompt once the log confirms that."""
        if event.edit:
            self.outbox.recall(event.item.seq)
        self._client.send(UnqueueMessage(message=event.item.seq))

    def request_notes(self, focus: str = "") -> None:
        """Ask the agent to write, or refresh, its notes on the workspace."""
        from workbench.agent.instructions import notes_request

        if self.has_model:
            self.send(notes_request(self._workspace, focus))
        else:
            self._warn(NO_MODEL_MESSAGE)

    @property
    def has_model(self) -> bool:
        """Whether messages can be sent; otherwise only commands can."""
        return self._has_session and self._state.model != NO_MODEL

    async def _run_in_shell(self, command: str) -> None:
        if self._has_session:
            self._client.send(RunUserCommand(command=command))
        else:
            await self._begin_shell(command)

    def _refuse(self, text: str, reason: str) -> None:
        self._prompt.restore_text(text)
        self._warn(reason)

    def _warn(self, text: str) -> None:
        self._screen.notify(visible(text), severity="warning", markup=False)

    @property
    def _prompt(self) -> Prompt:
        return self._composer.query_one(Prompt)


def _recallable_messages(state: SessionState) -> list[str]:
    """Return the messages that the up key recalls.

    A message that begins like a command can only have come from an MCP server. It is omitted, because it would be run
    if it were submitted again.
    """
    messages = (item.text for item in state.items if isinstance(item, UserItem) and not item.command)
    return [text for text in messages if not text.lstrip().startswith(("!", "/"))]
