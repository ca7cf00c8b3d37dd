"""The unified format, compared with what `difflib` writes and what git accepts."""

import difflib
import subprocess

import pytest

from workbench.diff.hunks import compare
from workbench.diff.unified import unified_lines

LINES = [f"line {number}\n" for number in range(30)]


def changed(*numbers: int) -> str:
    return "".join("changed\n" if number in numbers else line for number, line in enumerate(LINES))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (changed(), changed(5)),
        (changed(), changed(0, 29)),
        (changed(), changed(5, 12)),
        (changed(), changed(5, 13)),
        (changed(), changed(5, 11, 25)),
        (changed(), "".join(LINES[:10])),
        ("".join(LINES[10:]), changed()),
        ("one\n", "two\n"),
    ],
)
def test_lines_are_those_of_difflib(before: str, after: str):
    sides = before.splitlines(), after.splitlines()
    assert list(unified_lines(compare("a.txt", before, after))) == list(
        difflib.unified_diff(*sides, "a.txt", "a.txt", lineterm="")
    )


def test_equal_texts_have_no_lines():
    assert list(unified_lines(compare("a.txt", "one\n", "one\n"))) == []


def test_new_and_deleted_files_are_from_and_to_nowhere():
    assert list(unified_lines(compare("a.txt", None, "one\ntwo\n"))) == [
        *("--- /dev/null", "+++ a.txt", "@@ -0,0 +1,2 @@", "+one", "+two")
    ]
    assert list(unified_lines(compare("a.txt", "one\n", None))) == [
        *("--- a.txt", "+++ /dev/null", "@@ -1 +0,0 @@", "-one")
    ]


@pytest.mark.starts
@pytest.mark.parametrize(("before", "after"), [("one\ntwo", "one\ntwo\n"), ("one\ntwo\n", "zero\none"), ("a\r\n", "a")])
def test_git_applies_the_lines_to_files_without_a_last_newline(tmp_path, before: str, after: str):
    file = tmp_path / "a.txt"
    file.write_bytes(before.encode())
    patch = "".join(f"{line}\n" for line in unified_lines(compare("a.txt", before, after)))
    subprocess.run(["git", "apply", "-p0", "--unsafe-paths"], input=patch.encode(), cwd=tmp_path, check=True)
    assert file.read_bytes() == after.encode()
