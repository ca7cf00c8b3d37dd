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
    """The greeting that each side sends as its first line.

    `seen` is the `seq` of the last event that the sender has; `pid` is the engine's process ID, 0 from a front end.
    `notices`, from the engine only, are lines for the user, such as about tools that are not available.
    """

    version: int = VERSION
    seen: int = 0
    pid: int = 0
    notices: tuple[str, ...] = ()
    is_viewer: bool = False
    """Whether the front end only shows the session, and can never be in control of it."""
    checks_unsaved: bool = False
    """Whether the front end answers `CheckUnsaved`: it belongs to an editor that knows about its unsaved changes."""


class Refused(TaggedData):
    """The engine refused a command or a connection; `reason` is one line for the user."""

    reason: str


class Command(TaggedData):
    """A request from a front end to the engine."""


class SendMessage(Command):
    """Send the user's message; `mentions` are the files it names, relative to the workspace.

    If `mentions` is None, the engine finds them in the text, because the front end runs on a different machine.
    """

    text: str
    mentions: tuple[str, ...] | None = ()
    command: CustomCommand | None = None
    """The custom command that the text comes from."""
    written: str = ""
    """The text with its long pastes folded, if it has any: the engine looks for mentions only outside of long pastes.
    """


class UnqueueMessage(Command):
    """Withdraw a queued message; `message` is the `seq` of its event."""

    message: int


class RunUserCommand(Command):
    """Run a shell command of the user's own in the agent's shell; with a leading `!`, outside the agent's sandbox."""

    command: str


class Decide(Command):
    """Decide on one action; `fingerprint` is that of the action as it was shown to the user.

    With `stop`, the run ends before anything else starts. The other fields are those of `ActionDecided`.
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
    """Approve one action as it was shown, and save one of its "always allow" choices.

    `rule` has the rules of that choice, one per line; `scope` is where they apply: in this session, in this workspace
    (`folder`) or everywhere (`person`).
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
    """Compact the history, at once or before the next model call; with `undo`, undo the last compaction instead."""

    undo: bool = False


class DropOutput(Command):
    """Stop sending the result of an action to the model, which gets a notice instead."""

    action_id: str


class RevertFiles(Command):
    """Restore files: `before` is the current content of each, `after` the content to restore."""

    files: tuple[FileDelta, ...]


class ApplyChanges(Command):
    """Write changes from another session, whose ID is `session`.

    In each file, `before` is the current content and `after` the new one. `risk` is the rating of these changes that
    the user has accepted. Without it, nothing is written, and the front end that asked gets a `ChangesRated`.
    """

    files: tuple[FileDelta, ...]
    session: str
    risk: Risk | None = None


class RestoreCopy(Command):
    """Restore the safety copy that was made before a command deleted files."""

    copy_id: str


class PreviewRewind(Command):
    """Compute what `RewindSession` with these fields would do; only this front end gets the answer, `RewindReady`."""

    target: int
    scope: RewindScope = "both"
    overwrites: tuple[str, ...] = ()


class RewindSession(Command):
    """Move the session to its state at event `target`, earlier or on another branch.

    `overwrites` are files, relative to the workspace, that return to that state although the user has changed the same
    lines. `previewed` is the event number in the preview that the user saw, 0 without a preview: the command is refused
    if the session has continued since, or if one of `overwrites` has changed.
    """

    target: int
    scope: RewindScope = "both"
    overwrites: tuple[str, ...] = ()
    previewed: int = 0


class ChangeSettings(Command):
    """Change the session's model, mode, limits, rules or title; `None` leaves a setting unchanged.

    The mode `never`, in which nothing is asked, is refused unless the user `confirmed` it.
    """

    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None
    confirmed: bool = False


class AllowWriting(Command):
    """Let sandboxed commands write to a directory in this session, or, if `revoked`, no longer.

    `directory` is a path as the user types it: absolute, relative to the workspace, or starting with `~`.
    """

    directory: str
    revoked: bool = False


class ReopenModel(Command):
    """Recreate the session's model for the next call, so that changed keys and saved models take effect."""


class GetPrompt(Command):
    """Get a prompt from an MCP server; the answer, `PromptReady`, goes only to this front end."""

    server: str
    name: str
    arguments: dict[str, str] = field(default_factory=dict)


class FindFiles(Command):
    """Find files of the workspace for a mention; the answers, `MatchingFiles`, go only to this front end."""

    query: str


class ListPorts(Command):
    """List the ports on which programs in the session's shells listen; the answer, `ListeningPorts`, goes only to this
    front end.
    """


class NoteWritten(Command):
    """Announce that this front end, not a program of the agent, is writing one of the user's files of settings or
    approvals.
    """

    path: str
    digest: str
    """The SHA-256 of the content in hexadecimal digits."""


class UnsavedChecked(Command):
    """Report that the files of the `CheckUnsaved` with this number are on disk as the user wants them.

    A front end sends this whether or not it is in control.
    """

    request: int


class RequestControl(Command):
    """Take control: from now on this front end may send commands, and the one that was in control may not."""


class Leave(Command):
    """Detach this front end from the session.

    `stop`, sent when the terminal has closed, also ends the run, unless another front end is attached. With `waits`,
    the last front end stays connected until the engine has ended, and receives the events of that too.
    """

    stop: bool = False
    waits: bool = False


QUERIES = (FindFiles, ListPorts)
"""Commands that change nothing: any front end may send them, and they are dropped, not repeated, if the connection
fails.
"""
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
    """Return the decoder. It is created on first use, because resolving all annotations would delay the first frame."""
    return decoder_of(Message)


@cache
def _hello_decoder() -> Decoder[Hello]:
    return decoder_of(Hello)


@cache
def _command_decoder(kinds: tuple[type[Command], ...]) -> Decoder[Command]:
    return decoder_of(Union[kinds])  # noqa: UP007
