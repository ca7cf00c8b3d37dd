"""Tables in the agent's Markdown: every word of every cell is on the screen, at every width from 40 columns."""

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content

from tests.tui.pictures import text_on
from tests.tui.sample_session import STEADY
from tests.tui.waiting import until
from workbench.tui.widgets.markdown_stream import MarkdownStream
from workbench.tui.widgets.markdown_table import TableLayout, TableText

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=40)
CELLS = st.lists(WORDS, max_size=6).map(" ".join)


@st.composite
def tables(draw: st.DrawFn) -> TableLayout:
    columns = draw(st.integers(1, 8))
    row = st.lists(CELLS.map(Content), min_size=columns, max_size=columns)
    aligns = draw(st.lists(st.sampled_from(["left", "center", "right"]), min_size=columns, max_size=columns))
    return TableLayout(draw(row), draw(st.lists(row, max_size=6)), aligns)


def without_blanks(text: str) -> str:
    return re.sub(r"\s", "", text)


@settings(STEADY, max_examples=300)
@given(table=tables(), width=st.integers(40, 200))
def test_no_cell_loses_a_word_at_any_width(table: TableLayout, width: int):
    lines = table.lines(width)
    assert all(line.cell_length <= width for line in lines)
    shown = "\n".join(line.plain for line in lines)
    for cell in (cell for row in table.rows for cell in row):
        for word in cell.plain.split():
            if Content(word).cell_length <= 16:
                assert word in shown
    letters = sorted(without_blanks("".join(cell.plain for row in table.rows for cell in row)))
    rest = sorted(without_blanks(shown))
    assert not [letter for letter in set(letters) if letters.count(letter) > rest.count(letter)]


def test_column_without_any_text_takes_part_in_the_width():
    table = TableLayout([Content(""), Content("Name"), Content("Of")], [], ["left"] * 3)
    for width in range(8, 16):
        assert all(line.cell_length <= width for line in table.lines(width))


def shown(table: TableLayout, width: int) -> list[str]:
    return [line.plain for line in table.lines(width)]


PRICES = TableLayout(
    [Content("Item"), Content("Price"), Content("Why it changed")],
    [
        [Content("Tea"), Content("3"), Content("The supplier raised it twice this year")],
        [Content("Biscuits"), Content("12"), Content("New")],
    ],
    ["left", "right", "left"],
)


def test_wide_enough_table_is_one_line_per_row():
    assert shown(PRICES, 60) == [
        "Item      Price  Why it changed",
        "─" * 55,
        "Tea           3  The supplier raised it twice this year",
        "Biscuits     12  New",
    ]


def test_cells_wrap_where_the_table_is_too_wide():
    assert shown(PRICES, 40) == [
        "Item      Price  Why it changed",
        "─" * 40,
        "Tea           3  The supplier raised it",
        "                 twice this year",
        "",
        "Biscuits     12  New",
    ]


def test_rows_become_blocks_where_not_even_the_words_fit():
    assert shown(PRICES, 20) == [
        "Item: Tea",
        "Price: 3",
        "Why it changed: The",
        "supplier raised it",
        "twice this year",
        "",
        "Item: Biscuits",
        "Price: 12",
        "Why it changed: New",
    ]


class _Answer(App[None]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.stream = MarkdownStream(text)

    def compose(self) -> ComposeResult:
        yield self.stream


TEXT = "Prices:\n\n| Item | Price |\n|:--|--:|\n| **Tea** | 3 |\n| `a\\|b` |\n| x | y | z |\n\nThat is all.\n"


@pytest.mark.parametrize("width", [40, 80, 200])
async def test_table_in_an_answer_is_one_widget_and_follows_the_width(width: int):
    app = _Answer(TEXT)
    async with app.run_test(size=(width, 30)) as pilot:
        await until(pilot, lambda: len(app.query(TableText)) == 1)
        text = app.query_one(TableText)
        await until(pilot, lambda: text.size.height == 5)
        assert [line.plain.split() for line in text.table.lines(width)] == [
            ["Item", "Price"],
            ["─" * 11],
            ["Tea", "3"],
            ["a|b"],
            ["x", "y"],
        ]
        await pilot.resize_terminal(44, 30)
        await until(pilot, lambda: text.size.width <= 44)
        assert "That is all." in str(app.query("MarkdownParagraph, Paragraph").last().render())


async def test_table_that_streams_is_shown_whole_at_its_end():
    app = _Answer("")
    async with app.run_test(size=(80, 30)) as pilot:
        app.stream._is_streaming = True
        for end in range(0, len(TEXT), 7):
            app.stream.grow(TEXT[:end])
            await pilot.pause()
        app.stream.finish(TEXT)
        await until(pilot, lambda: len(app.query(TableText)) == 1 and len(app.query_one(TableText).table.rows) == 3)
        assert len(app.query(TableText)) == 1


@pytest.mark.parametrize("width", [40, 80])
async def test_long_line_of_code_wraps(width: int):
    words = [f"word{number}" for number in range(60)]
    app = _Answer(f"```\n{' '.join(words)}\n```\n")
    async with app.run_test(size=(width, 40)) as pilot:
        await until(pilot, lambda: "word59" in text_on(app))
        assert [word for word in words if word not in text_on(app)] == []


MARKS = ("{}", "**{}**", "*{}*", "`{}`", "~~{}~~", "[{}](https://example.org/)")


@settings(STEADY, max_examples=25)
@given(st.data(), st.integers(40, 200), st.integers(1, 6), st.integers(1, 5))
async def test_every_word_of_a_table_in_an_answer_is_on_the_screen(
    data: st.DataObject, width: int, columns: int, rows: int
):
    numbers = count(1)

    def cell() -> list[str]:
        """Return words with a number each, so that no other can stand in for one."""
        letters = data.draw(st.lists(st.text("abéß漢", max_size=5), max_size=4))
        return [f"{next(numbers)}:{each};" for each in letters]

    def markdown(words: list[str]) -> str:
        return " ".join(data.draw(st.sampled_from(MARKS)).format(word) for word in words)

    table = [[cell() for _ in range(columns)] for _ in range(rows)]
    lines = [f"| {' | '.join(map(markdown, row))} |" for row in table]
    lines.insert(1, "|" + data.draw(st.sampled_from(["---|", ":--|", "--:|", ":-:|"])) * columns)
    app = _Answer("\n".join(lines) + "\n")
    async with app.run_test(size=(width, 150)) as pilot:
        await until(pilot, lambda: len(app.query(TableText)) == 1 and app.query_one(TableText).size.height)
        await pilot.pause()
        screen = text_on(app)
        assert [word for row in table for words in row for word in words if word not in screen] == []
