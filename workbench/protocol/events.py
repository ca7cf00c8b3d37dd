"""The events of a session: the contract between the log, the engine, the front ends and any program that reads a log.

Payloads are plain data (JSON), so a log can be read without importing a single tool.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias

from msgspec import field
from msgspec.json import Decoder

from workbench.protocol.codec import Data, decode, decoder_of
from workbench.protocol.deletion_list import DeletionList
from workbench.protocol.event_base import EventBase
from workbench.protocol.hook_run import HookRan
from workbench.protocol.presentation import Presentation
from workbench.protocol.resource_text import ResourceText
from workbench.protocol.rewind import RewindScope, RewoundFile
from workbench.protocol.risk import Mode, Risk
from workbench.protocol.stale_file import StaleFile
from workbench.protocol.usage import ContextParts, Usage


class FileDelta(Data):
    """The text of a file before and after a change, `None` if the file does not exist; `path` is absolute."""

    path: str
    before: str | None
    after: str | None
    cut: str = ""
    """Why the contents are not the file's own, for example because it is binary or too large; empty if they are."""
    version: str = ""
    """A snapshot that may hold the file exactly as in `after`; set only to revert a change."""


class FileText(Data):
    """The exact content of a file, as it was read or is to be written; `text` is `None` if there is none."""

    path: str
    text: str | None


class RawToolCall(Data):
    """A tool call exactly as the model wrote it; `arguments` is its JSON text, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """The provider's signature of the call, to be sent back with it."""


class Segment(Data):
    """One part of a command with its own risk."""

    text: str
    risk: Risk
    reason: str = ""


class CustomCommand(Data):
    """The custom command that a message comes from; `source` is its file.

    Until the next message, `model` is called instead of the session's, and only `tools`, named as in the file, may be
    used. An empty `model` has no effect, and neither has None for `tools`.
    """

    name: str
    source: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None


class AlwaysChoice(Data):
    """One choice of "always allow": what it allows, as text, and the rules that together allow it, one per line."""

    label: str
    rules: tuple[str, ...]

    @property
    def text(self) -> str:
        """The rules as one text, as `AllowAlways` has them."""
        return "\n".join(self.rules)


class UserMessage(EventBase):
    """A message from the user; one sent while the agent runs is queued until the next step.

    `mentions` are the files it names, relative to the workspace, and `attached` their contents at that time, `None` for
    a file that is not text or too large. `images` are data URLs, `image_names` the files they came from, in the same
    order.
    """

    text: str
    images: tuple[str, ...] = ()
    image_names: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    attached: tuple[FileText, ...] = ()
    command: CustomCommand | None = None


class ResourcesRead(EventBase):
    """The resources that the message of event `message` mentions, read for the following model call."""

    message: int
    resources: tuple[ResourceText, ...]


class MessageWithdrawn(EventBase):
    """The user withdrew the message of event `message` before any model call contained it."""

    message: int


class CondensingUndone(EventBase):
    """The user undid the condensation of event `condensed`: events `first`..`last` are sent to the model again."""

    condensed: int
    first: int
    last: int


class UserCommand(EventBase, tag="person_command"):
    """A shell command from the user, perhaps `outside` the sandbox; its result is in an `action_observed`."""

    action_id: str
    command: str
    outside: bool = False


class FilesChanged(EventBase):
    """Files changed by the user or another program; `session` is the one whose changes the user applied, if any."""

    files: tuple[FileDelta, ...]
    by: str = "other"
    session: str = ""


class VersionTaken(EventBase):
    """A snapshot of the workspace; `files` are the changes that the action `action_id` made in it.

    Files listed in `action_observed` are not repeated; `more` counts the files whose contents are not stored here.
    Without an action this is the first snapshot, or one taken because of `files_changed`. `notice` is a line for the
    user; without a `version` it says why there is none. `copy_id` names the safety copy, made before the action began,
    of files that it deletes and no snapshot holds. `guarded` are protected files that changed although the preview did
    not show it; `notice` then says whether they were restored.
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
    """One tool call in a response. `error` says why it cannot become an action; that text is then its observation.

    `function` is the tool's name exactly as the model wrote it, `batch` the number of calls in the response.
    `presentation` is set only for tools that are not built in, `rendering` only for those that show the call
    themselves, as text. `repairs` has a line for each thing that was not read as the model wrote it; the model gets it
    with the result.
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
    rendering: str = ""
    repairs: tuple[str, ...] = ()


