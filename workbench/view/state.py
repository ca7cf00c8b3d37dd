"""The state of a session as the screen shows it, and which of its parts changed, so that widgets repaint only those."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from workbench.protocol.stale_file import StaleFile
from workbench.view.wrapping import count_lines

if TYPE_CHECKING:
    from workbench.protocol.deletion_list import DeletionList
    from workbench.protocol.events import AlwaysChoice, FileDelta, ModelResponded, Segment
    from workbench.protocol.hook_run import HookRan
    from workbench.protocol.live import CallProgress, ChangesRated, ListeningPorts, MatchingFiles, RewindReady
    from workbench.protocol.presentation import Presentation
    from workbench.protocol.risk import Risk
    from workbench.protocol.usage import ContextParts

Phase: TypeAlias = Literal[
    "proposed", "waiting", "approved", "running", "done", "failed", "rejected", "skipped", "lost"
]
Hand: TypeAlias = Literal["agent", "person", "others"]
"""Who made a change: the agent or a sub-agent; the user, by a command or in the diff viewer; or other programs."""
EngineWork: TypeAlias = Literal["starting", "idle", "thinking", "deciding", "acting", "lost"]


CHANGED_BACK: Final = "reverted"
"""The tool of an item that stands for files that the user reverted, or applied from another session."""


class UserItem(Struct):
    """A message from the user; `queued` until the agent has read it."""

    seq: int
    text: str
    at: datetime
    queued: bool = False
    withdrawn: bool = False
    """Whether the user withdrew it before the agent read it."""
    images: tuple[str, ...] = ()
    """The attached images, each in a few words."""
    resources: tuple[str, ...] = ()
    """The resources that servers supplied for it, each in a few words."""
    command: str = ""
    """The custom command that it comes from, in a few words."""


class AgentItem(Struct):
    """Text from the agent: streaming (`seq` 0) or complete; `reasoning` is folded on the screen."""

    seq: int
    text: str = ""
    reasoning: str = ""
    streaming: bool = False
    incomplete: bool = False
    unfolded: bool = False
    """Whether the user has unfolded its reasoning; not in the log."""


class Reads:
    """Reads of files by one agent that follow each other; see `view.read_groups`."""

    def __init__(self) -> None:
        self.items: list[ActionItem] = []
        self.is_open = False
        """Whether the user has unfolded them; not in the log."""

    def __eq__(self, other: object) -> bool:
        """Compare the ids of the actions, because each action refers to its group."""
        return isinstance(other, Reads) and [each.action_id for each in self.items] == [
            each.action_id for each in other.items
        ]

    __hash__ = None  # type: ignore[assignment]


class ActionItem(Struct):
    """One action from proposal to result: a card in the conversation and a row on the timeline."""

    seq: int
    number: int
    action_id: str
    tool: str
    arguments: dict[str, Any]
    summary: str = ""
    thought: str = ""
    position: int = 0
    batch: int = 1
    model_risk: Risk = "UNKNOWN"
    risk: Risk = "UNKNOWN"
    reasons: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    deleted: tuple[DeletionList, ...] = ()
    """The paths that it would delete, for each part that deletes something."""
    rule: str = ""
    preview: tuple[FileDelta, ...] = ()
    """The files as the action would change them; after a partial approval, as the user wants them."""
    stale: tuple[StaleFile, ...] = ()
    """The files in `preview` that have been changed by others since the agent saw them."""
    part: str = ""
    """How much of the change the user accepted, in a few words; empty if all of it."""
    fingerprint: str = ""
    working_dir: str = ""
    phase: Phase = "proposed"
    asked: int = 0
    """The `seq` of the event that assessed it; a new value means a new question."""
    asks: bool = False
    """Whether it is a question to the user, which waits for an answer instead of a decision."""
    always: tuple[AlwaysChoice, ...] = ()
    """The choices of "always", the narrowest first."""
    no_always: str = ""
    """Why "always" offers nothing."""
    error: str = ""
    """Why the call could not become an action."""
    response: ModelResponded | None = None
    """The model response that proposed it."""
    bears_cost: bool = False
    """Whether its row shows the cost of its response: it is the first action of that response that has a row."""
    at: datetime | None = None
    decided_by: str = ""
    decided_rule: str = ""
    note: str = ""
    started: datetime | None = None
    duration: float | None = None
    frozen_at: datetime | None = None
    """The moment at which a running action is shown in the time view; None: now."""
    observation: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    """Text of the observation, or the last 20,000 characters of live output while it runs."""
    exit_code: int | None = None
    files: tuple[FileDelta, ...] = ()
    copy_id: str = ""
    """The id of the copy, made before it started, of the files that it deletes and no snapshot contains."""
    agent: str = ""
    """The name of the sub-agent that the action belongs to, safe to show; empty for the agent's own."""
    by_user: bool = False
    """Whether it is a command of the user's, or files that the user reverted."""
    call_id: str = ""
    """The id of the action that called the sub-agent."""
    hooks: tuple[HookRan, ...] = ()
    """The runs of hooks for it."""
    is_dropped: bool = False
    """Whether the user dropped its result from the model's context."""
    presentation: Presentation | None = None
    """How a tool that is not built in presents the action."""
    call_rendering: str = ""
    """The tool's own rendering of the call, if any; empty if the user changed the arguments."""
    rendering: str = ""
    """The tool's own rendering of the result, if any."""
    folded: bool = False
    """Whether the user has folded its card to one line; not in the log."""
    reads: Reads | None = None
    """The group of reads that it belongs to; None if it is not a read."""


