"""A part of a change: base and accepted hunks, over one file and several."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.diff.hunks import compare, split_lines
from workbench.diff.partial import chosen_of_each, contents_with

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"]), max_size=8).map("".join)
files = st.lists(st.tuples(st.none() | lines, st.none() | lines), min_size=1, max_size=3)


@given(files)
def test_all_hunks_give_the_proposal_and_no_hunks_the_original(pairs):
    diffs = [compare(str(number), *pair) for number, pair in enumerate(pairs)]
    count = sum(len(diff.hunks) for diff in diffs)
    if count:
        assert contents_with(diffs, range(count)) == [after for _, after in pairs]
    assert contents_with(diffs, ()) == [before for before, _ in pairs]


@given(files, st.data())
def test_accepted_and_skipped_hunks_make_up_the_proposal(pairs, data):
    diffs = [compare(str(number), *pair) for number, pair in enumerate(pairs)]
    count = sum(len(diff.hunks) for diff in diffs)
    chosen = data.draw(st.sets(st.sampled_from(range(count)))) if count else set()
    for diff, own, text in zip(diffs, chosen_of_each(diffs, chosen), contents_with(diffs, chosen), strict=True):
        added = sum(diff.hunks[index].new_end - diff.hunks[index].new for index in own)
        gone = sum(diff.hunks[index].old_end - diff.hunks[index].old for index in own)
        assert len(split_lines(text)) == len(diff.old) - gone + added


@pytest.mark.parametrize(
    ("chosen", "texts"),
    [
        ((0,), ["1\nb\n", None, "gone\n"]),
        ((1,), ["a\nb\n", "new\n", "gone\n"]),
        ((2,), ["a\nb\n", None, None]),
        ((0, 2), ["1\nb\n", None, None]),
    ],
)
def test_hunks_are_numbered_across_files(chosen, texts):
    diffs = [compare("m", "a\nb\n", "1\nb\n"), compare("new", None, "new\n"), compare("gone", "gone\n", None)]
    assert contents_with(diffs, chosen) == texts
