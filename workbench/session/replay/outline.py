"""What a replay must know about a log in advance: its snapshots, and which actions cannot be run again."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from msgspec import Struct, field

from workbench.protocol.rewind import REWIND
from workbench.session.storage.store import Store

_ROWS: Final = """
SELECT seq, kind, coalesce(json_extract(json, '$.action_id'), ''), coalesce(json_extract(json, '$.version'), ''),
  coalesce(json_extract(json, '$.reason'), ''), coalesce(json_extract(json, '$.guarded'), '[]')
FROM events WHERE seq <= ? AND kind IN
  ('version_taken', 'action_started', 'action_observed', 'action_abandoned', 'model_asked', 'run_ended')
ORDER BY seq"""


_MOVED: Final = """
SELECT DISTINCT json_extract(json, '$.moved_from') FROM events WHERE kind = 'forked' AND seq <= ?"""


class SnapshotStep(NamedTuple):
    """The snapshots before and after an action; `seq` is the event that recorded the later one."""

    seq: int
    before: str
    after: str


class Outline(Struct):
    """The snapshots of a log up to some event, and the actions that cannot be run again."""

    first: str = ""
    """The first snapshot; empty if there is none."""
    steps: dict[str, SnapshotStep] = field(default_factory=dict)
    """By action id: the snapshots around each action that changed files."""
    asked_model: set[str] = field(default_factory=set)
    """The ids of actions that called a model."""
    interrupted: set[str] = field(default_factory=set)
    """The ids of actions that were interrupted, or whose outcome is unknown."""
    guarded: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By action id: protected files that it changed without having shown that; the session may have restored them."""
    count: int = 0
    """How many actions were started."""
    directories: tuple[str, ...] = ()
    """The former directories of the session, if it is a fork that continued in another directory."""

    def add_version(self, seq: int, action_id: str, version: str, before: str) -> None:
        """Add the snapshot that event `seq` recorded; "" if none could be taken. `before` is the snapshot before it."""
        if version and action_id and action_id != REWIND:
            self.steps[action_id] = SnapshotStep(seq, before or version, version)
        self.first = self.first or version

    def add_action(self, kind: str, action_id: str) -> None:
        """Add an event of a kind other than `version_taken`."""
        self.count += kind == "action_started"
        if kind == "model_asked":
            self.asked_model.add(action_id)
        elif kind == "action_abandoned":
            self.interrupted.add(action_id)


def outline_of(store: Store, last: int) -> Outline:
    """Return the outline of the events up to `last`. Raises StoreError."""
    outline = Outline()
    version = latest = ""
    own: set[str] = set()
    """Actions of the session itself: those of a sub-agent are a part of the call that delegated, and not run again."""
    for seq, kind, action_id, taken, reason, guarded in store.query(_ROWS, last):
        if kind == "version_taken":
            outline.add_version(seq, action_id if action_id in own else "", taken, version)
            version = taken or version
            if paths := json.loads(guarded):
                outline.guarded[action_id] = tuple(paths)
        elif kind == "run_ended":
            outline.interrupted |= {latest} if reason == "interrupted" else set()
        else:
            outline.add_action(kind, action_id)
            own.add(action_id)
            latest = action_id
    outline.directories = tuple(directory for (directory,) in store.query(_MOVED, last) if directory)
    return outline
