"""What one or more events changed, so that a widget repaints only when it must."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from workbench.view.wrapping import count_lines

if TYPE_CHECKING:
    from workbench.protocol.events import ContextParts, FileDelta, ModelResponded, Segment, StaleFile
    from workbench.protocol.presentation import Presentation
    from workbench.protocol.risk import Risk

Phase: TypeAlias = Literal[
    "proposed", "waiting", "approved", "running", "done", "failed", "rejected", "skipped", "lost"
]
Hand: TypeAlias = Literal["agent", "person", "others"]
"""Whose a change is: of the agent and its sub-agents, of a command or the diff viewer of the person, of programs."""
EngineWork: TypeAlias = Literal["starting", "idle", "thinking", "deciding", "acting", "lost"]


CHANGED_BACK: Final = "changed back"
"""Stands in the place of a tool where the person wrote files again as they were."""


@dataclass(slots=True)
class UserItem:
    """A message of the person's; `queued` until the agent has read it."""

    seq: int
    text: str
    at: datetime
    queued: bool = False
    withdrawn: bool = False
    """The person took it back before the agent read it."""
    images: tuple[str, ...] = ()
    """What went with it, a few words each."""
    resources: tuple[str, ...] = ()
    """What servers gave for it, a few words each."""


@dataclass(slots=True)
class AgentItem:
    """Text of the agent: streaming (`seq` 0) or complete; `reasoning` is folded on the screen."""

    seq: int
    text: str = ""
    reasoning: str = ""
    streaming: bool = False
    incomplete: bool = False
    unfolded: bool = False
    """The person has its reasoning shown in place; not of the log."""


@dataclass(slots=True)
class ActionItem:
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
    rule: str = ""
    preview: tuple[FileDelta, ...] = ()
    """The files as it would change them; from a decision in part on, as the person wants them."""
    stale: tuple[StaleFile, ...] = ()
    """Of these files, those that somebody changed since the agent saw them."""
    part: str = ""
    """What the person took of the change, in a few words, where that was not all of it."""
    fingerprint: str = ""
    working_dir: str = ""
    phase: Phase = "proposed"
    asked: int = 0
    """The event (its seq) that says what is known of it; with another one it is another question."""
    asks: bool = False
    """It is a question to the person: what waits is an answer, not a decision."""
    always: str = ""
    """The rule that "always" would save; empty where that is not offered."""
    error: str = ""
    """Why the call could not become an action."""
    response: ModelResponded | None = None
    """The answer of the model that asked for it."""
    at: datetime | None = None
    decided_by: str = ""
    decided_rule: str = ""
    note: str = ""
    started: datetime | None = None
    duration: float | None = None
    observation: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    """Text of the observation, or of the live output while it runs (its last 20,000 characters)."""
    exit_code: int | None = None
    files: tuple[FileDelta, ...] = ()
    copy_id: str = ""
    """The copy that was kept, before it began, of what it takes away and no version holds."""
    agent: str = ""
    """The sub-agent whose action it is, safe to show; empty for the agent's own."""
    by_person: bool = False
    """A command of the person's own, or files that they changed back."""
    call_id: str = ""
    """The action that sub-agent works for."""
    presentation: Presentation | None = None
    """How its tool wants it shown, where that is not a built-in tool."""
    folded: bool = False
    """The person has its card folded to one line; not of the log."""


@dataclass(slots=True)
class NoticeItem:
    """One line of the workbench itself: a run that ended, a changed mode, a lost engine."""

    seq: int
    text: str
    kind: Literal["info", "finished", "warning", "error"] = "info"
    detail: str = ""
    """More about it, which can be opened; it has a title then."""
    title: str = ""
    refuses: bool = False
    """The engine did not carry out what the person asked for."""


Item: TypeAlias = UserItem | AgentItem | ActionItem | NoticeItem


@dataclass
class Task:
    """One entry of the agent's plan; `steps` are the numbers of the actions run while it was in progress."""

    id: str
    title: str
    status: Literal["todo", "in_progress", "done"]
    notes: str = ""
    steps: list[int] = field(default_factory=list)

    @property
    def is_claimed(self) -> bool:
        """Marked done with no step behind it."""
        return self.status == "done" and not self.steps


