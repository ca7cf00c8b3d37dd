"""Changes that a program of the agent makes to our own records are reported at once: approvals, sessions."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import home as home
from tests.session.test_integrity_guard import made_repo as made_repo
from tests.session.test_integrity_guard import notices_of, observed_text
from tests.session.test_integrity_guard import repo as repo
from tests.session.test_integrity_guard import watched as watched
from workbench.config.locations import Locations
from workbench.files.state_files import note_digest
from workbench.mcp.config import ServerConfig
from workbench.mcp.pins import PinStore
from workbench.processes.ancestry import lock_holders
from workbench.protocol.events import SessionStarted, SettingsChanged, UserMessage
from workbench.session.actions.own_records import OwnRecords
from workbench.session.storage.lock import SessionLock, holder, lock_path
from workbench.session.storage.permissions import Permissions, permissions_in
from workbench.session.storage.signatures import key_path
from workbench.session.storage.store import Store

SERVER = ServerConfig(name="one", kind="stdio", source="", command="one")
TOOL = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def closed_session(locations: Locations, name: str, workspace: Path, mode: str = "medium", *more) -> Path:
    locations.sessions.mkdir(parents=True, exist_ok=True)
    path = locations.sessions / f"{name}.session"
    with Store.create(path) as store:
        started = SessionStarted(id=name, workspace=str(workspace), model="scripted/demo", mode=mode)
        store.append(started, UserMessage(text="go"), *more)
    return path


@pytest.fixture
def records(repo, home) -> Locations:
    """A server with an unapproved tool, and two closed sessions."""
    locations = Locations.from_environment()
    PinStore(locations).listed(SERVER, [TOOL])
    for name in ("20260101-a-0001", "20260101-b-0002"):
        closed_session(locations, name, repo)
    return locations


PINS = (
    "import json, os, glob; p = glob.glob(os.path.expanduser('~/.local/share/ohw/mcp/*.json'))[0]; "
    "d = json.load(open(p))"
)
SESSION = (
    "import os, sqlite3; p = os.path.expanduser('~/.local/share/ohw/sessions/20260101-a-0001.session'); "
    "db = sqlite3.connect(p)"
)
INSERT = (
    "db.execute(\"INSERT INTO events(seq, kind, at, json, crc) VALUES (9, 'settings_changed', '', ?, 0)\", (e,)); "
    "db.commit()"
)
REWRITTEN = {
    "an approval": f"{PINS}; d['approved'] = ['look']; json.dump(d, open(p, 'w'))",
    "a definition": f"{PINS}; d['tools']['look']['description'] = 'evil'; json.dump(d, open(p, 'w'))",
    "what starts a server": f"{PINS}; d['files'] = {{'/x': 'y'}}; json.dump(d, open(p, 'w'))",
    "an approval, by another file": f"{PINS}; d['approved'] = ['look']; json.dump(d, open(p + '2', 'w')); "
    "os.replace(p + '2', p)",
    "an approval, with its time": f"{PINS}; s = os.stat(p); d['approved'] = ['look']; json.dump(d, open(p, 'w')); "
    "os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))",
    "an approval of another server": f"{PINS}; d['approved'] = ['look']; json.dump(d, open(p[:-6] + 'z.json', 'w'))",
    "a record deleted, so that all is pinned again": f"{PINS}; os.unlink(p)",
    "a record emptied": f"{PINS}; open(p, 'w')",
    "what was reviewed": f"{PINS}; open(p[:-5] + '.shown', 'w').write('0' * 12)",
    "the mode of a closed session": f'{SESSION}; e = \'{{"kind": "settings_changed", "mode": "never"}}\'; {INSERT}',
    "a rule of a closed session": f'{SESSION}; e = \'{{"kind": "settings_changed", "rule": "allow x"}}\'; {INSERT}',
    "the first event of a closed session": f"{SESSION}; "
    "db.execute(\"UPDATE events SET json = replace(json, 'medium', 'never')\"); db.commit()",
    "a closed session, in its log": f'{SESSION}; e = \'{{"kind": "settings_changed", "mode": "never"}}\'; {INSERT}; '
    "os.kill(os.getpid(), 9)",
    "a session that is new": f"{SESSION}; db.execute(\"UPDATE events SET json = replace(json, 'medium', 'never')\"); "
    "db.commit(); db.close(); os.rename(p, p.replace('0001', '0003'))",
    "a session whose lock is held meanwhile": f"import fcntl; {SESSION}; l = open(p[:-8] + '.lock', 'w'); "
    "l.write(str(os.getppid())); l.flush(); fcntl.flock(l, 2); "
    f'e = \'{{"kind": "settings_changed", "mode": "never"}}\'; {INSERT}; '
    "os.fork() or (os.setsid(), __import__('time').sleep(5))",
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_change_by_a_script_is_reported_and_the_next_action_asked_about(watched, repo, home, records, way):
    (repo / "rt.py").write_text(REWRITTEN[way].replace("; ", "\n") + "\n")
    one = watched(
        *(calls(("execute_bash", {"command": each})) for each in ("python3 rt.py > out 2>&1", "git status")),
        says("done"),
    )
    one.session.send("go")
    one.run()
    assert ".local/share/ohw/" in notices_of(one), (observed_text(one), (repo / "out").read_text())
    assert one.session.question is not None


def test_open_session_is_compared_too(watched, repo, home):
    one = watched(
        lambda *_: calls(("execute_bash", {"command": f"python3 rt.py {one.store.path}"})),
        calls(("execute_bash", {"command": "git status"})),
        says("done"),
    )
    line = '{"kind": "settings_changed", "mode": "never"}'
    (repo / "rt.py").write_text(
        "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n"
        f"e = {line!r}\n" + INSERT.replace("9,", "999,").replace("; ", "\n")
    )
    one.session.send("go")
    one.run()
    assert one.store.path.name in notices_of(one), observed_text(one)
    assert one.session.question is not None


def run_elsewhere(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a Python of the user's that is not below this process, as an engine of another session."""
    detached = f"import os, sys\nif os.fork():\n    os._exit(0)\nos.setsid()\nif os.fork():\n    os._exit(0)\n{code}"
    return subprocess.Popen([sys.executable, "-c", detached, *arguments], text=True)


