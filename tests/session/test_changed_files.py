"""Which changes of files a session's log holds, from the first state to the last."""

from pathlib import Path

import pytest

from workbench.protocol import events as ev
from workbench.session.storage.changed_files import changed_files
from workbench.session.storage.store import Store


def delta(before: str | None, after: str | None, path: str = "/w/a", **more) -> ev.FileDelta:
    return ev.FileDelta(path=path, before=before, after=after, **more)


def observed(*files: ev.FileDelta) -> ev.ActionObserved:
    return ev.ActionObserved(action_id="a", observation={}, files_changed=files)


def by(who: str, *files: ev.FileDelta) -> ev.FilesChanged:
    return ev.FilesChanged(files=files, by=who)


STEP = ev.DelegateStep(action_id="d", agent="x", session="s2", event=observed(delta("a\n", "b\n")))
CASES = {
    "of an action": ([observed(delta("a\n", "b\n"))], [("a\n", "b\n")]),
    "from the first to the last": ([observed(delta(None, "a\n")), observed(delta("a\n", "b\n"))], [(None, "b\n")]),
    "of a shell command": ([ev.VersionTaken(action_id="a", files=(delta("a\n", None),))], [("a\n", None)]),
    "of a sub-agent": ([STEP], [("a\n", "b\n")]),
    "of the user": ([by("person", delta("a\n", "b\n"))], [("a\n", "b\n")]),
    "of others alone": ([by("other", delta("a\n", "b\n"))], []),
    "reverted": ([observed(delta("a\n", "b\n")), by("person", delta("b\n", "a\n"))], []),
    "without its lines": ([observed(delta("2 MB", "3 MB", cut="too large"))], []),
    "none": ([observed()], []),
}


@pytest.mark.parametrize(("events", "changes"), CASES.values(), ids=CASES)
def test_change(tmp_path: Path, events, changes):
    path = tmp_path / "s.session"
    with Store.create(path) as store:
        store.append(ev.SessionStarted(id="s", workspace="/w", model="m", mode="medium"), *events)
    assert changed_files(path) == changes


def test_file_that_cannot_be_read_has_no_changes(tmp_path: Path):
    (tmp_path / "s.session").write_bytes(b"torn" * 2_000)
    assert changed_files(tmp_path / "s.session") == []
    assert changed_files(tmp_path / "missing.session") == []
