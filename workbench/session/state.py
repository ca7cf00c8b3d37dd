"""The state of a session, derived from its log one event at a time; it determines what the session does next."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from workbench.hooks.hook import DECIDING
from workbench.protocol.events import (
    ActionAbandoned,
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    AgentNudged,
    CondensingAsked,
    CustomCommand,
    DelegateStep,
    Event,
    FileDelta,
    FilesChanged,
    Forked,
    HistoryCondensed,
    MessageWithdrawn,
    ModelResponded,
    Rewound,
    RunEnded,
    SessionStarted,
    SettingsChanged,
    UserCommand,
    UserMessage,
    VersionTaken,
)
from workbench.protocol.hook_run import HookRan
from workbench.protocol.rewind import REWIND
from workbench.protocol.risk import Mode

S = TypeVar("S", bound=msgspec.Struct)
Phase: TypeAlias = Literal["idle", "thinking", "deciding", "acting"]


def assign(part: S, other: S) -> None:
    """Copy all values of a struct into another one of the same type."""
    for name in part.__struct_fields__:
        setattr(part, name, getattr(other, name))


class RunningSubAgent(msgspec.Struct):
    """The sub-agent of an action as far as this log records it; the sub-agent's own log may have more events."""

    agent: str
    session: str
    questions: set[str] = msgspec.field(default_factory=set)
    """Ids of the sub-agent's actions that wait for the user."""
    last_seq: int = 0
    """The number, in the sub-agent's own log, of the last event that is also in this log."""

    def follow(self, event: Event) -> None:
        """Apply the sub-agent's next event."""
        self.last_seq = max(self.last_seq, event.seq)
        match event:
            case ActionAssessed() if event.needs_decision or event.needs_answer:
                self.questions.add(event.action_id)
            case ActionAssessed() | ActionDecided() | ActionObserved() | ActionAbandoned():
                self.questions.discard(event.action_id)


class OpenAction(msgspec.Struct):
    """An action without a result, and its progress."""

    proposed: ActionProposed
    assessed: ActionAssessed | None = None
    decided: ActionDecided | None = None
    started: bool = False
    sub_agent: RunningSubAgent | None = None
    was_asked: bool = False
    """Whether the action ever waited for the user's decision; from then on, no mode or rule decides it."""
    hooks: tuple[HookRan, ...] = ()
    """The runs of hooks that could decide on the action or change it."""

    @property
    def is_waiting(self) -> bool:
        """Whether the action waits for the user's decision or answer."""
        return bool(self.assessed and (self.assessed.needs_decision or self.asks_user) and self.decided is None)

    @property
    def waits_in_sub_agent(self) -> bool:
        """Whether the action's sub-agent waits for the user."""
        return self.sub_agent is not None and bool(self.sub_agent.questions)

    @property
    def asks_user(self) -> bool:
        """Whether the action is a question to the user, to be resolved by an answer."""
        return self.assessed is not None and self.assessed.needs_answer

    @property
    def stacked(self) -> tuple[str, ...]:
        """The files that the action's question shows as an earlier action will leave them."""
        return self.assessed.stacked if self.assessed is not None else ()

    @property
    def may_run(self) -> bool:
        """Whether a decision to run the action is on record."""
        return self.decided is not None and self.decided.verdict != "rejected"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments it runs with: the model's, or those of a hook or the user, even before they are approved."""
        latest = self.decided or self.assessed
        edited = latest.edited if latest else self.hook_arguments
        return self.proposed.arguments if edited is None else edited

    @property
    def hook_arguments(self) -> dict[str, Any] | None:
        """The arguments with which a hook replaced the model's; None if none did."""
        return next((run.arguments for run in reversed(self.hooks) if run.arguments is not None), None)


def content_key(text: str | None) -> int:
    """Return a number to compare the contents of a file with, the same in every process; 0 if there is no file."""
    return 0 if text is None else zlib.crc32(text.encode("utf-8", "surrogatepass")) + 1


