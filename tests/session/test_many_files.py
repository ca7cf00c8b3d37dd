"""More changed files than the log stores texts for: the viewer lists, shows and reverts each of them."""

from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_file_changes import idle
from tests.session.test_file_changes import recorded as recorded
from tests.session.test_revert_any_file import state_of
from tests.tui.diff_app import ScreenApp, painted
from tests.tui.fake_client import FakeClient
from tests.tui.waiting import until
from workbench.session.workspace import snapshots
from workbench.tools import BashTool
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.view.reducer import apply
from workbench.view.review.revert_text import of_file, refusal
from workbench.view.review.review import Review

MOST_CONTENTS = 100
FILES = MOST_CONTENTS + 150
_CHANGES = """
from pathlib import Path
for path in sorted(Path.cwd().glob("*.txt")):
    last = path.stem[-1]
    if last == "5": path.unlink()
    elif last < "5": path.write_text("one\\nafter\\nthree\\n")
    else: path.with_name("new-" + path.name).write_text(path.name)
"""


@pytest.fixture
def ran(recorded, tmp_path, monkeypatch):
    """A session in which one command changed, deleted and created more files than the log stores texts for."""
    monkeypatch.setattr(snapshots, "MOST_CONTENTS", MOST_CONTENTS)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    for number in range(FILES):
        (work / f"{number:04}.txt").write_text(f"one\nbefore {number}\nthree\n")
    one = recorded(calls(("execute_bash", {"command": f"python3 -c '{_CHANGES}'"}, "HIGH")), says("done"))
    one.tools["execute_bash"] = tool = BashTool(working_dir=str(work))
    one.before = {path.name: path.read_bytes() for path in work.iterdir()}
    one.session.send("go")
    one.run()
    idle(one)
    tool.close()
    return one


def test_every_file_of_a_large_change_is_listed_and_reverted(ran):
    state = state_of(ran)
    assert len(state.changes) == FILES
    for file in list(state.changes.values()):
        assert refusal(state, file, whole=True) == ""
    unheld = [file for file in state.changes.values() if file.note]
    assert len(unheld) == FILES - MOST_CONTENTS
    for file in unheld[::15]:
        ran.session.files.revert([of_file(file, "it", state.version).delta])
    idle(ran)
    later = state_of(ran)
    assert len(later.changes) == FILES - len(unheld[::15]), "a reverted file is listed still, or again"
    for file in unheld[::15]:
        path = Path(file.path)
        assert (path.read_bytes() if path.exists() else None) == ran.before.get(path.name)


async def test_file_without_text_in_the_log_is_shown_with_its_lines(ran):
    state = state_of(ran)
    state.workspace = str(ran.work)
    review = Review(client := FakeClient(), state, ran.work, print)
    path = str(ran.work / "0200.txt")
    assert state.changes[path].note, "its text is in the log"
    screen = DiffViewerScreen((), state.workspace, path, review=review, scope="whole session")
    async with ScreenApp(screen).run_test(size=(120, 30)) as pilot:
        view = screen.query_one(AnnotatedDiff)
        await until(pilot, lambda: "before 200" in painted(view), "its lines are shown")
        assert "after" in painted(view)
        await pilot.press("X")
        ((_, *files),) = client.commands
        ran.session.files.revert(files)
        assert Path(path).read_bytes() == ran.before[Path(path).name]


def test_edited_file_is_never_reverted_to_a_placeholder_line(ran):
    state = state_of(ran)
    file = next(each for each in state.changes.values() if each.note and each.before and each.after)
    path = Path(file.path)
    path.write_text("edited since\n")
    ran.agent.script.append(says("done again"))
    ran.session.send("again")
    ran.run()
    idle(ran)
    state = state_of(ran)
    assert state.changes[file.path].after == "edited since\n"
    revert = of_file(state.changes[file.path], "it", state.version)
    ran.session.files.revert([revert.delta])
    assert path.read_bytes() == ran.before[path.name]
    idle(ran)
    ran.session.files.revert([revert.undone.delta])
    assert path.read_text() == "edited since\n"


async def test_one_key_reverts_every_listed_file_after_confirmation(ran, monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 0.0)
    state = state_of(ran)
    state.workspace = str(ran.work)
    review = Review(client := FakeClient(), state, ran.work, print)
    screen = DiffViewerScreen((), state.workspace, review=review, scope="whole session")
    async with ScreenApp(screen).run_test(size=(120, 30)) as pilot:
        status = screen.query_one("#viewer-status")
        await until(pilot, lambda: painted(screen.query_one(AnnotatedDiff)).strip() != "", "the first file is shown")
        await pilot.press("R")
        await until(pilot, lambda: f"Revert {FILES:,} files?" in str(status.render()), "it asks")
        assert client.commands == []
        await pilot.pause()
        await pilot.press("R")
        ((_, *files),) = client.commands
        ran.session.files.revert(files)
        assert {path.name: path.read_bytes() for path in ran.work.iterdir()} == ran.before
        idle(ran)
        assert state_of(ran).changes == {}
        review.update(apply(state, next(event for event in reversed(ran.log()) if event.kind == "files_changed")))
        assert f"Reverted {FILES:,} files" in str(status.render())
        await pilot.press("u")
        _, (_, *files) = client.commands
        ran.session.files.revert(files)
        idle(ran)
        assert len(state_of(ran).changes) == FILES
