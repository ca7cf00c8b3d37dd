"""The events of a session: the contract between the log, the engine, its front ends and any program that reads a log.

Payloads are plain data (JSON), so a log can be read without importing a single tool.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from msgspec import field
from msgspec.json import Decoder

from workbench.protocol.codec import Data, TaggedData, decode
from workbench.protocol.presentation import Presentation
from workbench.protocol.risk import Mode, Risk


class EventBase(TaggedData):
    """The envelope: `seq` counts from 1 and is set by the store, `at` is UTC, `turn` counts the user's messages."""

    seq: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    turn: int = 0


class FileDelta(Data):
    """One file before and after: the text of each, `None` where the file does not exist; `path` is absolute."""

    path: str
    before: str | None
    after: str | None
    cut: str = ""
    """Why the texts are not the file's own but a line about it: it is binary, or too large."""
    version: str = ""
    """A version that may hold the file as it is `after`, to the byte; only where a change is reverted."""


class FileText(Data):
    """What one file shall hold, to the byte; `None`: it shall not exist."""

    path: str
    text: str | None


class StaleFile(Data):
    """A file that somebody changed since the agent saw it: what it had `seen`, `theirs` on disk, what it `wanted`.

    The preview holds both changes. Where they meet, in `conflicts` places, it has the agent's; None: they could not be
    merged, and it has the agent's alone.
    """

    path: str
    seen: str
    theirs: str
    wanted: str
    conflicts: int | None = 0
    by: str = ""
    """Who changed it, where the log knows: "person", "other", or "agent" for an earlier action."""


class RawToolCall(Data):
    """A tool call exactly as the model wrote it; `arguments` is its JSON text, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """What the provider wants back with the call, where it signs calls."""


class Usage(Data):
    """Tokens of one model call; `None` where the provider did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    """Of the input, what the provider put into its cache and charges for."""
    reasoning: int | None = None
    window: int | None = None
    """Tokens that a request to this model may hold."""


class ContextParts(Data):
    """About how many tokens of a request each part took; together what the provider counted, where it did."""

    system: int = 0
    tools: int = 0
    messages: int = 0
    tool_output: int = 0


class Segment(Data):
    """One part of a command with its own risk."""

    text: str
    risk: Risk
    reason: str = ""


class UserMessage(EventBase):
    """What the person sent; also while the agent runs, then it waits for the next step.

    `mentions` are the files they named, relative to the workspace, `attached` what these held then: `None` for what is
    no text or too large. `images` are data URLs, `image_names` the files they came from, in the same order.
    """

    text: str
    images: tuple[str, ...] = ()
    image_names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    attached: tuple[FileText, ...] = ()


class ResourceText(Data):
    """A resource of an MCP server, as it was when read; `error` says why it could not be. Images are data URLs."""

    name: str
    text: str = ""
    images: tuple[str, ...] = ()
    error: str = ""


class ResourcesRead(EventBase):
    """The resources that the message of event `message` mentions, read for the call of the model that follows."""

    message: int
    resources: tuple[ResourceText, ...]


class MessageWithdrawn(EventBase):
    """The person took back the message of event `message` before any call of the model held it."""

    message: int


class CondensingUndone(EventBase):
    """The person took back the condensing of event `condensed`: events `first`..`last` are sent to the model again."""

    condensed: int
    first: int
    last: int


class UserCommand(EventBase, tag="person_command"):
    """A shell command of the person's own; it runs once no action does, and an `action_observed` holds its result."""

    action_id: str
    command: str


class FilesChanged(EventBase):
    """Files changed by the person or another program."""

    files: tuple[FileDelta, ...]
    by: str = "other"


class VersionTaken(EventBase):
    """The files of the workspace have this version now; `files` is what the action `action_id` changed in them.

    Files that `action_observed` tells of are not repeated; `more` counts those whose texts are not kept here. Without
    an action it is a version to start from, or one that follows from `files_changed`. `notice` is a line for the
    person; without a `version` it says why there is none. `copy_id` names the copy of what the action takes away
    and no version holds, kept before it began. `guarded` are protected files that changed without having been shown:
    `notice` then says whether they were put back.
    """

    version: str = ""
    action_id: str = ""
    files: tuple[FileDelta, ...] = ()
    more: int = 0
    notice: str = ""
    copy_id: str = ""
    guarded: tuple[str, ...] = ()


Verdict: TypeAlias = Literal["approved", "rejected", "edited"]


class ActionProposed(EventBase):
    """One tool call of a response. `error` says why it cannot become an action (it is then observed as that error).

    `function` is the tool's name as the model wrote it, `batch` how many calls the response has. `presentation` is how
    a tool wants the call shown that is not built in; built-in ones need none.
    """

    action_id: str
    response_id: str
    call_id: str
    tool: str
    function: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    thought: str = ""
    summary: str = ""
    risk: Risk = "UNKNOWN"
    position: int = 0
    batch: int = 1
    error: str = ""
    presentation: Presentation | None = None


