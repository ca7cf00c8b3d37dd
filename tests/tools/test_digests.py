"""Remembered digests and paths compared as text give what computing them gives."""

import hashlib
import threading
from pathlib import Path, PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from workbench.files import digests
from workbench.files.root_directory import Root
from workbench.tools.blob_store import BlobStore

SIZES = (0, 1, 4_095, 4_096, 50_000, 1_000_000, 1_000_001)


@given(st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(b"ab")), max_size=12))
def test_digest_is_that_of_the_content_whatever_was_hashed_before(contents):
    for size, letter in contents:
        raw = bytes([letter]) * size
        assert digests.sha256(raw) == hashlib.sha256(raw).digest()


def test_digests_are_right_in_several_threads():
    contents = [bytes([number]) * 5_000 for number in range(8)]
    wrong = []

    def work() -> None:
        for number in range(400):
            raw = contents[number * 7 % 8]
            if digests.sha256(raw) != hashlib.sha256(raw).digest():
                wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


NAMES = st.sampled_from(["a", "ab", "a b", "..", "b", "é", ".a"])
PATHS = st.builds(lambda names, start: f"{start}{'/'.join(names)}", st.lists(NAMES, max_size=4), st.sampled_from("/"))


@given(PATHS, PATHS)
def test_root_holds_the_paths_below_it(root, path):
    is_below = path != root and PurePosixPath(path).is_relative_to(root)
    assert Root(Path(root)).holds(Path(path)) == is_below


def test_stack_keeps_the_last_entries(tmp_path):
    for store in (BlobStore(tmp_path / "state"), BlobStore(None)):
        for number in range(1, 15):
            store.push("undo/a", b"%d" % number, 10)
        store.push("undo/b", b"other", 10)
        assert store.numbers("undo/a") == list(range(5, 15))
        assert [store.get(f"undo/a/{number}") for number in (4, 5, 14)] == [None, b"5", b"14"]
        store.drop("undo/a/14")
        store.push("undo/a", b"again", 3)
        assert store.numbers("undo/a") == [12, 13, 14]
        assert store.get("undo/a/14") == b"again"
        assert store.numbers("undo/b") == [1]
