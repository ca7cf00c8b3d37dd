"""The lines between an engine and its front ends: a `Hello` each way, then commands to the engine and messages from it.

A line is one JSON object. A new command is a subclass of `Command` here and a handler in `workbench.engine.handlers`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias, Union

from msgspec import field
from msgspec.json import Decoder

from workbench.protocol.codec import TaggedData, decode, decoder_of
from workbench.protocol.events import CustomCommand, Event, FileDelta, FileText, Verdict
from workbench.protocol.live import LiveEvent
from workbench.protocol.rewind import RewindScope
from workbench.protocol.risk import Mode, Risk

VERSION = 4


class Hello(TaggedData):
    """The first line from each side; `seen` is the last seq the front end has, `pid` names the engine (0 from a front
    end).

    `notices`, from the engine only, are lines for the user about tools that were omitted.
    """

    version: int = VERSION
    seen: int = 0
    pid: int = 0
    notices: tuple[str, ...] = ()
    is_viewer: bool = False
    """Whether the front end only shows the session, and can never be in control of it."""
    checks_unsaved: bool = False
    """Whether it answers `CheckUnsaved`: it is the front end of an editor that shows its unsaved changes."""


class Refused(TaggedData):
    """The engine did not carry out a command; `reason` is one line for the user."""

    reason: str


class Command(TaggedData):
    """A request from a front end to the engine."""


class SendMessage(Command):
    """Send the user's message; `mentions` are the files it names, relative to the workspace.

    If they are None, the engine finds them in the text: the front end is on another machine than the files.
    """

    text: str
    mentions: tuple[str, ...] | None = ()
    command: CustomCommand | None = None
    """The custom command that the text comes from."""
    written: str = ""
    """The text with its long pastes folded, if it has any: the engine finds no mentions in a long paste."""


class UnqueueMessage(Command):
    """Withdraw a queued message; `message` is the `seq` of its event."""

    message: int


class RunUserCommand(Command):
    """Run a shell command of the user's own in the agent's shell; with a leading `!`, outside its sandbox."""

    command: str


class Decide(Command):
    """Decide on one action; `fingerprint` is the shown action's. With `stop`, the run ends before anything else starts.

    The other fields are those of `ActionDecided`.
    """

    action_id: str
    verdict: Verdict
    fingerprint: str = ""
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None
    stop: bool = False


class AllowAlways(Command):
    """Approve one action as it was shown, and save the rules of one of the choices that were shown with it, one per
    line.
    """

    action_id: str
    fingerprint: str
    rule: str
    scope: Literal["session", "folder", "person"] = "session"


class AnswerQuestion(Command):
    """Answer a question from the agent."""

    action_id: str
    text: str


class Interrupt(Command):
    """Stop the agent; nothing is discarded."""


class Condense(Command):
    """Compact the history, at once or before the next model call; with `undo`, undo the last condensation."""

    undo: bool = False


class DropOutput(Command):
    """Stop sending the result of an action to the model, which gets a notice instead."""

    action_id: str


class RevertFiles(Command):
    """Restore files: `before` is the current content of each, `after` the content to restore."""

    files: tuple[FileDelta, ...]


class ApplyChanges(Command):
    """Write what another session, `session`, holds: each file's `before` is its current content, `after` the new one.

    Without the `risk` that the user has accepted, nothing is written, and this front end gets a `ChangesRated`.
    """

    files: tuple[FileDelta, ...]
    session: str
    risk: Risk | None = None


class RestoreCopy(Command):
    """Restore the safety copy that was made before a command deleted files."""

    copy_id: str


class PreviewRewind(Command):
    """Work out what `RewindSession` with these fields would do; only this front end gets the answer, `RewindReady`."""

    target: int
    scope: RewindScope = "both"
    overwrites: tuple[str, ...] = ()


class RewindSession(Command):
    """Move the session to its state at event `target`, earlier or on another branch.

    `overwrites` are files, relative to the workspace, that return to that state although the user changed the same
    lines. The command is refused if the session has gone on, or such a file has changed, since the preview that the
    user saw, whose event had the number `previewed`; 0 without a preview.
    """

    target: int
    scope: RewindScope = "both"
    overwrites: tuple[str, ...] = ()
    previewed: int = 0


class ChangeSettings(Command):
    """Change the session's model, mode, limits, rules or title; `None` leaves a setting as it is.

    The mode that never asks takes effect only when the user `confirmed` it.
    """

    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None
    confirmed: bool = False


class AllowWriting(Command):
    """Let commands in the sandbox write a directory, as a user writes its path, in this session; or no longer."""

    directory: str
    revoked: bool = False


class ReopenModel(Command):
    """Open the session's model again for the next call, with the keys and saved models that the user has changed."""


class GetPrompt(Command):
    """Get a prompt from an MCP server; only this front end receives it, as `PromptReady`."""

    server: str
    name: str
    arguments: dict[str, str] = field(default_factory=dict)


class FindFiles(Command):
    """Find files of the workspace for a mention; only this front end receives them, as `MatchingFiles`."""

    query: str


class ListPorts(Command):
    """List the ports on which programs of the session's shells listen; only this front end gets `ListeningPorts`."""


class NoteWritten(Command):
    """Note that this front end is writing one of the user's own settings or approvals, not a program of the agent's."""

    path: str
    digest: str
    """The SHA-256 of the content in hexadecimal digits."""


class UnsavedChecked(Command):
    """The files of a `CheckUnsaved` are on the disk as the user wants them; sent whether or not it is in control."""

    request: int


class RequestControl(Command):
    """Take control, so that this front end may send commands and the one that was in control may not."""


class Leave(Command):
    """Leave the session. `stop` also ends the run, unless another front end watches it: the terminal is gone.

    With `waits`, the last front end stays connected until the engine has ended, and gets the events of that too.
    """

    stop: bool = False
    waits: bool = False


QUERIES = (FindFiles, ListPorts)
"""Commands that change nothing, so that any front end may send them, and that are not worth sending again."""
Message: TypeAlias = Event | LiveEvent | Refused


def decode_message(line: bytes) -> Message:
    """Decode a message from an engine. Raises ValueError."""
    return decode(_message_decoder(), line)


def decode_hello(line: bytes) -> Hello:
    """Decode the greeting of either side. Raises ValueError."""
    return decode(_hello_decoder(), line)


def decode_command(line: bytes) -> Command:
    """Decode a command from a front end. Raises ValueError."""
    return decode(_command_decoder(tuple(Command.__subclasses__())), line)


@cache
def _message_decoder() -> Decoder[Message]:
    """Return the decoder. It is made on first use, because resolving all annotations would delay the first frame."""
    return decoder_of(Message)


@cache
def _hello_decoder() -> Decoder[Hello]:
    return decoder_of(Hello)


@cache
def _command_decoder(kinds: tuple[type[Command], ...]) -> Decoder[Command]:
    return decoder_of(Union[kinds])  # noqa: UP007