class RunTotals(Struct):
    """A run that has ended, as far as it is loaded: its files before and after, when it ended, and what it cost."""

    files: dict[str, FileState]
    ended: datetime
    cost: float | None
    began: datetime | None = None
    """When it began; None while that part of the session is not read."""


class NoticeItem(Struct):
    """One line from the workbench itself: a run that ended, a changed mode, a lost engine."""

    seq: int
    text: str
    kind: Literal["info", "finished", "warning", "error"] = "info"
    detail: str = ""
    """More text that can be opened; it needs a `title`."""
    title: str = ""
    facts: str = ""
    """The time, cost and changes of a run that ended, in a few words; empty while its beginning is not read."""
    has_changes: bool = False
    """Whether that run changed files, which the user may review."""
    run: RunTotals | None = None
    """The totals of the run that ended; None for any other notice."""
    branch: tuple[int, int] | None = None
    """The first and the last event of the inactive branch that it stands for, which can be opened."""
    is_mode: bool = False
    """Whether it says only that the mode has changed; the next such notice replaces its text."""


Item: TypeAlias = UserItem | AgentItem | ActionItem | NoticeItem


class Task(Struct):
    """One entry of the agent's plan; `steps` are the numbers of the actions run while it was in progress."""

    id: str
    title: str
    status: Literal["todo", "in_progress", "done"]
    notes: str = ""
    steps: list[int] = field(default_factory=list)

    @property
    def is_claimed(self) -> bool:
        """Whether it is marked done although no action ran for it."""
        return self.status == "done" and not self.steps


class FileState(Struct):
    """One file of the changes list: its text when the session began, and its current text."""

    path: str
    before: str | None
    after: str | None
    by: frozenset[Hand] = frozenset()
    """Who changed it, as far as known; empty for files that only git reports."""
    note: str = ""
    """Why its lines cannot be shown; empty if they can."""
    version: str = ""
    """The snapshot that contains the earlier file; empty if none is known."""
    version_before: str = ""
    """Of a file that may be applied, the snapshot that contains it as in `before`, and `version` as in `after`."""
    note_before: str = ""
    """Why `before` is not the text of the earlier file; empty if it is."""
    content_id: str = ""
    """A value that changes with the content of a file whose texts are not here; empty if texts or placeholders are."""

    @property
    def added(self) -> int:
        """The number of added lines, or 0 if its lines cannot be shown; counted on first use and cached."""
        return 0 if self.note else count_lines(self.before, self.after)[0]

    @property
    def removed(self) -> int:
        """The number of removed lines, or 0 if its lines cannot be shown."""
        return 0 if self.note else count_lines(self.before, self.after)[1]


