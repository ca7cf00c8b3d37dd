"""Repairs a damaged session file: everything readable goes into a new file, which names the events that are lost.

Events keep their numbers, because other events refer to them. The damaged file is kept unchanged under another name.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from workbench.protocol.events import AgentNudged, Event, SessionStarted, SettingsChanged, event_from_json
from workbench.protocol.risk import Mode
from workbench.session.recovery import after_a_repair
from workbench.session.state import State
from workbench.session.storage.event_rows import UNCHECKED, Row, insert_strings, is_intact, is_named
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.origin import check_is_here, origin_of
from workbench.session.storage.sqlite_pages import Pages, read_pages
from workbench.session.storage.store import Store, StoreError
from workbench.session.storage.store_files import delete_file

_DAMAGED: Final = ".damaged"
_UNFINISHED: Final = ".repairing"
_MOST_NAMED: Final = 10
_LONGEST_GAP: Final = 1_000_000


@dataclass(frozen=True)
class LostSettings:
    """The settings with which a repaired session continues, in case its own are lost."""

    workspace: Path
    model: str
    mode: Mode
    is_scripted: bool = False


@dataclass(frozen=True)
class RepairResult:
    """The result of a repair.

    `saved` is the number of events saved, `lost` describes the lost ones, and `damaged_file` is the new path of the
    damaged file, or None if nothing was damaged. `has_beginning` is false if the first event, with the workspace, was
    lost.
    """

    saved: int
    lost: str = ""
    damaged_file: Path | None = None
    has_beginning: bool = True


@dataclass
class _Salvaged:
    """What was found in a damaged file: rows by event number, and long strings by hash."""

    rows: dict[int, Row] = field(default_factory=dict)
    strings: dict[str, str] = field(default_factory=dict)

    def lines(self) -> dict[int, str]:
        """Return the JSON of the events in order, up to the first gap that is too long for the numbers after it to be
        right.
        """
        lines: dict[int, str] = {}
        last = 0
        for seq in sorted(self.rows):
            line = self.line(seq)
            if seq - last > _LONGEST_GAP:
                break
            if line is not None:
                lines[seq], last = line, seq
        return lines

    def line(self, seq: int) -> str | None:
        """Return the JSON of an event, or None if it, or one of its long strings, is lost."""
        row = self.rows.get(seq)
        if row is None or row[4] is None:
            return None if row is None else row[3]
        try:
            return insert_strings(row[3], row[4], self.strings.__getitem__)
        except (ValueError, TypeError, LookupError):
            return None


def repair(path: Path, beginning: LostSettings) -> RepairResult:
    """Save everything readable in a damaged session. Raises SessionInUse, or StoreError if nothing can be saved.

    An undamaged session is not changed. The damaged content exists at every moment: it is copied to its new name before
    the repaired session takes the old name.
    """
    check_is_here(path.stem, origin_of(path))
    lock = SessionLock.acquire(path)
    try:
        if _is_whole(path):
            return RepairResult(0)
        return _repaired(path, beginning)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"the session file {path} could not be repaired ({error}); it was left as it is") from error
    finally:
        lock.release()


def _is_whole(path: Path) -> bool:
    try:
        with Store.open(path):
            return True
    except StoreError:
        return False


def _repaired(path: Path, beginning: LostSettings) -> RepairResult:
    rows = _search(path)
    lines = rows.lines()
    if not lines:
        raise StoreError(f"no event of the session file {path} can be read; it was left as it is")
    last = max(lines)
    lost = _missing(lines, last)
    unfinished = path.with_name(path.name + _UNFINISHED)
    delete_file(unfinished)
    try:
        _write(unfinished, path.stem, lines, lost, beginning)
        damaged_file = _exchange(path, unfinished)
    except BaseException:
        delete_file(unfinished)
        raise
    return RepairResult(len(lines), _in_words(lost, last), damaged_file, 1 in lines)


def _search(path: Path) -> _Salvaged:
    """Return all intact rows, wherever they are in the file and its write-ahead log."""
    rows = _Salvaged()
    for pages in read_pages(path):
        for row in _rows(pages):
            rows.rows.setdefault(row[0], row)
        for with_rowid in (True, False):  # earlier versions stored long strings without row ids
            for _, columns in pages.records(with_rowid=with_rowid):
                if len(columns) == 2 and isinstance(columns[0], str) and is_named(columns[1], columns[0]):
                    rows.strings[columns[0]] = str(columns[1])
    return rows


def _rows(pages: Pages) -> Iterator[Row]:
    for rowid, columns in pages.records(with_rowid=True):
        if len(columns) not in (5, 6) or columns[0] is not None or rowid < 1:
            continue
        _, kind, at, line, parts = columns[:5]
        crc = columns[5] if len(columns) == 6 else UNCHECKED
        row = (rowid, kind, at, line, parts, crc)
        if is_intact(row) and (crc != UNCHECKED or _is_event(row)):  # type: ignore[arg-type]
            yield row  # type: ignore[misc]


def _is_event(row: tuple[object, ...]) -> bool:
    """Return whether a row without a checksum contains an event with the row's number and kind."""
    try:
        data = json.loads(str(row[3]))
        return isinstance(data, dict) and (data.get("seq"), data.get("kind")) == (row[0], row[1])
    except (ValueError, RecursionError):
        return False


