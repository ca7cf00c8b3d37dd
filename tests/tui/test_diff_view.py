"""The diff view on the screen: golden text over widths, keys, folding, odd texts. GOLDEN_UPDATE=1 writes the texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tui.diff_app import DiffApp, ScreenApp, painted
from tests.tui.waiting import until
from workbench.diff.hunks import FileDiff, compare
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.diff_view import DiffView
from workbench.tui.widgets.file_list import FileList
from workbench.view.diff.lines import DOT
from workbench.view.state import FileState

GOLDEN = Path(__file__).parents[2] / "snapshots" / "diff_view"
BEFORE = '''"""Sums and means."""

import math


def parse(text):
    """Read a number."""
    return abs(float(text))


def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result


def mean(numbers):
    return total(numbers) / len(numbers)


def spread(numbers):
    middle = mean(numbers)
    return math.sqrt(sum((number - middle) ** 2 for number in numbers) / len(numbers))


LAST = 1'''
AFTER = (
    BEFORE.replace("abs(float(text))", "float(text)")
    .replace("    result = 0\n", "    # 日本 \u202e wide and hidden\tsigns   here\n    result = 0.0\n")
    .replace("LAST = 1", "LAST = 2\r\n")
)


def example() -> list[FileDiff]:
    return [
        compare("src/calc.py", BEFORE, AFTER),
        compare("notes.md", None, "# Notes\n"),
        compare("old.txt", "x\n", None),
    ]


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(count))


@pytest.mark.parametrize("width", [40, 80, 140, 200])
@pytest.mark.parametrize("wrapped", [False, True], ids=["cut", "wrapped"])
async def test_view_matches_the_golden_text(width: int, wrapped: bool) -> None:
    app = DiffApp(example(), wrapped=wrapped)
    async with app.run_test(size=(width, 50)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: view.size.width == width and view.virtual_size.height > 1, "laid out")
        await pilot.press("j", "j")
        await until(pilot, lambda: view.current == 1)
        text = painted(view) + "\n"
    golden = GOLDEN / f"{'wrapped' if wrapped else 'cut'}-{width}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


async def test_wide_screens_show_two_columns_and_s_switches() -> None:
    app = DiffApp(example())
    async with app.run_test(size=(139, 30)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: view.size.width == 139)
        assert not view.geometry.options.beside
        await pilot.resize_terminal(140, 30)
        await until(pilot, lambda: view.geometry.options.beside, "side by side")
        await pilot.press("s")
        await until(pilot, lambda: not view.geometry.options.beside, "unified")


async def test_keys_step_through_hunks_and_stop_at_the_ends() -> None:
    before = numbered(300)
    app = DiffApp([compare("f", before, before.replace("line 50\n", "fifty\n").replace("line 250\n", "x\n"))])
    async with app.run_test(size=(80, 10)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: view.virtual_size.height > 10)
        for key, hunk in (("k", 0), ("j", 1), ("n", 1), ("p", 0), ("k", 0)):
            await pilot.press(key)
            await until(pilot, lambda hunk=hunk: view.current == hunk, f"{key} goes to {hunk}")
        assert "▌" in painted(view)


async def test_enter_unfolds_lines_around_the_hunk_and_keeps_it_in_place() -> None:
    before = numbered(300)
    app = DiffApp([compare("f", before, before.replace("line 150\n", "changed\n"))])
    async with app.run_test(size=(80, 12)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: "changed" in painted(view))
        await pilot.press("j")
        await until(pilot, lambda: view.current == 0)
        await pilot.press("enter")
        await until(pilot, lambda: view.virtual_size.height == 301, "all lines")
        await until(pilot, lambda: "+ changed" in painted(view), "the hunk is in view")
        await pilot.press("enter")
        assert await until(pilot, lambda: view.virtual_size.height < 30, "folded again")


async def test_click_opens_one_fold() -> None:
    before = numbered(100)
    app = DiffApp([compare("f", before, before.replace("line 50\n", "changed\n"))])
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: "47 unchanged" in painted(view))
        await pilot.click(DiffView, offset=(10, 0))
        await until(pilot, lambda: "47 unchanged" not in painted(view))
        assert view.virtual_size.height == 47 + 3 + 2 + 3 + 1


async def test_long_lines_scroll_sideways_and_wrap() -> None:
    app = DiffApp([compare("f", "", "0123456789" * 30 + "THE-END\n")])
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: "…" in painted(view) and view.allow_horizontal_scroll)
        view.scroll_to(x=1_000, animate=False)
        await until(pilot, lambda: "THE-END" in painted(view), "the end is in view")
        await pilot.press("w")
        assert await until(pilot, lambda: "THE-END" in painted(view) and "↪" in painted(view), "wrapped")


@pytest.mark.parametrize(
    "text",
    [
        "[/foo] [bold]x[/]",
        "\x1b]52;c;AAAA\x07",
        "a\x00b",
        "\u202e\u2066\ufeff\u200d",
        "\U000e0041",
        "\x9b31m",
        "x" * 30_000,
        "日" * 5_000,
    ],
)
async def test_any_text_is_safe_to_paint(text: str) -> None:
    app = DiffApp([compare(text[:50], "a\n", text + "\n"), compare("b", None, text)], wrapped=True)
    async with app.run_test(size=(61, 20)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: view.virtual_size.height > 2)
        await pilot.press("j", "s", "w", "enter")
        await until(pilot, lambda: not view.page.wrapped and view.geometry.options.beside)
        view_text = painted(view)
        assert all(sign.isprintable() for sign in view_text.replace("\n", ""))
        assert all(strip.cell_length == view.size.width for strip in map(view.render_line, range(view.size.height)))


async def test_empty_comparison_paints_nothing() -> None:
    app = DiffApp([])
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.press("j", "k", "enter", "s", "w")
        assert painted(app.query_one(DiffView)).strip() == ""


def viewer(*files: FileState, chosen: str | None = None) -> ScreenApp:
    return ScreenApp(DiffViewerScreen(files, "/w", chosen=chosen))


FILES = (
    FileState("/w/a.py", "x = 1\n", "x = 2\n"),
    FileState("/w/b.md", None, "new\n"),
    FileState("/w/c", "gone\n", None),
)


@pytest.mark.parametrize("removed", [1, 12, 345])
async def test_counts_in_the_list_of_files_are_aligned(removed: int) -> None:
    changed = FileState("/w/d.py", "old\n" * removed + "same\n", "new\nsame\n")
    app = viewer(*FILES, changed, chosen="/w/b.md")
    async with app.run_test(size=(120, 40)) as pilot:
        file_list = app.pushed.query_one(FileList)
        await until(pilot, lambda: f"−{removed}" in painted(file_list), "the counts")
        rows = painted(file_list).splitlines()[:4]
        assert len({row.index("+1") for row in rows if "+1" in row}) == 1
        ends = {
            row.index(count) + len(count)
            for row, count in zip(rows, ("−1", "", "−1", f"−{removed}"), strict=True)
            if count
        }
        assert len(ends) == 1


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_viewer_steps_through_files_and_closes(size: tuple[int, int]) -> None:
    app = viewer(*FILES, chosen="/w/b.md")
    async with app.run_test(size=size) as pilot:
        screen = app.pushed
        view = screen.query_one(DiffView)
        await until(pilot, lambda: "+ new" in painted(view), "the chosen file")
        listed = painted(screen.query_one(FileList))
        assert [line.split()[:2] for line in listed.splitlines()[:3]] == [["M", "a.py"], ["▌A", "b.md"], ["D", "c"]]
        await pilot.press("]")
        await until(pilot, lambda: "− gone" in painted(view), "the next file")
        await pilot.press("[", "[")
        await until(pilot, lambda: "x = 2" in painted(view), "the first file")
        await pilot.press("q")
        await until(pilot, lambda: app.screen is not screen, "closed")


async def test_viewer_says_that_nothing_changed() -> None:
    app = viewer(FileState("/w/a", "same\n", "same\n"))
    async with app.run_test(size=(80, 24)) as pilot:
        empty = app.pushed.query_one("#viewer-empty")
        await until(pilot, lambda: empty.size.width > 0)
        assert empty.display
        assert not app.pushed.query_one("#viewer-page").display
        await pilot.press("]", "j", "escape")
        await until(pilot, lambda: app.results == [None])


async def test_viewer_accepts_new_contents() -> None:
    app = viewer(*FILES)
    async with app.run_test(size=(100, 24)) as pilot:
        view = app.pushed.query_one(DiffView)
        await until(pilot, lambda: "x = 2" in painted(view))
        assert isinstance(app.pushed, DiffViewerScreen)
        app.pushed.update_files([FileState("/w/a.py", "x = 1\n", "x = 3\n")])
        await until(pilot, lambda: "x = 3" in painted(view))
        assert not app.pushed.query_one(FileList).display
        assert DOT not in painted(view)


@pytest.mark.parametrize("beside", [False, True])
async def test_skipped_hunk_takes_one_line_and_is_whole_again_when_included(beside: bool) -> None:
    before = "one\ntwo\nthree\nfour\nfive\n"
    app = DiffApp([compare("a.py", before, before.replace("one", "1").replace("three\nfour", "3\n4"))])
    async with app.run_test(size=(100, 40)) as pilot:
        view = app.query_one(DiffView)
        view.page.beside = beside
        view.lay_out()
        await until(pilot, lambda: "− one" in painted(view))
        whole = painted(view)
        view.page.skipped = {1}
        view.lay_out()
        text = painted(view)
        assert all(part in text for part in ("− one", "+ 1", "· three", "skipped"))
        assert not any(part in text for part in ("− three", "four", "+ 3", "+ 4"))
        assert view.geometry.hunk_count == 2
        view.page.skipped = set()
        view.lay_out()
        assert painted(view) == whole


async def test_narrow_two_column_view_keeps_the_hunk_in_sight_and_cuts_no_line() -> None:
    before = "".join(f"line {number} {'with more to say ' * 6}\n" for number in range(60))
    after = before.replace("line 20 ", "twenty ").replace("line 30 ", "thirty ").replace("line 50 ", "fifty ")
    app = DiffApp([compare("f", before, after)], wrapped=True)
    async with app.run_test(size=(80, 14)) as pilot:
        view = app.query_one(DiffView)
        await until(pilot, lambda: view.virtual_size.height > 14)
        for step in ("", "j", "s", "j", "s", "s"):
            beside = view.geometry.options.beside != (step == "s")
            if step:
                await pilot.press(step)
            await until(pilot, lambda beside=beside: view.geometry.options.beside == beside)
            await until(pilot, lambda: view.geometry.at(int(view.scroll_offset.y))[1] == 0, "a whole line at the top")
            if view.current >= 0:
                await until(pilot, lambda: "twenty" in painted(view) or "thirty" in painted(view), "the hunk")
        view.current = -1
        view.scroll_to(y=view.geometry.top_of(3), animate=False)
        top = painted(view).split()[0]
        await pilot.press("s")
        assert await until(
            pilot, lambda: painted(view).split()[0] == top and not view.geometry.options.beside, "the same line"
        )
