"""Partial approval of a change: which hunks are written, and the message to the model about them. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import msgspec

from workbench.diff.hunks import FileDiff, Hunk, compare
from workbench.diff.partial import chosen_of_each, content_with, contents_with
from workbench.protocol.events import ActionDecided, FileDelta, FileText
from workbench.text import cut_middle
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.view import show_change


class InvalidPart(Exception):
    """The decision does not fit the files that were shown; the message is one line for the user."""


class FilePart(msgspec.Struct, frozen=True):
    """One file of the preview: the proposal, the numbers of accepted hunks (`taken`), and the new content (`text`)."""

    proposal: FileDiff
    taken: frozenset[int]
    text: str | None

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self.proposal.path

    @property
    def before(self) -> str | None:
        """The content of the file when it was shown."""
        return self.proposal.before

    @property
    def delta(self) -> FileDelta:
        """The change that is written."""
        return FileDelta(path=self.path, before=self.before, after=self.text)


def parts_of(preview: Sequence[FileDelta], decided: ActionDecided) -> tuple[FilePart, ...]:
    """Return the approved part of each file that was shown. Raises InvalidPart."""
    if not preview:
        raise InvalidPart("this action shows no files; it can be approved or rejected only as a whole")
    diffs = [compare(file.path, file.before, file.after) for file in preview]
    if decided.hunks is not None:
        _check_hunks(decided.hunks, sum(len(diff.hunks) for diff in diffs))
    contents = _contents(diffs, decided)
    if decided.hunks is None:
        taken = [_accepted_hunks(diff, text) for diff, text in zip(diffs, contents, strict=True)]
    else:
        taken = chosen_of_each(diffs, decided.hunks)
    return tuple(FilePart(*part) for part in zip(diffs, taken, contents, strict=True))


def is_nothing(parts: Sequence[FilePart]) -> bool:
    """Return whether nothing is accepted, so that every file stays as it is."""
    return all(part.text == part.before for part in parts)


def is_everything(parts: Sequence[FilePart]) -> bool:
    """Return whether every file gets the proposed content."""
    return all(part.text == part.proposal.after for part in parts)


def as_written(parts: Sequence[FilePart]) -> tuple[FileText, ...]:
    """Return the new texts in the form in which the decision records them."""
    return tuple(FileText(path=part.path, text=part.text) for part in parts)


def _check_hunks(hunks: Collection[int], count: int) -> None:
    unknown = sorted(index for index in set(hunks) if not 0 <= index < count)
    if unknown:
        raise InvalidPart(f"what was shown has {count} hunks, and none with the number {unknown[0]}")


def _contents(diffs: Sequence[FileDiff], decided: ActionDecided) -> list[str | None]:
    if decided.written is None:
        return contents_with(diffs, decided.hunks or ())
    written = {file.path: file.text for file in decided.written}
    if len(written) != len(decided.written) or set(written) != {diff.path for diff in diffs}:
        raise InvalidPart("the content to write does not name exactly the files that were shown")
    return [written[diff.path] for diff in diffs]


def _accepted_hunks(diff: FileDiff, text: str | None) -> frozenset[int]:
    """Return the hunks of the proposal that the text contains exactly as proposed."""
    if text == diff.after:
        return frozenset(range(len(diff.hunks)))
    change = compare(diff.path, diff.before, text)
    there = {(hunk.old, hunk.old_end, tuple(change.new[hunk.new : hunk.new_end])) for hunk in change.hunks}
    return frozenset(
        index
        for index, hunk in enumerate(diff.hunks)
        if (hunk.old, hunk.old_end, tuple(diff.new[hunk.new : hunk.new_end])) in there
    )


_QUOTED = 2_000
"""The most characters quoted from one hunk."""
_HEAD = "The user accepted only a part of this change, or edited it. The files contain exactly what is shown here."


def partial_result(parts: Sequence[FilePart], note: str) -> str:
    """Return the action's result for the model, which describes each file and ends with the user's note."""
    note_line = f"\nThe user's note: {note.strip()}" if note.strip() else ""
    return "\n".join([_HEAD, *(line for part in parts for line in _file(part))]) + note_line


def _file(part: FilePart) -> Iterator[str]:
    yield f"\n{part.path}: {_outcome(part)}"
    if len(part.proposal.hunks) > 1 or not _is_as_proposed(part):
        yield from _hunks(part)
    if part.text is not None and part.text != part.before:
        yield show_change(Edited.between(part.before or "", part.text)).rstrip("\n")


def _is_as_proposed(part: FilePart) -> bool:
    return part.text in (part.before, part.proposal.after)


def _outcome(part: FilePart) -> str:
    proposal = part.proposal
    if part.text == part.before:
        return {"A": "not made.", "D": "not deleted."}.get(proposal.sign, "left as it was.")
    if part.text is None:
        return "deleted."
    done = "made" if part.before is None else "written"
    if part.text == proposal.after:
        return f"{done} as you proposed it."
    return f"{done}, {len(part.taken)} of {len(proposal.hunks)} hunks accepted."


def _hunks(part: FilePart) -> Iterator[str]:
    """Yield each hunk of the proposal in turn, then the user's changes elsewhere."""
    diff = part.proposal
    mine = compare(part.path, content_with(diff, part.taken), part.text)
    remaining = list(mine.hunks)
    grown = 0
    for index, hunk in enumerate(diff.hunks):
        name = f"Hunk {index + 1} ({_line_range(hunk)})"
        if index not in part.taken:
            yield f"{name}: not accepted.\n{_quoted(diff, [hunk])}"
            continue
        start = hunk.old + grown
        stop = start + hunk.new_end - hunk.new
        grown = stop - hunk.old_end
        own = [edit for edit in remaining if edit.old <= stop and edit.old_end >= start]
        remaining = [edit for edit in remaining if edit not in own]
        yield f"{name}: accepted, edited by the user.\n{_quoted(mine, own)}" if own else f"{name}: accepted."
    if remaining:
        yield f"Elsewhere the user changed:\n{_quoted(mine, remaining)}"


def _line_range(hunk: Hunk) -> str:
    """Describe the lines of the original file that the hunk replaces."""
    if hunk.old == hunk.old_end:
        return f"new lines after line {hunk.old}"
    return f"line {hunk.old + 1}" if hunk.old_end == hunk.old + 1 else f"lines {hunk.old + 1} to {hunk.old_end}"


def _quoted(diff: FileDiff, hunks: Sequence[Hunk]) -> str:
    lines = [line for hunk in hunks for line in _changed(diff, hunk)]
    return cut_middle("\n".join(lines), _QUOTED)


def _changed(diff: FileDiff, hunk: Hunk) -> Iterator[str]:
    for sign, lines in (("-", diff.old[hunk.old : hunk.old_end]), ("+", diff.new[hunk.new : hunk.new_end])):
        yield from (f"{sign}{line.removesuffix(chr(10)).removesuffix(chr(13))}" for line in lines)
