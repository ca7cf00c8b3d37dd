"""Comments of the person on lines of changed files, and the one message they become. No textual here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workbench.diff.hunks import FileDiff
from workbench.tui.diff.rows import Side

LineId = tuple[Side, int]
"""A line of a file, counted from 0, before or after the change."""
_LONGEST_QUOTE = 200


@dataclass
class Comment:
    """What the person says to one line; `quoted` is that line as it was when they said it."""

    path: str
    side: Side
    line: int
    quoted: str
    text: str


class Comments:
    """All comments that are not sent yet; they outlive the viewer, and the screen (see `kept`)."""

    def __init__(self, changed: Callable[[Sequence[Comment]], None] = lambda comments: None) -> None:
        """`changed` hears of all there are after each change."""
        self._all: list[Comment] = []
        self._changed = changed

    def __len__(self) -> int:
        return len(self._all)

    def placed(self, path: str, diff: FileDiff) -> dict[LineId, Comment]:
        """The comments of a file where their lines are now; one whose line is gone stands where it stood."""
        found: dict[LineId, Comment] = {}
        for comment in self._all:
            lines = diff.old if comment.side == "old" else diff.new
            if comment.path == path and lines:
                found[comment.side, _line_now(comment, lines)] = comment
        return found

    def add(self, comments: Iterable[Comment]) -> None:
        """These are there too, from an earlier screen."""
        self._all += comments

    def write(self, comment: Comment, text: str) -> None:
        """Say this to the line of the comment, instead of what was said; nothing takes the comment away."""
        comment.text = text.strip()
        self._all = [other for other in self._all if other is not comment]
        if comment.text:
            self._all.append(comment)
        self._changed(self._all)

    def drop(self, comment: Comment) -> None:
        """Take a comment away."""
        self._all = [other for other in self._all if other is not comment]
        self._changed(self._all)

    def clear(self) -> None:
        """They are sent."""
        self._all.clear()
        self._changed(self._all)

    def message(self) -> str:
        """One message with path, line and the quoted line of each, in the order of the files."""
        comments = sorted(self._all, key=lambda comment: (comment.path, comment.line))
        return "\n\n".join(["Comments on the changes:", *map(_paragraph, comments)])


def _line_now(comment: Comment, lines: Sequence[str]) -> int:
    """The nearest line that reads as the commented one did."""
    line = min(comment.line, len(lines) - 1)
    if lines[line].removesuffix("\n") == comment.quoted:
        return line
    alike = [at for at, text in enumerate(lines) if text.removesuffix("\n") == comment.quoted]
    return min(alike, key=lambda at: abs(at - line), default=line)


def _paragraph(comment: Comment) -> str:
    where = f"{comment.path}:{comment.line + 1}" + (" (before the change)" if comment.side == "old" else "")
    quote = comment.quoted.rstrip("\r")
    if len(quote) > _LONGEST_QUOTE:
        quote = quote[:_LONGEST_QUOTE] + "…"
    return f"{where}\n> {quote}\n{comment.text}"
