"""Files that no snapshot holds are copied before a deletion and restored; if that is impossible the user is asked."""

from pathlib import Path

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import calls, says
from workbench.config.locations import Locations
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.safety_copies import SafetyCopies
from workbench.tools import BashTool
from workbench.tools.execute_ipython_cell.definition import IPythonTool
from workbench.tools.tool import ToolDefinition

FINAL = "what it deletes could not be restored"


@pytest.fixture
def repository(tmp_path) -> SnapshotRepository:
    (tmp_path / "work/build").mkdir(parents=True)
    (tmp_path / "work/.gitignore").write_text("*.tmp\nbuild/\n")
    return SnapshotRepository(Locations.from_environment(), tmp_path / "work", "one")


@pytest.fixture
def netted(harness, repository, monkeypatch):
    """A harness that never asks, with a real shell, real cells and versions of its workspace."""
    # A long timeout, because a busy machine is not a failure.
    monkeypatch.setattr("workbench.session.workspace.deletions._QUERY_LIMIT", 60.0)
    made: list[ToolDefinition] = []

    def make(*script):
        one = harness(*script, mode="never", repository=repository)
        tools: list[ToolDefinition] = [
            BashTool(working_dir=str(repository.workspace)),
            IPythonTool(repository.workspace),
        ]
        made.extend(tools)
        one.tools.update({tool.name: tool for tool in tools})
        return one

    yield make
    for tool in made:
        tool.close()


def untracked(repository: SnapshotRepository) -> dict[str, str]:
    for name in ("a.tmp", "b c.tmp", "build/x.o", "build/y.o"):
        (repository.workspace / name).write_text(f"{name} was here\n")
    return deletable_files(repository)


def deletable_files(repository: SnapshotRepository) -> dict[str, str]:
    paths = [*repository.workspace.glob("*.tmp"), *repository.workspace.glob("build/*.o")]
    return {str(path.relative_to(repository.workspace)): path.read_text() for path in paths}


def copies(one) -> list:
    return [event for event in one.log() if event.kind == "version_taken" and event.copy_id]


SHELL = (
    'for f in *.tmp; do rm "$f"; done',
    "ls build/*.o | xargs rm",
    "rm build/{x,y}.o",
    "find . -name '*.tmp' -exec rm {} +",
    "find build -type f | while read f; do unlink $f; done",
    "ls *.tmp | xargs -I name sh -c 'rm \"name\"'",
)
CELLS = (
    "import os\nfor name in os.listdir('build'):\n    os.remove('build/' + name)",
    "import shutil\nshutil.rmtree('build')",
    "!rm *.tmp",
    "from pathlib import Path\nfor path in Path('.').glob('*.tmp'):\n    path.unlink()",
)


@pytest.mark.parametrize(
    ("tool", "texts"), [("execute_bash", SHELL), ("execute_ipython_cell", CELLS)], ids=["shell", "cells"]
)
def test_files_deleted_by_a_shell_loop_or_cell_are_restored(netted, repository, tool, texts):
    name = "command" if tool == "execute_bash" else "code"
    one = netted(*(calls((tool, {name: text})) for text in texts), says("done"))
    before = untracked(repository)
    seen: list[bool] = []

    def put_back(event) -> None:
        """After each call, restore what it deleted before the next one runs."""
        if event.kind == "action_observed":
            seen.append(deletable_files(repository) != before)
            SafetyCopies(repository).restore(copies(one)[-1].copy_id)
            seen.append(deletable_files(repository) == before)

    one.hook = put_back
    one.session.send("go")
    one.run()
    assert seen == [True, True] * len(texts), one.results()
    assert len(copies(one)) == len(texts)
    assert one.session.ended


def test_session_restores_a_copy_and_reports_it(netted, repository):
    one = netted(calls(("execute_bash", {"command": 'for f in *.tmp; do rm "$f"; done'})), says("done"))
    before = untracked(repository)
    one.session.send("go")
    one.run()
    assert deletable_files(repository) != before
    (copy,) = copies(one)
    one.session.files.restore(copy.copy_id)
    wait_for(lambda: any("2 files restored" in getattr(event, "notice", "") for event in one.events), "the files")
    assert deletable_files(repository) == before


def spoil(repository: SnapshotRepository, how: str) -> None:
    """Make the object store of the snapshots unreadable or unwritable."""
    objects = repository.directory / "objects"
    objects.rename(repository.directory / "gone")
    if how == "unreadable":
        objects.write_text("not a folder")
        return
    objects.mkdir()
    for number in range(256):
        (objects / f"{number:02x}").write_text("not a folder")


@pytest.mark.parametrize("how", ["unreadable", "full"])
@pytest.mark.parametrize("command", ["rm a.tmp", 'for f in *.tmp; do rm "$f"; done'])
def test_failed_copy_asks_even_in_never_ask_mode(netted, repository, command, how):
    one = netted(calls(("execute_bash", {"command": "true > made"})), calls(("execute_bash", {"command": command})))
    before = untracked(repository)
    one.hook = lambda event: spoil(repository, how) if event.kind == "action_observed" else None
    one.session.send("go")
    one.run()
    question = one.session.question
    assert question is not None, "it was not asked about"
    assert deletable_files(repository) == before
    reasons = " ".join(question.assessed.reasons) + " ".join(part.reason for part in question.assessed.segments)
    assert "no copy could be made: " in reasons
    one.hook = lambda event: None
    one.answer()
    assert deletable_files(repository) != before, "the person has said that it may go"
    assert copies(one) == []


def test_rule_that_allows_deleting_does_not_allow_permanent_loss(netted, repository):
    one = netted(calls(("execute_bash", {"command": "rm -r build"})), says("done"))
    untracked(repository)
    with Path(repository.workspace / "build/large").open("wb") as file:
        file.truncate(150_000_000)
    one.session.set(rule="allow execute_bash $ rm -r build")
    one.session.send("go")
    one.run()
    question = one.session.question
    assert question is not None
    assert question.assessed.reasons[0] == FINAL
    assert "can NOT be restored" in " ".join(question.assessed.reasons)
    assert question.assessed.always == ""
