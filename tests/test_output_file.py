"""Files that the user names for an export: regular ones are replaced as a whole, devices and pipes are written to."""

import os
import stat
import threading
from pathlib import Path

import pytest

from tests.sandbox import Sandbox
from tests.tui.decision_files import keep_decided
from workbench.errors import UsageError
from workbench.files.output_file import save_lines


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def read_beside(path: Path) -> tuple[threading.Thread, list[str]]:
    parts: list[str] = []
    reader = threading.Thread(target=lambda: parts.append(path.read_text()), daemon=True)
    reader.start()
    return reader, parts


@pytest.mark.parametrize("is_link", [False, True], ids=["pipe", "link"])
def test_a_pipe_is_written_to_and_stays_a_pipe(pipe, tmp_path, is_link):
    target = pipe
    if is_link:
        target = tmp_path / "link"
        target.symlink_to(pipe)
    reader, parts = read_beside(pipe)
    save_lines(["a", "é"], target)
    reader.join(20)
    assert parts == ["a\né\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", *(["link"] if is_link else [])}


def test_a_device_is_written_to_and_stays_a_device():
    controller, terminal = os.openpty()
    path = Path(os.ttyname(terminal))
    before = path.stat()
    save_lines(["hello"], path)
    assert os.read(controller, 100) == b"hello\r\n"
    after = path.stat()
    assert (stat.S_ISCHR(after.st_mode), after.st_ino, after.st_rdev) == (True, before.st_ino, before.st_rdev)
    os.close(controller)
    os.close(terminal)


def test_a_file_is_replaced_as_a_whole_and_a_link_to_it_stays(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    link.symlink_to("file")

    def lines():
        yield "after"
        assert file.read_text() == "before"

    save_lines(lines(), link)
    assert (file.read_text(), link.is_symlink(), file.stat().st_mode & 0o777) == ("after\n", True, 0o600)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["", "missing/file", "file/below"], ids=["directory", "missing", "below"])
def test_what_cannot_be_written_is_reported_and_nothing_stays(tmp_path, name):
    (tmp_path / "file").write_text("before")
    with pytest.raises(UsageError, match="cannot write"):
        save_lines(["a"], tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.starts
@pytest.mark.parametrize("command", [["decisions", "--csv"], ["export", "--jsonl"]], ids=["decisions", "export"])
def test_commands_write_to_a_pipe(sandbox: Sandbox, pipe: Path, monkeypatch, command):
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    keep_decided("s1", workspace=str(sandbox.project))
    reader, parts = read_beside(pipe)
    done = sandbox.ohw(*command, "-o", str(pipe))
    reader.join(20)
    assert (done.returncode, done.stdout) == (0, "")
    assert parts[0].count("\n") > 7
    assert stat.S_ISFIFO(pipe.stat().st_mode)