class RejectedKey(Struct, frozen=True):
    """A run that ended because the API key of its model was missing or rejected."""

    seq: int
    """The number of the event that ended the run."""
    model: str
    """The name of the model in the settings."""
    error: str


class SessionState(Struct):
    """Everything the screen shows of a session."""

    session_id: str = ""
    workspace: str = ""
    title: str = ""
    """The user's name for the session; empty if its first message serves as the title."""
    rules: tuple[str, ...] = ()
    """The rules of this session, one line each."""
    model: str = ""
    model_url: str = ""
    """The URL at which the model is called, if it is not its provider's own; not in the log."""
    api_base: str = ""
    """The base URL with which the session began; empty if that of its provider or saved model applies."""
    sandbox: str = ""
    """The sandbox in effect, as in EngineState; not in the log."""
    sandbox_reason: str = ""
    sandbox_limit: str = ""
    sandbox_granted: tuple[str, ...] = ()
    sandbox_refused: tuple[str, ...] = ()
    container: str = ""
    """The image of the container in which commands run, its phase, why it failed and its network, as in EngineState."""
    container_phase: str = ""
    container_failure: str = ""
    container_network: str = ""
    rejected_key: RejectedKey | None = None
    """The missing or rejected API key that ended the last run, until it is replaced; None if something else did."""
    fallback_model: str = ""
    """The fallback model that is called now in place of `model`; its URL is `model_url`."""
    tools: tuple[str, ...] = ()
    """The names of the tools with which the session began."""
    mode: str = "medium"
    mode_before_plan: str = ""
    """The mode that was in force before plan mode; empty if plan mode has not replaced one."""
    next_mode: str = ""
    """The mode about to be set, while the user is still stepping through the modes; not in the log."""
    scripted: bool = False
    was_rewound: bool = False
    """Whether the session was ever moved to an earlier state, so that it can be moved back."""
    items: list[Item] = field(default_factory=list)
    actions: dict[str, ActionItem] = field(default_factory=dict)
    live: AgentItem | None = None
    """The answer that is streaming (not in `items`)."""
    call: CallProgress | None = None
    """The tool call that the model is writing."""
    waiting: list[str] = field(default_factory=list)
    """Ids of the actions waiting for the user, in the order in which they were proposed."""
    running: dict[str, ActionItem] = field(default_factory=dict)
    """The running actions, by id."""
    queued: deque[UserItem] = field(default_factory=deque)
    tasks: list[Task] = field(default_factory=list)
    version: str = ""
    """The id of the latest snapshot of the workspace."""
    changes: dict[str, FileState] = field(default_factory=dict)
    turn_changes: dict[str, FileState] = field(default_factory=dict)
    """The files changed since the last user message that began a run."""
    only_turn: bool = False
    """Whether the user has limited the changes list to this turn; not in the log."""
    last_seq: int = 0
    thinks_since: datetime | None = None
    """The time, from the log, of the last event that made the agent call the model."""
    first_seq: int = 1
    """The first event that `items` covers; older events stay in the file and are read on request."""
    action_count: int = 0
    """How many actions the session has had."""
    actions_before: int = 0
    """How many of them came before `first_seq`."""
    work: EngineWork = "starting"
    work_detail: str = ""
    is_stopping: bool = False
    """Whether the user has stopped the run, and what runs has not ended yet."""
    is_over: bool = False
    """Whether the engine is lost and the session cannot continue in this client."""
    has_ended: bool = False
    """Whether that is no failure: the session was to end."""
    stalled: str = ""
    """Why the engine does not respond although it is alive; empty while it responds."""
    has_control: bool = True
    """Whether this front end controls the session; otherwise it is read-only, and another one does."""
    others: int = 0
    """The number of other front ends attached to the session."""
    is_viewer: bool = False
    """Whether this front end can never control the session."""
    unsaved: bool = False
    """Whether the log cannot be written; the engine does nothing more until it can."""
    cost: float | None = 0.0
    """US dollars; None once the price of a call is unknown."""
    input_tokens: int | None = None
    """Tokens of the last request: how full the context is."""
    window: int | None = None
    """The size of the model's context window in tokens; None if unknown."""
    parts: ContextParts | None = None
    """An estimate of the tokens of each part of the last request."""
    total_tokens: int = 0
    run_began: datetime | None = None
    """The time of the message that began the run; None if its beginning was not read."""
    cost_before: float | None = 0.0
    """The cost of the session before the run, or before the part of the session that is read; None if unknown."""
    is_running: bool = False
    """Whether a run is in progress: from a user message to the end of the run, also while a question waits."""
    ended: str = ""
    """Why the last run ended; empty while one runs."""
    ended_in: str = ""
    """The mode in which the last run ended."""
    fallbacks: set[str] = field(default_factory=set)
    """The fallback models of this run that a notice has named."""
    last_response: ModelResponded | None = None
    delegate_responses: dict[str, ModelResponded] = field(default_factory=dict)
    """The last model response of each running sub-agent, by the id of the action that called it."""

    @property
    def queues(self) -> bool:
        """Whether the engine queues a message sent now, because the agent is busy."""
        return self.is_running and self.work not in ("idle", "lost")

    @property
    def can_retry(self) -> bool:
        """Whether an error ended the last run, so that an empty message asks the agent to continue."""
        return self.ended == "error" and not self.is_running and self.work == "idle"


