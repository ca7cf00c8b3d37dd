"""Common lines at both ends of two texts are skipped before the comparison; the result stays the same."""

from hypothesis import example, given
from hypothesis import strategies as st

from workbench.diff import hunks
from workbench.diff.hunks import changed_lines, common_ends, compare, split_lines
from workbench.diff.line_matching import matching_blocks

LINES = st.lists(st.sampled_from(["a", "b", "ab", "", "\r", "é"]), max_size=12).map("\n".join)


@given(LINES, LINES)
@example("a\nb", "a\nb\n")
@example("a\n", "a\na\n")
@example("", "a")
@example("x\ny\nz", "x\nz")
def test_common_ends_are_whole_lines_of_both_texts(before, after):
    head, tail = common_ends(before, after)
    assert before[:head] == after[:head]
    assert before[len(before) - tail :] == after[len(after) - tail :]
    assert head + tail <= min(len(before), len(after))
    assert head == 0 or before[head - 1] == "\n"
    for text in (before, after):
        start = len(text) - tail
        assert not tail or start == 0 or text[start - 1] == "\n"


@given(LINES, LINES)
@example("a\nb", "a\nb\n")
@example("a\na\na\n", "a\na\n")
def test_comparison_equals_one_of_all_lines(before, after):
    diff = compare("f", before, after)
    assert "".join(diff.old) == before
    assert "".join(diff.new) == after
    assert (diff.old, diff.new) == (split_lines(before), split_lines(after))
    plain = hunks._between(matching_blocks(diff.old, diff.new), len(diff.old), len(diff.new))
    assert sum(one.old_end - one.old for one in diff.hunks) == sum(one.old_end - one.old for one in plain)
    assert sum(one.new_end - one.new for one in diff.hunks) == sum(one.new_end - one.new for one in plain)


@given(LINES, LINES)
def test_changed_lines_have_the_same_difference_in_length_as_the_texts(before, after):
    old, new = changed_lines(before, after)
    whole = len(split_lines(after)) - len(split_lines(before))
    assert len(new) - len(old) == whole


def test_changed_line_in_a_million_is_found_without_reading_each():
    before = "".join(f"li {number}\n" for number in range(1_000_000))
    after = before.replace("li 500000\n", "LI 500000\n")
    assert changed_lines(before, after) == (["li 500000\n"], ["LI 500000\n"])
    assert compare("f", before, after).hunks == ((500_000, 500_001, 500_000, 500_001),)
