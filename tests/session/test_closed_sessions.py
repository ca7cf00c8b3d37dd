"""Sessions that are not open: search in all, titles, deleting."""

from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.protocol.events import ActionObserved, SessionStarted, UserMessage
from workbench.session.session_names import session_path, state_directory
from workbench.session.storage.lock import SessionInUse, SessionLock
from workbench.session.storage.session_list import delete, find_session, list_sessions, newest_first, rename, search_all
from workbench.session.storage.store import Store


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")


def write_session(where: Locations, name: str, *texts: str) -> Path:
    path = session_path(where, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    observed = ActionObserved(action_id="a", observation={"content": [{"type": "text", "text": texts[-1]}]})
    with Store.create(path) as store:
        begun = SessionStarted(id=name, workspace="/w", model="m", mode="ask")
        store.append(begun, *(UserMessage(text=text) for text in texts[:-1]), observed)
    return path


def test_search_finds_words_in_all_sessions_with_context(where):
    write_session(where, "a", "mend the Parser please", "nothing here")
    write_session(where, "b", "other work", "long " * 50 + "\n  the parser\x1b[31m failed at line 3")
    write_session(where, "c", "unrelated", "nothing")
    results = {each.session: each for each in search_all(where, "pars")}
    assert set(results) == {"a", "b"}
    assert results["a"].snippet == "mend the Parser please"
    assert results["b"].snippet.startswith("…")
    assert "the parser\\e[31m failed at line 3" in results["b"].snippet
    assert list(search_all(where, " ?! ")) == []
    assert [each.session for each in search_all(where, "parser failed")] == ["b"]


def test_stopped_search_ends_and_damaged_files_are_skipped(where):
    for name in ("a", "b", "c"):
        write_session(where, name, "needle", "needle")
    session_path(where, "b").write_bytes(b"torn" * 2_000)
    assert {each.session for each in search_all(where, "needle")} == {"a", "c"}
    results = []
    for each in search_all(where, "needle", lambda: bool(results), most=1):
        results.append(each)
    assert len(results) == 1


def test_title_replaces_the_first_message_until_it_is_removed(where):
    write_session(where, "a", "first words", "x")
    rename(where, "a", "Parser, second try")
    assert find_session(where, "a").title == "Parser, second try"
    rename(where, "a", "")
    assert find_session(where, "a").title == "first words"


def test_session_in_use_is_neither_renamed_nor_deleted(where):
    path = write_session(where, "a", "first words", "x")
    before = path.read_bytes()
    lock = SessionLock.acquire(path)
    for what in (lambda: rename(where, "a", "mine"), lambda: delete(where, "a")):
        with pytest.raises(SessionInUse):
            what()
    lock.release()
    assert path.read_bytes() == before


def test_deleted_session_leaves_nothing_and_a_damaged_one_can_be_deleted(where):
    write_session(where, "a", "words", "x")
    state_directory(where, "a").mkdir(parents=True)
    (state_directory(where, "a") / "undo").write_text("x")
    session_path(where, "b").write_bytes(b"torn" * 2_000)
    with pytest.raises(WorkbenchError):
        rename(where, "b", "title")
    for name in ("a", "b"):
        delete(where, name)
    assert list(where.sessions.iterdir()) == []
    assert not state_directory(where, "a").exists()


def test_sessions_are_listed_one_by_one_most_recent_first(where):
    for name in ("a", "b", "c"):
        write_session(where, name, f"words of {name}", "x")
    session_path(where, "d").write_bytes(b"torn" * 2_000)
    rename(where, "a", "newest")
    names = [each.id for each in newest_first(where)]
    assert set(names) == {"a", "b", "c", "d"}
    assert sorted(names) == sorted(each.id for each in list_sessions(where))
    assert next(each for each in newest_first(where) if each.id == "d").damaged