class ActionAssessed(EventBase):
    """The assessment of an action before anyone is asked. `needs_decision` is false if the mode or a rule decides
    alone.

    Actions of one response may be assessed ahead of their turn. A later assessment of the same action replaces the
    earlier one; without `needs_decision` it withdraws the question until that turn. With `needs_answer` the action is a
    question to the user: nothing runs, and the answer becomes its result. `always_choices` are what "always allow" may
    save, the narrowest first, `always` the rules of the first; `no_always` says why there are none. `edited` holds the
    user's own arguments, `stacked` the files whose content depends on earlier actions. `executes` has the hash of each
    file that a command runs or reads as code, by path; it is set only if the user is asked. `deleted` lists what the
    action deletes, for each part that deletes something.
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
    always_choices: tuple[AlwaysChoice, ...] = ()
    no_always: str = ""
    deleted: tuple[DeletionList, ...] = ()

    @property
    def choices(self) -> tuple[AlwaysChoice, ...]:
        """The choices that "always allow" offers; an event by an earlier version has one rule."""
        if self.always_choices or not self.always:
            return self.always_choices
        return (AlwaysChoice(label="This action", rules=(self.always,)),)


class ActionDecided(EventBase):
    """The decision on one action, stored before it starts; `rule` names the mode or rule that decided.

    A file change may be accepted in part: `hunks` are the accepted hunks of the preview (from 0, over its files in
    order), `written` is the resulting content of each file. In that case the tool does not run.
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
    by_hook: bool = False
    """Whether the `edited` arguments are those of a hook."""


class ActionStarted(EventBase):
    """The action starts to run."""

    action_id: str


class ActionObserved(EventBase):
    """The result of an action. `observation` is the dumped Observation (content, is_error and the tool's own fields);
    `duration` is in seconds, `rendering` is the tool's own rendering of the result, if any.

    An action that was rejected, skipped or unreadable is observed too (`ran` is false), so that each tool call has
    exactly one result.
    """

    action_id: str
    observation: dict[str, Any]
    duration: float = 0.0
    ran: bool = True
    refused: bool = False
    """Whether the tool itself refused, just before it started."""
    rendering: str = ""
    version_after: str | None = None
    files_changed: tuple[FileDelta, ...] = ()


class ActionAbandoned(EventBase):
    """A decided action without a known outcome, detected on recovery; it is never run again."""

    action_id: str
    reason: str = ""
    known: str = ""
    """A sentence about the part of the outcome that is known, such as a sub-agent's; may be empty."""


RunEnd: TypeAlias = Literal["finished", "waiting", "interrupted", "limit", "stuck", "error"]


class SessionStarted(EventBase):
    """The start of the session, always the first event."""

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
    """The session whose agent started this one as a sub-agent."""
    agent: str = ""
    """The kind of the sub-agent; empty if it has none."""
    forked_from: str = ""
    """The session of which this one is a fork; empty if it is none."""
    forked_at: int = 0
    """The last event that the fork has in common with it."""


