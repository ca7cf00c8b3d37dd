"""The parts of the diff without a screen: lines, hunks, words, rows, folding."""

from __future__ import annotations

import time
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from workbench.diff.hunks import FileDiff, compare, split_lines, taken
from workbench.diff.line_matching import matching_blocks
from workbench.diff.words import changed_words, line_pairs
from workbench.plain.narration import change_lines
from workbench.secrets.masker import SecretMasker
from workbench.view.diff.document import DiffDocument
from workbench.view.diff.geometry import Geometry, LayoutOptions
from workbench.view.diff.lines import Lexed, cut_cells, line_cells, paint_line, wrap_offsets
from workbench.view.diff.rows import DiffRow

steady = settings(deadline=None, derandomize=True, max_examples=150)
# Only a few different lines, so that texts share some; with odd line ends, wide characters and controls.
LINE = st.sampled_from(["", "a", "b", "    a", "}", "x\ty", "end\r", "日本", "\u202eabc", "a   b", "\x1b[31m"])
TEXT = st.one_of(
    st.none(),
    st.text(max_size=40),
    st.builds(lambda lines, last: "\n".join(lines) + last, st.lists(LINE, max_size=30), st.sampled_from(["", "\n"])),
)


def lines_of(rows: list[DiffRow], diff: FileDiff, side: str) -> str:
    problems: list[str] = []
    for row in rows:
        line = row.old if side == "old" else row.new
        if row.kind in ("file", "no-newline") or line < 0:
            continue
        lines = diff.old if side == "old" else diff.new
        problems += lines[line : line + max(1, row.size)]
    return "".join(problems)


@steady
@given(TEXT, TEXT)
def test_rows_reproduce_both_texts(before: str | None, after: str | None) -> None:
    diff = compare("f.py", before, after)
    if not diff.hunks:
        assert (before or "") == (after or "")
        return
    for rows in (DiffDocument([diff]).rows((), beside=beside) for beside in (False, True)):
        assert lines_of(rows, diff, "old") == (before or "")
        assert lines_of(rows, diff, "new") == (after or "")


@steady
@given(TEXT, TEXT, st.data())
def test_text_is_its_original_with_the_accepted_hunks(
    before: str | None, after: str | None, data: st.DataObject
) -> None:
    diff = compare("f", before, after)
    every = range(len(diff.hunks))
    assert taken(diff, []) == (before or "")
    assert taken(diff, every) == (after or "")
    some = data.draw(st.sets(st.sampled_from(every))) if diff.hunks else set()
    grown = sum(hunk.new_end - hunk.new - hunk.old_end + hunk.old for hunk in map(diff.hunks.__getitem__, some))
    ended = taken(diff, some).count("\n") + 2
    assert len(diff.old) + grown - ended in (-2, -1)


@steady
@given(st.lists(LINE), st.lists(LINE))
def test_blocks_contain_equal_lines_and_never_touch(old: list[str], new: list[str]) -> None:
    ends = (-1, -1)
    for block in matching_blocks(old, new):
        assert old[block.old : block.old + block.size] == new[block.new : block.new + block.size]
        assert block.size > 0
        assert block.old > ends[0] or block.new > ends[1]
        ends = (block.old + block.size, block.new + block.size)


