"""The directory of a demo is deleted when the demo is finished or old, but never with anything of the user's in it."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.config.locations import Locations
from workbench.demo import copy_demo
from workbench.protocol.events import SessionStarted, UserMessage
from workbench.session.demo_directories import discard_demo, is_disposable, sweep_demos
from workbench.session.session_names import session_path
from workbench.session.storage.lock import SessionLock
from workbench.session.storage.store import Store

AMOUNTS = "ledger/amounts.py"
LINE = '    return whole * 100 + int(found["cents"])\n'
FIXED = '    cents = whole * 100 + int(found["cents"])\n    return -cents if found["sign"] == "-" else cents\n'


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return copy_demo()


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "r")


def replace(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def commit(demo: Path) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@example.invalid")
    subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "-m", "mine"], cwd=demo, check=True)


def age(demo: Path, seconds: float) -> None:
    then = time.time() - seconds
    for path in (*demo.parent.rglob("*"), demo.parent):
        os.utime(path, (then, then), follow_symlinks=False)


OF_THE_DEMO: dict[str, Callable[[Path], object]] = {
    "nothing": lambda demo: None,
    "the edits of the script": lambda demo: replace(demo / AMOUNTS, LINE, FIXED),
    "a deletion": lambda demo: (demo / "tests/test_report.py").unlink(),
    "compiled files": lambda demo: subprocess.run(["python3", "-m", "compileall", "-q", "."], cwd=demo, check=True),
}
OF_THE_USER: dict[str, Callable[[Path], object]] = {
    "a new file": lambda demo: (demo / "notes.txt").touch(),
    "a file beside it": lambda demo: (demo.parent / "notes.txt").touch(),
    "another edit": lambda demo: replace(demo / AMOUNTS, LINE, LINE + "# mine\n"),
    "a link": lambda demo: (demo / "link").symlink_to(demo),
    "a link in place of git": lambda demo: ((demo / ".git").rename(demo.parent / "x"), (demo / ".git").symlink_to("/")),
    "a commit": commit,
}


@pytest.mark.parametrize("name", OF_THE_DEMO)
def test_finished_demo_is_deleted(demo: Path, name: str):
    OF_THE_DEMO[name](demo)
    discard_demo(demo, "finished")
    assert not demo.parent.exists()
    assert is_disposable(demo), "a farewell after that says the same"


@pytest.mark.parametrize("name", OF_THE_USER)
def test_directory_with_anything_of_the_user_is_kept(demo: Path, where: Locations, name: str):
    OF_THE_USER[name](demo)
    discard_demo(demo, "finished")
    age(demo, 100_000)
    sweep_demos(where)
    assert (demo / "README.md").exists()


@pytest.mark.parametrize("ended", ["", "interrupted", "waiting", "error"])
def test_demo_that_is_not_finished_is_kept_for_a_day(demo: Path, where: Locations, ended: str):
    discard_demo(demo, ended)
    age(demo, 80_000)
    sweep_demos(where)
    assert demo.exists()
    age(demo, 90_000)
    sweep_demos(where)
    assert not demo.parent.exists()


def test_old_demo_that_is_open_is_kept(demo: Path, where: Locations):
    path = session_path(where, "20260101-demo-1111")
    path.parent.mkdir(parents=True)
    with Store.create(path) as store:
        started = SessionStarted(id=path.stem, workspace=str(demo), model="scripted/demo", mode="medium")
        store.append(started, UserMessage(text="go"))
    age(demo, 100_000)
    lock = SessionLock.acquire(path)
    sweep_demos(where)
    assert demo.exists()
    lock.release()
    sweep_demos(where)
    assert not demo.parent.exists()


@pytest.mark.parametrize("name", ["ledger", "ohw-demo-x/other", "sub/ohw-demo-x/ledger"])
def test_other_directories_are_never_deleted(demo: Path, name: str):
    other = Path(tempfile.gettempdir()) / name
    other.mkdir(parents=True)
    discard_demo(other, "finished")
    assert other.exists()
