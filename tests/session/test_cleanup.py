"""The next start removes what killed processes left behind."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.sandbox import wait_for
from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.processes import leftovers
from workbench.processes.sweep import sweep as end_marked
from workbench.protocol.events import ActionAssessed, FileDelta, SessionStarted, UserMessage
from workbench.session.session_names import session_path, socket_path
from workbench.session.storage.cleanup import (
    RETENTION_BYTES,
    discard_empty,
    mark_for_editor,
    marked_directory,
    prune_tool_files,
    sweep,
)
from workbench.session.storage.lock import SessionInUse, SessionLock, lock_path
from workbench.session.storage.session_list import find_session, list_sessions
from workbench.session.storage.store import Store

KILLED = """
import os, sys
from pathlib import Path
from msgspec.structs import replace
from workbench.protocol.events import SessionStarted, SettingsChanged, UserCommand, UserMessage
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store
path, moment = Path(sys.argv[1]), sys.argv[2]
lock = SessionLock.acquire(path)
if moment in ("empty", "released"):
    path.touch()
elif moment != "locked":
    store = Store.create(path)
    start = SessionStarted(id="one", workspace="/w", model="m", mode="ask")
    later = {
        "started": (start,),
        "mode": (start, SettingsChanged(mode="medium"), SettingsChanged(model="n")),
        "message": (start, UserMessage(text="Go.")),
        "shell": (start, UserCommand(action_id="a", command="ls")),
        "child": (replace(start, parent="two"),),
    }
    store.append(*later.get(moment, ()))
if moment == "released":
    lock.release()
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    found_locations = Locations.from_environment({"HOME": str(tmp_path)})
    found_locations.sessions.mkdir(parents=True)
    return found_locations


