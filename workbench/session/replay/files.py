"""Compares the files of a replay with the snapshots of the session, action by action."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench.files.text_file import EditorError, decoded
from workbench.protocol.events import VersionTaken
from workbench.session.replay.divergence import difference
from workbench.session.replay.normalizing import Normalizer
from workbench.session.replay.outline import Outline
from workbench.session.replay.scratch import Scratch
from workbench.session.workspace.repository import Change

_NOWHERE = Path()


class FileComparison:
    """Compares the files of a replay with the record. They are reset after a divergence, so that it is reported
    once.
    """

    def __init__(self, scratch: Scratch, outline: Outline, normalizer: Normalizer) -> None:
        """Fill the scratch directory with the first snapshot. Raises SnapshotError or OSError."""
        self._scratch = scratch
        self._outline = outline
        self._normalizer = normalizer
        self._expected = ""
        self._consumed = 0
        if outline.first:
            self._fill(outline.first)

    def _fill(self, version: str) -> None:
        if version != self._expected:
            self._scratch.fill(version)
            self._expected = version

    def begin(self, action_id: str) -> None:
        """Reset the files to the snapshot before an action, which includes changes that were not made by actions."""
        if step := self._outline.steps.get(action_id):
            self._fill(step.before)

    def follow(self, event: VersionTaken) -> None:
        """Reset the files to a recorded snapshot, unless it belongs to an action of the agent."""
        if event.action_id not in self._outline.steps and event.seq > self._consumed:
            self._fill(event.version)

    def use_record(self, action_id: str) -> None:
        """Reset the files to the snapshot after an action that was not run again."""
        if step := self._outline.steps.get(action_id):
            self._consumed = step.seq
            self._fill(step.after)

    def compare(self, action_id: str, *, may_write: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each file that differs from the record after an action, with the lines that differ.

        `may_write` says whether the action may write files although the record has no changes by it. Protected files
        that the session restored after the action, and their directories, are not compared.
        """
        step = self._outline.steps.get(action_id)
        if step is None and not (may_write and self._expected):
            return
        if step is not None:
            self._consumed, self._expected = step.seq, step.after
        differing = [(change.path, diff) for change in self._changes() if (diff := self._diff(change))]
        differing += self._directories()
        if differing:
            self._scratch.fill(self._expected)
        guarded = [f"{path}/" for path in self._outline.guarded.get(action_id, ())]
        yield from (each for each in differing if not any(f"/{each[0]}/" in path for path in guarded))

    def _changes(self) -> list[Change]:
        return self._scratch.differences(self._expected)

    def _diff(self, change: Change) -> tuple[str, ...]:
        """Return how a file differs from its recorded state; empty if only in text that may differ (see
        `normalizing`).
        """
        blobs = [blob for blob in (change.before, change.after) if blob]
        contents = self._scratch.repository.contents(blobs)
        one, other = (_lines(contents.get(blob), mode) for blob, mode in _sides(change))
        keyed = ([(line, self._normalizer.text(line)) for line in lines] for lines in (one, other))
        return difference(*keyed)

    def _directories(self) -> list[tuple[str, tuple[str, ...]]]:
        recorded, now = self._scratch.directories(self._expected)
        paths = sorted({*recorded.directories, *now.directories})
        sides = [(path, recorded.directories.get(path), now.directories.get(path)) for path in paths]
        return [(path, (f"-{_directory(one)}", f"+{_directory(two)}")) for path, one, two in sides if one != two]


def _directory(mode: int | None) -> str:
    return "(no empty directory)" if mode is None else f"(an empty directory, permissions {mode:o})"


def _sides(change: Change) -> tuple[tuple[str, str], tuple[str, str]]:
    return (change.before, change.mode_before), (change.after, change.mode_after)


def _lines(raw: bytes | None, mode: str) -> list[str]:
    if raw is None:
        return ["(no file)"]
    kind = {"120000": "(a link)", "100755": "(a program)"}.get(mode)
    head = [kind] if kind else []
    try:
        return [*head, *decoded(_NOWHERE, raw)[1].splitlines(), *(["(no newline at the end)"] if _is_open(raw) else [])]
    except EditorError:
        import hashlib

        return [*head, f"(binary, {len(raw):,} bytes, sha256 {hashlib.sha256(raw).hexdigest()[:16]})"]


def _is_open(raw: bytes) -> bool:
    return bool(raw) and not raw.endswith(b"\n")
