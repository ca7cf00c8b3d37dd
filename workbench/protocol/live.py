"""Messages from an engine to its front ends that are never stored."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workbench.protocol.codec import Data, TaggedData
from workbench.protocol.events import FileDelta, Rewound
from workbench.protocol.risk import Risk

NOT_SAVED = "not saved: "
"""How the `detail` of an `EngineState` begins while the log cannot be written."""
EnginePhase: TypeAlias = Literal["idle", "thinking", "deciding", "acting"]


class LiveBase(TaggedData):
    """A message that is never stored."""


class TextDelta(LiveBase):
    """A piece of the streamed answer."""

    text: str


class ReasoningDelta(LiveBase):
    """A piece of the streamed reasoning."""

    text: str


class CallProgress(LiveBase):
    """The tool call that the model is writing; `path` is the file it names, once that has arrived.

    `command` is its argument of that name if it is one plain word, such as `view`, which shows whether the call reads
    or edits.
    """

    tool: str
    path: str = ""
    command: str = ""
    size: int = 0
    """The number of characters of its arguments so far."""


class ToolOutput(LiveBase):
    """Output of a running action."""

    action_id: str
    text: str


class EngineState(LiveBase):
    """The engine's current activity; `detail` is one line (a retry countdown, "saving fails", …)."""

    state: EnginePhase
    detail: str = ""
    queued: int = 0
    address: str = ""
    """Host and port of the server of the model that is called, if it is not the provider's own."""
    model: str = ""
    """The fallback model that is called in place of the session's, by its name in the settings."""
    sandbox: Literal["", "off", "partial", "read-only", "workspace-write"] = ""
    """The sandbox in effect; empty if that is not known yet, or unchanged."""
    sandbox_reason: str = ""
    """Why there is no sandbox, or only a partial one, although the settings ask for one."""
    sandbox_limit: str = ""
    """What the sandbox does not protect: it is partial, or there is too much of it."""
    sandbox_granted: tuple[str, ...] = ()
    """The directories that commands may write besides the workspace."""
    sandbox_refused: tuple[str, ...] = ()
    """A line for each directory that a rule names, and that commands may not write nevertheless."""
    container: str = ""
    """The image of the container in which commands run; empty if there is none."""
    container_phase: Literal["", "starting", "up", "failed"] = ""
    container_failure: str = ""
    """Why the container could not be started."""
    container_network: Literal["", "ask", "none", "open"] = ""
    """What commands in the container reach, as in the settings."""
    sent: int = 0
    """The last event that the latest request to the model includes: messages up to it are no longer queued."""


class Notice(LiveBase):
    """A line for the user about something that the session uses, such as a server that cannot be reached."""

    text: str


class PromptReady(LiveBase):
    """The text of a server's prompt, for the front end that asked for it: the user sees it before it is sent."""

    server: str
    text: str


class RewindReady(LiveBase):
    """What a rewind would record now, and the files that it would change, for the front end that asked."""

    rewound: Rewound
    deltas: tuple[FileDelta, ...] = ()


class ChangesRated(LiveBase):
    """How dangerous changes are that the user wants to apply, and why, for the front end that asked."""

    risk: Risk
    reasons: tuple[str, ...] = ()


class MatchingFiles(LiveBase):
    """The files and directories that match a query best, relative to the workspace, for the front end that asked.

    There may be several answers to one query while the files are still being listed.
    """

    query: str
    paths: tuple[str, ...] = ()


class ListeningPort(Data):
    """A port on which a program listens; `host` is the name under which its machine reaches it."""

    port: int
    host: str
    program: str
    """The command line."""
    is_isolated: bool = False
    """Whether it is in a network of the sandbox, so that no program outside reaches it."""


class ListeningPorts(LiveBase):
    """The ports on which programs of the session's shells listen now, for the front end that asked.

    None if the system of the engine does not report them.
    """

    ports: tuple[ListeningPort, ...] | None = None


class ControlState(LiveBase):
    """Whether the front end that receives it is in control, so that it may send commands; until then, it is."""

    has_control: bool = True
    others: int = 0
    """The number of other front ends attached to the session."""
    is_viewer: bool = False
    """Whether it can never be in control."""


class CheckUnsaved(LiveBase):
    """The agent is about to read or edit these files: the editor's front end settles with the user what belongs on the
    disk if the editor has changes that are not saved, and then sends `UnsavedChecked`.
    """

    request: int
    paths: tuple[str, ...]


LiveEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | CallProgress
    | ToolOutput
    | EngineState
    | Notice
    | PromptReady
    | RewindReady
    | ChangesRated
    | MatchingFiles
    | ListeningPorts
    | ControlState
    | CheckUnsaved
)