@pytest.fixture(params=["reaped", "zombie"])
def dead(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """Return a process that has ended; in a container nothing may reap orphans."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if request.param == "reaped":
        process.wait()
    yield process
    process.wait()


@pytest.mark.parametrize("moment", ["locked", "empty", "released", "tables", "started", "mode"])
def test_session_killed_before_its_first_message_is_not_listed_and_is_deleted(locations: Locations, moment: str):
    path = session_path(locations, "one")
    subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False)
    assert list_sessions(locations) == []
    assert sweep(locations) == (["one"] if moment != "locked" else [])
    assert list(locations.sessions.iterdir()) == []


@pytest.mark.parametrize("moment", ["message", "shell", "child"])
def test_killed_session_with_words_of_the_user_or_a_parent_is_kept(locations: Locations, moment: str):
    path = session_path(locations, "one")
    subprocess.run([sys.executable, "-c", KILLED, str(path), moment], check=False)
    assert [entry.id for entry in list_sessions(locations)] == ["one"]
    assert sweep(locations) == []
    assert path.exists()


@pytest.mark.parametrize("name", ["draft", "put-back", "comments.json"])
def test_killed_session_with_content_of_the_user_is_kept(locations: Locations, name: str):
    path = session_path(locations, "one")
    subprocess.run([sys.executable, "-c", KILLED, str(path), "started"], check=False)
    own = locations.data / "state" / "one" / name
    own.parent.mkdir(parents=True)
    own.touch()
    assert sweep(locations) == []
    assert path.exists()
    assert own.exists()


@pytest.mark.parametrize("has_draft", [False, True])
def test_empty_session_that_an_editor_has_the_id_of_is_kept_for_thirty_days(locations: Locations, *, has_draft: bool):
    path = session_path(locations, "one")
    subprocess.run([sys.executable, "-c", KILLED, str(path), "mode"], check=False)
    mark_for_editor(locations, "one", Path("/w"))
    if has_draft:
        kept_file(locations, "one", "draft", 0)
    assert list_sessions(locations) == []
    assert find_session(locations, "one").workspace == "/w"
    with pytest.raises(UsageError):
        find_session(locations, "on")
    assert sweep(locations) == []
    os.utime(locations.data / "state/one/editor", (time.time() - 29 * 86_400,) * 2)
    prune_tool_files(locations)
    assert path.exists()
    os.utime(locations.data / "state/one/editor", (time.time() - 31 * 86_400,) * 2)
    prune_tool_files(locations)
    assert marked_directory(locations, "one") is None
    assert path.exists() == has_draft


def test_session_with_a_message_does_not_depend_on_its_editor(locations: Locations):
    path = session_path(locations, "one")
    subprocess.run([sys.executable, "-c", KILLED, str(path), "message"], check=False)
    mark_for_editor(locations, "one", Path("/w"))
    assert [entry.id for entry in list_sessions(locations)] == ["one"]
    os.utime(locations.data / "state/one/editor", (0, 0))
    prune_tool_files(locations)
    discard_empty(locations, "one")
    assert [entry.id for entry in list_sessions(locations)] == ["one"]


def test_running_session_without_a_message_is_listed_and_kept(locations: Locations):
    path = session_path(locations, "one")
    lock = SessionLock.acquire(path)
    with Store.create(path) as store:
        store.append(SessionStarted(id="one", workspace="/w", model="m", mode="ask"))
    assert [entry.id for entry in list_sessions(locations)] == ["one"]
    assert sweep(locations) == []
    assert path.exists()
    lock.release()


@pytest.mark.parametrize("session", ["one", "20261121-" + "long-" * 12 + "name"], ids=["short", "long"])
def test_socket_of_a_killed_engine_is_deleted_and_that_of_a_running_one_is_not(
    tmp_path: Path, locations: Locations, session: str
):
    runtime = tmp_path / "run"
    locations = replace(locations, runtime=runtime)
    runtime.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, str(session_path(locations, session)), "tables"], check=False)
    running = SessionLock.acquire(session_path(locations, "running"))
    for name in (session, "running"):
        socket_path(locations, name).touch()
    sweep(locations)
    assert list(runtime.iterdir()) == [socket_path(locations, "running")]
    running.release()


def test_only_unfinished_files_of_killed_sessions_are_deleted(locations: Locations):
    state, versions = locations.data / "state" / "one", locations.data / "versions" / "v"
    stored = [state / "undo/a/1", state / "shown/b", state / "outputs/output.tmp.txt", versions / "index-one"]
    left = [state / "undo/a/2.tmp", state / "shown/b.tmp", state / "drafts.json.tmp", versions / "index-one-kept-ab"]
    for path in (*stored, *left):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    path = session_path(locations, "one")
    with Store.create(path) as store:
        store.append(SessionStarted(id="one", workspace="/w", model="m", mode="ask"), UserMessage(text="Go."))
    lock_path(path).touch()
    assert sweep(locations) == []
    assert [path for path in (*stored, *left) if path.exists()] == stored
    assert [entry.id for entry in list_sessions(locations)] == ["one"]


def test_running_session_is_left_alone(locations: Locations):
    path = session_path(locations, "one")
    lock = SessionLock.acquire(path)
    path.touch()
    (locations.data / "state/one/undo").mkdir(parents=True)
    unfinished = locations.data / "state/one/undo.tmp"
    unfinished.touch()
    assert sweep(locations) == []
    assert path.exists()
    assert unfinished.exists()
    lock.release()


def test_temporary_directories_of_ended_processes_are_deleted(
    tmp_path: Path, monkeypatch, dead: subprocess.Popen[bytes]
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    namespace = leftovers.mark().partition("-")[2]
    gone = tmp_path / f"ohw-shell-{dead.pid}-{namespace}-x"
    stay = [
        tmp_path / f"{leftovers.prefix('shell')}y",  # its process lives
        tmp_path / f"ohw-shell-{dead.pid}-1-x",  # of another container
        tmp_path / f"ohw-demo-{dead.pid}-{namespace}-x",
        tmp_path / "ohw-shell-mine",
    ]
    for directory in (gone, *stay):
        directory.mkdir()
        (directory / "file").touch()
    link = tmp_path / f"ohw-cells-{dead.pid}-{namespace}-x"
    link.symlink_to(stay[-1])
    leftovers.sweep_temporary(end_marked)
    assert not gone.exists()
    assert all((directory / "file").exists() for directory in (*stay, link))


def test_processes_left_by_shells_of_ended_processes_are_killed(
    tmp_path: Path, monkeypatch, dead: subprocess.Popen[bytes]
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = tmp_path / f"ohw-shell-{dead.pid}-{leftovers.mark().partition('-')[2]}-x"
    directory.mkdir()
    (directory / "shell-one").touch()
    ours, other = (
        subprocess.Popen(["sleep", "60"], env={"OHW_SHELL": nonce, "PATH": os.environ["PATH"]}, start_new_session=True)
        for nonce in ("one", "two")
    )
    leftovers.sweep_temporary(end_marked)
    assert ours.wait(10) == -signal.SIGKILL
    assert other.poll() is None
    assert not directory.exists()
    other.kill()
    other.wait()


def test_a_process_that_a_killed_supervisor_has_stopped_is_killed_although_it_lacks_the_mark():
    script = "env -u OHW_SHELL setsid sleep 60 & echo $!; sleep 0.2; kill -STOP $!; echo stopped; wait"
    env = {"OHW_SHELL": "one", "PATH": os.environ["PATH"]}
    with subprocess.Popen(["bash", "-c", script], env=env, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        stopped = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.stdout.readline()
        end_marked(["one"])
        assert supervisor.wait(10) == -signal.SIGKILL
        assert wait_for(lambda: has_ended(stopped), "the end of what was stopped")


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_file_system_without_locks_is_reported(locations: Locations, monkeypatch, number: int):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(WorkbenchError, match="has no locks") as caught:
        SessionLock.acquire(session_path(locations, "one"))
    assert not isinstance(caught.value, SessionInUse)


def test_temporary_files_of_a_killed_edit_in_the_users_directory_are_deleted(
    locations: Locations, tmp_path: Path, dead: subprocess.Popen[bytes]
):
    namespace = leftovers.mark().partition("-")[2]
    directory = tmp_path / "project"
    directory.mkdir()
    gone = directory / f".ohw-{dead.pid}-{namespace}-0123456789abcdef.tmp"
    stay = [
        directory / f".ohw-{leftovers.mark()}-0123456789abcdef.tmp",
        directory / ".ohw-notes.tmp",
        directory / "file",
    ]
    for path in (gone, *stay):
        path.touch()
    path = session_path(locations, "one")
    delta = FileDelta(path=str(directory / "file"), before="", after="x")
    with Store.create(path) as store:
        started = SessionStarted(id="one", workspace=str(directory), model="m", mode="ask")
        assessed = ActionAssessed(action_id="a", risk="LOW", fingerprint="f", working_dir="/", preview=(delta,))
        store.append(started, assessed)
    lock_path(path).touch()
    sweep(locations)
    assert not gone.exists()
    assert all(path.exists() for path in stay)


def kept_file(locations: Locations, session: str, name: str, days: float, size: int = 1) -> Path:
    """Create a sparse file, as if a tool of the session had stored it so many days ago."""
    path = locations.data / "state" / session / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, size)
    os.utime(path, (time.time() - days * 86_400,) * 2)
    return path


def test_tool_files_are_deleted_after_thirty_days_except_of_open_sessions(locations: Locations):
    old = [kept_file(locations, "one", name, 31) for name in ("outputs/a.txt", "undo/f/1", "cells/plot.png")]
    users = [kept_file(locations, "one", name, 400) for name in ("put-back/1-hosts", "draft", "comments.json")]
    new = kept_file(locations, "one", "outputs/b.txt", 29)
    of_open = kept_file(locations, "two", "outputs/c.txt", 400)
    outside = locations.data / "outside.txt"
    outside.write_text("not ours")
    os.utime(outside, (0, 0))
    (locations.data / "state/one/link").symlink_to(outside.parent)
    (locations.data / "state/three").symlink_to(outside.parent)
    lock = SessionLock.acquire(session_path(locations, "two"))
    prune_tool_files(locations)
    assert not [path for path in old if path.exists()]
    assert not (locations.data / "state/one/undo").exists(), "a folder that is empty goes too"
    assert new.exists()
    assert all(path.exists() for path in users), "what the user wrote goes with the session only"
    assert of_open.exists()
    assert outside.read_text() == "not ours"
    lock.release()
    prune_tool_files(locations)
    assert not of_open.exists()
    assert not of_open.parent.parent.exists()
    assert list(locations.sessions.iterdir()) == [], "no lock is left"


def test_oldest_tool_files_are_deleted_first_above_the_size_limit(locations: Locations):
    third = RETENTION_BYTES // 3
    of_open = kept_file(locations, "open", "outputs/a", 20, third)
    oldest = kept_file(locations, "one", "outputs/b", 10, third)
    newer = [
        kept_file(locations, "two", "outputs/c", 5, third),
        kept_file(locations, "one", "outputs/d", 1, third // 2),
    ]
    lock = SessionLock.acquire(session_path(locations, "open"))
    prune_tool_files(locations)
    lock.release()
    assert of_open.exists()
    assert not oldest.exists()
    assert all(path.exists() for path in newer)


def test_startup_prunes_tool_files_once_an_hour(locations: Locations):
    old = kept_file(locations, "one", "outputs/a", 31)
    sweep(locations)
    until = time.monotonic() + 20
    while old.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not old.exists()
    assert (locations.data / "state/.pruned").exists()
