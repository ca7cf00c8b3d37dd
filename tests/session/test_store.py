import hashlib
import os
import random
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.fakes.full_disk import room_for
from workbench.protocol.events import ActionObserved, ModelResponded, SessionStarted, UserMessage
from workbench.session.storage.event_rows import insert_row
from workbench.session.storage.store import SCHEMA_VERSION, Store, StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "one.ohw"


def started(workspace: str = "/tmp/x") -> SessionStarted:
    return SessionStarted(id="one", workspace=workspace, model="m", mode="medium")


def filled(path: Path, count: int, text: str = "words " * 40) -> None:
    with Store.create(path) as store:
        store.append(started())
        store.append(*(UserMessage(text=f"{number} {text}") for number in range(2, count + 1)))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_events_are_numbered_from_one_and_read_back(path):
    with Store.create(path) as store:
        first = store.append(started())
        more = store.append(UserMessage(text="a"), UserMessage(text="ä\x00\t€"))
        assert [event.seq for event in (*first, *more)] == [1, 2, 3]
        assert tuple(store.events()) == (*first, *more)
    with Store.open(path) as store:
        assert tuple(store.events()) == (*first, *more)
        assert tuple(store.events(after=1, limit=1)) == more[:1]
        assert (store.last_seq, store.gaps) == (3, [])


def test_file_is_private_and_identifies_its_format(path):
    with Store.create(path) as store:
        store.append(started())
        modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {0o600}
    with pytest.raises(StoreError, match="exists already"):
        Store.create(path)
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    db.close()


def test_long_strings_are_stored_once_and_read_back(path):
    long, other = "x" * 50_000, "ü" * 20_000
    payload = {"content": [{"type": "text", "text": long}], "deep": [{"a": [long, other, "short"]}], "null": None}
    event = ActionObserved(action_id="a", observation=payload)
    with Store.create(path) as store:
        appended = store.append(event, event, UserMessage(text=long))
        assert tuple(store.events()) == appended
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM blobs").fetchone()[0] == 2
    assert db.execute("SELECT sum(length(json)) FROM events").fetchone()[0] < 2_000
    db.close()


def test_lone_surrogates_are_replaced(path):
    with Store.create(path) as store:
        (appended,) = store.append(ActionObserved(action_id="a", observation={"text": "\udcff", "\ud800": ["\udfff"]}))
        assert appended.observation == {"text": "\ufffd", "\ufffd": ["\ufffd"]}
        assert tuple(store.events()) == (appended,)


def test_screen_reads_while_the_engine_writes(path):
    with Store.create(path) as store:
        store.append(started())
        with Store.open(path, readonly=True) as reader:
            assert reader.last_seq == 1
            store.append(UserMessage(text="new"))
            assert reader.refresh() == 2
            assert [event.seq for event in reader.events(after=1)] == [2]
            with pytest.raises(StoreError, match="reading only"):
                reader.append(UserMessage(text="no"))


def test_search_finds_words_newest_first(path):
    with Store.create(path) as store:
        store.append(started(), UserMessage(text="fix the parser"), ModelResponded(response_id="r", model="m"))
        store.append(
            ActionObserved(action_id="a", observation={"content": [{"type": "text", "text": "Parser ok"}]}),
            UserMessage(text='a "quoted* thing'),
        )
        assert store.search("parser") == [4, 2]
        assert store.search('the "pars') == [2]
        assert store.search('"quoted*') == [5]
        assert store.search("  * ") == []


def test_file_of_a_newer_version_opens_read_only(path):
    filled(path, 3)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    db.close()
    before = digest(path)
    with Store.open(path) as store:
        assert store.readonly
        assert len(list(store.events())) == 3
        with pytest.raises(StoreError, match="reading only"):
            store.append(UserMessage(text="no"))
    assert digest(path) == before


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00" * 5_000, b"SQLite format 3\x00" + b"\xff" * 9_000])
def test_file_that_is_no_session_is_reported(path, content):
    path.write_bytes(content)
    for readonly in (True, False):
        with pytest.raises(StoreError, match=r"one\.ohw"):
            Store.open(path, readonly=readonly)
    assert path.read_bytes() == content


def test_other_databases_and_missing_files_are_reported(path):
    with pytest.raises(StoreError, match="there is no session file"):
        Store.open(path)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE a(b)")
    db.close()
    with pytest.raises(StoreError, match="not a session file"):
        Store.open(path)
    with pytest.raises(StoreError, match="cannot create"):
        Store.create(path.parent / "none" / "x.ohw")


def assert_one_line(error: StoreError, path: Path) -> None:
    assert path.name in str(error)
    assert "\n" not in str(error)


def opened_quietly(path: Path) -> list[int] | None:
    """Return what can be read of a damaged file, or None if the error is one line; the file is never changed."""
    before = digest(path)
    try:
        with Store.open(path, readonly=True) as store:
            numbers = [event.seq for event in store.events()]
            gaps = store.gaps
    except StoreError as error:
        assert_one_line(error, path)
        return None
    finally:
        assert digest(path) == before
    assert numbers == sorted(set(numbers))
    assert gaps or not numbers or numbers == list(range(1, len(numbers) + 1))
    return numbers


