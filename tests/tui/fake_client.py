"""A client without an engine: recorded events are delivered to the screen, and its commands are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from workbench.client.client import Incoming
from workbench.protocol.commands import (
    AllowAlways,
    AllowWriting,
    AnswerQuestion,
    ApplyChanges,
    ChangeSettings,
    Command,
    Condense,
    Decide,
    DropOutput,
    FindFiles,
    GetPrompt,
    Interrupt,
    ListPorts,
    PreviewRewind,
    ReopenModel,
    RequestControl,
    RestoreCopy,
    RevertFiles,
    RewindSession,
    RunUserCommand,
    SendMessage,
    UnqueueMessage,
)

_CHANGES = ("edited", "hunks", "written")


class FakeClient:
    """`bring` delivers messages; `commands` holds the commands of the screen, in order."""

    def __init__(self, history: Sequence[Any] = ()) -> None:
        self._history = list(history)
        self._messages: asyncio.Queue[Incoming] = asyncio.Queue()
        self.commands: list[tuple[Any, ...]] = []
        self.closed = False

    def history(self) -> Sequence[Any]:
        return self._history

    def forget_history(self, history: Sequence[Any]) -> None:
        """Replace what a screen reads when it reads the history again."""
        self._history = list(history)

    async def receive(self) -> Sequence[Incoming]:
        first = await self._messages.get()
        rest = [self._messages.get_nowait() for _ in range(self._messages.qsize())]
        return [first, *rest]

    def bring(self, *messages: Any) -> None:
        for message in messages:
            self._messages.put_nowait(message)

    def send(self, command: Command) -> None:
        self.commands.append(short(command))

    def close(self, *, stop: bool = False) -> None:
        self.closed = True


def short(command: Command) -> tuple[Any, ...]:
    """Return a command in the form tests compare: a word and its arguments."""
    return _SHORT[type(command)](command)


def _decision(command: Decide) -> tuple[Any, ...]:
    extra = {name: value for name in _CHANGES if (value := getattr(command, name)) is not None}
    common = (command.action_id, command.verdict, command.fingerprint, command.note)
    return ("decide", *common, *([extra] if extra else []))


def _setting(command: ChangeSettings) -> tuple[Any, ...]:
    if command.rule is not None or command.dropped_rule is not None:
        return ("rule", command.rule, command.dropped_rule)
    if command.mode is not None:
        return ("mode", command.mode, *(["confirmed"] if command.confirmed else []))
    return ("title", command.title) if command.title is not None else ("model", command.model)


_SHORT: dict[type[Command], Callable[[Any], tuple[Any, ...]]] = {
    SendMessage: lambda it: ("send", it.text, *([it.mentions] if it.mentions else [])),
    UnqueueMessage: lambda it: ("withdraw", it.message),
    RunUserCommand: lambda it: ("run", it.command),
    Decide: _decision,
    AllowAlways: lambda it: ("allow_always", it.action_id, it.fingerprint, it.rule, it.scope),
    AnswerQuestion: lambda it: ("answer", it.action_id, it.text),
    Interrupt: lambda it: ("interrupt",),
    Condense: lambda it: ("compact", "undo") if it.undo else ("compact",),
    DropOutput: lambda it: ("drop", it.action_id),
    RevertFiles: lambda it: ("take_back", *it.files),
    ApplyChanges: lambda it: ("apply", it.session, it.risk, *it.files),
    RestoreCopy: lambda it: ("restore", it.copy_id),
    AllowWriting: lambda it: ("revoke_writing" if it.revoked else "allow_writing", it.directory),
    ReopenModel: lambda it: ("reopen_model",),
    RequestControl: lambda it: ("request_control",),
    PreviewRewind: lambda it: ("preview", it.target, it.scope, *it.overwrites),
    RewindSession: lambda it: ("rewind", it.target, it.scope, *it.overwrites),
    FindFiles: lambda it: ("find", it.query),
    ListPorts: lambda it: ("ports",),
    GetPrompt: lambda it: ("ask_prompt", it.server, it.name, it.arguments),
    ChangeSettings: _setting,
}