def changes(records: OwnRecords) -> list[str]:
    return [Path(change.path).name for change in records.changes()]


def test_writes_of_this_process_are_not_reported(records):
    compared, pins = OwnRecords(records), PinStore(records)
    assert changes(compared) == []
    pins.approve(SERVER, pins.entry(SERVER))
    assert pins.entry(SERVER).approved == ("look",)
    with Store.open(records.sessions / "20260101-a-0001.session") as store:
        with_lock = SessionLock.acquire(store.path)
        store.append(SettingsChanged(mode="never"))
        assert changes(compared) == []
    with_lock.release()
    assert changes(compared) == []


def test_writes_announced_by_a_screen_are_not_reported(records):
    import hashlib

    compared = OwnRecords(records)
    compared.changes()
    (path,) = (records.data / "mcp").glob("*.json")
    content = json.dumps({**json.loads(path.read_text()), "approved": ["look"]}).encode()
    note_digest(str(path), hashlib.sha256(content).digest())
    path.write_bytes(content)
    assert changes(compared) == []
    path.write_bytes(content + b" ")
    assert changes(compared) == [], "a blank approves nothing"
    path.write_bytes(content.replace(b"look", b"Look"))
    assert changes(compared) == [path.name]


def test_changes_that_allow_no_more_than_before_are_not_reported(records, repo):
    compared = OwnRecords(records)
    compared.changes()
    (path,) = (records.data / "mcp").glob("*.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "failure": "it ended", "prompts": [{"name": "x"}]}))
    path.with_name("other.json").write_text(json.dumps({**data, "approved": []}))
    path.with_suffix(".lock").write_text("x")
    closed_session(records, "20260101-c-0003", repo)
    with Store.open(records.sessions / "20260101-a-0001.session") as store:
        store.append(SettingsChanged(title="zero"), SettingsChanged(mode="ask"))
    (records.sessions / "20260101-b-0002.session").unlink()
    assert changes(compared) == []


ELSEWHERE = """
import os, sys, time
from pathlib import Path
from workbench.protocol.events import SettingsChanged
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store
path, mark = map(Path, sys.argv[1:])
lock = SessionLock.acquire(path)
with Store.open(path) as store:
    store.append(SettingsChanged(mode="never"), SettingsChanged(rule="allow execute_bash ls"))
    mark.touch()
    end = time.monotonic() + 30
    while not mark.with_suffix(".go").exists() and time.monotonic() < end:
        time.sleep(0.01)
lock.release()
mark.with_suffix(".end").touch()
"""


def test_engine_of_another_session_may_change_it(records, tmp_path):
    compared = OwnRecords(records)
    compared.changes()
    path, mark = records.sessions / "20260101-a-0001.session", tmp_path / "wrote"
    run_elsewhere(ELSEWHERE, str(path), str(mark)).wait()
    wait_for(mark.exists, "the other engine to write")
    assert os.getpid() not in lock_holders(lock_path(path))
    assert holder(path)
    assert changes(compared) == []
    mark.with_suffix(".go").touch()
    wait_for(mark.with_suffix(".end").exists, "the other engine to end")
    assert permissions_in(path).mode == "never"
    assert changes(compared) == []


def test_change_undone_by_an_engine_between_two_comparisons_is_not_reported(records, tmp_path):
    compared = OwnRecords(records)
    compared.changes()
    path, mark = records.sessions / "20260101-a-0001.session", tmp_path / "wrote"
    mark.with_suffix(".go").touch()
    run_elsewhere(ELSEWHERE, str(path), str(mark)).wait()
    wait_for(mark.with_suffix(".end").exists, "the other engine to end")
    assert changes(compared) == []
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM signatures")
        db.commit()
    assert changes(compared) == [path.name]


@pytest.mark.parametrize(
    "change", [Path.unlink, lambda path: path.write_bytes(b"0" * 32)], ids=["deleted", "rewritten"]
)
def test_another_key_is_reported_but_not_the_first_one(records, monkeypatch, tmp_path, change):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    compared = OwnRecords(Locations.from_environment())
    compared.changes()
    with Store.open(records.sessions / "20260101-a-0001.session") as store:
        store.append(SettingsChanged(mode="never"))
    assert changes(compared) == []
    change(key_path(Locations.from_environment()))
    assert changes(compared) == ["signing.key"]


BELOW_AN_AGENT = """
import sys
from pathlib import Path
from workbench.processes.descendants import mark_descendants
from workbench.protocol.events import SettingsChanged
from workbench.session.storage.permissions import permissions_in
from workbench.session.storage.store import Store
mark_descendants()
with Store.open(Path(sys.argv[1])) as store:
    store.append(SettingsChanged(mode="never"))
assert permissions_in(store.path).is_mode_signed, "it counts for the process itself"
"""


def test_session_file_written_by_an_ohw_of_an_agent_is_reported(records):
    compared = OwnRecords(records)
    compared.changes()
    path = records.sessions / "20260101-a-0001.session"
    subprocess.run([sys.executable, "-c", BELOW_AN_AGENT, str(path)], check=True)
    assert permissions_in(path).mode == "never"
    assert permissions_in(path).is_mode_signed == (sys.platform != "linux"), "only Linux marks what an agent starts"
    assert changes(compared) == ([path.name] if sys.platform == "linux" else [])


def sessions_of(records: Locations, repo: Path, monkeypatch, cost: float) -> OwnRecords:
    """Return a comparison that took `cost` seconds, of a directory that changed long ago."""
    compared = OwnRecords(records)
    start = time.monotonic()
    times = iter([start, start + cost])
    monkeypatch.setattr("workbench.session.actions.own_records.time.monotonic", lambda: next(times, start + cost + 1))
    later = time.time_ns() + 1_000_000_000
    monkeypatch.setattr("workbench.files.stat_keys.time.time_ns", lambda: later)
    compared.changes()
    return compared


@pytest.mark.parametrize(("cost", "is_reported"), [(0.0005, True), (0.005, True), (5.0, False)])
def test_many_sessions_are_compared_within_one_percent_of_the_time(records, repo, monkeypatch, cost, is_reported):
    path = records.sessions / "20260101-a-0001.session"
    content = bytearray(path.read_bytes())
    compared = sessions_of(records, repo, monkeypatch, cost)
    path.write_bytes(content.replace(b'"medium"', b'"never" '))  # SQLite would change the directory
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as db:
        assert "never" in db.execute("SELECT json FROM events").fetchone()[0]
    assert (changes(compared) == [path.name]) == is_reported


def test_writes_by_sqlite_are_reported_for_any_number_of_sessions(records, repo, monkeypatch):
    path = records.sessions / "20260101-a-0001.session"
    compared = sessions_of(records, repo, monkeypatch, 5.0)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE events SET json = replace(json, 'medium', 'never')")
        db.commit()
    assert changes(compared) == [path.name]


def test_permissions_of_a_session_are_read_from_its_events(records, repo):
    path = closed_session(
        records,
        "20260101-d-0004",
        repo,
        "medium",
        SettingsChanged(rule="allow a"),
        SettingsChanged(rule="allow b", mode="never"),
        SettingsChanged(dropped_rule="allow a"),
    )
    assert permissions_in(path)[:3] == ("never", frozenset({"allow b"}), "")
    assert permissions_in(path).unsigned() == Permissions()
    path.write_bytes(b"no database")
    assert permissions_in(path)[:3] == ("", frozenset(), "")


def test_comparison_reads_no_unchanged_file(records, monkeypatch):
    compared = OwnRecords(records)
    later = time.time_ns() + 120_000_000_000
    monkeypatch.setattr("workbench.files.stat_keys.time.time_ns", lambda: later)
    compared.changes()
    monkeypatch.setattr("builtins.open", lambda *_, **__: pytest.fail("it was read"))
    assert compared.changes() == []