class ModelResponded(EventBase):
    """One response from the model, verbatim; times are in seconds, `cost` is in US dollars (`None` if the price is
    unknown).

    `seen` is the last event that the request contained: the model did not know later messages from the user.
    `fallback` is the name, in the settings, of a model that was called instead of the session's, and `fallback_reason`
    says what happened to those called before; both are empty if the session's own model answered.
    """

    response_id: str
    model: str
    text: str = ""
    reasoning: str = ""
    thinking: tuple[dict[str, Any], ...] = ()
    """Signed reasoning blocks, to be sent back to the provider."""
    tool_calls: tuple[RawToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0
    first_token: float | None = None
    incomplete: bool = False
    seen: int | None = None
    parts: ContextParts | None = None
    fallback: str = ""
    fallback_reason: str = ""


class ModelAsked(EventBase):
    """A tool called the model while the action was prepared or ran; not part of the conversation, but charged."""

    action_id: str
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0


class AgentNudged(EventBase):
    """A message from the workbench itself to the agent; `evidence` says what it is based on.

    The reason `lost` means that a repair found events of the log missing.
    """

    reason: Literal["empty", "no_call", "stuck", "lost"]
    text: str
    evidence: str = ""


class HistoryCondensed(EventBase):
    """Events `first`..`last` are no longer sent to the model; `summary` replaces them. The log keeps them.

    `reason` is the cause: the agent ("asked"), the user ("person"), a full context window ("overflow") or a limit in
    the settings ("tokens", "events"). The other fields describe the call that wrote the summary, as in ModelResponded.
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
    """The user wants the history condensed: at once, or before the next model call of a run."""


class OutputDropped(EventBase):
    """The user dropped the result of an action from the context: a notice is sent to the model in its place.

    `characters` is by how many the context shrank.
    """

    action_id: str
    characters: int = 0


class SettingsChanged(EventBase):
    """Changed settings, in effect from this event on; `None` means unchanged. `dropped_rule` is removed from the rules
    of the session.

    `title` is the user's name for the session; if empty, its first message serves as title.
    """

    model: str | None = None
    mode: Mode | None = None
    max_steps: int | None = None
    rule: str | None = None
    dropped_rule: str | None = None
    title: str | None = None


class Rewound(EventBase):
    """The user moved the session to its state at event `target`, earlier or on another branch; nothing is deleted.

    With the scope "files" the conversation continues where it is, with "conversation" the files stay as they are.
    `version` is the snapshot just before, `files` are the changes written to the workspace. `conflicts` are files left
    alone because the user changed the same lines, `not_covered` those that no snapshot holds, `copies` the safety
    copies of such files.
    """

    target: int
    version: str | None = None
    scope: RewindScope = "both"
    files: tuple[RewoundFile, ...] = ()
    directories: dict[str, int | None] = field(default_factory=dict)
    """The directories to create, by path relative to the workspace, with their permissions; None removes one."""
    conflicts: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


class Forked(EventBase):
    """The session continues here as a fork, from its state at event `target` of the session it was forked from.

    What was running there, or waiting, is not part of the fork, unless it `keeps_run`. `moved_from` is the directory of
    that session if the fork works in another one, `workspace`, to which the files of that event were copied; the open
    actions of a run are then proposed again after this event, with the paths of that directory.
    """

    session: str
    target: int
    workspace: str = ""
    moved_from: str = ""
    keeps_run: bool = False


class RunEnded(EventBase):
    """The agent stopped; `detail` is one line for the user."""

    reason: RunEnd
    detail: str = ""
    fault: str = ""
    """The kind of model failure that ended the run, such as "key" for a missing or rejected API key; else empty."""
    model: str = ""
    """The model that failed, by its name in the settings, if it was not the session's own."""


ActionEvent: TypeAlias = (
    ActionProposed | ActionAssessed | ActionDecided | ActionStarted | ActionObserved | ActionAbandoned | ModelAsked
)


class DelegateStep(EventBase):
    """A step on behalf of the action `action_id`, by the sub-agent whose log is `session`; if that is empty, by a
    server.
    """

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
    | OutputDropped
    | SettingsChanged
    | HookRan
    | Rewound
    | Forked
    | RunEnded
    | DelegateStep
)


def event_from_json(line: str | bytes) -> Event:
    """Decode one event of a log. Raises ValueError for an unknown kind or a wrong payload."""
    return decode(_decoder(), line)


@cache
def _decoder() -> Decoder[Event]:
    """Return the decoder. It is made on first use, because resolving all annotations would delay the first frame."""
    return decoder_of(Event)