def test_file_cut_anywhere_is_read_as_far_as_possible_and_unchanged(path, tmp_path):
    filled(path, 300)
    whole = path.read_bytes()
    cut = tmp_path / "cut.ohw"
    luck = random.Random(7)
    read_some = 0
    for size in [1, 99, 4096, 8192, len(whole) - 99, *(luck.randrange(len(whole)) for _ in range(60))]:
        cut.write_bytes(whole[:size])
        read_some += bool(opened_quietly(cut))
        try:
            Store.open(cut).close()
        except StoreError as error:
            assert_one_line(error, cut)
            assert cut.read_bytes() == whole[:size]
    assert read_some


def test_file_and_wal_cut_anywhere_never_cause_a_traceback(path, tmp_path):
    with Store.create(path) as store:
        store.append(started())
        store.append(*(UserMessage(text=f"{n} {'words ' * 40}") for n in range(300)))
        main, wal = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    luck = random.Random(11)
    for number in range(30):
        copy = tmp_path / f"copy{number}.ohw"
        copy.write_bytes(main)
        Path(f"{copy}-wal").write_bytes(wal[: luck.randrange(len(wal))])
        copied_store = opened_quietly(copy)
        assert copied_store is None or copied_store == list(range(1, len(copied_store) + 1))


def test_overwritten_page_leaves_the_rest_readable_with_a_gap(path, tmp_path):
    filled(path, 600)
    whole = path.read_bytes()
    junk = random.Random(3).randbytes(4096)
    partly = 0
    for page in range(1, len(whole) // 4096):
        bad = tmp_path / "bad.ohw"
        bad.write_bytes(whole[: page * 4096] + junk + whole[(page + 1) * 4096 :])
        store = opened_quietly(bad)
        partly += store is not None and 0 < len(store) < 600
    assert partly > 10


def test_damaged_file_is_not_written_to(path):
    filled(path, 600)
    whole = bytearray(path.read_bytes())
    whole[4096 * 20 : 4096 * 21] = os.urandom(4096)
    path.write_bytes(bytes(whole))
    with pytest.raises(StoreError, match="left as it is"):
        Store.open(path)
    assert path.read_bytes() == bytes(whole)


def rewrite(db: sqlite3.Connection, seq: int, line: str, parts: str | None = None) -> None:
    """Replace the text of an event, with a valid checksum, as a program would write it."""
    kind, at = db.execute("SELECT kind, at FROM events WHERE seq = ?", (seq,)).fetchone()
    db.execute("DELETE FROM events WHERE seq = ?", (seq,))
    insert_row(db, (seq, kind, at, line, parts))


def make_old(path: Path) -> None:
    """Make the file one of version 1, which had no checksums."""
    db = sqlite3.connect(path)
    db.execute("ALTER TABLE events DROP COLUMN crc")
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()


def texts_of(store: Store) -> dict[int, str]:
    return {event.seq: event.text for event in store.events() if isinstance(event, UserMessage)}


@pytest.mark.parametrize("column", ["kind", "at", "json", "seq", "text"])
def test_altered_event_is_a_gap_and_the_file_is_not_continued(path, column):
    with Store.create(path) as store:
        store.append(started(), UserMessage(text="one"), UserMessage(text="x" * 20_000), UserMessage(text="two"))
    db = sqlite3.connect(path)
    if column == "text":
        db.execute("UPDATE blobs SET text = replace(text, 'xxxxx', 'xxYxx')")
    elif column == "seq":
        db.execute("UPDATE events SET seq = 6 WHERE seq = 3")
    else:
        db.execute(f"UPDATE events SET {column} = {column} || ' ' WHERE seq = 3")
    db.commit()
    db.close()
    with Store.open(path, readonly=True) as store:
        assert texts_of(store) == {2: "one", 4: "two"}
        *missing, (first, why) = [(gap.first, gap.reason) for gap in store.gaps]
        assert missing == ([(3, "is missing"), (5, "is missing")] if column == "seq" else [])
        assert first == (6 if column == "seq" else 3)
        assert "checksum differs" in why or column == "text"
    with pytest.raises(StoreError, match=r"checksum differs.*ohw sessions repair one"):
        Store.open(path)


def test_flipped_bit_never_shows_an_altered_event(path, tmp_path):
    with Store.create(path) as store:
        store.append(started(), *(UserMessage(text=f"{n} {'words ' * 40}") for n in range(2, 40)))
        store.append(UserMessage(text="long " * 10_000))
        written = texts_of(store)
    whole, luck, noticed = path.read_bytes(), random.Random(5), 0
    flipped = tmp_path / "flipped.ohw"
    for _ in range(250):
        changed = bytearray(whole)
        changed[luck.randrange(len(whole))] ^= 1 << luck.randrange(8)
        flipped.write_bytes(changed)
        try:
            with Store.open(flipped, readonly=True) as store:
                read = texts_of(store)
                noticed += bool(store.gaps)
        except StoreError as error:
            assert_one_line(error, flipped)
            continue
        assert read.items() <= written.items()
    assert noticed > 20


def test_file_without_checksums_gets_them_with_the_next_event(path):
    filled(path, 5)
    make_old(path)
    before = digest(path)
    with Store.open(path) as store:
        assert len(texts_of(store)) == 4
        assert digest(path) == before, "opening alone changes nothing"
        store.append(UserMessage(text="new"))
        assert len(texts_of(store)) == 5
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION
    assert [crc == -1 for (crc,) in db.execute("SELECT crc FROM events ORDER BY seq")] == [True] * 5 + [False]
    db.execute("UPDATE events SET json = replace(json, 'new', 'odd') WHERE seq = 6")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="event 6: its checksum differs"):
        Store.open(path)


