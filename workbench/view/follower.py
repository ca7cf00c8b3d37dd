"""Follows one session: applies the client's messages to the state and reports, once a frame, what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from workbench.client.client import Client, Disconnected, EngineNotice, EventHistory, Incoming, Past
from workbench.client.threads import in_daemon
from workbench.errors import WorkbenchError
from workbench.protocol.events import ActionProposed, DelegateStep, FilesChanged, Rewound, UserCommand
from workbench.session.storage.paging import Branch, DigestStep
from workbench.view.action_reducer import apply_step
from workbench.view.notices import join_runs
from workbench.view.read_groups import leave_reads
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, Changed, Item, SessionState

if TYPE_CHECKING:
    from workbench.protocol.events import Event
    from workbench.session.storage.paging import Digest

_CARRIED_FIELDS: Final = (
    *("session_id", "workspace", "title", "rules", "model", "mode", "scripted", "is_running", "ended"),
    *("tasks", "version", "changes", "turn_changes", "cost", "input_tokens", "window", "parts", "total_tokens"),
    *("last_seq", "first_seq", "action_count", "actions_before", "was_rewound"),
)


def settled(digest: Digest) -> SessionState:
    """Return the state that the digest describes, without items: as of just before the first event that follows it."""
    state = SessionState()
    for entry in digest.relevant_events:
        if isinstance(entry, DigestStep):
            apply_step(state, entry.number, entry.tool)
        else:
            apply(state, entry)
    state.cost, state.total_tokens = digest.cost, digest.tokens
    state.action_count = state.actions_before = digest.actions
    state.first_seq, state.last_seq = digest.start, digest.start - 1
    return state


def begin_after(state: SessionState, earlier: SessionState) -> None:
    """Copy what carries over from the earlier part of a session into the empty state of the part after it."""
    for name in _CARRIED_FIELDS:
        setattr(state, name, getattr(earlier, name))
    state.cost_before = state.cost


_LIVE_FIELDS: Final = frozenset(
    (
        *("work", "work_detail", "stalled", "unsaved", "model_url", "fallback_model", "only_turn", "next_mode"),
        *("is_stopping", "has_control", "others", "is_viewer"),
    )
)
"""The fields that do not come from the log."""


_FOLDS: Final = ("folded", "unfolded")


def start_over(state: SessionState, other: SessionState) -> None:
    """Copy another state, such as an empty one, into this one, except for the fields that do not come from the log."""
    for name in state.__struct_fields__:
        if name not in _LIVE_FIELDS:
            setattr(state, name, getattr(other, name))


def adopt(state: SessionState, other: SessionState) -> Changed | None:
    """Copy another state into this one, which keeps its own objects for the items that both have; return the changes.

    Returns None if they have no item in common, so that everything has changed.
    """
    before, after = state.items, other.items
    old, new = _first_in_both(before, after)
    both = [*takewhile(lambda pair: _key(pair[0]) == _key(pair[1]), zip(before[old:], after[new:], strict=False))]
    same: dict[int, Any] = {id(theirs): ours for ours, theirs in both}
    changed = Changed(
        earlier=after[:new],
        added=after[new + len(both) :],
        gone=before[:old],
        removed=before[old + len(both) :],
        updated=[ours for ours, theirs in both if _update(ours, theirs)],
        tasks=state.tasks != other.tasks,
        changes=(state.changes, state.turn_changes) != (other.changes, other.turn_changes),
        status=True,
    )
    other.items = [same.get(id(item), item) for item in after]
    other.actions = {name: same.get(id(item), item) for name, item in other.actions.items()}
    for group in {id(item.reads): item.reads for item in other.actions.values() if item.reads}.values():
        group.items = [same.get(id(item), item) for item in group.items]
    start_over(state, other)
    return changed if both else None


def _first_in_both(before: Sequence[Item], after: Sequence[Item]) -> tuple[int, int]:
    """Return the index in each of the lists at which the items that both have begin."""
    if before and after and before[0].seq > after[0].seq:
        return 0, next((at for at, item in enumerate(after) if _key(item) == _key(before[0])), len(after))
    return next((at for at, item in enumerate(before) if after and _key(item) == _key(after[0])), len(before)), 0


def _key(item: Item) -> tuple[type[Item], int]:
    return type(item), item.seq


def _update(item: Any, other: Any) -> bool:
    """Copy another item into this one, except for what the user has folded; return whether it has changed."""
    for name in _FOLDS:
        if hasattr(item, name):
            setattr(other, name, getattr(item, name))
    if isinstance(item, ActionItem) and item.reads is not None and other.reads is not None:
        other.reads.is_open = item.reads.is_open
    if item == other:
        if isinstance(item, ActionItem):
            item.reads = other.reads
        return False
    for name in item.__struct_fields__:
        setattr(item, name, getattr(other, name))
    return True


def folded(events: Sequence[Event | Branch], actions_before: int) -> SessionState:
    """Return the state of one part of the session alone; `actions_before` counts the actions up to its end."""
    state = SessionState(action_count=actions_before - sum(map(_is_action, events)))
    state.actions_before = state.action_count
    for event in events:
        apply(state, event)
    state.first_seq = next((event.seq for event in events if not isinstance(event, Branch)), 1)
    for item in state.queued:
        item.queued = False
    return state


def put_before(state: SessionState, part: SessionState) -> Changed:
    """Insert an older part before the content of the state."""
    join_runs(state.items, part)
    state.items[:0] = part.items
    state.actions = part.actions | state.actions
    state.first_seq, state.actions_before = part.first_seq, part.actions_before
    return Changed(earlier=part.items, status=True)


def count_before(state: SessionState, start: int) -> int:
    """Return how many items at the beginning belong to events before `start`, including items without an event."""
    return next((at for at, item in enumerate(state.items) if item.seq >= start), 0)


def drop_before(state: SessionState, start: int) -> Changed:
    """Remove everything from before event `start`, except open actions; it can be read again."""
    gone = state.items[: count_before(state, start)]
    leave_reads(gone)
    del state.items[: len(gone)]
    state.actions = {name: item for name, item in state.actions.items() if item.seq >= start or _is_open(state, item)}
    first = next((item.number for item in state.items if isinstance(item, ActionItem)), state.action_count + 1)
    state.first_seq, state.actions_before = start, first - 1
    return Changed(gone=gone, status=True)


def _is_open(state: SessionState, item: ActionItem) -> bool:
    return item.action_id in state.running or item.action_id in state.waiting


def _is_action(event: Event | Branch) -> bool:
    if isinstance(event, DelegateStep):
        return isinstance(event.event, ActionProposed)
    return isinstance(event, ActionProposed | UserCommand) or (isinstance(event, FilesChanged) and event.by == "person")


FRAME = 1 / 30
"""Seconds between two repaints; messages that arrive in between are shown together."""
_CHUNK = 500
_LONGEST = 30
"""The most frames to wait for a screen that is behind."""


class Follower:
    """Follows one session for a screen; calls `on_change(None)` when everything may have changed."""

    def __init__(
        self,
        client: Client,
        state: SessionState,
        on_change: Callable[[Changed | None], None],
        is_behind: Callable[[], bool] = lambda: False,
        load_later: Callable[[], None] = lambda: None,
    ) -> None:
        """`load_later` loads, in a thread, what the front end needs only once there is a session.

        `is_behind` returns whether the screen is still mounting what it was given; waiting for it bounds its memory.
        """
        self._client = client
        self._state = state
        self._on_change = on_change
        self._is_behind = is_behind
        self._load_later = load_later
        self._past: Past | None = None
        self._reading = asyncio.Lock()

    async def run(self) -> None:
        """Read the history, then whatever arrives, until the connection is lost permanently."""
        await self._read_history()
        self._on_change(None)
        while self._apply(messages := await self._client.receive()):
            if any(isinstance(message, Rewound) and message.scope != "files" for message in messages):
                await self._read_again()
            for _ in range(_LONGEST):
                await asyncio.sleep(FRAME)
                if not self._is_behind():
                    break

    @property
    def is_reading(self) -> bool:
        """Whether an older part is being read."""
        return self._reading.locked()

    async def read_earlier(self) -> bool:
        """Show the part of the session just before what is shown; return whether there was one."""
        async with self._reading:
            past, state = self._past, self._state
            first, actions = state.first_seq, state.actions_before
            if past is None or first <= 1:
                return False
            try:
                part = await in_daemon(lambda: folded(past.part(first), actions))
            except WorkbenchError as error:
                self._past = None
                self._apply([EngineNotice(str(error))])
                return False
            if self._past is not past or state.first_seq != first:
                return False  # another state is shown by now
            self._on_change(put_before(state, part))
            return True

    def replace(self, state: SessionState, past: Past | None) -> None:
        """Show another state of the session, such as an earlier one, whose older parts are read from `past`."""
        self._past = past
        self._on_change(adopt(self._state, state))

    async def let_go(self, may: Callable[[int], bool]) -> None:
        """Drop all but the end of a session that has grown long, if `may` allows dropping that many items now."""
        async with self._reading:
            past, state = self._past, self._state
            if past is None:
                return
            with suppress(WorkbenchError):
                start = await in_daemon(lambda: past.start(state.last_seq + 1))
                if start > state.first_seq and may(count_before(state, start)):
                    self._on_change(drop_before(state, start))

    async def _read_again(self) -> None:
        """Show the session as it is after a rewind: other events are on the active path now."""
        async with self._reading:
            start_over(self._state, SessionState())
            await self._read_history()
        self._on_change(None)

    async def _read_history(self) -> None:
        events, chunk, earlier = await in_daemon(self._begin)
        if earlier is not None:
            begin_after(self._state, earlier)
        while chunk:  # in chunks, because a long session takes many megabytes and keys are handled in between
            for event in chunk:
                apply(self._state, event)
            chunk = await in_daemon(lambda: list(islice(events, _CHUNK)))

    def _begin(self) -> tuple[Iterator[Event | Branch], list[Event | Branch], SessionState | None]:
        """Begin reading the history, and load what showing a session needs while the engine starts; in a thread."""
        history = self._client.history()
        self._past = history.past if isinstance(history, EventHistory) else None
        events = iter(history)
        chunk = list(islice(events, _CHUNK))
        earlier = settled(history.digest) if isinstance(history, EventHistory) and history.digest else None
        self._load_later()
        return events, chunk, earlier

    def _apply(self, messages: Sequence[Incoming]) -> bool:
        changed = Changed()
        goes_on = True
        for message in messages:
            changed.merge(apply(self._state, message))
            goes_on = goes_on and not (isinstance(message, Disconnected) and message.for_good)
        self._on_change(changed)
        return goes_on