@dataclass
class FileState:
    """One file of the changes list: as it was when the session began, and as it is."""

    path: str
    before: str | None
    after: str | None
    by: frozenset[Hand] = frozenset()
    """Whose changes are known; none where nobody knows, as of what git says."""
    note: str = ""
    """Why its lines cannot be shown."""
    version: str = ""
    """The version that holds it as it was before; empty where none is known."""

    @property
    def added(self) -> int:
        """Lines that are new; counted when asked for and remembered."""
        return count_lines(self.before, self.after)[0]

    @property
    def removed(self) -> int:
        """Lines that are gone."""
        return count_lines(self.before, self.after)[1]


@dataclass
class SessionState:
    """Everything the screen shows of a session."""

    session_id: str = ""
    workspace: str = ""
    title: str = ""
    """What the person calls the session, where that is not what they said first."""
    rules: tuple[str, ...] = ()
    """The rules of this session, a line each."""
    model: str = ""
    address: str = ""
    """Where the model is asked, when that is not its provider's own address; not of the log."""
    tools: tuple[str, ...] = ()
    """The names of those it began with."""
    mode: str = "medium"
    next_mode: str = ""
    """The mode that counts in a moment, while the user still steps through them; not of the log."""
    scripted: bool = False
    items: list[Item] = field(default_factory=list)
    actions: dict[str, ActionItem] = field(default_factory=dict)
    live: AgentItem | None = None
    """The answer that streams now (not in `items`)."""
    waiting: list[str] = field(default_factory=list)
    """Ids of the actions that wait for the person, in the order in which they were proposed."""
    running: dict[str, ActionItem] = field(default_factory=dict)
    """Actions that run now, by id."""
    queued: deque[UserItem] = field(default_factory=deque)
    tasks: list[Task] = field(default_factory=list)
    version: str = ""
    """The last version of the files."""
    changes: dict[str, FileState] = field(default_factory=dict)
    turn_changes: dict[str, FileState] = field(default_factory=dict)
    """What changed since the person's last message that began a run."""
    only_turn: bool = False
    """The person has the changes list show this turn alone; not of the log."""
    last_seq: int = 0
    thinks_since: datetime | None = None
    """When the last thing happened after which the model is asked, by the log."""
    first_seq: int = 1
    """The first event that `items` tell of; what is older is in the file, and read when it is asked for."""
    action_count: int = 0
    """All actions of the session so far."""
    actions_before: int = 0
    """Those of them that came before the first event here."""
    work: EngineWork = "starting"
    work_detail: str = ""
    unsaved: bool = False
    """The log cannot be written: nothing more is done until it can."""
    cost: float | None = 0.0
    """US dollars; `None` as soon as one call's price is unknown."""
    input_tokens: int | None = None
    """Tokens of the last request: how full the context is."""
    window: int | None = None
    """Tokens that the model takes in one request, where that is known."""
    parts: ContextParts | None = None
    """How the tokens of the last request are made up, about."""
    total_tokens: int = 0
    is_running: bool = False
    """A run is on: from a message of the person's to the run's end, a waiting question included."""
    ended: str = ""
    """The reason of the last run's end, empty while one runs."""
    last_response: ModelResponded | None = None
    delegate_responses: dict[str, ModelResponded] = field(default_factory=dict)
    """The last answer in each sub-agent that works, by the action it works for."""


@dataclass
class Changed:
    """Parts of the session that differ from what was shown.

    `added` items stand at the end of `state.items`, `earlier` ones at its beginning; those that are `gone` stood there.
    """

    added: list[Item] = field(default_factory=list)
    updated: list[Item] = field(default_factory=list)
    earlier: list[Item] = field(default_factory=list)
    gone: list[Item] = field(default_factory=list)
    live: bool = False
    tasks: bool = False
    changes: bool = False
    status: bool = False
    waiting: bool = False
    prompt: str = ""
    """A text that the person wanted for what they write."""

    @property
    def is_only_live(self) -> bool:
        """Whether nothing but the answer that streams has grown."""
        return self == Changed(live=True)

    def merge(self, later: Changed) -> Changed:
        """Take in what a later event changed; returns self, so that a batch folds into one repaint."""
        self.added.extend(later.added)
        self.updated.extend(item for item in later.updated if not (self.updated and self.updated[-1] is item))
        self.earlier[:0] = later.earlier
        self.live |= later.live
        self.tasks |= later.tasks
        self.changes |= later.changes
        self.status |= later.status
        self.waiting |= later.waiting
        self.prompt = later.prompt or self.prompt
        return self


def added(state: SessionState, item: Item) -> Changed:
    """Put an item at the end of the conversation."""
    state.items.append(item)
    return Changed(added=[item], status=True)
