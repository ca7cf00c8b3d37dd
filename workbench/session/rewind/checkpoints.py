"""The points in the log to which a session can return: messages, actions that changed files, and ends of branches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from workbench.protocol.events import (
    ActionObserved,
    ActionProposed,
    DelegateStep,
    Event,
    FileDelta,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    Rewound,
    UserMessage,
    VersionTaken,
)
from workbench.protocol.rewind import RewindScope
from workbench.session.storage.active_path import ActivePath, Rewind, rewinds_of
from workbench.session.storage.store import Store

Kind: TypeAlias = Literal["message", "action", "branch"]


class Checkpoint(Struct):
    """A point in the log to which the session can return; `target` is the event whose state it returns to.

    For a message, `seq` is its event, and the target is just before it. For an action, both are the event of its
    result. For a branch, `seq` is the rewind that left it, the target is the end of the branch, and `text` is its last
    message.
    """

    kind: Kind
    seq: int
    target: int
    at: datetime
    text: str = ""
    call: ActionProposed | None = None
    """The proposal of the action; None for a message or a branch."""
    scope: RewindScope = "both"
    """For a branch: what has to be moved to undo the rewind that left it."""
    files: dict[str, FileDelta] = field(default_factory=dict)
    """What the action changed or, for a message, all actions up to the next message; by absolute path."""
    end: int = 0
    """For a branch: its last message, response or result; 0 if it has none."""
    cost: float | None = 0.0
    """US dollars spent up to the next message or, for an action, since the last message or action; None if unknown."""


def checkpoints_of(store: Store) -> list[Checkpoint]:
    """Return the checkpoints of a session in order; actions that changed no file are omitted. Raises StoreError."""
    reader = _Reader(store.last_seq, rewinds_of(store))
    for event in store.events():
        reader.read(event)
    return [each for each in reader.ordered if each.files or each.kind != "action"]


class _Reader:
    def __init__(self, head: int, rewinds: Sequence[Rewind]) -> None:
        self.ordered: list[Checkpoint] = []
        self._path = ActivePath(head, rewinds)
        self._rewinds = rewinds
        self._calls: dict[str, ActionProposed] = {}
        self._actions: dict[str, tuple[Checkpoint, Checkpoint | None]] = {}
        """By action id: the checkpoint of the action, and that of the message before it."""
        self._delegated: dict[str, str] = {}
        """By the id of a sub-agent's action: the call that delegated to the sub-agent."""
        self._earlier: dict[str, list[FileDelta]] = {}
        """By the id of a call without a result: what its sub-agent has changed."""
        self._message: Checkpoint | None = None
        self._unassigned: float | None = 0.0
        """US dollars spent since the last message or action; None if unknown."""
        self._steps: list[tuple[int, str]] = []
        """The number of each message, response and result on all branches, with the text of a message, else ""."""

    def read(self, event: Event) -> None:
        """Apply the next event of the log."""
        if isinstance(event, UserMessage | ModelResponded | ActionObserved):
            self._steps.append((event.seq, event.text if isinstance(event, UserMessage) else ""))
        elif isinstance(event, Rewound) and event.seq - 1 not in self._path:
            self.ordered.append(self._branch(event))
        if isinstance(event, VersionTaken):
            self._note_change(event.action_id, event.files)  # it may follow later events, even the rewind to the action
        elif event.seq in self._path:
            self._read_active(event)

    def _branch(self, event: Rewound) -> Checkpoint:
        """Return the checkpoint at the end of the branch that a rewind left, with its last message."""
        path = ActivePath(event.seq - 1, self._rewinds)
        end = next((seq for seq, _ in reversed(self._steps) if seq in path), 0)
        text = next((text for seq, text in reversed(self._steps) if text and seq in path), "")
        return Checkpoint("branch", event.seq, event.seq - 1, event.at, text, scope=event.scope, end=end)

    def _read_active(self, event: Event) -> None:
        match event:
            case UserMessage() if event.seq > 1:
                self._message = Checkpoint("message", event.seq, event.seq - 1, event.at, event.text)
                self.ordered.append(self._message)
                self._unassigned = 0.0
            case ActionProposed():
                self._calls[event.action_id] = event
            case ActionObserved() if event.action_id in self._calls:
                self._observe(event, self._calls.pop(event.action_id))
            case DelegateStep(event=ActionProposed() as call):
                self._delegated[call.action_id] = event.action_id
            case DelegateStep(event=ActionObserved() as result):
                self._note_change(result.action_id, result.files_changed)
            case _:
                self._pay(event.event if isinstance(event, DelegateStep) else event)

    def _observe(self, event: ActionObserved, call: ActionProposed) -> None:
        checkpoint = Checkpoint("action", event.seq, event.seq, event.at, call=call)
        self._actions[event.action_id] = checkpoint, self._message
        self.ordered.append(checkpoint)
        checkpoint.cost, self._unassigned = self._unassigned, 0.0
        self._note_files(event.action_id, (*self._earlier.pop(event.action_id, ()), *event.files_changed))

    def _note_change(self, action_id: str, files: tuple[FileDelta, ...]) -> None:
        """Note the changes by an action; those by a sub-agent's are of the call that delegated to it."""
        name = self._delegated.get(action_id, action_id)
        if name in self._actions:
            self._note_files(name, files)
        elif name in self._calls:
            self._earlier.setdefault(name, []).extend(files)

    def _note_files(self, action_id: str, files: tuple[FileDelta, ...]) -> None:
        for checkpoint in filter(None, self._actions[action_id]):
            for file in files:
                earlier = checkpoint.files.get(file.path)
                if earlier is not None:
                    file = replace(file, before=earlier.before, cut=file.cut or earlier.cut)
                checkpoint.files[file.path] = file

    def _pay(self, call: object) -> None:
        if isinstance(call, ModelResponded | ModelAsked | HistoryCondensed):
            self._unassigned = _sum(self._unassigned, call.cost)
            if self._message is not None:
                self._message.cost = _sum(self._message.cost, call.cost)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
