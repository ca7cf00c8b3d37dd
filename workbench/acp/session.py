"""One session in an editor: receives the engine's messages, and answers a prompt when what it started has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from acp import Client as Editor
from acp.helpers import update_agent_message_text, update_available_commands
from acp.schema import SessionModeState, StopReason

from workbench.acp.asker import QuestionAsker
from workbench.acp.commands import CommandEffect, listed_commands, plan_notice, slash_command
from workbench.acp.errors import RunFailed
from workbench.acp.options import ConfigOption, change_of, config_options, mode_state
from workbench.acp.prompts import MessageReader, PromptMessage
from workbench.acp.turn import PromptTurn
from workbench.acp.unsaved import UnsavedChanges
from workbench.acp.updates import SessionUpdate, UpdateStream, notice
from workbench.agent.custom_commands import CustomCommands
from workbench.client.client import Client, EventHistory, Incoming
from workbench.client.threads import in_daemon
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.protocol.commands import Command, Interrupt, SendMessage
from workbench.protocol.events import Event, Rewound, RunEnded, SettingsChanged
from workbench.protocol.live import CheckUnsaved
from workbench.session.storage.paging import Branch
from workbench.view.follower import start_over
from workbench.view.reducer import apply
from workbench.view.state import Changed, NoticeItem, SessionState

_WARNINGS: Final = ("warning", "error")


class EditorSession:
    """A session that the editor has open; its ID is the same in `ohw`."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        editor: Editor,
        *,
        settings: Settings,
        custom: CustomCommands,
        reader: MessageReader,
        has_files: bool = False,
        notices: Iterable[str] = (),
    ) -> None:
        """`has_files`: whether the editor can read and write files for the agent.

        `notices` are lines for the user, shown with the first prompt.
        """
        self.id = state.session_id
        self._client = client
        self._state = state
        self._editor = editor
        self._settings = settings
        self._custom = custom
        self._reader = reader
        self._notices = list(notices)
        self._updates = UpdateStream(state)
        self._asker = QuestionAsker(client, state, editor, self._send, self._updates.asked)
        self._unsaved = UnsavedChanges(client, state, editor, self._send) if has_files else None
        self._turn: PromptTurn | None = None
        self._changes: list[asyncio.Future[None]] = []
        """Changes of settings that the engine has not answered yet, oldest first."""
        self._follower: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a prompt is running."""
        return self._turn is not None

    @property
    def modes(self) -> SessionModeState:
        """The modes to choose from."""
        return mode_state(self._state)

    @property
    def options(self) -> list[ConfigOption]:
        """The options with their values."""
        return config_options(self._state, self._settings)

    async def open(self, *, replay: bool = False) -> None:
        """Read the history, start the engine and follow its messages; with `replay`, send the history to the editor.

        Raises StoreError if the session cannot be read.
        """
        for event in await in_daemon(lambda: _whole(self._client)):
            apply(self._state, event)
        for update in self._updates.replay(self._state.items if replay else ()):
            await self._send(update)
        self._follower = asyncio.create_task(self._follow())
        self._follower.add_done_callback(self._ended)

    async def offer_commands(self) -> None:
        """Send the list of slash commands; an editor accepts it only once it knows the session."""
        await self._send(update_available_commands(await in_daemon(lambda: listed_commands(self._custom))))

    async def prompt(self, blocks: Sequence[Any]) -> StopReason:
        """Send a prompt as a message, wait, and return why the agent stopped. Raises WorkbenchError if it failed."""
        if self._turn is not None:
            raise UsageError("a prompt of this session is still running; cancel it, or wait for its end")
        message = self._reader.message(blocks)
        command = slash_command(message.text, self._state)
        if command is not None and command.text:
            await self._send(update_agent_message_text(command.text))
            return "end_turn"
        if not self._state.has_control and not (command and command.ends_with):
            raise UsageError("another screen controls this session; /pen takes control")
        self._turn = PromptTurn(command.ends_with if command else None)
        try:
            return await self._run(message, command, self._turn)
        finally:
            self._turn = None
            self._withdraw()

    def cancel(self) -> None:
        """Stop the run of the current prompt and withdraw its question, undecided; without a prompt, do nothing."""
        if self._turn is not None:
            self._withdraw()
            self._client.send(Interrupt())
            self._turn.cancel()

    async def change(self, option: str, value: str) -> None:
        """Set an option, and wait until the engine has done so.

        Raises UsageError if it cannot be set, RunFailed if the engine refuses.
        """
        command = change_of(option, value, self._state, self._settings)
        if command is None:
            return
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changes.append(change)
        self._client.send(command)
        await change

    def close(self, *, stop: bool = False) -> None:
        """Detach from the session; with `stop`, its run ends."""
        if self._follower is not None:
            self._follower.cancel()
        self._withdraw()
        if self._turn is not None:
            self._turn.end("cancelled")
        self._client.close(stop=stop)

    def _withdraw(self) -> None:
        """Withdraw the questions that the editor is showing."""
        self._asker.withdraw()
        if self._unsaved is not None:
            self._unsaved.withdraw()

    async def _run(self, message: PromptMessage, command: CommandEffect | None, turn: PromptTurn) -> StopReason:
        lines, self._notices = self._notices, []
        for line in lines:
            await self._send(notice(line))
        if command is not None:
            for each in command.commands:
                self._dispatch(each)
        elif self._asker.answer_in_words(message.text):
            turn.has_begun = True
        else:
            await self._deliver(message, turn)
        self._asker.ask_next(turn)
        return await turn.reason

    async def _deliver(self, message: PromptMessage, turn: PromptTurn) -> None:
        """Send the message, or the expansion of the custom command that it names, unless the prompt has been canceled
        by then.
        """
        custom = await in_daemon(lambda: self._custom.message(message.text))
        if turn.is_cancelled:
            turn.end("cancelled")
            return
        if custom is None:
            self._dispatch(SendMessage(text=message.text, mentions=message.mentions))
            return
        expanded = self._reader.expanded(custom.text, message)
        self._dispatch(SendMessage(text=expanded.text, mentions=expanded.mentions, command=custom.command))
        if custom.notice:
            await self._send(notice(custom.notice))

    def _dispatch(self, command: Command) -> None:
        if isinstance(command, SendMessage):
            self._updates.expect(command.text)
        self._client.send(command)

    async def _follow(self) -> None:
        while True:
            for message in await self._client.receive():
                await self._receive(message)
            self._asker.ask_next(self._turn)

    async def _receive(self, message: Incoming) -> None:
        changed = apply(self._state, message)
        if isinstance(message, CheckUnsaved) and self._unsaved is not None:
            self._unsaved.start(message, asks=self._turn is not None and not self._turn.is_stopping)
        if isinstance(message, Rewound) and message.scope != "files":
            await self._read_again()
        for update in self._updates.of(message, changed):
            await self._send(update)
        await self._show_notices(message, changed)
        if isinstance(message, SettingsChanged):
            for update in self._updates.settings(message, self.options):
                await self._send(update)
        self._finish_change(message, changed)
        if changed.refused:
            self._asker.forget_answers()
        if self._turn is not None:
            self._turn.advance(message, changed)

    async def _read_again(self) -> None:
        """Read the state again after a rewind by another screen; what the editor shows is not changed."""
        events = await in_daemon(lambda: _whole(self._client))
        start_over(self._state, SessionState())
        for event in events:
            apply(self._state, event)

    async def _show_notices(self, message: Incoming, changed: Changed) -> None:
        """Send warnings to the editor during a prompt; without one, keep them for the next."""
        if isinstance(message, RunEnded) and message.reason in ("interrupted", "error"):
            return  # the answer to the prompt says it
        lines = [item.text for item in changed.added if isinstance(item, NoticeItem) and item.kind in _WARNINGS]
        if isinstance(message, RunEnded):
            lines += plan_notice(self._state)
        if self._turn is None:
            self._notices += lines
            return
        for line in lines:
            await self._send(notice(line))

    def _finish_change(self, message: Incoming, changed: Changed) -> None:
        if not self._changes or not (isinstance(message, SettingsChanged) or changed.refused):
            return
        change = self._changes.pop(0)
        if change.done():
            return  # the request was given up
        if changed.refused:
            change.set_exception(RunFailed(changed.refused))
        else:
            change.set_result(None)

    async def _send(self, update: SessionUpdate) -> None:
        with suppress(ConnectionError):  # the editor is gone, which ends the program
            await self._editor.session_update(session_id=self.id, update=update)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """If following the engine failed, let everything that waits for it fail with the same exception; otherwise it
        would hang.
        """
        if task.cancelled() or (fault := task.exception()) is None:
            return
        for change in self._changes:
            change.set_exception(fault)
        if self._turn is not None:
            self._turn.fail(fault)


def _whole(client: Client) -> list[Event | Branch]:
    """Return all events of a session, including those before the last part of a long log."""
    history = client.history()
    events = list(history)
    if isinstance(history, EventHistory) and history.past is not None and history.digest is not None:
        end = history.digest.start
        while end > 1:
            events[:0] = history.past.part(end)
            end = history.past.start(end)
    return events
