"""Staging and unstaging hunks and files in the diff viewer: git's index gets the exact bytes that were shown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.diff_app import ScreenApp, painted
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import at_rest
from tests.tui.sample_session import Script
from tests.tui.waiting import until
from workbench.diff.hunks import compare
from workbench.errors import WorkbenchError
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.file_list import FileList
from workbench.tui.widgets.key_hints import KeyHints
from workbench.view.review import staging
from workbench.view.review.review import Review
from workbench.view.review.staging import CannotStage, IndexSide, staged_names
from workbench.view.state import FileState

pytestmark = pytest.mark.starts

LINES = [b"line %d\n" % number for number in range(40)]
BASE = b"".join(LINES)


def git(directory: Path, *words: str) -> bytes:
    names = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    return subprocess.run(["git", *names, *words], cwd=directory, check=True, capture_output=True).stdout


class Repository:
    """A repository with one commit, and both sides of its index."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        git(directory, "init", "-q", "-b", "main")
        self.unstaged = IndexSide(directory, is_staged=False)
        self.staged = IndexSide(directory, is_staged=True)

    def commit(self, **files: bytes) -> Repository:
        for name, content in files.items():
            (self.directory / name).write_bytes(content)
        git(self.directory, "add", "-A")
        git(self.directory, "commit", "-qm", "first")
        return self

    def write(self, name: str, content: bytes) -> None:
        (self.directory / name).write_bytes(content)

    def indexed(self, name: str) -> bytes:
        return git(self.directory, "cat-file", "blob", f":{name}")

    def status(self) -> list[str]:
        return git(self.directory, "status", "--porcelain").decode().splitlines()

    def file(self, side: IndexSide, name: str) -> FileState:
        files = {file.path: file for file in side.files()}
        return files[str(self.directory / name)]

    def move(self, side: IndexSide, name: str, hunk: int = -1) -> None:
        """Stage or unstage as the viewer does."""
        file = self.file(side, name)
        side.move(file, compare(name, file.before, file.after), hunk)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    directory = tmp_path / "work"
    directory.mkdir()
    return Repository(directory)


