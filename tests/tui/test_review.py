"""Reviewing changes in the diff viewer: scopes, search, comments, reverting."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.diff_app import ScreenApp, painted
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from tests.tui.waiting import until
from workbench.client.client import CommandRefused
from workbench.diff.hunks import compare
from workbench.errors import WorkbenchError
from workbench.protocol import events as ev
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.file_list import FileList
from workbench.tui.widgets.key_hints import KeyHints
from workbench.tui.widgets.viewer_input import ViewerInput
from workbench.view.diff.search import find
from workbench.view.reducer import apply
from workbench.view.review.revert_text import of_file, of_hunk, refusal
from workbench.view.review.review import (
    Comment,
    Comments,
    Review,
    files_against_head,
    is_repository,
    keep_comments,
    read_comments,
)
from workbench.view.state import FileState, SessionState

LINES = [f"line {number}\n" for number in range(60)]
BEFORE = "".join(LINES)
MIDDLE = BEFORE.replace("line 5\n", "five\n")
AFTER = MIDDLE.replace("line 40\n", "forty needle\n")


class Harness:
    """A session of two turns in one directory, a viewer on it, and the viewer's commands."""

    def __init__(self, directory: Path, name: str = "") -> None:
        self.path = str(directory / "a.txt")
        self.other = str(directory / "b.txt")
        script = Script().start(workspace=str(directory)).user("one")
        script.run("str_replace_editor", _files=(ev.FileDelta(path=self.path, before=BEFORE, after=MIDDLE),))
        script.run("str_replace_editor", _files=(ev.FileDelta(path=self.other, before=None, after="a Needle\n"),))
        script.add(ev.RunEnded, reason="finished")
        script.user("two")
        script.run("str_replace_editor", _files=(ev.FileDelta(path=self.path, before=MIDDLE, after=AFTER),))
        self.state = script.state()
        self.client = FakeClient()
        self.sent: list[str] = []
        self.review = Review(self.client, self.state, directory, self.sent.append)
        self.screen = self.opened(name or "whole session")
        self.app = ScreenApp(self.screen)

    def hints(self) -> str:
        """Return the keys named on the last line."""
        return self.screen.query_one(KeyHints).render().plain

    def opened(self, scope: str, action_id: str = "") -> DiffViewerScreen:
        return DiffViewerScreen((), self.state.workspace, review=self.review, scope=scope, action_id=action_id)

    @property
    def view(self) -> AnnotatedDiff:
        return self.screen.query_one(AnnotatedDiff)

    def text_of(self, name: str) -> str:
        return str(self.screen.query_one(f"#viewer-{name}").render())

    def tell(self, *messages: object) -> None:
        for message in messages:
            self.review.update(apply(self.state, message))  # type: ignore[arg-type]

    def written(self, before: str | None, after: str | None) -> None:
        delta = ev.FileDelta(path=self.path, before=before, after=after)
        self.tell(ev.FilesChanged(seq=self.state.last_seq + 1, files=(delta,), by="person"))


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


async def ready(pilot: Pilot[None], harness: Harness) -> None:
    await until(pilot, lambda: "five" in painted(harness.view) and harness.view.has_focus, "the diff is shown")


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


def test_search_finds_each_line_once_in_the_order_shown() -> None:
    diff = compare("f", "a x\nold x\nb\n", "a x\nnew x\nb X\n")

    places = [(match.side, match.line, match.start) for match in find("x", diff)]

    assert places == [("new", 0, 2), ("old", 1, 4), ("new", 1, 4), ("new", 2, 2)]
    assert [match.line for match in find("X", diff)] == [2]
    assert find("", diff) == find("nowhere", diff) == []


def test_comments_become_one_message_with_path_line_and_quote() -> None:
    comments = Comments()
    comments.write(Comment("b.py", "new", 1, "x = 2", ""), "why?")
    comments.write(Comment("a.py", "old", 0, "gone", ""), "keep it\n")

    assert comments.message() == (
        "Comments on the changes:\n\na.py:1 (before the change)\n> gone\nkeep it\n\nb.py:2\n> x = 2\nwhy?"
    )


