"""Damaged session files (truncated, overwritten, flipped bits): repaired ones hold true, valid events and resume."""

from __future__ import annotations

import functools
import random
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.request_checks import openai_faults
from tests.session.fake_agent import Harness, calls, says
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.events import ActionDecided, AgentNudged, Event, SettingsChanged, UserMessage
from workbench.session.session_names import session_path
from workbench.session.state import State
from workbench.session.storage import sqlite_pages
from workbench.session.storage.event_rows import text_of
from workbench.session.storage.lock import SessionInUse, SessionLock
from workbench.session.storage.repair import LostSettings, RepairResult, repair
from workbench.session.storage.session_list import delete, list_sessions
from workbench.session.storage.sqlite_pages import is_log_damaged, read_pages
from workbench.session.storage.store import Store, StoreError
from workbench.session.turn.message_history import messages

SYSTEM = {"role": "system", "content": "the rules"}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of some hundred events with its write-ahead log, as after a kill; a question is open."""
    home = tmp_path / "home"
    home.mkdir()
    script = [calls(("note", {"text": f"n{n}"}), ("look", {}), text="word " * 60) for n in range(25)]
    script[7] = calls(("note", {"text": "long " * 9_000}))
    harness = Harness(home, *script[:20], says("half way"), *script[20:], calls(("note", {"text": "last"}, "HIGH")))
    for text in ("go", "go on"):
        harness.session.send(text)
        while harness.session.step():
            pass
    taken = tmp_path / "taken" / "one.session"
    taken.parent.mkdir()
    for end in ("", "-wal"):
        shutil.copy(f"{harness.store.path}{end}", f"{taken}{end}")
    harness.close()
    return taken


@pytest.fixture
def whole(session: Path) -> Path:
    """The same session without a write-ahead log: everything is in the file."""
    sqlite3.connect(session).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    Path(f"{session}-wal").unlink(missing_ok=True)
    return session


def events_of(path: Path) -> dict[int, Event]:
    with Store.open(path, readonly=True) as store:
        recovered = {event.seq: event for event in store.events()}
        assert not store.gaps
    return recovered


def damaged(path: Path, data: bytes, log: bytes | None = None) -> Path:
    """Return a session file of that content, in an empty directory."""
    directory = path.parent.parent / "damaged"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    copy = directory / path.name
    copy.write_bytes(data)
    if log is not None:
        Path(f"{copy}-wal").write_bytes(log)
    return copy


def beginning(path: Path) -> LostSettings:
    return LostSettings(path.parent, "m", "ask")


def assert_true_and_valid(path: Path, written: dict[int, Event]) -> dict[int, Event]:
    """Check that a repaired file can be resumed, has no wrong event, and leads to no request a provider refuses."""
    Store.open(path).close()
    recovered = events_of(path)
    assert list(recovered) == list(range(1, len(recovered) + 1))
    saved = {seq: event for seq, event in recovered.items() if written.get(seq) == event}
    for seq, event in recovered.items():
        if seq not in saved and seq != 1:
            closes = event.kind in ("action_observed", "action_abandoned", "run_ended")
            assert isinstance(event, AgentNudged | SettingsChanged) or (closes and seq > max(saved, default=0)), event
    ledger = State()
    for event in recovered.values():
        ledger.apply(event)
    assert not ledger.is_running
    assert not ledger.batch
    asked = [*recovered.values(), UserMessage(seq=len(recovered) + 1, text="go on")]
    assert openai_faults([SYSTEM, *messages(asked)]) == []
    return saved


def repaired(path: Path, written: dict[int, Event]) -> dict[int, Event] | None:
    """Return the repaired events, or None if repair reports that none can be saved; it keeps the damaged file."""
    before = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal") if Path(f"{path}{end}").exists()}
    try:
        result = repair(path, beginning(path))
    except StoreError:
        assert path.read_bytes() == before[""]
        assert {file.name for file in path.parent.iterdir()} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}
        return None
    if result.damaged_file is None:
        return events_of(path)
    for end, data in before.items():
        if not data:
            continue
        assert Path(f"{result.damaged_file}{end}").read_bytes() == data
    return assert_true_and_valid(path, written)


def places(size: int, count: int, seed: int) -> Iterator[int]:
    luck = random.Random(seed)
    yield from (luck.randrange(size) for _ in range(count))


def test_all_rows_are_found_without_sqlite(session: Path):
    written = events_of(session)
    seen = [record for record in read_pages(session)[0].records(with_rowid=True) if len(record[1]) == 6]
    assert {rowid for rowid, _ in seen} == set(written)
    assert len(written) > 250


def test_intact_session_is_left_unchanged(whole: Path):
    before = whole.read_bytes()
    assert repair(whole, beginning(whole)) == RepairResult(0)
    assert whole.read_bytes() == before
    assert not list(whole.parent.glob("*.damaged*"))


_EARLIER_LAYOUT = """
ALTER TABLE blobs RENAME TO former;
CREATE TABLE blobs(hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO blobs SELECT hash, text FROM former;
DROP TABLE former;
VACUUM;
"""


def test_long_strings_of_an_earlier_version_are_found_too(whole: Path):
    sqlite3.connect(whole).executescript(_EARLIER_LAYOUT).connection.close()
    written, data = events_of(whole), whole.read_bytes()
    assert repaired(damaged(whole, b"damaged" + data[7:]), written) == written


def test_file_cut_anywhere_keeps_complete_events_before_the_cut(whole: Path):
    written, data, most = events_of(whole), whole.read_bytes(), 0
    for size in [1, 100, 4096, 5000, len(data) - 1, *places(len(data), 15, seed=1)]:
        saved = repaired(damaged(whole, data[:size]), written)
        most = max(most, len(saved or ()))
        # nine tenths of the data before the cut are rows; the rest is the index and a page that was cut
        assert size < 60_000 or saved
    assert most > len(written) * 0.9


def test_log_cut_anywhere_keeps_complete_events_before_the_cut(session: Path):
    written, data, log = events_of(session), session.read_bytes(), Path(f"{session}-wal").read_bytes()
    assert not is_log_damaged(session)
    for size in places(len(log), 8, seed=2):
        assert not is_log_damaged(damaged(session, data, log[:size])), "a kill leaves such a log"
        saved = repaired(damaged(session, data, log[:size]), written)
        assert saved is None or list(saved) == list(range(1, len(saved) + 1)), "a cut log is an earlier moment"
    saved = repaired(damaged(session, data[:4000], log), written)
    assert saved is not None
    assert len(saved) == len(written), "the log has all of it"


def test_any_page_can_be_overwritten_and_the_others_are_saved(whole: Path):
    written, data = events_of(whole), whole.read_bytes()
    junk = random.Random(3).randbytes(4096)
    for page in range(0, len(data) // 4096, 4):
        saved = repaired(damaged(whole, data[: page * 4096] + junk + data[(page + 1) * 4096 :]), written)
        assert saved is not None
        assert len(saved) > len(written) * 0.8
    no_root = bytearray(data)
    no_root[:12_288] = random.Random(4).randbytes(12_288)
    saved = repaired(damaged(whole, bytes(no_root)), written)
    assert saved is not None
    assert len(saved) > len(written) * 0.8, "neither header nor schema nor the root of the events is needed"


def test_bad_page_in_the_middle_of_the_log_loses_only_its_content(session: Path):
    written, data, log = events_of(session), session.read_bytes(), bytearray(Path(f"{session}-wal").read_bytes())
    middle = len(log) // 2
    log[middle : middle + 50] = b"\xff" * 50
    saved = repaired(damaged(session, data, bytes(log)), written)
    assert saved is not None
    assert len(saved) > len(written) * 0.8, "SQLite itself reads up to the damage, and calls that whole"


def test_log_page_with_a_number_in_the_billions_does_not_hang(session: Path):
    written, data, log = events_of(session), session.read_bytes(), bytearray(Path(f"{session}-wal").read_bytes())
    frame = 32 + (4096 + 24) * (len(log) // (4096 + 24) // 2)
    log[frame] ^= 0x80
    begun = time.monotonic()
    saved = repaired(damaged(session, data, bytes(log)), written)
    assert saved is not None
    assert len(saved) > len(written) * 0.8
    assert time.monotonic() - begun < 20


def test_flipped_bit_in_a_log_never_loses_an_event_silently(session: Path, monkeypatch):
    # all pages but one are the same each time, so their checksums are computed once
    monkeypatch.setattr(sqlite_pages, "_sum", functools.lru_cache(4096)(sqlite_pages._sum))
    written, data, log = events_of(session), session.read_bytes(), Path(f"{session}-wal").read_bytes()
    luck, frame, noticed = random.Random(8), 4096 + 24, 0
    headers = [end + offset for end in range(len(log) - 8 * frame, len(log), frame) for offset in range(24)]
    last = [len(log) - 8 * frame + at for at in places(8 * frame, 60, seed=9)]
    for at in [*range(32), *headers, *last, *places(len(log), 20, seed=10)]:
        flipped = bytearray(log)
        flipped[at] ^= 1 << luck.randrange(8)
        path = damaged(session, data, bytes(flipped))
        is_noticed = is_log_damaged(path)
        assert is_noticed or events_of(path) == written, f"byte {at} of {len(log)}"
        noticed += is_noticed
    assert noticed > 150


def test_flipped_bit_in_the_last_commit_is_reported_by_the_list_and_repaired(session: Path):
    written, data, log = events_of(session), session.read_bytes(), bytearray(Path(f"{session}-wal").read_bytes())
    log[-(4096 + 24) - 100] ^= 4  # the last page before the seal
    path = damaged(session, data, bytes(log))
    assert len(events_of(path)) < len(written), "SQLite itself passes over it"
    with pytest.raises(StoreError, match="what was written last"):
        Store.open(path)
    where = Locations(*(path.parent,) * 4)
    where.sessions.mkdir(exist_ok=True)
    for end in ("", "-wal"):
        shutil.copy(f"{path}{end}", f"{session_path(where, 'one')}{end}")
    assert "what was written last" in list_sessions(where, check=True)[0].damaged
    saved = repaired(path, written)
    assert saved is not None
    assert len(saved) >= len(written) - 1


def test_flipped_bits_never_alter_the_content_of_an_event(whole: Path):
    written, data, changed = events_of(whole), whole.read_bytes(), 0
    luck = random.Random(6)
    for at in places(len(data), 40, seed=5):
        flipped = bytearray(data)
        flipped[at] ^= 1 << luck.randrange(8)
        saved = repaired(damaged(whole, bytes(flipped)), written)
        assert saved is not None
        assert saved.items() <= written.items()
        assert len(saved) >= len(written) - 30
        changed += len(saved) < len(written)
    assert changed > 5


@pytest.mark.parametrize("taken", [(1,), (40, 41, 42), (30, 90)])
def test_missing_rows_are_detected_reported_and_repaired(whole: Path, taken: tuple[int, ...]):
    written = events_of(whole)
    db = sqlite3.connect(whole)
    db.executemany("DELETE FROM events WHERE seq = ?", [(seq,) for seq in taken])
    db.commit()
    db.execute("VACUUM")
    db.close()
    with pytest.raises(StoreError, match=f"event {taken[0]} is missing"):
        Store.open(whole)
    with Store.open(whole, readonly=True) as store:
        here = {event.seq for event in store.events()}
        gone = {seq for gap in store.gaps for seq in range(gap.first, gap.last + 1)}
        assert {gap.reason for gap in store.gaps} == {"is missing"}
    assert gone == set(written) - here == set(taken)
    saved = repaired(whole, written)
    assert saved is not None
    assert set(saved) >= here


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_rows_missing_at_the_end_are_detected_by_the_word_index(whole: Path, count: int):
    written = events_of(whole)
    last_words = max(seq for seq, event in written.items() if text_of(event))
    db = sqlite3.connect(whole)
    db.execute("DELETE FROM events WHERE seq > ?", (last_words - count,))
    db.commit()
    db.execute("VACUUM")
    db.close()
    expected = f"event {last_words} is missing" if count == 1 else f"events .* to {last_words} at least are missing"
    with pytest.raises(StoreError, match=expected):
        Store.open(whole)
    assert "anything that followed event" in repair(whole, beginning(whole)).lost
    with Store.open(whole) as store:
        assert store.last_seq >= last_words - count


def test_lost_events_are_named_and_open_actions_closed(whole: Path):
    with Store.open(whole) as store:
        rule = {"verdict": "allow", "tool": "note", "pattern": "x"}
        store.append(SettingsChanged(mode="never", rule=str(rule)))
    written = events_of(whole)
    decided = next(seq for seq, event in written.items() if isinstance(event, ActionDecided))
    db = sqlite3.connect(whole)
    db.execute("UPDATE events SET json = replace(json, 'approved', 'rejected') WHERE seq = ?", (decided,))
    db.execute("UPDATE events SET at = 'odd' WHERE seq IN (1, 50, 51)")
    db.commit()
    db.close()
    result = repair(whole, beginning(whole))
    assert result.lost.startswith(f"events 1, {decided}, 50 to 51, and anything that followed event {max(written)}")
    assert (result.saved, result.has_beginning) == (len(written) - 4, False)
    recovered = list(events_of(whole).values())
    lost = [event.evidence for event in recovered if isinstance(event, AgentNudged)]
    assert any("events 50 to 51 are lost" in each for each in lost)
    assert lost[-1] == f"lost are {result.lost}"
    ledger = State()
    for event in recovered:
        ledger.apply(event)
    assert (ledger.mode, ledger.rules, ledger.workspace) == ("ask", (), str(whole.parent))
    assert any(event.kind == "action_abandoned" for event in recovered[len(written) :]), "it may have been approved"


def test_second_damage_keeps_both_files_and_deleting_removes_all(whole: Path, tmp_path: Path):
    where = Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")
    path = session_path(where, "one")
    path.parent.mkdir(parents=True)
    shutil.copy(whole, path)
    for _ in range(2):
        db = sqlite3.connect(path)
        db.execute("UPDATE events SET at = 'odd' WHERE seq = 40")
        db.commit()
        db.close()
        assert "event 40: its checksum differs" in next(iter(list_sessions(where, check=True))).damaged
        lock = SessionLock.acquire(path)
        with pytest.raises(SessionInUse):
            repair(path, beginning(path))
        lock.release()
        repair(path, beginning(path))
        assert not next(iter(list_sessions(where, check=True))).damaged
    assert {file.name for file in path.parent.iterdir() if not file.name.endswith(("session-wal", "session-shm"))} == {
        "one.session",
        "one.session.damaged",
        "one.session.damaged-2",
    }
    delete(where, "one")
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 9_000, b"SQLite format 3\0" + b"\xff" * 9_000])
def test_unreadable_file_stays(tmp_path: Path, content: bytes):
    path = tmp_path / "one.session"
    path.write_bytes(content)
    with pytest.raises(WorkbenchError, match="no event of the session file"):
        repair(path, beginning(path))
    assert [file.name for file in tmp_path.iterdir()] == ["one.session"]
    assert path.read_bytes() == content


def test_file_without_checksums_is_repaired_too(whole: Path):
    written = events_of(whole)
    db = sqlite3.connect(whole)
    db.execute("ALTER TABLE events DROP COLUMN crc")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.execute("VACUUM")
    db.close()
    data = bytearray(whole.read_bytes())
    data[4096 * 30 : 4096 * 31] = b"\xee" * 4096
    saved = repaired(damaged(whole, bytes(data)), written)
    assert saved is not None
    assert len(saved) > len(written) * 0.8
