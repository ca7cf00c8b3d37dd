"""The pager: all of a text, searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content
from textual.widgets import Input

from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import STEADY
from tests.tui.waiting import until
from workbench.text import visible
from workbench.tui.screens.pager import PagerScreen
from workbench.tui.widgets.text_lines import TextLines
from workbench.view.wrapping import WrappedText, line_width

LONG = "\n".join(f"line {number}{' needle' if number % 50 == 7 else ''}" for number in range(500))


@STEADY
@given(st.text(), st.integers(2, 60))
def test_wrapping_loses_nothing_and_fits(text, width):
    wrapped = WrappedText(text)
    wrapped.wrap(width)

    rows = [wrapped.pieces(number, -1) for number in range(len(wrapped.rows))]

    assert all(line_width(row) <= width for row in rows)
    joined: dict[int, str] = {}
    for row, pieces in zip(wrapped.rows, rows, strict=True):
        joined[row.line] = joined.get(row.line, "") + "".join(piece.text for piece in pieces)
    assert list(joined.values()) == [line.expandtabs(8) for line in visible(text).split("\n")]


@STEADY
@given(st.text(alphabet="aAb\n", max_size=60), st.text(alphabet="ab", min_size=1, max_size=3), st.integers(2, 9))
def test_every_match_is_marked_even_across_rows(text, needle, width):
    wrapped = WrappedText(text)
    wrapped.wrap(width)
    wrapped.find(needle)

    marked = [piece for at in range(len(wrapped.rows)) for piece in wrapped.pieces(at, 0) if piece.style]

    assert sum(len(piece.text) for piece in marked) == len(wrapped.matches) * len(needle)


def test_row_of_a_character_is_the_one_that_shows_it():
    wrapped = WrappedText("abcdef\nxyz")
    wrapped.wrap(4)

    assert [wrapped.row_of(0, 0), wrapped.row_of(0, 3), wrapped.row_of(0, 4), wrapped.row_of(1, 0)] == [0, 0, 1, 2]


def rows_in_sight(app: PanelApp) -> list[str]:
    lines = app.screen.query_one(TextLines)
    return [lines.render_line(y).text.strip() for y in range(lines.size.height)]


async def test_keys_scroll_search_and_close():
    app = PanelApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PagerScreen(Content("A [title]"), LONG))
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query_one(TextLines).size.height)
        await until(pilot, lambda: rows_in_sight(app)[0] == "line 0")

        await pilot.press("end")
        await until(pilot, lambda: rows_in_sight(app)[-1] == "line 499")
        await pilot.press("pageup", "up", "home")
        await until(pilot, lambda: rows_in_sight(app)[0] == "line 0")

        await pilot.press("slash", *"NEEDLE", "enter")
        await until(pilot, lambda: app.screen.query_one(TextLines).position() == "1 of 10")
        await pilot.press("n")
        await until(pilot, lambda: any("line 57 needle" in row for row in rows_in_sight(app)))
        await pilot.press("N", "N")
        await until(pilot, lambda: any("line 457 needle" in row for row in rows_in_sight(app)))
        assert app.screen.query_one(TextLines).position() == "10 of 10"

        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, PagerScreen))


async def test_escape_closes_the_search_first():
    app = PanelApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PagerScreen(Content("x"), "text"))
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query_one(TextLines).has_focus)
        await pilot.press("slash")
        await until(pilot, lambda: app.screen.query_one(Input).has_focus)

        await pilot.press("escape")
        await until(pilot, lambda: app.screen.query_one(TextLines).has_focus)
        assert isinstance(app.screen, PagerScreen)
        await pilot.press("escape")

        await until(pilot, lambda: not isinstance(app.screen, PagerScreen))


async def test_search_without_a_match_keeps_the_position():
    app = PanelApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PagerScreen(Content("x"), LONG))
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query_one(TextLines).has_focus)
        await pilot.press("slash", *"nowhere", "enter", "n")
        await until(pilot, lambda: app.screen.query_one(TextLines).has_focus)

        assert rows_in_sight(app)[0] == "line 0"
        assert app.screen.query_one(TextLines).position() == "500 lines"


async def test_resizing_wraps_again_with_the_same_line_on_top():
    app = PanelApp()
    text = "\n".join(f"{number} " + "x" * 150 for number in range(100))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PagerScreen(Content("x"), text))
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query_one(TextLines).size.height)
        await pilot.press("pagedown", "pagedown")
        await until(pilot, lambda: rows_in_sight(app)[0].startswith("20 ") or "x" in rows_in_sight(app)[0])
        lines = app.screen.query_one(TextLines)
        before = lines.first_line_in_sight()

        await pilot.resize_terminal(40, 20)
        await until(pilot, lambda: lines.size.width <= 40)
        await until(pilot, lambda: lines.first_line_in_sight() == before)

        assert before > 0


async def test_control_characters_are_shown_as_escapes():
    app = PanelApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(PagerScreen(Content("x"), "red \x1b[31m and \u202e back [/x]"))
        await until(pilot, lambda: isinstance(app.screen, PagerScreen) and app.screen.query_one(TextLines).size.height)

        assert rows_in_sight(app)[0] == "red \\e[31m and \\u202e back [/x]"


def test_rows_break_between_words_and_keep_the_indentation_of_their_line():
    wrapped = WrappedText("the quick brown fox\n  indented word\nsome abcdefghijklmnop")
    wrapped.wrap(10)

    rows = ["".join(piece.text for piece in wrapped.pieces(at, -1)) for at in range(len(wrapped.rows))]

    assert rows == ["the quick ", "brown fox", "  indented", "   word", "some abcde", "fghijklmno", "p"]