@steady
@given(st.text())
def test_painted_line_contains_no_hidden_character(text: str) -> None:
    line_text = paint_line(text.replace("\n", " ")).text
    assert not [sign for sign in line_text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert line_cells(text.replace("\n", " ")) == cell_len(line_text)


@steady
@given(st.text(alphabet="ab 日本é\t", max_size=60), st.integers(2, 12))
def test_wrapped_parts_join_to_the_line_and_fit(text: str, width: int) -> None:
    line_text = paint_line(text).text
    places = [*wrap_offsets(line_text, width), len(line_text)]
    parts = [line_text[first:end] for first, end in pairwise(places)]
    assert "".join(parts) == line_text
    assert all(cell_len(part) <= width for part in parts)


@steady
@given(st.text(alphabet="ab日本", max_size=40), st.integers(0, 60), st.integers(2, 20))
def test_cut_line_is_never_wider_than_its_space(text: str, start: int, width: int) -> None:
    first, end, indent = cut_cells(text, start, width)
    assert indent + cell_len(text[first:end]) <= width


def test_hidden_characters_blanks_and_line_endings_are_shown() -> None:
    assert paint_line("a\r\n").text == "a\\r"
    assert paint_line("a     b\n").text == "a·····b"
    assert paint_line("a  \n").text == "a··"
    assert paint_line("\ta").text == "    a"
    assert paint_line("a\u00a0b").text == "a\\u00a0b"
    assert paint_line("a\u200bb").text == "a\\u200bb"


def test_split_lines_keeps_characters_that_only_resemble_line_endings() -> None:
    assert split_lines("a\u2028b\x0cc\r\nd") == ["a\u2028b\x0cc\r\n", "d"]
    assert split_lines(None) == []


@pytest.mark.parametrize(
    ("before", "after", "sign"),
    [(None, "a\n", "A"), ("a\n", None, "D"), ("a\n", "b\n", "M"), ("a", "a", "="), (None, "", "A")],
)
def test_new_deleted_and_changed_files_are_labeled(before: str | None, after: str | None, sign: str) -> None:
    assert compare("f", before, after).sign == sign


def test_missing_final_newline_has_a_row() -> None:
    rows = DiffDocument([compare("f", "a\nb", "a\nb\n")]).rows((), beside=False)
    assert [row.kind for row in rows] == ["same", "removed", "no-newline", "added"]


def test_unchanged_lines_fold_and_unfold() -> None:
    before = "".join(f"{number}\n" for number in range(40))
    diff = compare("f", before, before.replace("20\n", "twenty\n"))
    rows = DiffDocument([diff]).rows((), beside=False)
    folds = [row for row in rows if row.kind == "fold"]
    assert [fold.size for fold in folds] == [17, 16]
    opened = DiffDocument([diff]).rows({(0, folds[0].old)}, beside=False)
    assert [row.size for row in opened if row.kind == "fold"] == [16]
    assert opened[0] == DiffRow("same", 0, 0, 0)


def test_changed_words_are_marked_unless_lines_have_nothing_in_common() -> None:
    assert changed_words("total = price + tax", "total = cost + tax") == ([(8, 13)], [(8, 12)])
    assert changed_words("abc", "xyz(1, 2)") == ([], [])
    long = "x" * 10 + " y" * 400
    assert changed_words(long, long + "!") == ([(810, 810)], [(810, 811)])


def test_added_line_is_beside_the_line_it_replaces() -> None:
    assert line_pairs(["    return total"], ["    check(total)", "    return round(total)"]) == [(0, 1)]


def test_syntax_is_lexed_only_as_far_as_requested() -> None:
    lexed = Lexed("a.py", "x = 1\n" * 500)
    lexed.reach(3)
    assert not lexed.is_done
    assert ("number" in [span.name for span in lexed.line(3)], lexed.line(499)) == (True, [])
    unknown = Lexed("a.unknown-kind", "x = 1\n")
    unknown.reach(0)
    assert unknown.line(0) == []


def test_distant_syntax_is_lexed_in_steps() -> None:
    before = "x = 1\n" * 3_000
    document = DiffDocument([compare("a.py", before, before + "y = 2\n")])
    assert document.syntax(0, "new", 2_999) == []
    steps = 0
    while not document.work():
        steps += 1
    assert steps > 2
    assert document.syntax(0, "new", 2_999) != []


def test_hundred_thousand_changed_lines_are_compared_quickly_and_correctly() -> None:
    before = [f"line {number}\n" if number % 3 else "\n" for number in range(100_000)]
    after = [line if number % 2 else f"new {number}\n" for number, line in enumerate(before)]
    begun = time.process_time()
    diff = compare("f", "".join(before), "".join(after))
    geometry = Geometry(DiffDocument([diff]), LayoutOptions(100, False, False))
    spent = time.process_time() - begun
    assert taken(diff, range(len(diff.hunks))) == "".join(after)
    assert geometry.height > 100_000
    assert spent < 20  # the budget is in tests/bench; this only catches work that grows with the square


def test_texts_that_share_only_common_lines_are_compared_quickly() -> None:
    before = "".join(f"{number % 7}\n" for number in range(20_000))
    after = "".join(f"{number % 5}\n" for number in range(20_000))
    diff = compare("f", before, after)
    assert taken(diff, range(len(diff.hunks))) == after


def test_moved_block_in_a_long_file_is_found() -> None:
    lines = [f"line {number}\n" for number in range(6_000)]
    after = [*lines[:100], "new\n", *lines[100:5_900], *lines[5_901:], "end\n"]
    diff = compare("f", "".join(lines), "".join(after))
    assert (diff.added, diff.removed, len(diff.hunks)) == (2, 1, 3)


def test_wrapped_lines_take_the_rows_they_need() -> None:
    document = DiffDocument([compare("f", None, "x" * 100 + "\n")])
    geometry = Geometry(document, LayoutOptions(44, False, True))
    assert geometry.height == 1 + -(-100 // geometry.text_width)
    assert geometry.at(2) == (1, 1)
    assert Geometry(document, LayoutOptions(44, False, False)).overhang == 100 - geometry.text_width


@given(st.text(st.sampled_from("ab  \t·é漢\u202e\x00"), max_size=40))
def test_counted_cells_are_the_painted_ones(text: str) -> None:
    document = DiffDocument([compare("f", None, text + "\n")])
    assert list(document.cells(0, "new")) == [cell_len(paint_line(line).text) for line in split_lines(text + "\n")]


def test_words_of_a_long_hunk_match_its_lines() -> None:
    before = "".join(f"value {number} of before\n" for number in range(3_000))
    document = DiffDocument([compare("f", before, before.replace("before", "after"))])
    assert document.words(0, 0, "old", 2_500) == [(14, 20)]
    assert document.words(0, 0, "new", 2_500) == [(14, 19)]
    one_more = DiffDocument([compare("f", "a one\n", "b one\nb two\nb three\n")])
    assert [one_more.words(0, 0, "new", line) for line in range(3)] == [[(0, 1)], [], []]


def test_another_width_of_the_same_files_creates_no_rows() -> None:
    document = DiffDocument([compare("f", "a\n" * 50, "b\n" * 50)])
    wide, narrow = (Geometry(document, LayoutOptions(width, False, True)) for width in (100, 60))
    assert wide.rows is narrow.rows
    assert Geometry(document, LayoutOptions(100, True, True)).rows is not wide.rows


def test_secrets_of_the_old_text_are_masked_and_the_new_text_is_shown(monkeypatch):
    secrets = SecretMasker()
    monkeypatch.setattr("workbench.view.diff.lines._secrets", lambda: secrets)
    secrets.add("SERVICE_KEY", "abcdef123456")
    old = "a=1\nSERVICE_KEY=abcdef123456\nold=abcdef123456\n"
    new = "a=2\nSERVICE_KEY=abcdef123456\nnew=abcdef123456\n"
    diff = compare(".env", old, new)
    document = DiffDocument([diff])
    assert document.painted(0, "old", 1).text == document.painted(0, "new", 1).text == "SERVICE_KEY=••••••••••••"
    assert document.painted(0, "old", 2).text == "old=••••••••••••"
    assert document.painted(0, "new", 2).text == "new=abcdef123456"
    assert "  remove: old=••••••••••••" in change_lines(diff, diff.hunks[-1])


def test_no_line_of_a_private_key_is_shown():
    body = [
        "-----BEGIN PRIVATE KEY-----",
        *("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" for _ in range(3)),
        "-----END PRIVATE KEY-----",
    ]
    document = DiffDocument([compare("key.pem", "\n".join([*body, "x", ""]), "\n".join([*body, "y", ""]))])
    lines = [document.painted(0, side, line).text for side in ("old", "new") for line in range(len(body))]
    assert not [line for line in lines if "MIIE" in line]
