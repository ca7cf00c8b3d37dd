"""What the model is told when the person took a part of a change: each hunk, and how the files read now. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.diff.hunks import FileDiff, Hunk, compare
from workbench.diff.partial import text_with
from workbench.session.acting.partly import FilePart
from workbench.text import cut_middle
from workbench.tools.str_replace_editor.edits import Edited
from workbench.tools.str_replace_editor.view import show_change

_QUOTED = 2_000
"""Characters of one hunk that are quoted."""
_HEAD = "The person took only a part of this change, or changed it. The files hold exactly what is said here."


def told(parts: Sequence[FilePart], note: str) -> str:
    """The result of the action for the model."""
    said = f"\nThe person's note: {note.strip()}" if note.strip() else ""
    return "\n".join([_HEAD, *(line for part in parts for line in _file(part))]) + said


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
    return f"{done}, {len(part.taken)} of {len(proposal.hunks)} hunks taken."


def _hunks(part: FilePart) -> Iterator[str]:
    """Each hunk of the proposal in turn, then what the person changed beside them."""
    diff = part.proposal
    mine = compare(part.path, text_with(diff, part.taken), part.text)
    left = list(mine.hunks)
    grown = 0
    for index, hunk in enumerate(diff.hunks):
        name = f"Hunk {index + 1} ({_place(hunk)})"
        if index not in part.taken:
            yield f"{name}: not taken.\n{_quoted(diff, [hunk])}"
            continue
        start = hunk.old + grown
        stop = start + hunk.new_end - hunk.new
        grown = stop - hunk.old_end
        own = [edit for edit in left if edit.old <= stop and edit.old_end >= start]
        left = [edit for edit in left if edit not in own]
        yield f"{name}: taken, changed by the person.\n{_quoted(mine, own)}" if own else f"{name}: taken."
    if left:
        yield f"Elsewhere the person changed:\n{_quoted(mine, left)}"


def _place(hunk: Hunk) -> str:
    """Where it stood in the file as it was."""
    if hunk.old == hunk.old_end:
        return f"new lines after line {hunk.old}"
    return f"line {hunk.old + 1}" if hunk.old_end == hunk.old + 1 else f"lines {hunk.old + 1} to {hunk.old_end}"


def _quoted(diff: FileDiff, hunks: Sequence[Hunk]) -> str:
    lines = [line for hunk in hunks for line in _changed(diff, hunk)]
    return cut_middle("\n".join(lines), _QUOTED)


def _changed(diff: FileDiff, hunk: Hunk) -> Iterator[str]:
    for sign, lines in (("-", diff.old[hunk.old : hunk.old_end]), ("+", diff.new[hunk.new : hunk.new_end])):
        yield from (f"{sign}{line.removesuffix(chr(10)).removesuffix(chr(13))}" for line in lines)