class State(msgspec.Struct):
    """The state of a session; `apply` takes the same time however long the log is."""

    session_id: str = ""
    workspace: str = ""
    version: str = ""
    """The id of the last snapshot of the session's files."""
    model: str = ""
    command: CustomCommand | None = None
    """The custom command that the last message came from."""
    mode: Mode = "medium"
    max_steps: int | None = None
    rules: tuple[str, ...] = ()
    """The rules of this session, one line each."""
    turn: int = 0
    is_running: bool = False
    only_condenses: bool = False
    """Whether the run only condenses the history: the agent has no task."""
    ended: str = ""
    steps: int = 0
    """The number of model calls in this run."""
    nudged: set[str] = msgspec.field(default_factory=set)
    """The reasons for which the agent was nudged since it last called a tool or the user sent a message."""
    unreadable_answers: int = 0
    """The number of consecutive responses without a readable call."""
    unread: list[int] = msgspec.field(default_factory=list)
    """The numbers of the user's messages that no model call has included."""
    call_ids: set[str] = msgspec.field(default_factory=set)
    writers: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict)
    """By path: who wrote a file last, as far as the log knows, and the `content_key` of the content written."""
    refused: list[OpenAction] = msgspec.field(default_factory=list)
    """The actions that the user or a rule rejected in this run."""
    delegated: dict[str, OpenAction] = msgspec.field(default_factory=dict)
    """Actions of sub-agents that have no result yet."""
    batch: dict[str, OpenAction] = msgspec.field(default_factory=dict)
    """The actions of the last response that have no result yet, in order."""
    own: dict[str, UserCommand] = msgspec.field(default_factory=dict)
    """The user's commands that have no result yet, in order."""
    own_started: set[str] = msgspec.field(default_factory=set)
    own_ids: set[str] = msgspec.field(default_factory=set)
    """The ids of all commands of the user's, because a snapshot with their changes may follow their results."""
    unfinished_rewind: Rewound | None = None
    """The last rewind, until all its files are known to be written."""

    def __post_init__(self) -> None:
        """After the state was loaded, make refused actions that are still open the same objects as the open ones."""
        for index, action in enumerate(self.refused):
            for actions in (self.batch, self.delegated):
                if actions.get(action.proposed.action_id) == action:
                    self.refused[index] = actions[action.proposed.action_id]

    @property
    def asked_model(self) -> str:
        """The name of the model to call now: a custom command's, or else the session's."""
        return (self.command.model if self.command else "") or self.model

    @property
    def phase(self) -> Phase:
        """What the session does next; "deciding" while it waits for the user's decision."""
        if not self.is_running:
            return "idle"
        action = self.next_action
        if action is None:
            return "thinking"
        return "deciding" if action.is_waiting else "acting"

    @property
    def queued(self) -> int:
        """How many user messages are queued for the agent's next step."""
        return len(self.unread) if self.is_running else 0

    @property
    def sub_agents_asking(self) -> tuple[str, ...]:
        """The sessions of sub-agents that have an open question to the user; safe to read from any thread."""
        calls = list(self.batch.values())
        return tuple(call.sub_agent.session for call in calls if call.sub_agent and call.waits_in_sub_agent)

    @property
    def waiting(self) -> list[OpenAction]:
        """The actions waiting for the user, in order; each of them can be decided."""
        return [action for action in self.batch.values() if action.is_waiting] if self.is_running else []

    def question(self, action_id: str) -> OpenAction | None:
        """Return the action with that id if it waits for the user, else None."""
        return next((action for action in self.waiting if action.proposed.action_id == action_id), None)

    @property
    def next_action(self) -> OpenAction | None:
        """The first action without a result, or None."""
        return next(iter(self.batch.values()), None)

    def apply(self, event: Event) -> None:
        """Consume the next event; never raises, whatever the order of events is. The most frequent kinds come first."""
        match event:
            case ActionAssessed() | ActionDecided() | ActionStarted():
                self._apply_progress(event)
            case ActionObserved() | ActionAbandoned() | FilesChanged() | UserCommand() | MessageWithdrawn():
                self._apply_outcome(event)
            case ActionProposed():
                self._apply_proposal(event)
            case UserMessage() | RunEnded() | SessionStarted() | SettingsChanged() | VersionTaken():
                self._apply_frame(event)
            case ModelResponded():
                self._apply_answer(event)
            case AgentNudged() | DelegateStep() | HookRan():
                self._apply_beside(event)
            case CondensingAsked() | HistoryCondensed() | Rewound() | Forked():
                self._apply_to_history(event)

    def _apply_outcome(
        self, event: ActionObserved | ActionAbandoned | FilesChanged | UserCommand | MessageWithdrawn
    ) -> None:
        if isinstance(event, MessageWithdrawn):
            self.unread = [seq for seq in self.unread if seq != event.message]
            return
        if isinstance(event, FilesChanged):
            self._note_writer(event.files, event.by)
            return
        if isinstance(event, UserCommand):
            self.own[event.action_id] = event
            self.own_ids.add(event.action_id)
            return
        self.batch.pop(event.action_id, None)
        self.own.pop(event.action_id, None)
        if isinstance(event, ActionObserved):
            self._note_writer(event.files_changed, "agent")

    def _note_writer(self, files: Iterable[FileDelta], by: str) -> None:
        for file in files:
            self.writers[file.path] = (by, content_key(file.after))

    def _apply_frame(self, event: UserMessage | RunEnded | SessionStarted | SettingsChanged | VersionTaken) -> None:
        match event:
            case UserMessage():
                if not self.is_running or self.only_condenses:
                    self.steps = self.unreadable_answers = 0
                    self.refused.clear()
                self.nudged.clear()
                self.is_running, self.only_condenses, self.ended = True, False, ""
                self.turn = max(self.turn + 1, event.turn)
                self.unread.append(event.seq)
                self.command, self.unfinished_rewind = event.command, None
            case RunEnded():
                self.is_running, self.only_condenses, self.ended = False, False, event.reason
            case VersionTaken():
                self._apply_version(event)
            case SessionStarted():
                self.session_id, self.workspace = event.id, event.workspace
                self.model, self.mode = event.model, event.mode
            case SettingsChanged():
                if event.model:  # the user's choice counts from now on
                    self.model, self.command = event.model, self.command and replace(self.command, model="")
                self.mode = event.mode or self.mode
                self.max_steps = event.max_steps or self.max_steps
                others = tuple(rule for rule in self.rules if rule not in (event.rule, event.dropped_rule))
                self.rules = (*others, event.rule) if event.rule else others

    def _apply_version(self, event: VersionTaken) -> None:
        self.version = event.version or self.version
        if event.action_id:
            self._note_writer(event.files, "person" if event.action_id in self.own_ids else "agent")
        if event.action_id == REWIND:
            self.unfinished_rewind = None

    def _apply_rewind(self, event: Rewound) -> None:
        """End the run. Settings stay as they are: returning to an earlier state must not restore a mode that asks
        less.
        """
        self.unfinished_rewind = event if event.files or event.directories else None
        for file in event.files:
            self.writers.pop(f"{self.workspace}/{file.path}", None)
        if event.scope != "files":
            self._stop()

    def _stop(self) -> None:
        """End the run with everything that is open, without a result."""
        self.is_running = self.only_condenses = False
        self.ended, self.steps, self.unreadable_answers, self.command = "interrupted", 0, 0, None
        for each in (self.batch, self.delegated, self.own, self.own_started, self.unread, self.refused, self.nudged):
            each.clear()

    def _apply_to_history(self, event: CondensingAsked | HistoryCondensed | Rewound | Forked) -> None:
        if isinstance(event, Rewound):
            self._apply_rewind(event)
            return
        if isinstance(event, Forked):
            self.unfinished_rewind = None
            if not event.keeps_run:
                self._stop()
            return
        is_request = isinstance(event, CondensingAsked)
        if is_request and not self.is_running:
            self.is_running = self.only_condenses = True
        elif not is_request and self.only_condenses:
            self.is_running = self.only_condenses = False

    def _apply_answer(self, event: ModelResponded) -> None:
        self.steps += 1
        self.unread = [seq for seq in self.unread if event.seen is not None and seq > event.seen]
        if event.tool_calls:
            self.nudged.clear()
        self.unreadable_answers = self.unreadable_answers + 1 if event.tool_calls else 0
        self.batch = {}

    def _apply_proposal(self, event: ActionProposed) -> None:
        self.call_ids.add(event.call_id)
        self.batch[event.action_id] = OpenAction(event)
        if not event.error:
            self.unreadable_answers = 0

    def _apply_beside(self, event: AgentNudged | DelegateStep | HookRan) -> None:
        """Apply a nudge, a hook's run, or a step of a sub-agent; what a sub-agent was refused is refused to its parent
        too.
        """
        if isinstance(event, HookRan):
            if event.event in DECIDING and (action := self.batch.get(event.action_id)) is not None:
                action.hooks += (event,)
            return
        if isinstance(event, AgentNudged):
            self.nudged.add(event.reason)
            return
        step = event.event
        action = self.batch.get(event.action_id)
        if action is not None and event.session:  # a server's question ends with its call
            action.sub_agent = action.sub_agent or RunningSubAgent(event.agent, event.session)
            action.sub_agent.follow(step)
        match step:
            case ActionProposed():
                self.delegated[step.action_id] = OpenAction(step)
            case ActionAssessed() | ActionDecided():
                self._apply_progress(step)
            case ActionObserved() | ActionAbandoned():
                self.delegated.pop(step.action_id, None)
                self._note_writer(step.files_changed if isinstance(step, ActionObserved) else (), "agent")

    def _apply_progress(self, event: ActionAssessed | ActionDecided | ActionStarted) -> None:
        action = self.batch.get(event.action_id) or self.delegated.get(event.action_id)
        if action is None:
            self.own_started.update({event.action_id} & self.own.keys())
            return
        match event:
            case ActionAssessed():  # also a second time, if the shown action has changed: then the user is asked again
                action.assessed, action.decided = event, None
                action.was_asked = action.was_asked or event.needs_decision
            case ActionDecided():
                action.decided = event
                if event.verdict == "rejected" and event.by != "mode":
                    self.refused.append(action)
            case ActionStarted():
                action.started = True