class ActionAssessed(EventBase):
    """What is known before anybody is asked. `needs_decision` is false when mode or rule decides by itself.

    Actions of one answer may be assessed ahead of their turn; a later one of the same action takes the place of the
    earlier, and without `needs_decision` it takes the question back until that turn.
    With `needs_answer` the action is a question to the person: nothing runs, and their answer becomes its result.
    `always`: the rule to save; `edited`: the person's own arguments; `stacked`: files as earlier actions leave them.
    `executes`: files that a command runs or reads as code, by path, each with a hash; kept where somebody decides.
    """

    action_id: str
    risk: Risk
    reasons: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    rule: str = ""
    preview: tuple[FileDelta, ...] = ()
    stale: tuple[StaleFile, ...] = ()
    stacked: tuple[str, ...] = ()
    executes: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    working_dir: str = ""
    edited: dict[str, Any] | None = None
    needs_decision: bool = True
    needs_answer: bool = False
    always: str = ""


class ActionDecided(EventBase):
    """The decision on one action, committed before it starts; `rule` names the mode or rule that decided.

    Of an action whose files were shown a part may be taken: `hunks` are the accepted hunks of the preview (from 0, over
    its files in order), `written` is what each of its files shall hold. The tool does not run then.
    """

    action_id: str
    verdict: Verdict
    by: Literal["person", "rule", "mode"]
    rule: str = ""
    note: str = ""
    edited: dict[str, Any] | None = None
    hunks: tuple[int, ...] | None = None
    written: tuple[FileText, ...] | None = None
    fingerprint: str = ""


class ActionStarted(EventBase):
    """The action runs from here on."""

    action_id: str


class ActionObserved(EventBase):
    """The result: `observation` is the dumped Observation (content, is_error and the tool's own fields); seconds.

    An action that was rejected, was skipped or could not be read is observed too (`ran` is false), so that each tool
    call has exactly one result.
    """

    action_id: str
    observation: dict[str, Any]
    duration: float = 0.0
    ran: bool = True
    refused: bool = False
    """The tool itself would not, when it was about to begin."""
    version_after: str | None = None
    files_changed: tuple[FileDelta, ...] = ()


class ActionAbandoned(EventBase):
    """A decided action without a known outcome, found on recovery; it is never run again."""

    action_id: str
    reason: str = ""
    known: str = ""
    """What is known of it all the same, as of a sub-agent, in a sentence."""


RunEnd: TypeAlias = Literal["finished", "waiting", "interrupted", "limit", "stuck", "error"]


class SessionStarted(EventBase):
    """Always the first event."""

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

    action_id: str
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0


class AgentNudged(EventBase):
    """The workbench's own word to the agent, sent to the model like a message; `evidence` says what it is based on.

    `lost` stands where a repair found that events of the log are lost.
    """

    reason: Literal["empty", "no_call", "stuck", "lost"]
    text: str
    evidence: str = ""


class HistoryCondensed(EventBase):
    """Events `first`..`last` are no longer sent to the model; `summary` stands in their place. The log keeps them.

    `reason` is what asked for it: the agent, the person, the model's full window, or a limit of the settings. The rest
    is about the call that wrote the summary, as in ModelResponded.
    """

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


class SettingsChanged(EventBase):
    """What is set from here on, `None` as it was; `dropped_rule` no longer is a rule (one line) of the session.

    `title` is what the person calls the session; empty for what they said first.
    """

    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None


class Rewound(EventBase):
    """The session stands again where it stood at `target`; nothing is deleted."""

    target: int
    version: str | None = None


class RunEnded(EventBase):
    """The agent stopped; `detail` is one line for the person."""

    reason: RunEnd
    detail: str = ""


ActionEvent: TypeAlias = (
    ActionProposed | ActionAssessed | ActionDecided | ActionStarted | ActionObserved | ActionAbandoned | ModelAsked
)


class DelegateStep(EventBase):
    """A step of what works for the action `action_id`: a sub-agent whose log is `session`, or (empty) a server asks."""

    action_id: str
    agent: str
    session: str
    event: ModelResponded | HistoryCondensed | ActionEvent


Event: TypeAlias = (
    SessionStarted
    | UserMessage
    | ResourcesRead
    | MessageWithdrawn
    | UserCommand
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
    | DelegateStep
)

_DECODER: Final[Decoder[Event]] = Decoder(Event)


def event_from_json(line: str | bytes) -> Event:
    """Return one event of a log. Raises ValueError for an unknown kind or a wrong payload."""
    return decode(_DECODER, line)
