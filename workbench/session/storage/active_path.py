"""The active path of a log: the events that count, after rewinds have moved the session to earlier states.

The log is a tree: an event follows the one before it, except after a `rewound`, which follows its target. A `rewound`
itself is on the path, because it says what happened to the files.
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
    """The event `seq` made event `target` the last one that counts, for the conversation, the files or both."""

    seq: int
    target: int
    scope: RewindScope = "both"


class ActivePath:
    """The events that lead to one event, as ranges of their numbers."""

    def __init__(self, head: int, rewinds: Sequence[Rewind]) -> None:
        """`head` is the last event of the path; `rewinds` are those of the log, in order."""
        self.ranges = tuple(_ranges(head, rewinds))

    def __contains__(self, seq: int) -> bool:
        return any(seq in each for each in reversed(self.ranges))  # most events are in the last range

    @property
    def condition(self) -> str:
        """The SQL condition that holds for the events of the path among those up to its head."""
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
    """Return the rewinds that are not undone, in order, each with the scope of what is not back yet.

    A rewind to just before another one undoes that one, and those after it.
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
    """Return what of a rewind is still in effect after a part of it was undone; None if nothing is."""
    if undone in ("both", scope):
        return None
    if scope == "both":
        return "files" if undone == "conversation" else "conversation"
    return scope


def rewinds_of(store: Store, besides: RewindScope | None = "files") -> list[Rewind]:
    """Return the rewinds of a log, in order, except those of one scope. Raises StoreError.

    The files of a session have a path of their own, without the rewinds of the conversation alone.
    """
    rows = (Rewind(*row) for row in store.query(_REWINDS) if isinstance(row[1], int) and row[1] < row[0])
    return [rewind for rewind in rows if rewind.scope != besides]