def test_comment_moves_with_its_line_and_an_empty_one_is_removed() -> None:
    comments = Comments()
    comment = Comment("f", "new", 1, "x", "")
    comments.write(comment, "why?")

    moved = comments.placed("f", compare("f", "a\n", "new\nnew\na\nx\n"))
    gone = comments.placed("f", compare("f", "a\n", "a\n" * 9 + "b\n"))
    comments.write(comment, "  ")

    assert list(moved) == [("new", 3)]
    assert list(gone) == [("new", 1)]
    assert len(comments) == 0


def test_reverting_a_hunk_keeps_the_others() -> None:
    file = FileState("/w/f", BEFORE, AFTER)
    diff = compare("f", BEFORE, AFTER)

    hunk = of_hunk(file, diff, 0)

    assert (hunk.now, hunk.target) == (AFTER, BEFORE.replace("line 40\n", "forty needle\n"))
    assert (hunk.undone.now, hunk.undone.target) == (hunk.target, AFTER)
    assert of_file(file, "f").target == BEFORE
    new = FileState("/w/n", None, "x\n")
    assert of_hunk(new, compare("n", None, "x\n"), 0).target is None


def test_refused_revert_gives_the_reason(harness: Harness) -> None:
    file_state = FileState(harness.path, BEFORE, AFTER)
    assert refusal(harness.state, file_state) == ""
    assert "changed since" in refusal(harness.state, FileState(harness.path, BEFORE, MIDDLE))
    assert "Nothing to revert" in refusal(harness.state, FileState(harness.path, None, None, note="binary"))
    harness.state.running["x"] = next(iter(harness.state.actions.values()))
    assert "running" in refusal(harness.state, file_state)


@pytest.mark.starts
def test_files_against_head_are_those_that_differ_or_give_a_reason(tmp_path: Path) -> None:
    assert not is_repository(tmp_path)
    git(tmp_path, "init", "-q")
    for name, content in {"same": b"s\n", "changed": b"a\n", "gone": b"g\n", "picture": b"\xff\x00"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "new\nline").write_text("n\n")
    assert next(Path(file.path).name for file in files_against_head(tmp_path)) == "changed"
    git(tmp_path, "add", "same", "changed", "gone", "picture")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "changed").write_text("b\n")
    (tmp_path / "same").write_text("s\n")
    (tmp_path / "gone").unlink()
    (tmp_path / "picture").write_bytes(b"\xff\x01\x02")

    changes = {Path(file.path).name: file for file in files_against_head(tmp_path)}

    assert (changes["changed"].before, changes["changed"].after) == ("a\n", "b\n")
    assert (changes["gone"].before, changes["gone"].after) == ("g\n", None)
    assert (changes["new\nline"].before, changes["new\nline"].after) == (None, "n\n")
    assert changes["picture"].note == "not text, 2 bytes → 3 bytes"
    assert "same" not in changes


@pytest.mark.starts
def test_directory_that_git_cannot_read_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    with pytest.raises(WorkbenchError, match="git cannot show"):
        files_against_head(tmp_path)


async def test_key_cycles_the_scopes_and_the_title_names_the_current_one(tmp_path: Path) -> None:
    harness = Harness(tmp_path, "this turn")
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "this turn │ M a.txt  +1 −1" in harness.text_of("title"), "the turn")
        await pilot.press("full_stop")
        await until(
            pilot,
            lambda: "whole session │ 2 of 2 files to review │ M a.txt  +2 −2" in harness.text_of("title"),
            "the session",
        )
        await pilot.press("full_stop")
        assert await until(pilot, lambda: "this turn" in harness.text_of("title"), "no git, so no scope of it")


async def test_head_scope_is_read_from_git(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "kept.py").write_text("x = 1\n")
    git(tmp_path, "add", "kept.py")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / "kept.py").write_text("x = 2\n")
    harness = Harness(tmp_path, "against HEAD")
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "against HEAD │ M kept.py" in harness.text_of("title"), "what git says")
        assert await until(pilot, lambda: "x = 2" in painted(harness.view))


