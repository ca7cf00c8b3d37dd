import codecs
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.tools.editor import Editor
from workbench.tools.str_replace_editor.files import Files

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


OTHERS = {
    "cp1251": ("Привет, мир! Это обычный текст.", "мир", "дом"),
    "koi8-r": ("Привет, мир! Это обычный текст.", "мир", "дом"),
    "cp1252": ("Les élèves français – “où êtes-vous ?”", "élèves", "œuvres"),
    "shift_jis": ("こんにちは世界。日本語のテキスト。", "世界", "東京"),
    "euc_jp": ("こんにちは世界。日本語のテキスト。", "世界", "東京"),
    "iso2022_jp": ("こんにちは世界。日本語のテキスト。", "世界", "東京"),
    "euc_kr": ("안녕하세요 세계. 한국어 텍스트입니다.", "세계", "서울"),
    "gbk": ("你好，世界。这是一个中文文件。", "世界", "北京"),
    "big5": ("你好，世界。這是一個中文檔案。", "世界", "台北"),
    "utf-16": ("Привет, мир!", "мир", "дом 猫"),
    "utf-16-le": ("Привет, мир! Это текст.", "мир", "дом 猫"),
    "utf-16-be": ("こんにちは世界。", "世界", "дом"),
    "utf-32": ("Привет, мир!", "мир", "дом 猫"),
    "utf-32-be": ("Привет, мир! Это текст.", "мир", "дом 猫"),
}
LACKING = {
    **dict.fromkeys(("cp1251", "koi8-r", "cp1252", "latin-1"), "猫"),
    **dict.fromkeys(("shift_jis", "euc_jp", "gbk", "big5", "euc_kr"), "🙂"),
}


@pytest.mark.parametrize("encoding", OTHERS)
def test_a_file_is_shown_edited_and_restored_in_its_encoding(editor, project, encoding):
    text, old, new = OTHERS[encoding]
    path = project / "a.txt"
    raw = f"first\n{text}\nlast\n".encode(encoding)
    path.write_bytes(raw)
    view = editor.done("view", path)
    assert text in view
    assert "encoding " in view
    assert "edits keep that" in view
    (preview,) = editor.preview("str_replace", path, old_str=old, new_str=new)
    assert (text in preview.before, new in preview.after) == (True, True)
    editor.done("str_replace", path, old_str=old, new_str=new)
    assert path.read_bytes() == f"first\n{text.replace(old, new)}\nlast\n".encode(encoding)
    assert text.replace(old, new) in editor.done("view", path)
    editor.done("insert", path, insert_line=0, new_str=old)
    editor.done("undo_edit", path)
    editor.done("undo_edit", path)
    assert path.read_bytes() == raw


@pytest.mark.parametrize("encoding", LACKING)
def test_a_character_that_the_encoding_lacks_is_refused_with_the_two_choices(editor, project, encoding):
    path = project / "a.txt"
    raw = f"{OTHERS.get(encoding, ('café',))[0]}\nold\n".encode(encoding)
    path.write_bytes(raw)
    message = editor.refused("str_replace", path, old_str="old", new_str=f"new {LACKING[encoding]}")
    assert f"U+{ord(LACKING[encoding]):04X}" in message
    assert encoding in message
    assert "without that character" in message
    assert "ask the user" in message
    assert "UTF-8" not in message
    assert path.read_bytes() == raw


@pytest.mark.parametrize("encoding", OTHERS)
def test_a_hunk_is_written_in_the_encoding_of_the_file(project, encoding):
    """The user may accept a part of a change: the file then gets the text that was shown to them."""
    text, old, new = OTHERS[encoding]
    path = project / "a.txt"
    path.write_bytes(f"{text}\n".encode(encoding))
    files = Files(str(project), None)
    files.write(files.holding(path, f"{text}\n", f"{text.replace(old, new)}\n"))
    assert path.read_bytes() == f"{text.replace(old, new)}\n".encode(encoding)


def test_a_character_that_would_come_back_as_another_is_refused(editor, project):
    path = project / "a.txt"
    raw = "これは日本語のテキストです。\nold\n".encode("shift_jis")
    path.write_bytes(raw)
    assert "U+00A5" in editor.refused("str_replace", path, old_str="old", new_str="¥")
    assert path.read_bytes() == raw


@pytest.mark.parametrize("has_state", [True, False], ids=["restarted", "running"])
def test_the_encoding_stays_when_an_edit_removes_what_told_it(project, tmp_path, has_state):
    """An ASCII file that was in cp1251 before is written in cp1251, also after a restart."""
    path, state = project / "a.txt", tmp_path / "state"
    path.write_bytes("# Привет, мир\nx = 1\n".encode("cp1251"))
    editor = Editor(project, state)
    editor.done("view", path)
    editor.done("str_replace", path, old_str="Привет, мир", new_str="none")
    assert path.read_bytes() == b"# none\nx = 1\n"
    editor = Editor(project, state) if has_state else editor
    editor.done("str_replace", path, old_str="none", new_str="я")
    assert path.read_bytes() == "# я\nx = 1\n".encode("cp1251")
    editor.done("undo_edit", path)
    editor.done("undo_edit", path)
    assert path.read_bytes() == "# Привет, мир\nx = 1\n".encode("cp1251")


def test_a_file_that_another_program_converts_is_read_again(editor, project):
    path = project / "a.txt"
    path.write_bytes("Привет, мир\n".encode("cp1251"))
    editor.done("view", path)
    path.write_bytes("Привет, мир\n".encode())
    editor.done("view", path)
    editor.done("str_replace", path, old_str="мир", new_str="猫")
    assert path.read_bytes() == "Привет, 猫\n".encode()


TWENTY = [
    *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "latin-1"),
    *("cp1252", "cp1251", "koi8-r", "cp866", "shift_jis", "cp932", "euc_jp", "euc_kr", "gbk", "gb18030", "big5"),
    *("cp1250", "iso8859-7", "cp1254"),
]
plain_files = st.lists(st.tuples(st.text(max_size=12), ends), max_size=6).map(
    lambda rows: "".join(line + end for line, end in rows)
)


@given(head=plain_files, tail=plain_files, new=st.text(max_size=6), encoding=st.sampled_from(TWENTY))
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_text_in_any_encoding_keeps_every_byte_outside_an_edit(head, tail, new, encoding):
    head, tail = (part.encode(encoding, "ignore").decode(encoding) for part in (head, tail))
    before, after = f"{head}<old>".encode(encoding), tail.encode(encoding.replace("-sig", ""))
    if encoding in {"utf-16", "utf-32"}:
        after = tail.encode(f"{encoding}-le")
    raw = before + after
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file.txt"
        path.write_bytes(raw)
        editor = Editor(Path(directory))
        result = editor.run("str_replace", path, old_str="<old>", new_str=f"<{new}>")
        written = path.read_bytes()
        if result.is_error:
            assert written == raw
            return
        start = f"{head}<".encode(encoding)
        end = ">".encode("utf-16-le" if encoding == "utf-16" else "utf-32-le" if encoding == "utf-32" else encoding)
        assert written.startswith(start)
        assert written.endswith(end.removeprefix(codecs.BOM_UTF8) + after)
        editor.done("undo_edit", path)
        assert path.read_bytes() == raw


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
