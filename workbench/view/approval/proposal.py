"""The user's version of an action: accepted hunks, their edited text, and the arguments as text to edit.

A command is edited as it is, any other arguments as JSON.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from workbench.diff.hunks import FileDiff, Hunk, split_lines
from workbench.diff.partial import chosen_of_each, content_with
from workbench.errors import WorkbenchError
from workbench.tools.manifest import kind_of


def argument_text(tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return a title and the arguments as text to edit."""
    if _is_command(tool, arguments):
        return "The command", str(arguments["command"])
    return "The arguments, as JSON", json.dumps(dict(arguments), ensure_ascii=False, indent=2, default=str)


def arguments_from(tool: str, arguments: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the arguments in the edited text. Raises WorkbenchError with a one-line message if they are invalid."""
    if _is_command(tool, arguments):
        if not text.strip():
            raise WorkbenchError("there is no command")
        return {**arguments, "command": text}
    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise WorkbenchError(f"not JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise WorkbenchError("the arguments are one object, in braces")
    return parsed


def _is_command(tool: str, arguments: Mapping[str, Any]) -> bool:
    return kind_of(tool) == "command" and isinstance(arguments.get("command"), str)


Written = tuple[tuple[str, str | None], ...]
"""The path and text of each file; None means that the file should not exist."""


class Proposal:
    """The user's version of one action; hunks are numbered from 0 across all its files."""

    def __init__(self, files: Sequence[FileDiff] = (), paths: Sequence[str] = ()) -> None:
        self._files = tuple(files)
        self._paths = tuple(paths) or tuple(diff.path for diff in files)
        self._firsts = [0, *accumulate(len(diff.hunks) for diff in files)]
        self._edits: dict[int, str] = {}
        self.out: set[int] = set()
        """The rejected hunks."""
        self.arguments: dict[str, Any] | None = None
        """The arguments as edited by the user; None if they are the agent's."""

    @property
    def count(self) -> int:
        """The number of hunks."""
        return self._firsts[-1]

    @property
    def accepted(self) -> tuple[int, ...]:
        """The accepted hunks, including edited ones."""
        return tuple(hunk for hunk in range(self.count) if hunk not in self.out)

    @property
    def edited(self) -> tuple[int, ...]:
        """The hunks whose text differs from the proposal."""
        return tuple(sorted(self._edits))

    @property
    def is_changed(self) -> bool:
        """Whether anything differs from the proposal."""
        return bool(self.out or self._edits or self.arguments is not None)

    @property
    def how_changed(self) -> str:
        """What the user has done to the proposal, in a few words; empty if nothing."""
        if self._edits or self.arguments is not None:
            return "you edited it"
        return f"you skipped {'a hunk' if len(self.out) == 1 else 'hunks'}" if self.out else ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to approve."""
        return self.count > 0 and len(self.out) == self.count

    def toggle(self, hunk: int) -> None:
        """Reject a hunk, or accept it again."""
        self.out ^= {hunk}

    def text(self, hunk: int) -> str:
        """Return the current new text of a hunk."""
        file, part = self._part(hunk)
        return self._edits.get(hunk, "".join(file.new[part.new : part.new_end]))

    def edit(self, hunk: int, text: str) -> None:
        """Set the text of a hunk. Its old text rejects the hunk, and the proposed text accepts it unedited.

        A missing final newline is added, except at the end of the file.
        """
        file, part = self._part(hunk)
        is_last = part.old_end == len(file.old)
        if text and not text.endswith("\n") and not is_last:
            text += "\n"
        self._edits.pop(hunk, None)
        self.out.discard(hunk)
        if text == "".join(file.new[part.new : part.new_end]):
            return
        if text == "".join(file.old[part.old : part.old_end]):
            self.out.add(hunk)
        else:
            self._edits[hunk] = text

    def adopt(self, other: Proposal) -> int:
        """Copy the user's changes from an earlier version of the action; return how many do not fit this one.

        A change to a hunk fits if exactly one hunk here, of the same file, replaces the same lines by the same lines.
        """
        self.arguments = other.arguments
        own: dict[tuple[str, str, str], list[int]] = {}
        for hunk in range(self.count):
            own.setdefault(self._content(hunk), []).append(hunk)
        lost = 0
        for hunk in sorted({*other.out, *other._edits}):
            match = own.get(other._content(hunk), [])
            if len(match) != 1:
                lost += 1
            elif hunk in other.out:
                self.out.add(match[0])
            else:
                self._edits[match[0]] = other._edits[hunk]
        return lost

    def edited_files(self) -> list[FileDiff]:
        """Return the files with the edits applied; they have the same hunks in the same order, even rejected ones."""
        return [self._with_edits(file) for file in range(len(self._files))]

    def written(self) -> Written:
        """Return the new content of each file."""
        edited = self.edited_files()
        if not self.out:
            return tuple((path, diff.after) for path, diff in zip(self._paths, edited, strict=True))
        each = chosen_of_each(edited, self.accepted)
        return tuple(
            (path, content_with(diff, chosen)) for path, diff, chosen in zip(self._paths, edited, each, strict=True)
        )

    def where(self, hunk: int) -> tuple[str, int, int]:
        """Return the file of a hunk, and the first and last line of its old text (from 1)."""
        file, part = self._part(hunk)
        return file.path, part.old + 1, part.old_end

    def _part(self, hunk: int) -> tuple[FileDiff, Hunk]:
        file = bisect_right(self._firsts, hunk) - 1
        return self._files[file], self._files[file].hunks[hunk - self._firsts[file]]

    def _content(self, hunk: int) -> tuple[str, str, str]:
        """Return the file of a hunk, its old text and its proposed text."""
        file, part = self._part(hunk)
        return file.path, "".join(file.old[part.old : part.old_end]), "".join(file.new[part.new : part.new_end])

    def _with_edits(self, file: int) -> FileDiff:
        diff, first = self._files[file], self._firsts[file]
        if not any(first <= hunk < first + len(diff.hunks) for hunk in self._edits):
            return diff
        new: list[str] = []
        hunks: list[Hunk] = []
        old = 0
        for index, hunk in enumerate(diff.hunks):
            new += diff.old[old : hunk.old]
            start = len(new)
            new += split_lines(self.text(first + index))
            hunks.append(hunk._replace(new=start, new_end=len(new)))
            old = hunk.old_end
        new += diff.old[old:]
        return FileDiff(diff.path, diff.before, "".join(new), diff.old, new, tuple(hunks))


def renewal_news(proposal: Proposal, lost: int) -> str:
    """Return the line above a question that is asked again; the question's reasons say what has changed in the action.

    `lost` is the number of the user's changes that no longer fit.
    """
    remaining = len(proposal.edited) + len(proposal.out)
    news = "This is a new version."
    if lost:
        gone = (
            "1 of your changes no longer fits and is" if lost == 1 else f"{lost} of your changes no longer fit and are"
        )
        return f"{news} {gone} dropped: look at the hunks again."
    return f"{news} Your changes to its hunks are kept." if remaining else news