def test_file_that_cannot_get_checksums_is_unchanged(path):
    filled(path, 5)
    make_old(path)
    with Store.open(path) as store:
        with room_for(0), pytest.raises(StoreError):
            store.append(UserMessage(text="lost"))
        assert len(texts_of(store)) == 4
        store.append(UserMessage(text="kept"))
    with Store.open(path) as store:
        assert texts_of(store)[6] == "kept"


def test_events_of_unknown_kinds_leave_a_gap(path):
    filled(path, 5)
    db = sqlite3.connect(path)
    rewrite(db, 2, '{"kind":"from_the_future","seq":2}')
    rewrite(db, 3, "{")
    rewrite(db, 4, "{}", '[[["text"], "gone"]]')
    db.commit()
    db.close()
    with Store.open(path) as store:
        assert [event.seq for event in store.events()] == [1, 5]
        assert [(gap.first, gap.last) for gap in store.gaps] == [(2, 2), (3, 3), (4, 4)]
        assert list(store.events())
        assert len(store.gaps) == 3, "a gap is noted once"


def test_file_in_use_by_another_writer_is_reported(path, monkeypatch):
    filled(path, 2)
    with Store.open(path) as store, Store.open(path) as other:
        other.append(UserMessage(text="first"))
        with pytest.raises(StoreError, match="another program"):
            store.append(UserMessage(text="late"))
        assert [event.seq for event in other.events()] == [1, 2, 3]


def test_failed_write_leaves_no_partial_event_and_is_retried_later(path):
    filled(path, 2)
    with Store.open(path) as store:
        store.append(UserMessage(text="before"))
        size = Path(f"{path}-wal").stat().st_size
        with room_for(size + 5_000), pytest.raises(StoreError, match=r"one\.ohw"):
            store.append(*(UserMessage(text=str(n) * 10_000) for n in range(10)))
        assert store.last_seq == 3
        store.append(UserMessage(text="after"))
        assert [event.text for event in store.events(after=2)] == ["before", "after"]


def test_event_that_cannot_be_written_leaves_the_file_usable(path):
    with Store.create(path) as store:
        with pytest.raises(TypeError, match="cannot be written as JSON"):
            store.append(started(), ActionObserved(action_id="a", observation={"odd": object()}))
        assert [event.seq for event in store.append(started(), UserMessage(text="on"))] == [1, 2]


def test_file_that_cannot_be_created_is_not_left_behind(path):
    with room_for(0), pytest.raises(StoreError):
        Store.create(path)
    assert list(path.parent.iterdir()) == []


def test_copy_made_at_any_commit_opens_completely(path, tmp_path):
    with Store.create(path) as store:
        for number in range(30):
            store.append(UserMessage(text=str(number)), lasting=number % 2 == 0)
            copy = tmp_path / f"copy{number}.ohw"
            shutil.copy(path, copy)
            shutil.copy(f"{path}-wal", f"{copy}-wal")
            with Store.open(copy) as again:
                assert [event.text for event in again.events()] == [str(n) for n in range(number + 1)]


@pytest.mark.parametrize("gone", ["file", "wal", "replaced"])
def test_nothing_is_appended_to_a_deleted_file(tmp_path: Path, gone: str):
    path = tmp_path / "one.session"
    with Store.create(path) as store:
        store.append(SessionStarted(id="one", workspace="/w", model="m", mode="ask"))
        target = Path(f"{path}-wal") if gone == "wal" else path
        if gone == "replaced":
            copy = path.with_name("copy")
            copy.write_bytes(path.read_bytes())
            copy.replace(path)
        else:
            target.rename(tmp_path / "aside")
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            store.append(SessionStarted(id="two", workspace="/w", model="m", mode="ask"))
        if gone != "replaced":
            (tmp_path / "aside").rename(target)
            store.append(SessionStarted(id="two", workspace="/w", model="m", mode="ask"))
            assert store.last_seq == 2
