"""The files of a patch of git in the diff viewer, with the numbers that their lines have in the file."""

import subprocess

import pytest

from tests.batch.watched import PATCH
from workbench.diff.hunks import compare
from workbench.view.review.patch_files import files_of_patch


def hunks_of(file):
    diff = compare(file.path, file.before, file.after)
    return [(hunk.old, diff.old[hunk.old : hunk.old_end], diff.new[hunk.new : hunk.new_end]) for hunk in diff.hunks]


def test_hunks_have_the_numbers_and_lines_of_the_patch():
    (file,) = files_of_patch(PATCH, "/w")
    assert file.path == "/w/src/prices.py"
    ((line, old, new),) = hunks_of(file)
    assert (line, len(old), len(new)) == (11, 1, 4)
    assert new[2] == "    except KeyError:\n"


@pytest.mark.starts
def test_every_kind_of_change_that_git_writes(tmp_path):
    def git(*words):
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q")
    (tmp_path / "long.txt").write_text("".join(f"{number}\n" for number in range(500)))
    (tmp_path / "no end.txt").write_text("one\ntwo")
    (tmp_path / "gone").write_text("bye\n")
    (tmp_path / "data").write_bytes(b"\0\1\2")
    (tmp_path / "run.sh").write_text("true\n")
    git("add", ".")
    (tmp_path / "long.txt").write_text("".join(f"{number}{'!' * (number in (100, 400))}\n" for number in range(500)))
    (tmp_path / "no end.txt").write_text("one\ntwo\nthree")
    (tmp_path / "gone").unlink()
    (tmp_path / "data").write_bytes(b"\0\3\4")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / 'new "ü".txt').write_text("hello\n")
    git("add", "-N", 'new "ü".txt')
    files = {file.path: file for file in files_of_patch(git("diff", "--binary"), "/w")}
    assert [line for line, _, _ in hunks_of(files["/w/long.txt"])] == [100, 400]
    assert hunks_of(files["/w/no end.txt"]) == [(1, ["two"], ["two\n", "three"])]
    assert (files["/w/gone"].before, files["/w/gone"].after) == ("bye\n", None)
    assert (files['/w/new "ü".txt'].before, files['/w/new "ü".txt'].after) == (None, "hello\n")
    assert files["/w/data"].note == "not text"
    assert files["/w/run.sh"].note == "only its mode changes"


@pytest.mark.parametrize("patch", [b"", b"nonsense", b"diff --git a/x b/x\n@@ -1 +1 @@", PATCH[:200], PATCH[:-300]])
def test_damaged_patches_have_the_files_that_can_be_read(patch):
    assert all(file.path.startswith("/w/") for file in files_of_patch(patch, "/w"))


def test_line_numbers_of_a_hostile_patch_take_no_memory():
    (file,) = files_of_patch(PATCH.replace(b"-11,4 +11,6", b"-999999999,4 +999999999,6"), "/w")
    assert len(file.before) < 1_000
    assert len(hunks_of(file)) == 1
