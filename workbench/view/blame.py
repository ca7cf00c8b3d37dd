"""The blame of a file as rows and descriptions, for the Blame screen and `ohw blame`; all strings are safe to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from rich.cells import cell_len

from workbench.config.locations import Locations
from workbench.diff.line_matching import matching_blocks
from workbench.session.blame.blame import Blame, blame_file
from workbench.session.blame.history import Writer
from workbench.session.blame.origins import Origin, origins_of
from workbench.text import counted, first_line, revealed, visible, visible_path, well_formed
from workbench.view.action_reducer import action_item
from workbench.view.formatting.actions import title_of
from workbench.view.formatting.sessions import when
from workbench.view.wrapping import Line, Piece, clip, pad

_LONGEST, _TITLE = 300, 80
_WHO: Final = {"agent": "agent", "user": "you", "outside": "you", "before": "before", "unknown": "?"}
_HOW: Final = {
    "user": "You, in ohw",
    "outside": "You, with another program",
    "before": "Written before the first session",
    "unknown": "Not traced",
}


class LineSource(Struct, frozen=True):
    """The writer of some lines, described for the user."""

    writer: Writer
    who: str
    """One word: agent, you, before or ?"""
    title: str
    """What the action did, or who made the change and how."""
    prompt: str = ""
    model: str = ""
    approval: str = ""
    session: str = ""
    """The title of the session."""
    is_edited: bool = False

    @property
    def is_action(self) -> bool:
        """Whether there is an action, or a command of the user's, to go to."""
        return bool(self.writer.session and self.writer.action_id)

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what is known about the writer, each with its label."""
        if self.prompt:
            yield "prompt", self.prompt
        if self.model:
            yield "model", self.model
        if self.approval:
            yield "approved", self.approval
        if self.session:
            yield "session", f"{self.session} ({self.writer.session})"


class BlameRow(Struct, frozen=True):
    """One line of the file and its source; `is_first` says that the line before it has another one."""

    number: int
    content: str
    """The line as the file has it, unescaped."""
    source: LineSource
    is_first: bool

    @property
    def text(self) -> str:
        """The line, safe to show."""
        return visible(self.content.expandtabs(4), lines=False)


class BlameView(Struct, frozen=True):
    """The blame of a file, described; its paths are unescaped."""

    workspace: str
    path: str
    rows: tuple[BlameRow, ...]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> list[LineSource]:
        """The sources of the lines, in the order of their first line."""
        return list(dict.fromkeys(row.source for row in self.rows))

    def counts(self) -> list[tuple[str, int]]:
        """Return the number of lines of each kind of writer, the most first."""
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.source.who] = counts.get(row.source.who, 0) + 1
        return sorted(counts.items(), key=lambda each: -each[1])


def row_with_line(blame: BlameView, lines: Sequence[str], index: int) -> tuple[int, bool]:
    """Return the index of the row with line `index` (from 0) of another version of the file, and whether there is one.

    If the line is gone, the index is that of the row after the lines that precede it.
    """
    rows = [row.content.rstrip("\r\n") for row in blame.rows]
    row = 0
    for block in matching_blocks([line.rstrip("\r\n") for line in lines], rows):
        if block.old > index:
            break
        if index < block.old + block.size:
            return block.new + index - block.old, True
        row = block.new + block.size
    return min(row, max(0, len(rows) - 1)), False


def read_blame(locations: Locations, workspace: Path, name: str) -> BlameView:
    """Return the blame of a file. It blocks, so call it in a thread. Raises WorkbenchError."""
    return described(locations, blame_file(locations, workspace, name))


def described(locations: Locations, blame: Blame) -> BlameView:
    """Return a blame with the descriptions of its writers."""
    writers = blame.writers
    origins = origins_of(locations, writers)
    sources = {writer: _source(writer, origins.get(writer, Origin()), blame.workspace) for writer in writers}
    rows: list[BlameRow] = []
    for line in blame.lines:
        source = sources[line.writer]
        is_first = not rows or rows[-1].source is not source
        rows.append(BlameRow(line.number, line.text, source, is_first))
    notes = tuple(visible(note, lines=False) for note in blame.notes)
    return BlameView(blame.workspace, blame.path, tuple(rows), blame.names, notes)


def _source(writer: Writer, origin: Origin, workspace: str) -> LineSource:
    return LineSource(
        writer,
        _WHO[writer.kind],
        _title(writer, origin, workspace),
        prompt=_one_line(origin.prompt, _LONGEST),
        model=visible(origin.model, lines=False),
        approval=_approval(origin),
        session=_one_line(origin.title, _TITLE) or writer.session,
        is_edited=origin.approval is not None and (origin.approval.is_edited or origin.approval.is_partial),
    )


@lru_cache(maxsize=64)
def _one_line(text: str, width: int) -> str:
    return first_line(text, width, revealed)


def _title(writer: Writer, origin: Origin, workspace: str) -> str:
    if origin.call is not None:
        title = title_of(action_item(origin.call), workspace).text
        agent = f"{visible(origin.agent, lines=False)}: " if origin.agent else ""
        return f"{agent}{title}"
    if origin.command:
        return f"Your command: {first_line(origin.command, _LONGEST, revealed)}"
    if writer.kind == "agent":
        return "An action that its log lacks"
    reason = f": {visible(writer.reason, lines=False)}" if writer.kind == "unknown" and writer.reason else ""
    return f"{_HOW[writer.kind]}{reason}"


def _approval(origin: Origin) -> str:
    approval = origin.approval
    if approval is None:
        return ""
    if approval.by != "person":
        return f"by {visible(approval.rule, lines=False)}" if approval.rule else f"by a {visible(approval.by)}"
    part = " in part" if approval.is_partial else " after editing it" if approval.is_edited else ""
    return f"by you{part}"


def age(at: datetime | None, now: datetime) -> str:
    """Return how long ago a moment was, in at most four characters; empty if it is unknown."""
    if at is None:
        return ""
    seconds = max(0, int((now - at).total_seconds()))
    for size, unit in ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def blame_text(view: BlameView, now: datetime) -> Iterator[str]:
    """Yield the lines of `ohw blame`: each line of the file with the mark of its writer, then the writers."""
    sources = view.sources
    marks = {id(source): mark for source, mark in zip(sources, _marks(), strict=False)}
    width = len(str(view.rows[-1].number)) if view.rows else 1
    widest = max(map(len, marks.values()), default=1)
    for row in view.rows:
        mark, when_written = marks[id(row.source)], age(row.source.writer.at, now)
        yield f"{row.number:>{width}}  {mark:<{widest}}  {when_written:>4}  {row.text}".rstrip()
    for source in sources:
        yield ""
        at = source.writer.at
        yield f"{marks[id(source)]}  {source.title}{f'  {when(at, now)}' if at and source.who != '?' else ''}"
        yield from (f"   {label:<9} {value}" for label, value in source.facts())
    if view.names:
        yield ""
        yield f"Before it was renamed: {', '.join(map(visible_path, view.names))}"


def _marks() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield _letters(number)


def _letters(number: int) -> str:
    """Return a, b, … z, aa, ab, … for 1, 2, …"""
    name = ""
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("a") + digit) + name
    return name


def blame_data(view: BlameView) -> dict[str, Any]:
    """Return a blame as plain data, for JSON: the writers, and the lines, each with the number of its writer."""
    sources = view.sources
    numbers = {id(source): number for number, source in enumerate(sources)}
    return {
        "path": well_formed(view.path),
        "earlier_paths": list(map(well_formed, view.names)),
        "writers": list(map(_writer_data, sources)),
        "lines": [{"line": row.number, "text": row.content, "writer": numbers[id(row.source)]} for row in view.rows],
        "notes": list(view.notes),
    }


def _writer_data(source: LineSource) -> dict[str, Any]:
    writer = source.writer
    return {
        "by": "user" if source.who == "you" else writer.kind,
        "what": source.title,
        "at": writer.at.isoformat() if writer.at else None,
        "session": writer.session or None,
        "event": writer.seq or None,
        "action_id": writer.action_id or None,
        "prompt": source.prompt or None,
        "model": source.model or None,
        "approved": source.approval or None,
        "edited_by_user": source.is_edited,
        "reason": visible(writer.reason, lines=False) or None if writer.kind == "unknown" else None,
    }


_WITH_TITLE, _WITH_WHO, _WITH_AGE = 90, 40, 30
_TITLE_WIDTH: Final = 30
_STYLES: Final = {"agent": "tool", "you": "accent", "before": "dim", "?": "waiting"}


def blame_row(row: BlameRow, digits: int, width: int, now: datetime) -> Line:
    """Return one row of exactly `width` cells: the writer, named on the first of its lines, the number and the line."""
    source, is_first = row.source, row.is_first
    head: Line = []
    if width >= _WITH_WHO:
        head.append(Piece(pad(source.who if is_first else "", 7), _STYLES[source.who]))
    if width >= _WITH_AGE:
        head.append(Piece(pad(age(source.writer.at, now) if is_first else "", 5, right=True) + "  ", "dim"))
    if width >= _WITH_TITLE:
        title = source.title if is_first and source.is_action else ""
        head.append(Piece(pad(clip(title, _TITLE_WIDTH), _TITLE_WIDTH + 2)))
    head.append(Piece(f"{row.number:>{digits}} ", "dim"))
    head.append(Piece("┃ " if is_first else "│ ", _STYLES[source.who]))
    available = max(0, width - sum(cell_len(piece.text) for piece in head))
    return [*head, Piece(pad(clip(row.text, available), available), "dim" if source.who == "before" else "")]


def blame_note(source: LineSource, now: datetime) -> list[Line]:
    """Return three lines about a writer: the action, the prompt behind it, and what else is known."""
    writer = source.writer
    moment = f"  {when(writer.at, now)} · {age(writer.at, now)} ago" if writer.at and source.who != "?" else ""
    facts = dict(source.facts())
    prompt = facts.pop("prompt", "")
    rest = "   ".join(f"{label} {value}" for label, value in facts.items())
    return [
        [Piece(source.title, "bold"), Piece(moment, "dim")],
        [Piece("prompt ", "dim"), Piece(prompt)] if prompt else [],
        [Piece(rest, "dim")],
    ]


def summary(view: BlameView) -> str:
    """Return how many lines each kind of writer wrote, such as `12 lines: 8 agent, 4 you`."""
    counts = ", ".join(f"{count:,} {who if who != '?' else 'not traced'}" for who, count in view.counts())
    return f"{counted(len(view.rows), 'line')}: {counts}" if counts else "no lines"