def _missing(lines: dict[int, str], last: int) -> list[tuple[int, int]]:
    """Return the first and last number of each gap."""
    gaps, expected = [], 1
    for seq in (*lines, last + 1):
        if seq > expected:
            gaps.append((expected, seq - 1))
        expected = seq + 1
    return gaps


def _in_words(lost: list[tuple[int, int]], last: int) -> str:
    named = [f"{first}" if first == end else f"{first} to {end}" for first, end in lost[:_MOST_NAMED]]
    more = f" and {len(lost) - _MOST_NAMED} more gaps" if len(lost) > _MOST_NAMED else ""
    behind = f"anything that followed event {last}"
    is_one = len(lost) == 1 and lost[0][0] == lost[0][1]
    return f"event{'' if is_one else 's'} {', '.join(named)}{more}, and {behind}" if named else behind


def _write(path: Path, name: str, lines: dict[int, str], lost: list[tuple[int, int]], beginning: LostSettings) -> None:
    """Write and close the new file, adding events that end everything open; on return all is on the disk."""
    state, last = State(), max(lines)
    first = SessionStarted(
        id=name,
        workspace=str(beginning.workspace),
        model=beginning.model,
        mode=beginning.mode,
        scripted=beginning.is_scripted,
    )
    with Store.create(path) as store:
        store.restore(_followed(_filled(lines, lost, first), state))
        dropped = [SettingsChanged(dropped_rule=rule) for rule in state.rules]
        words = _in_words(lost, last)
        notice = AgentNudged(
            reason="lost",
            text=f"The log of this session was damaged and repaired. Lost are {words}. Look before you rely on them.",
            evidence=f"lost are {words}",
        )
        store.append(SettingsChanged(mode=beginning.mode), *dropped, *after_a_repair(state), notice)
    if Path(f"{path}-wal").exists():
        raise StoreError(f"the repaired session {path} could not be finished; the damaged file was left as it is")


def _followed(entries: Iterator[Event | str], state: State) -> Iterator[Event | str]:
    for entry in entries:
        if not isinstance(entry, str):
            state.apply(entry)
        yield entry


def _filled(lines: dict[int, str], lost: list[tuple[int, int]], first: SessionStarted) -> Iterator[Event | str]:
    """Yield the events in order, those of an unknown kind as JSON.

    A lost first event is replaced with `first`, and any other lost event with one that changes nothing.
    """
    begins = {gap[0]: gap for gap in lost}
    for seq in range(1, max(lines) + 1):
        line = lines.get(seq)
        if line is None:
            yield replace(first, seq=1) if seq == 1 else _substitute(seq, begins.get(seq))
            continue
        try:
            yield replace(event_from_json(line), seq=seq)
        except ValueError:
            yield line


def _substitute(seq: int, gap: tuple[int, int] | None) -> Event:
    if gap is None:
        return SettingsChanged(seq=seq)
    words = f"event {gap[0]} is" if gap[0] == gap[1] else f"events {gap[0]} to {gap[1]} are"
    text = f"{words} lost: the session file was damaged"
    return AgentNudged(seq=seq, reason="lost", text=f"In the log of this session {text}.", evidence=text)


def _exchange(path: Path, repaired: Path) -> Path:
    """Copy the damaged file to a new name and rename the repaired one to the old name; return the path of the copy."""
    damaged_file = _free_name(path)
    _copy(path, damaged_file)
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size:  # merely reading leaves an empty log
        _copy(log, Path(f"{damaged_file}-wal"))
    # The damaged file's log must be deleted before the repaired file is renamed: SQLite would use it as its log.
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    repaired.replace(path)
    for end in ("-wal", "-shm"):
        Path(f"{repaired}{end}").unlink(missing_ok=True)
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return damaged_file


def _free_name(path: Path) -> Path:
    number, damaged_file = 1, path.with_name(path.name + _DAMAGED)
    while damaged_file.exists():
        number += 1
        damaged_file = path.with_name(f"{path.name}{_DAMAGED}-{number}")
    return damaged_file


def _copy(source: Path, target: Path) -> None:
    shutil.copy2(source, target)
    with target.open("rb") as written:
        os.fsync(written.fileno())
