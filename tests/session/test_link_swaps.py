"""A link is swapped while an action is rated, shown and run, to reach files that the user must be asked about."""

from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, says
from tests.tools.test_editor_races import flipping
from workbench.tools import FileEditorTool
from workbench.tools.str_replace_editor.definition import FileEditorExecutor


class Switching(FileEditorExecutor):
    """The editor, while `place` becomes a link whenever a call runs and a directory whenever it is rated."""

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
def test_write_is_rated_by_the_path_that_was_shown(tmp_path: Path, target):
    workspace = tmp_path / "workspace"
    goal = workspace / target
    for directory in (workspace / "place", goal):
        directory.mkdir(parents=True)
    call = {"command": "create", "path": f"{workspace}/place/new", "file_text": "x"}
    harness = Harness(workspace, calls(("str_replace_editor", call, "LOW")), says("done"), mode="high")
    tool = FileEditorTool(str(workspace))
    executor = Switching(str(workspace))
    executor.place, executor.target = workspace / "place", goal
    harness.tools["str_replace_editor"] = tool.set_executor(executor)
    harness.session.send("go")
    harness.run()
    assert harness.session.question is not None
    assert list(goal.iterdir()) == []
    harness.answer()
    assert [path.read_text() for path in goal.iterdir()] == ["x"]
    harness.close()


def test_constantly_swapped_link_lets_nothing_out_and_ends_no_session(tmp_path: Path):
    workspace, outside = tmp_path / "workspace", tmp_path / "elsewhere" / "out"
    for directory in (workspace / "place", outside):
        directory.mkdir(parents=True)
    script = [
        calls(("str_replace_editor", {"command": "create", "path": f"{workspace}/place/{n}", "file_text": "x"}, "LOW"))
        for n in range(60)
    ]
    harness = Harness(workspace, *script, says("done"), mode="high")
    harness.tools["str_replace_editor"] = FileEditorTool(str(workspace))
    with flipping(workspace, outside, "folder"):
        harness.session.send("go")
        harness.run()
        while harness.session.question:
            harness.answer("rejected")
    assert list(outside.iterdir()) == []
    assert harness.log()[-1].kind == "run_ended"
    harness.close()


class Switched(FileEditorExecutor):
    """The editor, while a link replaces a directory just before each access and is removed after it."""

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


def viewing(workspace: Path, path: Path, executor: FileEditorExecutor | None = None) -> Harness:
    call = {"command": "view", "path": str(path)}
    harness = Harness(workspace, calls(("str_replace_editor", call, "LOW")), says("done"), mode="medium")
    tool = FileEditorTool(str(workspace))
    harness.tools["str_replace_editor"] = tool.set_executor(executor) if executor else tool
    harness.session.send("go")
    harness.run()
    return harness


def seen(harness: Harness) -> str:
    return "\n".join(str(event.observation) for event in harness.log() if event.kind == "action_observed")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that needs the user's approval, in a directory beside the workspace, and one of the same name in the
    workspace.
    """
    for directory, text in (("workspace/place", "plain"), (".ssh", "CANARY")):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "config").write_text(f"{text}\n")
    return tmp_path / ".ssh" / "config"


def test_file_read_without_a_question_is_the_one_that_was_rated(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    executor = Switched(str(workspace))
    executor.place, executor.target = workspace / "place", secret.parent
    harness = viewing(workspace, workspace / "place/config", executor)
    assert harness.session.question is None
    assert "which is not the file that was shown" in seen(harness)
    assert "CANARY" not in seen(harness)
    harness.close()


def test_link_to_a_secret_file_is_asked_about_and_then_read(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (workspace / "link").symlink_to(secret)
    harness = viewing(workspace, workspace / "link")
    assert harness.session.question is not None
    assert "CANARY" not in seen(harness)
    harness.answer()
    assert "CANARY" in seen(harness)
    harness.close()


def test_link_to_another_workspace_file_is_read_at_once(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (workspace / "link").symlink_to("place/config")
    for path in (workspace / "link", workspace / "place/config", workspace / "place/../link"):
        harness = viewing(workspace, path)
        assert harness.session.question is None
        assert "plain" in seen(harness)
        harness.close()


def test_approval_to_read_through_a_link_is_for_its_target_at_that_time(tmp_path: Path, secret: Path):
    workspace = tmp_path / "workspace"
    (secret.parent / "other").write_text("OTHER\n")
    (workspace / "link").symlink_to(secret)
    harness = viewing(workspace, workspace / "link")
    (workspace / "link").unlink()
    (workspace / "link").symlink_to(secret.with_name("other"))
    harness.answer()
    assert harness.session.question is not None
    assert "OTHER" not in seen(harness)
    harness.close()