class Changed(Struct):
    """The parts of the session that differ from what was shown.

    `added` items are at the end of `state.items`, `earlier` ones at its beginning; `gone` ones were removed there, and
    `removed` ones at its end, before others were added.
    """

    added: list[Item] = field(default_factory=list)
    updated: list[Item] = field(default_factory=list)
    earlier: list[Item] = field(default_factory=list)
    gone: list[Item] = field(default_factory=list)
    removed: list[Item] = field(default_factory=list)
    live: bool = False
    tasks: bool = False
    changes: bool = False
    status: bool = False
    waiting: bool = False
    prompt: str = ""
    """A text that the user requested, to put into the prompt."""
    rewind: RewindReady | None = None
    """The preview of a rewind that the user requested."""
    rated: ChangesRated | None = None
    """The risk of changes that the user wants to apply."""
    files: MatchingFiles | None = None
    """The files of another machine that the user may mention."""
    ports: ListeningPorts | None = None
    """The ports on which programs of a session on another machine listen."""
    refused: str = ""
    """Why the engine refused the user's last command; empty if it did not."""

    @property
    def is_only_live(self) -> bool:
        """Whether only the streaming answer has grown."""
        return self == Changed(live=True)

    def merge(self, later: Changed) -> Changed:
        """Add the changes of a later event and return self, so that a batch becomes one repaint."""
        self.added.extend(later.added)
        self.updated.extend(item for item in later.updated if not (self.updated and self.updated[-1] is item))
        self.earlier[:0] = later.earlier
        self.live |= later.live
        self.tasks |= later.tasks
        self.changes |= later.changes
        self.status |= later.status
        self.waiting |= later.waiting
        self.prompt = later.prompt or self.prompt
        self.rewind = later.rewind or self.rewind
        self.rated = later.rated or self.rated
        self.files = later.files or self.files
        self.ports = later.ports or self.ports
        self.refused = later.refused or self.refused
        return self


def added(state: SessionState, item: Item) -> Changed:
    """Append an item to the conversation."""
    state.items.append(item)
    return Changed(added=[item], status=True)
