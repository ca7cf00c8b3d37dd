"""Pictures in the pager: decoded within limits, scaled, drawn as half blocks or as text; no bytes end the app."""

from __future__ import annotations

import base64
import io

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.tui.plot_sessions import with_plot
from tests.tui.sample_session import STEADY, fold
from workbench.tui.widgets.text_lines import IllustratedText
from workbench.view.formatting.detail import detail_text, picture_lines
from workbench.view.formatting.half_blocks import Cell, Picture, sign


def coded(image: Image.Image, kind: str = "PNG") -> str:
    out = io.BytesIO()
    image.save(out, kind)
    return base64.b64encode(out.getvalue()).decode()


def test_cell_contains_two_pixels():
    image = Image.new("RGB", (3, 2), (255, 0, 0))
    image.putpixel((1, 1), (0, 0, 255))
    rows = Picture(coded(image)).rows(80, 40)
    red, blue = (255, 0, 0), (0, 0, 255)
    assert rows == [[Cell(red, red), Cell(red, blue), Cell(red, red)]]


def test_transparent_pixels_are_white():
    assert Picture(coded(Image.new("RGBA", (1, 2), (0, 0, 0, 0)))).rows(9, 9) == [[Cell((255,) * 3, (255,) * 3)]]


@STEADY
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 120), st.integers(1, 40))
def test_picture_fits_and_keeps_its_proportions(wide, high, width, height):
    rows = Picture(coded(Image.new("RGB", (wide, high), "navy"))).rows(width, height)
    assert 1 <= len(rows) <= height
    assert 1 <= len(rows[0]) <= width
    if len(rows) > 4 and len(rows[0]) > 8:
        assert abs(len(rows[0]) / (2 * len(rows)) / (wide / high) - 1) < 0.3


def test_other_formats_are_decoded_too():
    for kind in ("JPEG", "GIF", "WEBP"):
        picture = Picture(coded(Image.new("RGB", (8, 8), "white"), kind))
        assert (picture.size, len(picture.rows(80, 40)), picture.trouble) == ((8, 8), 4, "")


@STEADY
@given(st.binary(max_size=200), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff"]))
def test_bytes_that_are_no_picture_give_none(data, beginning):
    picture = Picture(base64.b64encode(beginning + data).decode())
    assert picture.rows(80, 40) == []
    assert picture.trouble


def test_decompression_bomb_is_not_unpacked():
    image = Image.new("1", (20_000, 20_000))
    picture = Picture(coded(image))
    assert picture.rows(80, 40) == []
    assert picture.trouble
    assert Picture("no base64").trouble


def test_characters_are_heavier_the_more_a_cell_differs_from_the_background():
    white, black = Cell((255,) * 3, (255,) * 3), Cell((0,) * 3, (0,) * 3)
    assert [sign(white, 1.0), sign(black, 1.0)] == [" ", "@"]
    assert [sign(white, 0.0), sign(black, 0.0)] == ["@", " "]


def test_pictures_are_below_their_lines_whatever_the_output_says():
    state = fold(with_plot(output="PICTURES\npicture 1, PNG, 9 kB\n[picture 1]"))
    item = list(state.actions.values())[-1]
    text = detail_text(item)
    lines = picture_lines(item, text)
    assert len(lines) == 1
    (line,) = lines
    assert text.split("\n")[line].startswith("  picture 1, PNG")
    assert text.split("\n")[line - 1] == "PICTURES"
    illustrated = IllustratedText(text)
    illustrated.wrap(70)
    plain = len(illustrated.rows)
    illustrated.illustrate({line: Picture(data) for line, data in lines.items()})
    assert len(illustrated.rows) == plain + len(illustrated.cells) > plain
    first = min(illustrated.cells)
    assert illustrated.rows[first - 1].line == line
    illustrated.find("TIMING AND COST")
    assert illustrated.rows[illustrated.row_of(*illustrated.matches[0][:2])].line > line
    illustrated.wrap(30)
    assert all(len(cells) <= 30 for cells in illustrated.cells.values())
