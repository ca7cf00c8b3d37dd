"""Merging two changes of a text: the same result as git's, and no conflict markers."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.diff.merge import Merged, merge

BASE = [f"line {number}\n" for number in range(12)]


def by_git(base: str, theirs: str, edited: str) -> tuple[str, bool]:
    """What git makes of both changes, and whether they conflict."""
    with tempfile.TemporaryDirectory() as name:
        for file, text in (("base", base), ("theirs", theirs), ("edited", edited)):
            (Path(name) / file).write_bytes(text.encode())
        command = ["git", "merge-file", "-p", "-q", "--ours", "edited", "base", "theirs"]
        merged = subprocess.run(command, cwd=name, capture_output=True, check=True).stdout.decode()
        command.remove("--ours")
        return merged, subprocess.run(command, cwd=name, capture_output=True).returncode > 0


@st.composite
def changed(draw: st.DrawFn) -> str:
    """The base with a few lines replaced, inserted or deleted, and perhaps without its last line end."""
    lines = list(BASE)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(lines)))
        new = draw(st.lists(st.sampled_from(["one\n", "two\n", "three\r\n"]), max_size=2, unique=True))
        lines[start : start + draw(st.integers(0, 2))] = new
    text = "".join(lines)
    return text.rstrip("\n") if draw(st.booleans()) else text


@pytest.mark.starts
@settings(max_examples=60, deadline=None)
@given(changed(), changed())
def test_merge_of_distinct_lines_is_what_git_makes_of_them(theirs, edited):
    merged = merge("".join(BASE), theirs, edited)
    assert (merged.text, merged.conflicts != 0) == by_git("".join(BASE), theirs, edited)


def test_conflict_has_the_edited_lines_and_each_place_is_counted():
    theirs = "".join(BASE).replace("line 2\n", "theirs\n").replace("line 9\n", "theirs\n").replace("line 5\n", "")
    edited = "".join(BASE).replace("line 2\n", "edited\n").replace("line 9\n", "edited\n")
    assert merge("".join(BASE), theirs, edited) == Merged(edited.replace("line 5\n", ""), 2)


def test_equal_changes_and_texts_are_no_conflict():
    both = "".join(BASE).replace("line 4\n", "same\n")
    assert merge("".join(BASE), both + "more\n", both) == Merged(both + "more\n")
    assert merge("".join(BASE), both, both) == Merged(both)


@pytest.mark.parametrize("binary", range(3))
def test_binary_content_is_not_merged(binary):
    versions = ["a\n", "b\na\n", "a\nc\n"]
    versions[binary] += "\0"
    assert merge(*versions) == Merged(versions[2], None)


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_line_endings_and_a_missing_final_newline_survive_a_merge(ends):
    seen = ends.join(["a", "b", "c", "d", "e", "f", "g"])
    merged = merge(seen, seen.replace("g", "G"), seen.replace("a", "A"))
    assert merged == Merged(seen.replace("g", "G").replace("a", "A"))


lines = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "ä\n", "<<<<<<< x\n", ""]), max_size=5).map("".join)


@settings(max_examples=20, deadline=None)
@given(lines, lines)
def test_merge_of_a_one_sided_change_gives_that_side(seen, other):
    assert merge(seen, other, seen).text == (other if other != seen else seen)
    assert merge(seen, seen, other) == Merged(other)