def replaced(content: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    for old, new in pairs:
        assert old in content
        content = content.replace(old, new)
    return content


FIRST, SECOND = (b"line 5\n", b"five\n"), (b"line 30\n", b"thirty\nand more\n")
LATIN = "Zürich\n".encode("latin-1")
CONTENTS: dict[str, tuple[bytes, tuple[bytes, bytes], tuple[bytes, bytes]]] = {
    "plain": (BASE, FIRST, SECOND),
    "CRLF": (BASE.replace(b"\n", b"\r\n"), (b"line 5\r\n", b"five\r\n"), (b"line 30\r\n", b"thirty\r\n")),
    "line ends change": (BASE, (b"line 5\n", b"line 5\r\n"), (b"line 30\n", b"line 30\r\n")),
    "no newline at the end": (BASE.removesuffix(b"\n"), FIRST, (b"line 39", b"last\nand more")),
    "newline at the end removed": (BASE, FIRST, (b"line 39\n", b"line 39")),
    "newline at the end added": (BASE.removesuffix(b"\n"), FIRST, (b"\nline 39", b"\nline 39\n")),
    "Latin-1": (LATIN + BASE + LATIN, FIRST, (b"line 30\n", LATIN)),
    "lone carriage returns": (b"a\rb\n" + BASE, FIRST, (b"line 30\n", b"x\ry\n")),
    "first and last line": (BASE, (b"line 0\n", b""), (b"line 39\n", b"")),
    "lines like those of a patch": (
        b"--- a\n+++ b\ndiff --git a/x b/x\n" + BASE,
        FIRST,
        (b"line 30\n", b"@@ -1 +1 @@\n"),
    ),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_one_hunk_is_staged_with_its_exact_bytes_and_unstaged_again(kind: str, repository: Repository) -> None:
    base, first, second = CONTENTS[kind]
    repository.commit(a=base)
    repository.write("a", replaced(base, first, second))

    repository.move(repository.unstaged, "a", 1)
    assert repository.indexed("a") == replaced(base, second)
    assert repository.status() == ["MM a"]
    repository.move(repository.unstaged, "a", 0)
    assert repository.indexed("a") == replaced(base, first, second)
    repository.move(repository.staged, "a", 1)
    assert repository.indexed("a") == replaced(base, first)
    repository.move(repository.staged, "a", 0)
    assert repository.indexed("a") == base
    assert (repository.directory / "a").read_bytes() == replaced(base, first, second), "the file is never written"


@pytest.mark.parametrize(
    "name", ["with space", "-dash", "ümläut", 'tab\tand "quote" \\', "new\nline", "[a]*", "a b/x", os.fsdecode(b"\xff")]
)
def test_any_name_is_staged_by_hunk_and_as_a_new_file(name: str, repository: Repository) -> None:
    path = repository.directory / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(BASE)
    (repository.directory / "a").write_bytes(b"")
    repository.move(repository.unstaged, name)
    git(repository.directory, "commit", "-qm", "new")
    assert git(repository.directory, "ls-files", "-z") == os.fsencode(name) + b"\0", "no other file was added"
    path.write_bytes(replaced(BASE, FIRST, SECOND))

    repository.move(repository.unstaged, name, 0)
    assert repository.indexed(name) == replaced(BASE, FIRST)
    repository.move(repository.staged, name)
    assert repository.indexed(name) == BASE


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to("elsewhere")


CHANGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(b"\0\1\2"),
    "executable": lambda path: path.chmod(0o755),
    "a link": link,
    "renamed": lambda path: path.rename(path.with_name("b")),
    "new beside": lambda path: path.with_name("b").write_bytes(b"new"),
    "empty beside": lambda path: path.with_name("b").write_bytes(b""),
    "binary beside": lambda path: path.with_name("b").write_bytes(b"\0"),
    "a link beside": lambda path: path.with_name("b").symlink_to("elsewhere"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_whole_files_are_staged_as_git_add_does_and_unstaged_completely(kind: str, repository: Repository) -> None:
    repository.commit(a=BASE)
    before = git(repository.directory, "write-tree")
    CHANGES[kind](repository.directory / "a")
    git(repository.directory, "add", "-A")
    expected = git(repository.directory, "write-tree")
    git(repository.directory, "reset", "-q")

    for side, tree in ((repository.unstaged, expected), (repository.staged, before)):
        for file in side.files():
            assert file.note or file.before != file.after, "the viewer shows it"
            repository.move(side, os.path.relpath(file.path, repository.directory))
        assert git(repository.directory, "write-tree") == tree
    assert repository.staged.files() == []


def test_hunk_of_a_file_whose_mode_changes_too_is_staged_without_the_mode(repository: Repository) -> None:
    repository.commit(a=BASE)
    repository.write("a", replaced(BASE, FIRST, SECOND))
    (repository.directory / "a").chmod(0o755)
    repository.move(repository.unstaged, "a", 0)
    assert git(repository.directory, "ls-files", "-s").startswith(b"100644 ")
    repository.move(repository.unstaged, "a")
    assert git(repository.directory, "ls-files", "-s").startswith(b"100755 ")
    assert repository.status() == ["M  a"]


def test_repository_without_a_commit_has_new_files_to_stage_and_unstage(repository: Repository) -> None:
    repository.write("a", b"one\n")
    repository.move(repository.unstaged, "a")
    assert repository.status() == ["A  a"]
    assert staged_names(repository.directory) == (["a"], [])
    repository.move(repository.staged, "a")
    assert repository.status() == ["?? a"]


def test_line_ends_that_git_converts_are_no_change_and_hunks_fit(repository: Repository) -> None:
    git(repository.directory, "config", "core.autocrlf", "true")
    git(repository.directory, "config", "core.safecrlf", "false")
    repository.commit(a=BASE.replace(b"\n", b"\r\n"))
    assert repository.indexed("a") == BASE
    repository.write("a", replaced(BASE, FIRST, SECOND).replace(b"\n", b"\r\n"))
    file = repository.file(repository.unstaged, "a")
    assert len(compare("a", file.before, file.after).hunks) == 2
    repository.move(repository.unstaged, "a", 0)
    assert repository.indexed("a") == replaced(BASE, FIRST)


def test_index_that_has_changed_meanwhile_is_not_touched(repository: Repository) -> None:
    repository.commit(a=BASE, b=b"\0")
    repository.write("a", replaced(BASE, FIRST, SECOND))
    repository.write("b", b"\0\1")
    files = {Path(file.path).name: file for file in repository.unstaged.files()}
    git(repository.directory, "add", "a", "b")
    for name, file in files.items():
        with pytest.raises(CannotStage, match="Not staged: it has changed since it was shown"):
            repository.unstaged.move(file, compare(name, file.before, file.after), 0)
    assert repository.indexed("a") == replaced(BASE, FIRST, SECOND)
    assert repository.indexed("b") == b"\0\1"


def test_file_that_is_not_as_it_was_shown_is_not_staged_by_hunk_or_whole(repository: Repository) -> None:
    repository.commit(a=BASE)
    repository.write("a", replaced(BASE, FIRST, SECOND))
    shown_first = repository.file(repository.unstaged, "a")
    diff = compare("a", shown_first.before, shown_first.after)
    repository.write("a", replaced(BASE, (b"line 5\n", b"other\n"), SECOND))
    repository.unstaged.files()
    for hunk in (0, -1):
        with pytest.raises(CannotStage, match="it has changed since it was shown"):
            repository.unstaged.move(shown_first, diff, hunk)
    assert repository.indexed("a") == BASE


def test_lines_beyond_the_limit_are_not_kept_but_their_files_can_be_staged(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit(a=BASE, b=BASE)
    for name in ("a", "b", "c", "d"):
        repository.write(name, replaced(BASE, FIRST))
    monkeypatch.setattr(staging, "_MOST_BYTES", 2 * len(BASE))
    files = {Path(file.path).name: file.note for file in repository.unstaged.files()}
    assert not files["a"]
    assert all("too many changes" in files[name] for name in ("b", "d"))
    (shown_first,) = [file for file in repository.unstaged.files() if file.path.endswith("d")]
    repository.write("d", replaced(BASE, SECOND))
    with pytest.raises(CannotStage, match="it has changed since it was shown"):
        repository.unstaged.move(shown_first)
    repository.write("d", replaced(BASE, FIRST))
    for name in ("b", "d"):
        repository.move(repository.unstaged, name)
        assert repository.indexed(name) == replaced(BASE, FIRST)


async def test_number_of_files_that_are_not_shown_is_in_the_title(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_MOST_FILES", 1)
    viewer = Viewer(repository)
    repository.write("c.txt", b"three\n")
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await pilot.press("a")
        await viewer.show(pilot, "not staged (2 more files not shown)")
        assert repository.unstaged.files()[0].path.endswith("a.txt")


def test_staged_submodules_are_among_what_a_commit_contains(repository: Repository) -> None:
    repository.commit(a=BASE)
    inner = repository.directory / "lib"
    inner.mkdir()
    Repository(inner).commit(c=b"one\n")
    git(repository.directory, "add", "lib")
    assert staged_names(repository.directory) == ([], ["lib"])


def test_hunk_stays_the_one_that_was_shown_when_the_file_changes(repository: Repository) -> None:
    repository.commit(a=BASE)
    repository.write("a", replaced(BASE, FIRST, SECOND))
    file = repository.file(repository.unstaged, "a")
    repository.write("a", b"something else\n")
    repository.unstaged.move(file, compare("a", file.before, file.after), 0)
    assert repository.indexed("a") == replaced(BASE, FIRST)


@pytest.mark.parametrize("name", ["a", "new"])
def test_locked_index_is_a_clear_message_and_loses_nothing(name: str, repository: Repository) -> None:
    repository.commit(a=BASE)
    repository.write("a", replaced(BASE, FIRST))
    repository.write("new", b"x\n")
    lock = repository.directory / ".git/index.lock"
    lock.touch()
    with pytest.raises(CannotStage, match="Not staged: another git is changing the index"):
        repository.move(repository.unstaged, name)
    assert repository.status() == [" M a", "?? new"]
    lock.unlink()
    repository.move(repository.unstaged, name)
    assert len(repository.staged.files()) == 1


def test_file_that_a_filter_converts_is_left_to_git(repository: Repository) -> None:
    repository.commit(**{".gitattributes": b"*.bin filter=lfs\n"})
    repository.write("a.bin", b"large\n")
    with pytest.raises(CannotStage, match=r"the filter lfs converts it, which only `git add a\.bin` runs"):
        repository.move(repository.unstaged, "a.bin")
    assert repository.status() == ["?? a.bin"]


def test_conflict_is_shown_and_staged_as_resolved(repository: Repository) -> None:
    repository.commit(a=BASE, b=BASE)
    git(repository.directory, "branch", "side")
    repository.commit(a=replaced(BASE, FIRST))
    git(repository.directory, "switch", "-q", "side")
    repository.commit(a=replaced(BASE, (b"line 5\n", b"5\n")))
    with pytest.raises(subprocess.CalledProcessError):
        git(repository.directory, "merge", "main")
    repository.write("b", replaced(BASE, SECOND))
    files = repository.unstaged.files()
    assert [(Path(file.path).name, bool(file.note)) for file in files] == [("a", True), ("b", False)]
    with pytest.raises(WorkbenchError, match="a has conflicts: resolve them and stage it first"):
        staged_names(repository.directory)
    repository.write("a", BASE)
    repository.move(repository.unstaged, "a")
    assert repository.indexed("a") == BASE
    assert staged_names(repository.directory) == (["a"], [])


def test_settings_of_the_repository_do_not_change_what_is_staged(repository: Repository) -> None:
    settings = {
        "apply.whitespace": "fix",
        "apply.ignoreWhitespace": "change",
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.renames": "copies",
        "diff.suppressBlankEmpty": "true",
        "diff.relative": "true",
        "color.ui": "always",
    }
    base = b"a\n\n" + BASE
    repository.commit(a=base)
    for name, value in settings.items():
        git(repository.directory, "config", name, value)
    new = replaced(base, (b"line 5\n", b"trailing  \t\n\n"), SECOND)
    repository.write("a", new)
    repository.move(repository.unstaged, "a", 0)
    assert repository.indexed("a") == replaced(base, (b"line 5\n", b"trailing  \t\n\n"))
    repository.move(repository.unstaged, "a")
    assert repository.indexed("a") == new


class Viewer:
    """A viewer on a repository with two changed hunks in one file, and one more file."""

    def __init__(self, repository: Repository, *, has_control: bool = True) -> None:
        repository.commit(**{"a.txt": BASE, "b.txt": b"one\n"})
        repository.write("a.txt", replaced(BASE, FIRST, SECOND))
        repository.write("b.txt", b"two\n")
        state = Script().start(workspace=str(repository.directory)).state()
        state.has_control = has_control
        review = Review(FakeClient(), state, repository.directory, lambda text: None)
        self.screen = DiffViewerScreen((), str(repository.directory), review=review, scope="against HEAD")
        self.app = ScreenApp(self.screen)

    def text_of(self, name: str) -> str:
        return str(self.screen.query_one(f"#viewer-{name}").render())

    def hints(self) -> str:
        return self.screen.query_one(KeyHints).render().plain

    async def show(self, pilot, text: str) -> None:
        await until(pilot, lambda: text in self.text_of("title"), text)
        view = self.screen.query_one(AnnotatedDiff)
        await until(pilot, lambda: view.has_focus or "No changes" in self.text_of("empty"))


async def test_keys_stage_and_unstage_and_the_state_is_that_of_git(repository: Repository) -> None:
    viewer = Viewer(repository)
    view = viewer.screen.query_one
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await until(pilot, lambda: "five" in painted(view(AnnotatedDiff)))
        await pilot.press("a")
        await viewer.show(pilot, "not staged")
        await until(pilot, lambda: "a Stage" in viewer.hints() and "A Whole" in viewer.hints())
        assert repository.status() == [" M a.txt", " M b.txt"], "it only went to where that key stages"
        await until(pilot, lambda: "five" in painted(view(AnnotatedDiff)))

        await pilot.press("a")
        await until(pilot, lambda: viewer.text_of("status") == "Staged hunk 1 of a.txt")
        assert repository.indexed("a.txt") == replaced(BASE, FIRST)
        await until(pilot, lambda: "five" not in painted(view(AnnotatedDiff)), "it is staged")
        assert "thirty" in painted(view(AnnotatedDiff))
        await until(pilot, lambda: "hunk 1 of 1" in viewer.text_of("title"), "the cursor is on the next hunk")

        await pilot.press("A")
        await until(pilot, lambda: viewer.text_of("status") == "Staged a.txt")
        await until(pilot, lambda: "thirty" not in painted(view(AnnotatedDiff)))
        await pilot.press("a")
        await until(pilot, lambda: "No changes here" in viewer.text_of("empty"))
        assert repository.status() == ["M  a.txt", "M  b.txt"]

        await pilot.press("full_stop")
        await viewer.show(pilot, "staged")
        await until(pilot, lambda: "five" in painted(view(AnnotatedDiff)) and "a Unstage" in viewer.hints())
        await pilot.press("left_square_bracket", "j", "a")
        await until(pilot, lambda: viewer.text_of("status") == "Unstaged hunk 2 of a.txt")
        assert repository.indexed("a.txt") == replaced(BASE, FIRST)


async def test_hunk_that_no_longer_applies_is_reported_and_read_again(repository: Repository) -> None:
    viewer = Viewer(repository)
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await pilot.press("a")
        await viewer.show(pilot, "not staged")
        await until(pilot, lambda: "five" in painted(viewer.screen.query_one(AnnotatedDiff)))
        git(repository.directory, "add", "a.txt")
        await pilot.press("a")
        await until(pilot, lambda: "Not staged: it has changed since it was shown" in viewer.text_of("status"))
        await until(pilot, lambda: "five" not in painted(viewer.screen.query_one(AnnotatedDiff)), "read again")
        assert repository.indexed("a.txt") == replaced(BASE, FIRST, SECOND)


async def test_scope_that_git_cannot_read_replaces_the_files_of_the_one_before(repository: Repository) -> None:
    viewer = Viewer(repository)
    files = viewer.screen.query_one
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await until(pilot, lambda: files(FileList).display and "A Whole" not in viewer.hints())
        (repository.directory / ".git/HEAD").write_text("nothing\n")
        await pilot.press("a")
        await until(pilot, lambda: "git cannot show" in viewer.text_of("empty"))
        await at_rest(pilot)
        assert not files(FileList).display
        assert viewer.text_of("title").strip() == "not staged"
        assert viewer.hints() == "C Commit   . Scope   Esc Close"


async def test_commit_during_a_search_closes_the_viewer(repository: Repository) -> None:
    viewer = Viewer(repository)
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await until(pilot, lambda: "five" in painted(viewer.screen.query_one(AnnotatedDiff)))
        await pilot.press("slash", *"five", "enter")
        await until(pilot, lambda: "match" in viewer.text_of("status"))
        viewer.screen.action_commit()
        await until(pilot, lambda: pilot.app.screen is not viewer.screen)
        assert viewer.screen not in pilot.app.screen_stack


async def test_screen_without_control_stages_nothing(repository: Repository) -> None:
    viewer = Viewer(repository, has_control=False)
    async with viewer.app.run_test(size=(120, 40)) as pilot:
        await viewer.show(pilot, "against HEAD")
        await pilot.press("a")
        await viewer.show(pilot, "not staged")
        await until(pilot, lambda: "five" in painted(viewer.screen.query_one(AnnotatedDiff)))
        await pilot.press("a")
        await until(pilot, lambda: "Read-only: another screen controls this session" in viewer.text_of("status"))
        assert repository.staged.files() == []


async def test_nothing_can_be_staged_where_git_is_not(tmp_path: Path) -> None:
    screen = DiffViewerScreen([FileState("/w/a.txt", "one\n", "two\n")], "/w")
    async with ScreenApp(screen).run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen.query(AnnotatedDiff) and "two" in painted(screen.query_one(AnnotatedDiff)))
        await pilot.press("a")
        await until(pilot, lambda: "Nothing can be staged here" in str(screen.query_one("#viewer-status").render()))
        assert pilot.app.screen is screen
