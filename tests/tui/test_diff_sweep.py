"""Golden text of the diff viewer's view over widths, heights and scroll offsets. GOLDEN_UPDATE=1 writes the texts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tests.tui.diff_app import painted
from tests.tui.test_diff_view import AFTER, BEFORE
from tests.tui.waiting import until
from workbench.diff.hunks import compare
from workbench.tui.themes import variable_defaults
from workbench.tui.widgets.annotated_diff import AnnotatedDiff

GOLDEN = Path(__file__).parents[2] / "snapshots" / "diff_sweep"
MORE = "".join(f"def more_{number}():\n    return {number}\n\n\n" for number in range(20))
OLD, NEW = MORE + BEFORE, MORE.replace("return 7\n", "return seven(7)\n") + AFTER
COMMENT = "Why a name of its own? The number is used once, and the function stands in another module by now."


class ReviewApp(App[None]):
    """One review view over the whole screen."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variable_defaults(True)

    def compose(self) -> ComposeResult:
        yield AnnotatedDiff()


async def scrolled(pilot: Pilot[None], view: AnnotatedDiff, offset: int) -> None:
    """Scroll to the offset, and stay there after the view handled a key."""
    for _ in range(3):
        view.scroll_to(y=offset, animate=False, force=True)
        await until(pilot, lambda: view.scroll_offset.y == offset)


@pytest.mark.parametrize("width", [24, 60, 100, 139, 140, 200])
async def test_all_heights_and_offsets_match_the_golden_text(width: int) -> None:
    app = ReviewApp()
    pages = []
    async with app.run_test(size=(width, 5)) as pilot:
        view = app.query_one(AnnotatedDiff)
        await until(pilot, lambda: view.size.width == width, "laid out")
        view.focus()
        view.show([compare("src/calc.py", OLD, NEW)])
        view.remark({(0, "new", 29): COMMENT})
        for height in (5, 13, 30):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda height=height: view.size.height == height, "resized")
            await until(pilot, lambda: view.virtual_size.height == view.geometry.height)
            for offset in (0, 6, view.max_scroll_y):
                view.scroll_to(y=offset, animate=False, force=True)
                await until(pilot, lambda offset=offset: view.scroll_offset.y == min(offset, view.max_scroll_y))
                pages.append(f"── {width}x{height} from line {offset}\n{painted(view)}\n")
        for key, name in (("enter", "a fold open"), ("s", "in the other form")):
            before = (view.geometry.options.beside, view.geometry.height)
            await pilot.press(key)
            await until(
                pilot, lambda before=before: (view.geometry.options.beside, view.geometry.height) != before, name
            )
            await until(pilot, lambda: view.virtual_size.height == view.geometry.height)
            for offset in (0, view.max_scroll_y):
                await scrolled(pilot, view, offset)
                pages.append(f"── {width}x{height}, {name}, from line {offset}\n{painted(view)}\n")
    text = "\n".join(pages)
    golden = GOLDEN / f"{width}.txt"
    if os.environ.get("GOLDEN_UPDATE"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
