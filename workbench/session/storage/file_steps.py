"""The changes that the agent's actions made to the files, as steps from one snapshot to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from workbench.session.storage.active_path import ActivePath
from workbench.session.storage.store import Store

_KINDS: Final = "('version_taken', 'action_proposed', 'action_observed', 'action_abandoned')"
_ROWS: Final = f"""
SELECT seq, kind, coalesce(json_extract(json, '$.version'), ''), coalesce(json_extract(json, '$.action_id'), '')
FROM events WHERE kind IN {_KINDS}
UNION ALL
SELECT seq, json_extract(json, '$.event.kind'), '', coalesce(json_extract(json, '$.event.action_id'), '')
FROM events WHERE kind = 'delegate_step' AND json_extract(json, '$.event.kind') IN {_KINDS} ORDER BY seq"""


class FileStep(NamedTuple):
    """The snapshots before and after one action of the agent or of a sub-agent; `seq` is the event with its result."""

    seq: int
    before: str
    after: str


class Transition(NamedTuple):
    """A change from one snapshot to another that is to be made to the files of the workspace."""

    start: str
    end: str


def steps_of(store: Store) -> list[FileStep]:
    """Return the steps of a log, of all branches, in order. Raises StoreError.

    Changes by other programs, by the user, or by the user's own commands are not steps. A snapshot may be recorded
    after later events, so a step has the number of its action's result.
    """
    results: dict[str, int] = {}
    steps: list[FileStep] = []
    last = ""
    for seq, kind, version, action_id in store.query(_ROWS):
        if kind == "version_taken":
            if last and version not in ("", last) and action_id in results:
                steps.append(FileStep(results[action_id] or seq, last, version))
            last = version or last
        elif kind == "action_proposed":
            results[action_id] = 0
        elif action_id in results:  # a command of the user's has a result too, but was not proposed
            results[action_id] = seq
    return steps


def transitions(steps: Sequence[FileStep], now: ActivePath, then: ActivePath) -> list[Transition]:
    """Return the changes that lead from the files on the path `now` to those on the path `then`.

    Steps are undone first, the newest one first, and then others are redone.
    """
    undone = [step for step in steps if step.seq in now and step.seq not in then]
    redone = [step for step in steps if step.seq in then and step.seq not in now]
    backwards = [Transition(step.after, step.before) for step in reversed(undone)]
    return list(_joined([*backwards, *(Transition(step.before, step.after) for step in redone)]))


def _joined(changes: Sequence[Transition]) -> Iterator[Transition]:
    """Yield the changes; consecutive ones are joined if one starts at the snapshot at which the other ends."""
    whole: Transition | None = None
    for change in changes:
        if whole is not None and whole.end == change.start:
            whole = Transition(whole.start, change.end)
            continue
        if whole is not None:
            yield whole
        whole = change
    if whole is not None:
        yield whole
