"""Messages from an engine to its front ends that are never stored."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workbench.protocol.codec import Data, TaggedData
from workbench.protocol.events import FileDelta, Rewound
from workbench.protocol.risk import Risk

NOT_SAVED = "not saved: "
"""The prefix of the `detail` of an `EngineState` while the log cannot be written."""
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
    """The tool call that the model is writing; `path` is the file that it names, empty until that has arrived.

    `command` is the argument of that name if it is one plain word, such as `view`: it shows whether the call reads or
    edits.
    """

    tool: str
    path: str = ""
    command: str = ""
    size: int = 0
    """The number of characters of the call's arguments so far."""


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
    """What the sandbox does not protect, because it is only partial or what it should protect is too large; may be
    empty.
    """
    sandbox_granted: tuple[str, ...] = ()
    """The directories outside the workspace that commands may write to."""
    sandbox_refused: tuple[str, ...] = ()
    """A line for each directory that a rule names but that commands may not write to, with the reason."""
    container: str = ""
    """The image of the container in which commands run; empty if there is none."""
    container_phase: Literal["", "starting", "up", "failed"] = ""
    container_failure: str = ""
    """Why the container could not be started."""
    container_network: Literal["", "ask", "none", "open"] = ""
    """The network access of commands in the container, as in the settings."""
    is_stopping: bool = False
    """Whether the user has stopped the run, and what runs has not ended yet."""
    sent: int = 0
    """The last event that the latest request to the model includes: messages up to it are no longer queued."""


class Notice(LiveBase):
    """A line for the user about something that the session uses, such as a server that cannot be reached."""

    text: str


class PromptReady(LiveBase):
    """The text of an MCP server's prompt, for the front end that asked for it: the user sees it before it is sent."""

    server: str
    text: str


class RewindReady(LiveBase):
    """The event that a rewind would record now, and the file changes it would make, for the front end that asked."""

    rewound: Rewound
    deltas: tuple[FileDelta, ...] = ()


class ChangesRated(LiveBase):
    """The risk of the changes that the user wants to apply, and the reasons for it, for the front end that asked."""

    risk: Risk
    reasons: tuple[str, ...] = ()


class MatchingFiles(LiveBase):
    """The files and directories that match a query best, relative to the workspace, for the front end that asked.

    There may be several answers to one query while the files are still being listed.
    """

    query: str
    paths: tuple[str, ...] = ()


class ListeningPort(Data):
    """A port on which a program listens; `host` is the host name that reaches it from the same machine."""

    port: int
    host: str
    program: str
    """The program's command line."""
    is_isolated: bool = False
    """Whether the port is inside a sandbox's own network, where no program outside can reach it."""


class ListeningPorts(LiveBase):
    """The ports on which programs in the session's shells listen now, for the front end that asked.

    `ports` is None if the engine's operating system does not report them.
    """

    ports: tuple[ListeningPort, ...] | None = None


class ControlState(LiveBase):
    """Whether the front end that receives this is in control and may send commands; it assumes so until it receives
    one.
    """

    has_control: bool = True
    others: int = 0
    """The number of other front ends attached to the session."""
    is_viewer: bool = False
    """Whether the receiving front end only shows the session, and can never be in control."""


class CheckUnsaved(LiveBase):
    """The agent is about to read or edit these files: the editor's front end checks them for unsaved changes.

    If there are any, it settles with the user what belongs on disk; then it sends `UnsavedChecked` with the number
    `request`. Without paths, the check with this number is not needed any more, such as after an interrupt.
    """

    request: int
    paths: tuple[str, ...] = ()


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
