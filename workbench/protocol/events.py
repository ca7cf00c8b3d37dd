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
    """Why `before` and `after` are not the real contents, such as "too large"; empty if they are."""
    version: str = ""
    """A snapshot that may contain the file exactly as in `after`; set only to revert a change."""


class FileText(Data):
    """The exact content of a file, as read or to be written; `None` if it does not exist or cannot be stored."""

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
    used. An empty `model` or `tools` of None restricts nothing.
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
        """The rules as one text, one per line, as in `AllowAlways.rule`."""
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
    """The MCP resources that the message of event `message` mentions, read for the model call that follows."""

    message: int
    resources: tuple[ResourceText, ...]


class MessageWithdrawn(EventBase):
    """The user withdrew the message of event `message` before any model call contained it."""

    message: int


class CondensingUndone(EventBase):
    """The user undid the compaction of event `condensed`: events `first`..`last` are sent to the model again."""

    condensed: int
    first: int
    last: int


class UserCommand(EventBase, tag="person_command"):
    """A shell command from the user; `outside` means outside the sandbox. Its result is in an `action_observed`."""

    action_id: str
    command: str
    outside: bool = False


class FilesChanged(EventBase):
    """Files that the user or another program changed; `session` is the one whose changes the user applied, if any."""

    files: tuple[FileDelta, ...]
    by: str = "other"
    session: str = ""


class VersionTaken(EventBase):
    """A snapshot of the workspace, with the changes that an action has made in it.

    `files` are the changes by the action `action_id`, which may be a sub-agent's, that its `action_observed` does not
    list; `more` counts the files whose contents are not stored here. Without an action this is the first snapshot, or
    one taken because of `files_changed`. `notice` is a line for the user; without a `version` it says why there is
    none. `copy_id` names the safety copy, made before the action started, of files that it deletes and no snapshot
    contains. `guarded` are protected files that changed without the preview showing it; `notice` then says whether they
    were restored.
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
    `presentation` is set only for tools that are not built in, and `rendering`, the tool's own display of the call as
    text, only by some tools. `repairs` has a line for each correction of what the model wrote; the model gets them with
    the result.
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
    """The assessment of an action before anyone is asked; without `needs_decision`, the mode or a rule decides.

    Actions of one response may be assessed before it is their turn. A later assessment of the same action replaces the
    earlier one; without `needs_decision` it withdraws the question until that turn. With `needs_answer` the action is a
    question to the user: nothing runs, and the answer becomes its result. `always_choices` are what "always allow" may
    save, the narrowest first; `always` has the rules of the first, and `no_always` says why there are none. `edited`
    has the user's own arguments, `stacked` the files whose content depends on earlier actions. `executes` has the hash
    of each file that a command runs or reads as code, by path; it is set only if the user is asked. `deleted` has a
    list for each part of the action that deletes something.
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
        """The choices that "always allow" offers; an event written by an older version has only one rule."""
        if self.always_choices or not self.always:
            return self.always_choices
        return (AlwaysChoice(label="This action", rules=(self.always,)),)


class ActionDecided(EventBase):
    """The decision on one action, stored before it starts; `rule` names the mode or rule that decided.

    The user may accept a file change in part: `hunks` are the accepted hunks of the preview (counted from 0 across its
    files), `written` has the resulting content of each file. In that case the tool does not run.
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
    """Whether a hook, not the user, set the `edited` arguments."""


class ActionStarted(EventBase):
    """The action starts to run."""

    action_id: str


class ActionObserved(EventBase):
    """The result of an action. `observation` is the dumped Observation (content, is_error and the tool's own fields).

    `duration` is in seconds, `rendering` is the tool's own rendering of the result, if any. An action that was
    rejected, skipped or unreadable is observed too (`ran` is false), so that each tool call has exactly one result.
    """

    action_id: str
    observation: dict[str, Any]
    duration: float = 0.0
    ran: bool = True
    refused: bool = False
    """Whether the tool itself refused the action, just before it would have run."""
    rendering: str = ""
    version_after: str | None = None
    files_changed: tuple[FileDelta, ...] = ()


class ActionAbandoned(EventBase):
    """A decided action without a known outcome, detected on recovery; it is never run again."""

    action_id: str
    reason: str = ""
    known: str = ""
    """A sentence about the known part of the outcome, such as a sub-agent's; may be empty."""


RunEnd: TypeAlias = Literal["finished", "waiting", "interrupted", "limit", "stuck", "error"]


class SessionStarted(EventBase):
    """The start of the session; always the first event."""

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
    """The kind of sub-agent that this session is; empty if it is of no kind."""
    forked_from: str = ""
    """The session that this one was forked from; empty if it is not a fork."""
    forked_at: int = 0
    """The last event that a fork has in common with the session in `forked_from`."""


class ModelResponded(EventBase):
    """One response from the model, verbatim; times are in seconds, `cost` is in US dollars (`None` if unknown).

    `seen` is the last event that the request contained: the model did not know later messages from the user. `fallback`
    is the name, in the settings, of a model that was called instead of the session's, and `fallback_reason` says why
    those tried before it failed; both are empty if the session's own model answered.
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
    """A tool called the model while its action was prepared or ran; not part of the conversation, but it counts as a
    cost.
    """

    action_id: str
    model: str
    usage: Usage = Usage()
    cost: float | None = None
    latency: float = 0.0


class AgentNudged(EventBase):
    """A message from the workbench itself to the agent; `evidence` says what it is based on.

    The reason `lost` means that events were missing from the log and a repair noticed it.
    """

    reason: Literal["empty", "no_call", "stuck", "lost"]
    text: str
    evidence: str = ""


class HistoryCondensed(EventBase):
    """Events `first`..`last` are no longer sent to the model: `summary` replaces them. They stay in the log.

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
    """The user asked to compact the history: at once, or before the next model call of a run."""


class OutputDropped(EventBase):
    """The user dropped an action's result from the context: the model gets a notice instead.

    `characters` is the number of characters by which the context shrank.
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

    With the scope "files" the conversation stays as it is, with "conversation" the files do. `version` is a snapshot
    from just before, `files` are the changes written to the workspace. `conflicts` are files left unchanged because the
    user changed the same lines, `not_covered` those that no snapshot contains, `copies` the safety copies of such
    files.
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
    """The session continues from here as a fork of `session`, from its state at event `target`.

    What was running or pending there is not part of the fork, unless it `keeps_run`. If the fork works in another
    directory, `workspace`, to which the files of that event were copied, `moved_from` is the directory of `session`;
    the open actions of a run are then proposed again after this event, with the paths of the new directory.
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
    """The kind of model failure that ended the run, such as "key" for a missing or rejected API key; otherwise empty.
    """
    model: str = ""
    """The model that failed, by its name in the settings, if it was not the session's own."""


ActionEvent: TypeAlias = (
    ActionProposed | ActionAssessed | ActionDecided | ActionStarted | ActionObserved | ActionAbandoned | ModelAsked
)


class DelegateStep(EventBase):
    """A step on behalf of the action `action_id`: of the sub-agent whose log is `session`, or, if empty, of an MCP
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
    """Return the decoder. It is created on first use, because resolving all annotations would delay the first frame."""
    return decoder_of(Event)
