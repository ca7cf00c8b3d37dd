"""The blame of a file as rows and descriptions, for the Blame screen and `ohw blame`; all strings are safe to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from workbench.config.locations import Locations
from workbench.session.blame.blame import Blame, blame_file
from workbench.session.blame.history import Writer
from workbench.session.blame.origins import Origin, origins_of
from workbench.text import first_line, revealed, visible, visible_path
from workbench.view.action_reducer import action_item
from workbench.view.formatting.actions import title_of
from workbench.view.formatting.sessions import when

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
    text: str
    source: LineSource
    is_first: bool


class BlameView(Struct, frozen=True):
    """The blame of a file, described."""

    path: str
    rows: tuple[BlameRow, ...]
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    blame: Blame | None = None
    sources: dict[Writer, LineSource] = {}

    def counts(self) -> list[tuple[str, int]]:
        """Return the number of lines of each kind of writer, the most first."""
        counts: dict[str, int] = {}
        for row in self.rows:
            counts[row.source.who] = counts.get(row.source.who, 0) + 1
        return sorted(counts.items(), key=lambda each: -each[1])


def read_blame(locations: Locations, workspace: Path, name: str) -> BlameView:
    """Blame a file; call it in a thread. Raises WorkbenchError."""
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
        rows.append(BlameRow(line.number, visible(line.text.expandtabs(4), lines=False), source, is_first))
    return BlameView(
        visible_path(blame.path),
        tuple(rows),
        tuple(map(visible_path, blame.names)),
        tuple(visible(note, lines=False) for note in blame.notes),
        blame,
        sources,
    )


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
    marks = {source.writer: mark for source, mark in zip(view.sources.values(), _marks(), strict=False)}
    width = len(str(view.rows[-1].number)) if view.rows else 1
    widest = max((len(marks[row.source.writer]) for row in view.rows), default=1)
    for row in view.rows:
        writer = row.source.writer
        yield f"{row.number:>{width}}  {marks[writer]:<{widest}}  {age(writer.at, now):>4}  {row.text}".rstrip()
    for source in view.sources.values():
        yield ""
        at = f"  {when(source.writer.at, now)}" if source.writer.at and source.who != "?" else ""
        yield f"{marks[source.writer]}  {source.title}{at}"
        yield from (f"   {label:<9} {value}" for label, value in source.facts())
    if view.names:
        yield ""
        yield f"Before it was renamed: {', '.join(view.names)}"


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
    """Return a blame as plain data, for JSON: the writers, and the number of one of them for each line."""
    numbers = {writer: number for number, writer in enumerate(view.sources)}
    return {
        "path": view.path,
        "earlier_paths": list(view.names),
        "writers": [_writer_data(source) for source in view.sources.values()],
        "lines": [{"line": row.number, "text": row.text, "writer": numbers[row.source.writer]} for row in view.rows],
        "notes": list(view.notes),
    }


def _writer_data(source: LineSource) -> dict[str, Any]:
    writer = source.writer
    data: dict[str, Any] = {
        "by": {"agent": "agent", "user": "user", "outside": "user", "before": "before"}.get(writer.kind, "unknown"),
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
    return data


def sources_between(rows: Sequence[BlameRow]) -> list[LineSource]:
    """Return the sources of rows, each once, in order."""
    return list(dict.fromkeys(row.source for row in rows))
