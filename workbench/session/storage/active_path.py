"""The active path of a log: the events in effect, after rewinds have moved the session to other states.

The log is a tree: an event follows the one before it, except after a `rewound` event, which follows its target. That
event is itself on the path, because it records what happened to the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from workbench.protocol.rewind import RewindScope
from workbench.session.storage.store import Store

_REWINDS: Final = """
SELECT seq, json_extract(json, '$.target'), coalesce(json_extract(json, '$.scope'), 'both') FROM events
WHERE kind = 'rewound' ORDER BY seq"""


class Rewind(NamedTuple):
    """A rewind: event `seq` moved the conversation, the files or both (`scope`) to the state after event `target`."""

    seq: int
    target: int
    scope: RewindScope = "both"


class ActivePath:
    """The events that lead to one event, as ranges of their numbers."""

    def __init__(self, head: int, rewinds: Sequence[Rewind]) -> None:
        """`head` is the last event of the path; `rewinds` are all rewinds of the log, in order."""
        self.ranges = tuple(_ranges(head, rewinds))

    def __contains__(self, seq: int) -> bool:
        return any(seq in each for each in reversed(self.ranges))  # most events are in the last range

    @property
    def condition(self) -> str:
        """A SQL condition that selects the events of the path, provided that no event is after its head."""
        others = [f"seq NOT BETWEEN {one.stop} AND {other.start - 1}" for one, other in pairwise(self.ranges)]
        return " AND ".join(others) or "1"


def _ranges(head: int, rewinds: Sequence[Rewind]) -> list[range]:
    ranges: list[range] = []
    end = head
    for rewind in reversed(rewinds):
        if rewind.seq <= end:
            ranges.append(range(rewind.seq, end + 1))
            end = rewind.target
    return [*([range(1, end + 1)] if end > 0 else []), *reversed(ranges)]


def still_in_effect(rewinds: Sequence[Rewind]) -> list[Rewind]:
    """Return the rewinds that were not undone, in order, each with the scope in which it is still in effect.

    A rewind to just before another rewind undoes that one and those after it.
    """
    effective: list[Rewind] = []
    for rewind in rewinds:
        undone = next((at for at, each in enumerate(effective) if each.seq - 1 == rewind.target), None)
        if undone is None:
            effective.append(rewind)
        else:
            rests = [(each, _rest(each.scope, rewind.scope)) for each in effective[undone:]]
            effective[undone:] = [each._replace(scope=rest) for each, rest in rests if rest]
    return effective


def _rest(scope: RewindScope, undone: RewindScope) -> RewindScope | None:
    """Return the scope of a rewind that is still in effect after `undone` of it was undone; None if nothing is."""
    if undone in ("both", scope):
        return None
    if scope == "both":
        return "files" if undone == "conversation" else "conversation"
    return scope


def rewinds_of(store: Store, besides: RewindScope | None = "files") -> list[Rewind]:
    """Return the rewinds of a log in order, except those with the scope `besides`. Raises StoreError.

    The conversation is not affected by rewinds of the files alone. The files have a path of their own, for which the
    rewinds of the conversation alone are excluded.
    """
    rows = (Rewind(*row) for row in store.query(_REWINDS) if isinstance(row[1], int) and row[1] < row[0])
    return [rewind for rewind in rows if rewind.scope != besides]
