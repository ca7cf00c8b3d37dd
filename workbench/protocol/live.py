"""Messages from an engine to its front ends that are never stored."""

from __future__ import annotations

from typing import Literal, TypeAlias

from workbench.protocol.codec import TaggedData
from workbench.protocol.events import FileDelta, Rewound
from workbench.protocol.risk import Risk

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


class ControlState(LiveBase):
    """Whether the front end that receives it is in control, so that it may send commands; until then, it is."""

    has_control: bool = True
    others: int = 0
    """The number of other front ends attached to the session."""


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
    | ControlState
)
