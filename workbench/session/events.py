"""The events of a session: the contract between the log, the engine, the screens and any program that reads a log.

Payloads are plain data (JSON), so a log can be read without importing a single tool.
"""

from __future__ import annotations

import json
import os
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from workbench.security.policy import Mode as Mode
from workbench.security.risk import Risk as Risk
from workbench.session.action_events import ActionAbandoned as ActionAbandoned
from workbench.session.action_events import ActionAssessed as ActionAssessed
from workbench.session.action_events import ActionDecided as ActionDecided
from workbench.session.action_events import ActionObserved as ActionObserved
from workbench.session.action_events import ActionProposed as ActionProposed
from workbench.session.action_events import ActionStarted as ActionStarted
from workbench.session.action_events import Verdict as Verdict
from workbench.session.data import ContextParts as ContextParts
from workbench.session.data import EventBase as EventBase
from workbench.session.data import FileDelta as FileDelta
from workbench.session.data import FileText as FileText
from workbench.session.data import RawToolCall as RawToolCall
from workbench.session.data import Segment as Segment
from workbench.session.data import StaleFile as StaleFile
from workbench.session.data import Usage as Usage
from workbench.session.file_events import FilesChanged as FilesChanged
from workbench.session.file_events import VersionTaken as VersionTaken
from workbench.session.live import LIVE as LIVE
from workbench.session.live import EngineState as EngineState
from workbench.session.live import LiveEvent as LiveEvent
from workbench.session.live import Notice as Notice
from workbench.session.live import ReasoningDelta as ReasoningDelta
from workbench.session.live import TextDelta as TextDelta
from workbench.session.live import ToolOutput as ToolOutput
from workbench.session.own_events import CondensingUndone as CondensingUndone
from workbench.session.own_events import MessageWithdrawn as MessageWithdrawn
from workbench.session.own_events import PersonCommand as PersonCommand
from workbench.session.own_events import ResourcesRead as ResourcesRead
from workbench.session.own_events import ResourceText as ResourceText
from workbench.session.own_events import UserMessage as UserMessage

RunEnd: TypeAlias = Literal["finished", "waiting", "interrupted", "limit", "stuck", "error"]


class SessionStarted(EventBase):
    """Always the first event."""

    kind: Literal["session_started"] = "session_started"
    id: str
    workspace: str
    model: str
    mode: Mode
    tools: tuple[str, ...] = ()
    app_version: str = ""
    base_version: str | None = None
    api_base: str | None = None
    scripted: bool = False
    parent: str = ""
    """The session whose agent started this one for a sub-agent."""


class ModelResponded(EventBase):
    """One answer of the model, verbatim; times in seconds, `cost` in US dollars (`None` when the price is unknown).

    `seen` is the last event that the request held: messages the person sent later were not known to this answer.
    """

    kind: Literal["model_responded"] = "model_responded"
    response_id: str
    model: str
    text: str = ""
    reasoning: str = ""
    thinking: tuple[dict[str, Any], ...] = ()
    """The reasoning in blocks that the provider signed and wants back."""
    tool_calls: tuple[RawToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0
    first_token: float | None = None
    incomplete: bool = False
    seen: int | None = None
    parts: ContextParts | None = None


class ModelAsked(EventBase):
    """A tool asked the model while the action was prepared or ran; no part of the conversation, but it counts."""

    kind: Literal["model_asked"] = "model_asked"
    action_id: str
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0


class AgentNudged(EventBase):
    """The workbench's own word to the agent, sent to the model like a message; `evidence` says what it is based on.

    `lost` stands where a repair found that events of the log are lost.
    """

    kind: Literal["agent_nudged"] = "agent_nudged"
    reason: Literal["empty", "no_call", "stuck", "lost"]
    text: str
    evidence: str = ""


class HistoryCondensed(EventBase):
    """Events `first`..`last` are no longer sent to the model; `summary` stands in their place. The log keeps them.

    `reason` is what asked for it: the agent, the person, the model's full window, or a limit of the settings. The rest
    is about the call that wrote the summary, as in ModelResponded.
    """

    kind: Literal["history_condensed"] = "history_condensed"
    first: int
    last: int
    summary: str
    reason: Literal["asked", "person", "overflow", "tokens", "events"] = "asked"
    model: str = ""
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0


class CondensingAsked(EventBase):
    """The person wants the history condensed: at once, or before the next call of the model while a run is on."""

    kind: Literal["condensing_asked"] = "condensing_asked"


class SettingsChanged(EventBase):
    """What is set from here on, `None` as it was; `dropped_rule` no longer is a rule (one line) of the session.

    `title` is what the person calls the session; empty for what they said first.
    """

    kind: Literal["settings_changed"] = "settings_changed"
    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None


class Rewound(EventBase):
    """The session stands again where it stood at `target`; nothing is deleted."""

    kind: Literal["rewound"] = "rewound"
    target: int
    version: str | None = None


class RunEnded(EventBase):
    """The agent stopped; `detail` is one line for the person."""

    kind: Literal["run_ended"] = "run_ended"
    reason: RunEnd
    detail: str = ""


ActionEvent: TypeAlias = (
    ActionProposed | ActionAssessed | ActionDecided | ActionStarted | ActionObserved | ActionAbandoned | ModelAsked
)


class DelegateStep(EventBase):
    """A step of what works for the action `action_id`: a sub-agent whose log is `session`, or (empty) a server asks."""

    kind: Literal["delegate_step"] = "delegate_step"
    action_id: str
    agent: str
    session: str
    event: Annotated[ModelResponded | HistoryCondensed | ActionEvent, Field(discriminator="kind")]


Event: TypeAlias = Annotated[
    SessionStarted
    | UserMessage
    | ResourcesRead
    | MessageWithdrawn
    | PersonCommand
    | ModelResponded
    | ActionEvent
    | FilesChanged
    | VersionTaken
    | AgentNudged
    | HistoryCondensed
    | CondensingAsked
    | CondensingUndone
    | SettingsChanged
    | Rewound
    | RunEnded
    | DelegateStep,
    Field(discriminator="kind"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)


def event_from_json(line: str) -> Event:
    """Read one event; raises pydantic.ValidationError for an unknown kind or a wrong payload."""
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        started = _started_in_bytes(line)
        if started is None:
            raise
        return started


def _started_in_bytes(line: str) -> SessionStarted | None:
    """The first event of a session whose workspace has a path that is not UTF-8; None for any other line.

    Such a byte is a lone surrogate in Python and an escape in the line, which pydantic does not read.
    """
    try:
        started = SessionStarted.model_validate(json.loads(line))
        started.model_copy(update={"workspace": ""}).model_dump_json()
        os.fsencode(started.workspace)
    except (ValueError, RecursionError):
        return None
    return started