async def test_search_covers_all_files_opens_folds_and_ends(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("slash", *"needle", "enter")
        await until(pilot, lambda: "match 1 of 2" in harness.text_of("status"), "found in both files")
        assert harness.view.line == (0, "new", 40)
        await pilot.press("n")
        await until(pilot, lambda: "b.txt" in harness.text_of("title") and "match 2 of 2" in harness.text_of("status"))
        await pilot.press("N")
        await until(pilot, lambda: "a.txt" in harness.text_of("title"))
        await pilot.press("slash", *"line 25", "tab", "enter")
        await until(pilot, lambda: "match 1 of 1" in harness.text_of("status") and "line 25" in painted(harness.view))
        await pilot.press("escape")
        await until(pilot, lambda: not harness.screen._search.matches)
        assert harness.app.screen is harness.screen


async def test_comments_are_below_their_lines_survive_the_viewer_and_are_sent_together(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("down", "c", *"why five?", "enter")
        await until(pilot, lambda: "✎ why five?" in painted(harness.view), "the comment")
        await until(pilot, lambda: "1 unsent comment   Ctrl+S Send" in harness.text_of("status"))
        await pilot.press("c")
        await until(
            pilot, lambda: "Keep" in harness.hints() and "this file" not in harness.hints(), "the keys of a comment"
        )
        await pilot.press(*" really", "enter")
        await until(pilot, lambda: "✎ why five? really" in painted(harness.view), "edited")
        await pilot.press("escape")
        await until(pilot, lambda: harness.app.screen is not harness.screen, "closed")

        harness.screen = harness.opened("whole session")
        harness.app.push_screen(harness.screen)
        await until(pilot, lambda: harness.app.screen is harness.screen and harness.screen.query(AnnotatedDiff))
        await until(pilot, lambda: "✎ why five? really" in painted(harness.view), "still there")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: harness.sent, "sent")
        assert harness.sent == ["Comments on the changes:\n\na.txt:6\n> five\nwhy five? really"]
        await until(pilot, lambda: "✎" not in painted(harness.view))


async def test_empty_scope_shows_only_active_keys(tmp_path: Path) -> None:
    state = Script().start(workspace=str(tmp_path)).state()
    review = Review(FakeClient(), state, tmp_path, lambda text: None)
    screen = DiffViewerScreen((), str(tmp_path), review=review, scope="whole session")
    async with ScreenApp(screen).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.query(KeyHints) and "Close" in screen.query_one(KeyHints).render().plain)
        assert "Revert" not in screen.query_one(KeyHints).render().plain


