"""A link that changes while an action is rated, shown and run, against the files that the user must be asked about."""

from pathlib import Path

import pytest

from tests.session.fake_agent import Desk, calls, says
from tests.tools.test_editor_races import flipping
from workbench.tools import FileEditorTool
from workbench.tools.str_replace_editor.definition import FileEditorExecutor


class Switching(FileEditorExecutor):
    """The editor, with somebody who makes `place` a link whenever it looks, and a folder whenever it is rated."""

    place: Path
    target: Path

    def preview(self, action):
        with self._switched():
            return super().preview(action)

    def __call__(self, action):
        with self._switched():
            return super().__call__(action)

    def _switched(self):
        self.place.rename(self.place.with_name("aside"))
        self.place.symlink_to(self.target)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.unlink()
        self.place.with_name("aside").rename(self.place)


@pytest.mark.parametrize("target", ["../elsewhere", ".git/hooks"])
def test_what_is_written_is_rated_by_the_path_that_was_shown(tmp_path: Path, target):
    workspace = tmp_path / "workspace"
    goal = workspace / target
    for folder in (workspace / "place", goal):
        folder.mkdir(parents=True)
    call = {"command": "create", "path": f"{workspace}/place/new", "file_text": "x"}
    desk = Desk(workspace, calls(("str_replace_editor", call, "LOW")), says("done"), mode="high")
    tool = FileEditorTool(str(workspace))
    executor = Switching(str(workspace))
    executor.place, executor.target = workspace / "place", goal
    desk.tools["str_replace_editor"] = tool.set_executor(executor)
    desk.session.send("go")
    desk.run()
    assert desk.session.question is not None
    assert list(goal.iterdir()) == []
    desk.answer()
    assert [path.read_text() for path in goal.iterdir()] == ["x"]
    desk.close()


def test_a_link_that_never_rests_lets_nothing_out_and_ends_no_session(tmp_path: Path):
    workspace, outside = tmp_path / "workspace", tmp_path / "elsewhere" / "out"
    for folder in (workspace / "place", outside):
        folder.mkdir(parents=True)
    script = [
        calls(("str_replace_editor", {"command": "create", "path": f"{workspace}/place/{n}", "file_text": "x"}, "LOW"))
        for n in range(60)
    ]
    desk = Desk(workspace, *script, says("done"), mode="high")
    desk.tools["str_replace_editor"] = FileEditorTool(str(workspace))
    with flipping(workspace, outside, "folder"):
        desk.session.send("go")
        desk.run()
        while desk.session.question:
            desk.answer("rejected")
    assert list(outside.iterdir()) == []
    assert desk.log()[-1].kind == "run_ended"
    desk.close()


class Switched(FileEditorExecutor):
    """The editor, with somebody who puts a link in the place of a folder just before it looks, and takes it away."""

    place: Path
    target: Path

    def __call__(self, action):
        self.place.rename(self.place.with_name("aside"))
        self.place.symlink_to(self.target)
        try:
            return super().__call__(action)
        finally:
            self.place.unlink()
            self.place.with_name("aside").rename(self.place)


def viewing(workspace: Path, path: Path, executor: FileEditorExecutor | None = None) -> Desk:
    call = {"command": "view", "path": str(path)}
    desk = Desk(workspace, calls(("str_replace_editor", call, "LOW")), says("done"), mode="medium")
    tool = FileEditorTool(str(workspace))
    desk.tools["str_replace_editor"] = tool.set_executor(executor) if executor else tool
    desk.session.send("go")
    desk.run()
    return desk


def seen(desk: Desk) -> str:
    return "\n".join(str(event.observation) for event in desk.log() if event.kind == "action_observed")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that the user is asked about, in a folder beside the workspace, and one of the same name in it."""
    for folder, text in (("workspace/place", "plain"), (".ssh", "CANARY")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config").write_text(f"{text}\n")
    return tmp_path / ".ssh" / "config"


def test_what_is_read_without_a_question_is_the_file_that_was_rated(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    executor = Switched(str(workspace))
    executor.place, executor.target = workspace / "place", secret.parent
    desk = viewing(workspace, workspace / "place/config", executor)
    assert desk.session.question is None
    assert "which is not the file that was shown" in seen(desk)
    assert "CANARY" not in seen(desk)
    desk.close()


def test_a_link_to_a_secret_file_is_asked_about_and_then_read(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (workspace / "link").symlink_to(secret)
    desk = viewing(workspace, workspace / "link")
    assert desk.session.question is not None
    assert "CANARY" not in seen(desk)
    desk.answer()
    assert "CANARY" in seen(desk)
    desk.close()


def test_a_link_to_another_file_of_the_workspace_is_read_at_once(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (workspace / "link").symlink_to("place/config")
    for path in (workspace / "link", workspace / "place/config", workspace / "place/../link"):
        desk = viewing(workspace, path)
        assert desk.session.question is None
        assert "plain" in seen(desk)
        desk.close()


def test_an_approval_to_read_through_a_link_is_for_the_file_it_led_to(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (secret.parent / "other").write_text("OTHER\n")
    (workspace / "link").symlink_to(secret)
    desk = viewing(workspace, workspace / "link")
    (workspace / "link").unlink()
    (workspace / "link").symlink_to(secret.with_name("other"))
    desk.answer()
    assert desk.session.question is not None
    assert "OTHER" not in seen(desk)
    desk.close()
