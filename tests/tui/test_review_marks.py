"""The parts of a review over several files, without a screen: reviewed marks, steps between files, and the ruler."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from workbench.diff.hunks import FileDiff, compare
from workbench.view.diff.document import DiffDocument
from workbench.view.diff.geometry import Geometry, LayoutOptions
from workbench.view.diff.ruler import Ruler
from workbench.view.review import reviewed
from workbench.view.review.reviewed import ReviewedFiles, next_unreviewed, rest_text
from workbench.view.state import FileState

FILE = FileState("/w/a.py", "x = 1\n", "x = 2\n")
LINES = [f"line {number}\n" for number in range(200)]


def changed(path: str, *lines: int) -> FileDiff:
    return compare(
        path, "".join(LINES), "".join(f"new {line}" if at in lines else line for at, line in enumerate(LINES))
    )


def files() -> list[FileDiff]:
    """Return a file with three hunks, one without lines, a new one, and one with a single hunk."""
    return [changed("a", 5, 90, 199), compare("b", None, None), compare("c", None, "new\n"), changed("d", 0)]


def geometry(diffs: list[FileDiff], *, beside: bool = False, wrapped: bool = False, width: int = 100) -> Geometry:
    return Geometry(DiffDocument(diffs), LayoutOptions(width, beside, wrapped))


@pytest.mark.parametrize(
    "change",
    [{"after": "x = 3\n"}, {"before": "x = 0\n"}, {"before": None}, {"note": "too large"}, {"content_id": "1"}],
    ids=str,
)
def test_mark_belongs_to_the_change_and_ends_with_a_later_one(change: dict[str, str | None]) -> None:
    marks = ReviewedFiles()
    assert FILE not in marks
    assert marks.toggle(FILE)
    assert FILE in marks
    assert replace(FILE, **change) not in marks
    assert replace(FILE, path="/w/b.py") not in marks
    assert not marks.toggle(FILE)
    assert FILE not in marks


def test_marks_are_kept_for_the_next_screen_until_they_are_dropped(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    ReviewedFiles(directory).toggle(FILE)
    assert (directory / "reviewed.json").stat().st_mode & 0o777 == 0o600
    later = ReviewedFiles(directory)
    assert FILE in later
    assert replace(FILE, after="x = 3\n") not in later
    later.toggle(FILE)
    assert not (directory / "reviewed.json").exists()


@pytest.mark.parametrize("text", ["", "[", "{}", '["a"]', '[["a"]]', '[["a", 1], [1, "b"]]', "\0", "[" * 100_000])
def test_damaged_file_of_marks_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "reviewed.json").write_text(text)
    assert FILE not in ReviewedFiles(tmp_path)


def test_oldest_mark_is_dropped_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviewed, "MOST_MARKS", 3)
    marks = ReviewedFiles()
    every = [replace(FILE, path=f"/w/{number}") for number in range(5)]
    for file in every:
        marks.toggle(file)
    assert marks.numbers(every) == [2, 3, 4]


@pytest.mark.parametrize(
    ("count", "done", "text"),
    [
        (7, 0, "7 of 7 files to review"),
        (7, 4, "3 of 7 files to review"),
        (7, 7, "all 7 files reviewed"),
        (1, 0, ""),
        (1, 1, "reviewed"),
        (0, 0, ""),
    ],
)
def test_title_counts_the_rest_down(count: int, done: int, text: str) -> None:
    assert rest_text(count, done) == text


@pytest.mark.parametrize(
    ("done", "after", "place"), [([0], 0, 1), ([0, 1], 0, 2), ([2], 2, 0), ([1, 2], 1, 0), ([0, 1, 2], 1, -1)]
)
def test_next_file_left_is_found_around_the_end(done: list[int], after: int, place: int) -> None:
    assert next_unreviewed(3, done, after) == place


@pytest.mark.parametrize("beside", [False, True])
def test_steps_visit_every_hunk_and_every_file_without_hunks_in_both_directions(beside: bool) -> None:
    layout = geometry(files(), beside=beside)
    stops = sorted([*(layout.hunk_row(hunk) for hunk in range(layout.hunk_count)), layout.rows_of_file(1)[0]])
    assert [layout.rows[row].file for row in stops] == [0, 0, 0, 1, 2, 3]

    def steps(row: int, by: int) -> list[int]:
        visited = []
        while (row := layout.step_from(row, by)) >= 0:
            visited.append(row)
        return visited

    assert steps(0, 1) == stops
    assert steps(len(layout.rows) - 1, -1) == stops[::-1]
    assert [layout.start_of_file(file) for file in range(4)] == [stops[0], stops[3], stops[4], stops[5]]


def test_line_numbers_from_a_row_are_those_of_its_own_file() -> None:
    layout = geometry([changed("a", 199), changed("b", 0)])
    last = layout.rows_of_file(0)[1] - 1
    assert layout.lines_from(last) == (200, 199)  # an added line: no old line of its file is below it


def test_folds_around_a_hunk_are_those_of_its_own_file() -> None:
    layout = geometry([changed("a", 90), changed("b", 90)])
    assert {file for file, _ in layout.folds_around(0)} == {0}
    assert {file for file, _ in layout.folds_around(1)} == {1}


def test_later_document_shares_what_is_cached_about_unchanged_files() -> None:
    first, second = changed("a", 1), changed("b", 1)
    before = DiffDocument([first, second])
    before.syntax(0, "new", 3)
    after = DiffDocument([second, changed("c", 1), first], before)
    assert after._parts[2] is before._parts[0]
    assert after._parts[0] is before._parts[1]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("height", [1, 2, 7, 24, 60, 500])
def test_ruler_has_a_sign_for_every_hunk_and_leads_to_it(height: int, wrapped: bool, beside: bool) -> None:
    layout = geometry(files(), beside=beside, wrapped=wrapped, width=24)
    ruler = Ruler(layout, height)
    assert len(ruler.cells) == height
    lines = [layout.top_of(layout.hunk_row(hunk)) for hunk in range(layout.hunk_count)]
    for line in lines:
        cell = ruler.cell_of(line)
        assert ruler.cells[cell].sign in "+−±"
        first = next(each for each in lines if ruler.cell_of(each) == cell)
        assert layout.top_of(ruler.row_at(cell)) == first
    without = [cell for cell in range(height) if ruler.cells[cell].sign == " "]
    for cell in without:
        row = ruler.row_at(cell)
        assert row == -1 or layout.rows[row].hunk < 0
    assert sorted({cell for top in range(layout.height) for cell in ruler.visible_cells(top, 1)}) == sorted(
        {ruler.cell_of(line) for line in range(layout.height)}
    )


def test_ruler_names_the_kind_of_change_and_dims_reviewed_files() -> None:
    diffs = [compare("a", "x\n", None), compare("b", None, "x\n"), compare("c", "x\n", "y\n")]
    layout = geometry(diffs)
    assert "".join(cell.sign for cell in Ruler(layout, layout.height).cells) == " − + −+"
    assert "".join(cell.sign for cell in Ruler(layout, 2).cells) == "±±"
    assert [cell.is_reviewed for cell in Ruler(layout, layout.height, [0]).cells][:4] == [False, True, False, False]
    assert "±" in {cell.sign for cell in Ruler(geometry(diffs, beside=True), 7).cells}


@pytest.mark.parametrize("height", [0, 1, 10])
def test_ruler_of_nothing_is_blank(height: int) -> None:
    ruler = Ruler(geometry([]), height)
    assert {cell.sign for cell in ruler.cells} == {" "}
    assert ruler.row_at(0) == -1
