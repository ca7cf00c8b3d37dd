"""A deletion or change of any file is reverted to the byte from the diff viewer: binary, links, modes, encodings."""

import os
import stat
from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_file_changes import idle
from tests.session.test_file_changes import recorded as recorded
from workbench.session.workspace.revert import RevertError
from workbench.tools import BashTool
from workbench.view.reducer import apply
from workbench.view.review.revert_text import of_file, refusal
from workbench.view.state import SessionState


def odd_files(directory: Path) -> None:
    (directory / "text.txt").write_text("plain\n")
    (directory / "text.txt").chmod(0o640)
    (directory / "latin.txt").write_bytes("café\r\n".encode("latin-1"))
    (directory / "wide.txt").write_bytes("café\r\n".encode("utf-16"))
    (directory / "binary.bin").write_bytes(bytes(range(256)))
    (directory / "large.txt").write_text("line\n" * 200_000)
    (directory / "run.sh").write_text("#!/bin/sh\n")
    (directory / "run.sh").chmod(0o750)
    (directory / "link").symlink_to("binary.bin")
    (directory / os.fsdecode(b"caf\xe9")).write_text("odd name\n")


def tree_of(directory: Path) -> dict[str, object]:
    entries: dict[str, object] = {}
    for path in directory.iterdir():
        mode = path.lstat().st_mode
        content = path.readlink() if path.is_symlink() else path.read_bytes()
        entries[path.name] = stat.S_IFMT(mode), 0 if path.is_symlink() else stat.S_IMODE(mode), content
    return entries


def state_of(one) -> SessionState:
    state = SessionState()
    for event in one.log():
        apply(state, event)
    state.running.clear()
    return state


@pytest.fixture
def ran(recorded, tmp_path):
    """A session in which one command ran over the odd files, as `bash` runs it."""

    def run(command: str):
        work = tmp_path / "work"
        work.mkdir()
        odd_files(work)
        one = recorded(calls(("execute_bash", {"command": command}, "HIGH")), says("done"))
        one.tools["execute_bash"] = tool = BashTool(working_dir=str(work))
        before = tree_of(work)
        one.session.send("go")
        one.run()
        idle(one)
        tool.close()
        assert tree_of(work) != before
        return one, before

    return run


@pytest.mark.parametrize(
    "command",
    [
        "rm *",
        'for f in *; do rm "$f"; done',
        "python3 -c \"import os; [os.remove(one) for one in os.listdir(b'.')]\"",
        "rm link binary.bin; ln -s text.txt binary.bin; printf '\\0other' > link",
        "printf '\\0\\1' | tee binary.bin large.txt wide.txt > text.txt; chmod 600 run.sh; rm run.sh",
    ],
)
def test_every_file_that_a_command_changed_is_reverted(ran, command):
    one, before = ran(command)
    while (state := state_of(one)).changes:
        file = next(iter(state.changes.values()))
        assert refusal(state, file, whole=True) == ""
        one.session.files.revert([of_file(file, "it", state.version).delta])
        idle(one)
    assert tree_of(one.work) == before


def test_revert_is_undone_the_same_way(ran):
    one, _ = ran("printf '\\0new' > binary.bin; rm link; rm text.txt")
    after = tree_of(one.work)
    for file in list((state := state_of(one)).changes.values()):
        take = of_file(file, "it", state.version)
        one.session.files.revert([take.delta])
        idle(one)
        one.session.files.revert([take.undone.delta])
        idle(one)
    assert tree_of(one.work) == after


def test_newer_content_is_never_overwritten(ran):
    one, _ = ran("rm binary.bin; printf '\\0' > wide.txt")
    (one.work / "binary.bin").write_text("mine")
    (one.work / "wide.txt").write_text("mine too")
    state = state_of(one)
    for name in ("binary.bin", "wide.txt"):
        file = state.changes[str(one.work / name)]
        with pytest.raises(RevertError, match="has changed since it was shown"):
            one.session.files.revert([of_file(file, "it", state.version).delta])
    assert ((one.work / "binary.bin").read_text(), (one.work / "wide.txt").read_text()) == ("mine", "mine too")