async def test_comment_can_be_deleted_and_a_fold_accepts_none(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("c", *"x", "escape")
        await until(pilot, lambda: not harness.screen.query_one(ViewerInput).display)
        assert len(harness.review.comments) == 0
        await pilot.press("c", *"y", "enter")
        await until(pilot, lambda: "✎ y" in painted(harness.view))
        await pilot.press("d")
        await until(pilot, lambda: "✎" not in painted(harness.view))
        await pilot.press("home", "c")
        await until(pilot, lambda: "Move to a line first" in harness.text_of("status"))


async def test_hunk_is_reverted_and_that_is_undone(harness: Harness) -> None:
    without = BEFORE.replace("line 40\n", "forty needle\n")
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("x")
        asked = ev.FileDelta(path=harness.path, before=AFTER, after=without)
        await until(pilot, lambda: harness.client.commands == [("take_back", asked)], "asked for")
        harness.written(AFTER, without)
        await until(pilot, lambda: "Reverted hunk 1 of a.txt   u Undo" in harness.text_of("status"))
        await until(pilot, lambda: "five" not in painted(harness.view), "it is gone from the diff")
        await pilot.press("u")
        back = ev.FileDelta(path=harness.path, before=without, after=AFTER)
        await until(pilot, lambda: harness.client.commands[1:] == [("take_back", back)], "asked back")
        harness.written(without, AFTER)
        await until(pilot, lambda: "Restored hunk 1 of a.txt" in harness.text_of("status"))
        assert await until(pilot, lambda: "five" in painted(harness.view))


async def test_file_is_reverted_or_the_reason_is_shown(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("X")
        await until(pilot, lambda: len(harness.client.commands) == 1)
        harness.tell(CommandRefused("a.txt has changed since it was shown"))
        await until(pilot, lambda: "Not done: a.txt has changed since" in harness.text_of("status"))
        harness.state.running["x"] = next(iter(harness.state.actions.values()))
        await pilot.press("x")
        await until(pilot, lambda: "An action is running" in harness.text_of("status"))
        assert len(harness.client.commands) == 1


async def test_mouse_selects_lines_and_files_and_opens_folds(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        rows = painted(harness.view).splitlines()
        await pilot.click(AnnotatedDiff, offset=(20, next(y for y, row in enumerate(rows) if "forty" in row)))
        await until(pilot, lambda: harness.view.line == (0, "new", 40))
        await pilot.click(AnnotatedDiff, offset=(20, next(y for y, row in enumerate(rows) if "unchanged" in row)))
        await until(pilot, lambda: "line 20" in painted(harness.view) or "line 0" in painted(harness.view))
        await pilot.click(FileList, offset=(5, 1))
        assert await until(pilot, lambda: "b.txt" in harness.text_of("title"))


async def test_file_without_visible_lines_says_why(tmp_path: Path) -> None:
    file = FileState("/w/p.png", None, None, note="binary, 5 bytes → 7 bytes")
    screen = DiffViewerScreen([file], "/w")
    async with ScreenApp(screen).run_test(size=(100, 20)) as pilot:
        await until(pilot, lambda: "binary, 5 bytes → 7 bytes" in painted(screen.query_one(AnnotatedDiff)))
        await pilot.press("x", "c", "j", "slash", *"a", "enter")
        assert isinstance(pilot.app.screen, DiffViewerScreen)


async def test_huge_file_is_compared_without_blocking_the_screen() -> None:
    before = "".join(f"value_{number} = {number}\n" for number in range(60_000))
    screen = DiffViewerScreen([FileState("/w/big.txt", before, before.replace("9 =", "8 ="))], "/w")
    async with ScreenApp(screen).run_test(size=(100, 20)) as pilot:
        await until(pilot, lambda: screen.query("#viewer-empty") and screen._has_files, "shown")
        assert await until(pilot, lambda: "value_8" in painted(screen.query_one(AnnotatedDiff)))


def test_turn_starts_with_a_message_that_starts_a_run(harness: Harness) -> None:
    assert list(harness.state.turn_changes) == [harness.path]
    assert set(harness.state.changes) == {harness.path, harness.other}
    assert isinstance(harness.state, SessionState)


async def test_viewer_closed_from_outside_stops_following(harness: Harness) -> None:
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await harness.app.pop_screen()
        await until(pilot, lambda: harness.review.watching is None, "closed")
        harness.written(AFTER, MIDDLE)
        assert harness.state.changes[harness.path].after == MIDDLE


async def test_unsent_comments_are_restored_on_the_next_screen(tmp_path: Path) -> None:
    saved = tmp_path / "kept"
    harness, directory = Harness(tmp_path), []

    def keep(name: str) -> Path:
        directory.append(saved / name)
        return directory[-1]

    harness.review._keep = keep
    async with harness.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, harness)
        await pilot.press("c", *"why", "enter")
        await until(pilot, lambda: "✎ why" in painted(harness.view))
    (path,) = saved.rglob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600

    later = Harness(tmp_path)
    later.review._keep = keep
    async with later.app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, later)
        await until(pilot, lambda: "✎ why" in painted(later.view) and "1 unsent comment" in later.text_of("status"))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: later.sent, "sent")
    assert later.sent == ["Comments on the changes:\n\na.txt:6 (before the change)\n> line 5\nwhy"]
    assert not path.exists()
    assert len(set(directory)) == 1


@pytest.mark.parametrize(
    "text", ["", "[", '{"path": 1}', '[1, {"path": "a"}, {"path": "a", "side": "x"}]', "\0", "[[]]"]
)
def test_damaged_comments_file_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "comments.json").write_text(text)
    assert read_comments(tmp_path) == []


def test_failed_write_of_comments_keeps_the_existing_ones(tmp_path: Path) -> None:
    comment = Comment("a.txt", "new", 1, "one", "why")
    keep_comments(tmp_path, [comment])
    blocked = tmp_path / "comments.json.blocked"
    keep_comments(Path("/dev/null/nowhere"), [comment])
    assert read_comments(tmp_path) == [comment]
    assert not blocked.exists()
