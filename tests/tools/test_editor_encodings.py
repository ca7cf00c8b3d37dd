import codecs
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.tools.editor import Editor

CODINGS = [
    ("utf-8", b""),
    ("utf-8", codecs.BOM_UTF8),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
    ("utf-32-le", codecs.BOM_UTF32_LE),
]
signs = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0")
ends = st.sampled_from(["\n", "\r\n", "\r", ""])
files = st.lists(st.tuples(st.text(signs, max_size=12), ends), max_size=8).map(
    lambda rows: "".join(line + end for line, end in rows)
)


@given(head=files, tail=files, old=st.text(signs, min_size=1), new=st.text(signs), coding=st.sampled_from(CODINGS))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_bytes_outside_the_edit_are_kept_and_undo_restores_them(head, tail, old, new, coding):
    encoding, bom = coding
    marked = f"«{old}»"
    plain = (head + marked + tail).replace("\r\n", "\n")
    assume(plain.count(marked.replace("\r\n", "\n")) == 1 and old.replace("\r\n", "\n") != new.replace("\r\n", "\n"))
    raw = bom + (head + marked + tail).encode(encoding)
    assume(bom or not raw.startswith(tuple(bom for _, bom in CODINGS if bom)))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file.txt"
        path.write_bytes(raw)
        editor = Editor(Path(directory))
        arguments = {"old_str": marked, "new_str": f"«{new}»"}
        (preview,) = editor.preview("str_replace", path, **arguments)
        result = editor.run("str_replace", path, **arguments)
        assert not result.is_error, result.text
        written = path.read_bytes()
        assert written.startswith(bom + (head + "«").encode(encoding))
        assert written.endswith(("»" + tail).encode(encoding))
        assert written == bom + preview.after.encode(encoding)
        assert preview.before == result.old_content == head + marked + tail
        assert preview.after == result.new_content
        editor.done("undo_edit", path)
        assert path.read_bytes() == raw


@given(text=files, line=st.integers(0, 8), new=st.text(signs, max_size=20))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_insert_only_adds_bytes_and_undo_restores_the_file(text, line, new):
    raw = text.encode()
    line = min(line, text.count("\n") + (not text.endswith("\n") and text != ""))
    assume(not raw.startswith(codecs.BOM_UTF8))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file.txt"
        path.write_bytes(raw)
        editor = Editor(Path(directory))
        editor.done("insert", path, insert_line=line, new_str=new)
        written = path.read_bytes()
        assert written.startswith(b"\n".join(raw.split(b"\n")[:line]))
        assert written.endswith(b"\n".join(raw.split(b"\n")[line:]))
        assert len(written) > len(raw)
        editor.done("undo_edit", path)
        assert path.read_bytes() == raw


def test_edit_adopts_the_line_endings_around_it(editor, project):
    path = project / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\nfour\n")
    editor.done("str_replace", path, old_str="one\ntwo\n", new_str="one\n1.5\ntwo\n")
    assert path.read_bytes() == b"one\r\n1.5\r\ntwo\r\nthree\nfour\n"
    editor.done("str_replace", path, old_str="three\nfour", new_str="three\n3.5\nfour")
    assert path.read_bytes() == b"one\r\n1.5\r\ntwo\r\nthree\n3.5\nfour\n"


def test_unchanged_lines_of_old_str_keep_their_endings(editor, project):
    path = project / "a.txt"
    path.write_bytes(b"a\r\nb\nc\r\nd\n")
    editor.done("str_replace", path, old_str="a\nb\nc\nd\n", new_str="a\nb\nX\nd\n")
    assert path.read_bytes() == b"a\r\nb\nX\r\nd\n"


@pytest.mark.parametrize(("encoding", "sign"), [("latin-1", "é"), ("cp1252", "“")])
def test_one_byte_encodings_are_preserved(editor, project, encoding, sign):
    path = project / "a.txt"
    path.write_bytes(f"caf{sign} old\n".encode(encoding))
    editor.done("str_replace", path, old_str=f"{sign} old", new_str=f"{sign} {sign}")
    assert path.read_bytes() == f"caf{sign} {sign}\n".encode(encoding)
    assert encoding in editor.done("view", path)


def test_character_missing_in_the_encoding_is_refused(editor, project):
    path = project / "a.txt"
    path.write_bytes("café\n".encode("latin-1"))
    assert "U+2192" in editor.refused("str_replace", path, old_str="caf", new_str="→")
    assert path.read_bytes() == b"caf\xe9\n"


def test_damaged_utf8_is_refused_and_left_unchanged(editor, project):
    path = project / "a.txt"
    raw = "grün → ".encode() + b"\xff\xfe old\n"
    path.write_bytes(raw)
    assert "without loss" in editor.refused("str_replace", path, old_str="old", new_str="new")
    assert path.read_bytes() == raw


line_ends = st.sampled_from(["\n", "\r\n"])
changes = st.sampled_from(["keep", "keep", "change", "drop", "add"])


@given(
    ends=st.lists(line_ends, min_size=2, max_size=12), what=st.lists(changes, min_size=12, max_size=12), data=st.data()
)
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_unchanged_lines_keep_their_endings_in_a_file_with_mixed_ones(ends, what, data):
    """`old_str` and `new_str` come with plain newlines and span lines that change and lines that do not."""
    lines = [f"line {number}" for number in range(len(ends))]
    first = data.draw(st.integers(0, len(ends) - 1))
    last = data.draw(st.integers(first, len(ends) - 1))
    new: list[str] = []
    for number in range(first, last + 1):
        done = what[number]
        new += ["added"] if done == "add" else []
        new += [] if done == "drop" else [lines[number] + " changed" * (done == "change")]
    assume(new and new != lines[first : last + 1])
    before = "".join(line + end for line, end in zip(lines, ends, strict=True))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file.txt"
        path.write_bytes(before.encode())
        editor = Editor(Path(directory))
        old = "\n".join(lines[first : last + 1])
        editor.done("str_replace", path, old_str=f"{old}\n", new_str="\n".join([*new, ""]))
        after = path.read_bytes().decode()
        assert after.replace("\r\n", "\n").split("\n") == [*lines[:first], *new, *lines[last + 1 :], ""]
        written = after.splitlines(keepends=True)
        for number, (line, end) in enumerate(zip(lines, ends, strict=True)):
            if line in (row.rstrip("\r\n") for row in written):
                assert line + end in written
            elif what[number] == "change":
                assert f"{line} changed" in after
        editor.done("undo_edit", path)
        assert path.read_bytes() == before.encode()
