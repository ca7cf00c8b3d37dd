"""Partial approval of a proposed edit: the file gets base + accepted hunks, as the question shows them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.diff.hunks import compare, taken
from workbench.view.approval.proposal import Proposal

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "\u2028x\n", "d"]), max_size=12).map("".join)
BASE = "".join(f"line {number}\n" for number in range(40))
WANTED = BASE.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 37\n", "line 37\nmore\n")


def proposal(before: str | None = BASE, after: str | None = WANTED) -> Proposal:
    return Proposal([compare("a.py", before, after)], ["/w/a.py"])


def text(of: Proposal) -> str | None:
    ((path, written),) = of.written()
    assert path == "/w/a.py"
    return written


@given(LINES, LINES, st.sets(st.integers(0, 12)))
def test_any_subset_of_hunks_is_the_original_with_the_accepted_ones(before: str, after: str, out: set[int]) -> None:
    of = proposal(before, after)
    for hunk in out:
        if hunk < of.count:
            of.toggle(hunk)
    assert text(of) == taken(compare("a.py", before, after), of.accepted)
    if not of.out:
        assert text(of) == after
    if len(of.out) == of.count:
        assert text(of) == before


@given(LINES, LINES, st.data())
def test_written_text_is_the_shown_text(before: str, after: str, data: st.DataObject) -> None:
    of = proposal(before, after)
    for hunk in range(of.count):
        if data.draw(st.booleans()):
            of.edit(hunk, data.draw(LINES))
        if data.draw(st.booleans()):
            of.toggle(hunk)
    (preview,) = of.edited_files()
    assert len(preview.hunks) == of.count
    assert "".join(preview.new) == preview.after
    assert text(of) == taken(preview, of.accepted)
    assert preview.before == before


def test_two_of_three_hunks_are_skipped() -> None:
    of = proposal()
    assert of.count == 3
    of.toggle(0)
    of.toggle(2)
    assert of.accepted == (1,)
    assert text(of) == BASE.replace("line 20\n", "")
    of.toggle(0)
    assert of.accepted == (0, 1)


def test_edited_hunk_keeps_its_position_among_the_others() -> None:
    of = proposal()
    of.edit(0, "drei\nund mehr")
    assert of.edited == (0,)
    assert text(of) == WANTED.replace("three\n", "drei\nund mehr\n")
    of.toggle(1)
    assert text(of) == BASE.replace("line 3\n", "drei\nund mehr\n").replace("line 37\n", "line 37\nmore\n")
    assert of.text(0) == "drei\nund mehr\n"
    assert of.where(2) == ("a.py", 39, 38)


def test_original_text_skips_the_hunk_and_proposed_text_accepts_it_unedited() -> None:
    of = proposal()
    of.edit(0, "line 3")
    assert (of.out, of.edited) == ({0}, ())
    of.edit(0, "three\n")
    assert not of.is_changed


def test_skipped_new_file_is_not_created() -> None:
    of = proposal(None, "new\n")
    of.toggle(0)
    assert of.is_empty
    assert text(of) is None
    of.edit(0, "other\n")
    assert text(of) == "other\n"


def test_skipped_deletion_keeps_the_file() -> None:
    of = proposal("old\n", None)
    assert text(of) is None
    of.toggle(0)
    assert text(of) == "old\n"


def test_last_line_may_have_no_newline() -> None:
    of = proposal("a\nb", "a\nc")
    of.edit(0, "d")
    assert text(of) == "a\nd"


def test_hunks_are_numbered_across_files() -> None:
    of = Proposal([compare("a", "1\n", "2\n"), compare("b", "3\n", "4\n")], ["/a", "/b"])
    of.toggle(0)
    of.edit(1, "5\n")
    assert of.accepted == (1,)
    assert of.written() == (("/a", "1\n"), ("/b", "5\n"))
