"""The engine's response to each command: one handler per class of `workbench.protocol.commands`."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial, singledispatch
from typing import TYPE_CHECKING

import msgspec
import msgspec.structs

from workbench.config.modes import NEVER
from workbench.errors import WorkbenchError
from workbench.files.state_files import note_digest
from workbench.processes.listening_ports import listening_ports
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
    NoteWritten,
    PreviewRewind,
    Refused,
    ReopenModel,
    RestoreCopy,
    RevertFiles,
    RewindSession,
    RunUserCommand,
    SendMessage,
    UnqueueMessage,
    UnsavedChecked,
)
from workbench.protocol.live import ListeningPorts, PromptReady, RewindReady
from workbench.session.actions.decide import AlwaysRule
from workbench.session.mentions import mentioned

if TYPE_CHECKING:
    from workbench.engine.front_ends import FrontEnd
    from workbench.protocol.live import LiveEvent
    from workbench.session.actions.call_questions import CallQuestion
    from workbench.session.session import Session
    from workbench.session.session_factory import OpenedSession

logger = logging.getLogger(__name__)


def answer_in_thread(name: str, work: Callable[[], LiveEvent | None], screen: FrontEnd) -> None:
    """Run `work` in a thread, and send its result to `screen`, the front end that asked; None sends nothing.

    If `work` fails, the reason is sent as a `Refused`; `name` is the name of the operation in that message.
    """
    loop = asyncio.get_running_loop()

    def run() -> None:
        answer: LiveEvent | Refused | None
        try:
            answer = work()
        except WorkbenchError as error:
            answer = Refused(reason=str(error))
        except Exception as error:
            logger.exception("%s failed", name)
            answer = Refused(reason=f"the {name} failed: {type(error).__name__}: {error}")
        if answer is not None:
            with suppress(RuntimeError):  # the engine has ended
                loop.call_soon_threadsafe(screen.send, answer)

    threading.Thread(target=run, daemon=True, name=name).start()


class Context(msgspec.Struct, frozen=True):
    """The session that a command applies to, and the front end that sent it."""

    opened: OpenedSession
    screen: FrontEnd

    @property
    def session(self) -> Session:
        """The session of `opened`."""
        return self.opened.session


@singledispatch
def handle(command: Command, context: Context) -> None:
    """Carry out one command. Raises WorkbenchError if it is refused; the message is a line for the user."""
    raise WorkbenchError(f"this engine has no handler for {type(command).__name__}")


@handle.register
def _send(command: SendMessage, context: Context) -> None:
    mentions = command.mentions
    if mentions is None:
        servers = context.opened.servers
        is_resource = servers.is_resource if servers is not None else None
        mentions = mentioned(command.written or command.text, context.opened.workspace, is_resource)
    context.session.send(command.text, mentions, command.command)


@handle.register
def _find_files(command: FindFiles, context: Context) -> None:
    context.screen.find_files(context.opened.workspace, command.query)


@handle.register
def _list_ports(command: ListPorts, context: Context) -> None:
    answer_in_thread("list of ports", lambda: ListeningPorts(ports=listening_ports(os.getpid())), context.screen)


@handle.register
def _unqueue(command: UnqueueMessage, context: Context) -> None:
    context.session.messages.withdraw(command.message)


@handle.register
def _run_user_command(command: RunUserCommand, context: Context) -> None:
    context.session.user_commands.add(command.command)


@handle.register
def _interrupt(command: Interrupt, context: Context) -> None:
    context.session.interrupt()


@handle.register
def _condense(command: Condense, context: Context) -> None:
    context.session.condense(undo=command.undo)


@handle.register
def _drop_output(command: DropOutput, context: Context) -> None:
    context.session.condense(drop=command.action_id)


@handle.register
def _revert(command: RevertFiles, context: Context) -> None:
    context.session.files.revert(command.files)


@handle.register
def _apply_changes(command: ApplyChanges, context: Context) -> None:
    changes = context.session.changes
    if command.risk is None:
        context.screen.send(changes.rating(command.files))
    else:
        changes.apply(command.files, command.session, command.risk)


@handle.register
def _restore(command: RestoreCopy, context: Context) -> None:
    context.session.files.restore(command.copy_id)


@handle.register
def _change_settings(command: ChangeSettings, context: Context) -> None:
    if command.mode == NEVER and not command.confirmed:
        raise WorkbenchError("this mode asks nothing, so it must be confirmed")
    changes = msgspec.structs.asdict(command)
    del changes["confirmed"]
    context.session.set(**changes)
    if command.mode is not None:
        context.opened.delegates.set_mode(command.mode)


@handle.register
def _allow_writing(command: AllowWriting, context: Context) -> None:
    session, sandbox = context.session, context.opened.sandbox

    def allow() -> None:
        session.set(rule=sandbox.granting(command.directory).text)

    if command.revoked:
        hosts = context.opened.host_questions
        rules = hosts.session_rules if hosts is not None else ()
        session.set(dropped_rule=sandbox.revoked(command.directory, rules))
    else:
        answer_in_thread("change", allow, context.screen)


@handle.register
def _reopen_model(command: ReopenModel, context: Context) -> None:
    context.session.reopen_model()


@handle.register
def _note_written(command: NoteWritten, context: Context) -> None:
    try:
        note_digest(command.path, bytes.fromhex(command.digest))
    except ValueError as error:
        raise WorkbenchError("not the hash of a file") from error


@handle.register
def _unsaved_checked(command: UnsavedChecked, context: Context) -> None:
    context.session.unsaved_files.checks.end(command.request)


@handle.register
def _get_prompt(command: GetPrompt, context: Context) -> None:
    servers = context.opened.servers
    if servers is None:
        raise WorkbenchError("there are no MCP servers in this session")

    def fetch() -> PromptReady:
        return PromptReady(server=command.server, text=servers.prompt(command.server, command.name, command.arguments))

    answer_in_thread("prompt", fetch, context.screen)


@handle.register
def _preview_rewind(command: PreviewRewind, context: Context) -> None:
    rewinder = context.session.rewinder

    def preview() -> RewindReady:
        rewound, deltas = rewinder.preview_with_deltas(command.target, command.scope, command.overwrites)
        return RewindReady(rewound=rewound, deltas=deltas)

    answer_in_thread("preview", preview, context.screen)


@handle.register
def _rewind(command: RewindSession, context: Context) -> None:
    def rewind() -> None:
        context.session.rewinder.rewind(command.target, command.scope, command.overwrites, previewed=command.previewed)

    answer_in_thread("rewind", rewind, context.screen)


@handle.register(Decide)
@handle.register(AllowAlways)
@handle.register(AnswerQuestion)
def _decide(command: Decide | AllowAlways | AnswerQuestion, context: Context) -> None:
    """Apply a decision to the action it names: one of the session, one of a sub-agent, or a question from a running
    call.
    """
    session, apply = context.session, partial(_apply, command)
    of_calls = (context.opened.server_questions, context.opened.host_questions)
    is_of_call = any(each.command(command.action_id, apply) for each in of_calls if each is not None)
    is_of_sub_agent = not is_of_call and context.opened.delegates.command(command.action_id, apply)
    if not is_of_call and not is_of_sub_agent:
        apply(session, command.action_id)
    elif isinstance(command, Decide) and command.stop:
        session.interrupt()
    elif is_of_sub_agent and isinstance(command, AllowAlways) and command.scope == "session":
        # What is allowed for a sub-agent is allowed for its parent.
        for rule in command.rule.splitlines():
            session.set(rule=rule)


def _apply(command: Decide | AllowAlways | AnswerQuestion, target: Session | CallQuestion, action_id: str) -> None:
    if isinstance(command, AnswerQuestion):
        target.answer(action_id, command.text)
    elif isinstance(command, AllowAlways):
        always = AlwaysRule(command.rule, command.scope)
        target.decide(action_id, "approved", fingerprint=command.fingerprint, always=always)
    else:
        fields = msgspec.structs.asdict(command)
        del fields["action_id"], fields["verdict"]
        target.decide(action_id, command.verdict, **fields)
