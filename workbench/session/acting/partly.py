"""A part of a change that was shown: what the person took of it and what each file shall hold. Pure; used when it is
decided, when it runs and when the model is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workbench.diff.hunks import FileDiff, compare
from workbench.diff.partial import chosen_of_each, texts_with
from workbench.protocol.events import ActionDecided, FileDelta, FileText


class NoPart(Exception):
    """The decision does not fit the files that were shown; one line for the person."""


@dataclass(frozen=True)
class FilePart:
    """One file of the preview: the proposal, which hunks were taken (some with other text), and what it shall hold."""

    proposal: FileDiff
    taken: frozenset[int]
    text: str | None

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self.proposal.path

    @property
    def before(self) -> str | None:
        """What it held when it was shown."""
        return self.proposal.before

    @property
    def delta(self) -> FileDelta:
        """What is written."""
        return FileDelta(path=self.path, before=self.before, after=self.text)


def parts_of(preview: Sequence[FileDelta], decided: ActionDecided) -> tuple[FilePart, ...]:
    """What the decision makes of each file that was shown; raises NoPart."""
    if not preview:
        raise NoPart("this action shows no files; it can be approved or rejected only as a whole")
    diffs = [compare(file.path, file.before, file.after) for file in preview]
    if decided.hunks is not None:
        _check_hunks(decided.hunks, sum(len(diff.hunks) for diff in diffs))
    texts = _texts(diffs, decided)
    if decided.hunks is None:
        taken = [_found(diff, text) for diff, text in zip(diffs, texts, strict=True)]
    else:
        taken = chosen_of_each(diffs, decided.hunks)
    return tuple(FilePart(*part) for part in zip(diffs, taken, texts, strict=True))


def is_nothing(parts: Sequence[FilePart]) -> bool:
    """Whether every file stays as it is."""
    return all(part.text == part.before for part in parts)


def is_everything(parts: Sequence[FilePart]) -> bool:
    """Whether every file gets what was proposed."""
    return all(part.text == part.proposal.after for part in parts)


def as_written(parts: Sequence[FilePart]) -> tuple[FileText, ...]:
    """The texts as the decision keeps them."""
    return tuple(FileText(path=part.path, text=part.text) for part in parts)


def _check_hunks(hunks: Collection[int], count: int) -> None:
    unknown = sorted(index for index in set(hunks) if not 0 <= index < count)
    if unknown:
        raise NoPart(f"what was shown has {count} hunks, and none with the number {unknown[0]}")


def _texts(diffs: Sequence[FileDiff], decided: ActionDecided) -> list[str | None]:
    if decided.written is None:
        return texts_with(diffs, decided.hunks or ())
    given = {file.path: file.text for file in decided.written}
    if len(given) != len(decided.written) or set(given) != {diff.path for diff in diffs}:
        raise NoPart("what shall be written does not name exactly the files that were shown")
    return [given[diff.path] for diff in diffs]


def _found(diff: FileDiff, text: str | None) -> frozenset[int]:
    """The hunks of the proposal that are in the text just as they were proposed."""
    if text == diff.after:
        return frozenset(range(len(diff.hunks)))
    made = compare(diff.path, diff.before, text)
    there = {(hunk.old, hunk.old_end, tuple(made.new[hunk.new : hunk.new_end])) for hunk in made.hunks}
    return frozenset(
        index
        for index, hunk in enumerate(diff.hunks)
        if (hunk.old, hunk.old_end, tuple(diff.new[hunk.new : hunk.new_end])) in there
    )
