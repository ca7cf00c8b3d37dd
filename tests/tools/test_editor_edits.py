import os
import stat
from pathlib import Path

import pytest

from tests.tools.editor import Editor


@pytest.fixture
def file(project: Path) -> Path:
    file = project / "a.py"
    file.write_text("def f():\n    return 1\n\n\ndef g():\n    return 1\n")
    return file


def test_create_writes_the_file_and_its_directories(editor, project):
    path = project / "new" / "folder" / "a.txt"
    result = editor.run("create", path, file_text="hello\n")
    assert result.text == f"File created successfully at: {path}"
    assert path.read_bytes() == b"hello\n"
    assert (result.prev_exist, result.old_content, result.new_content) == (False, None, "hello\n")


def test_create_refuses_an_existing_path(editor, file, project):
    before = file.read_bytes()
    assert "exists already" in editor.refused("create", file, file_text="x")
    assert "is a directory" in editor.refused("create", project, file_text="x")
    assert file.read_bytes() == before


def test_create_through_a_dangling_link_creates_its_target(editor, project):
    (project / "link").symlink_to(project / "target.txt")
    editor.done("create", project / "link", file_text="x\n")
    assert (project / "target.txt").read_text() == "x\n"


def test_create_uses_the_default_mode(editor, project):
    (project / "usual").touch()
    editor.done("create", project / "a", file_text="")
    assert (project / "a").stat().st_mode == (project / "usual").stat().st_mode


def test_str_replace_shows_the_change_with_four_lines_of_context(editor, project):
    path = project / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1, 21)))
    message = editor.done("str_replace", path, old_str="line 10", new_str="ten")
    assert str(path) in message
    assert "    10\tten\n" in message
    assert "     6\tline 6\n" in message
    assert "    14\tline 14\n" in message
    assert "line 5\n" not in message
    assert "line 15" not in message


def test_str_replace_without_new_str_deletes(editor, file):
    editor.done("str_replace", file, old_str="\n\ndef g():\n    return 1\n")
    assert file.read_text() == "def f():\n    return 1\n"


def test_several_matches_are_refused_with_their_lines(editor, file):
    before = file.read_bytes()
    assert "lines 2, 6" in editor.refused("str_replace", file, old_str="return 1", new_str="return 2")
    assert file.read_bytes() == before


def test_overlapping_matches_count_as_several(editor, file):
    file.write_text("aaa\n")
    assert "more than once" in editor.refused("str_replace", file, old_str="aa", new_str="b")


def test_no_match_shows_the_nearest_passage_and_the_difference(editor, file):
    message = editor.refused("str_replace", file, old_str="def g():\n    return 2\n", new_str="x")
    assert "lines 5 to 6" in message
    assert "     5\tdef g():" in message
    assert "-     return 2" in message
    assert "+     return 1" in message


def test_no_match_because_of_whitespace_is_explained(editor, file):
    file.write_text("if x:\n\treturn\n")
    message = editor.refused("str_replace", file, old_str="if x:\n    return\n", new_str="x")
    assert "Only whitespace differs (the file has tabs)" in message


def test_no_match_finds_a_line_with_a_typo(editor, file):
    message = editor.refused("str_replace", file, old_str="def gg():", new_str="x")
    assert "     5\tdef g():" in message or "     1\tdef f():" in message


def test_no_match_with_line_numbers_advises_to_omit_them(editor, file):
    message = editor.refused("str_replace", file, old_str="     5\tdef g():\n     6\t    return 1", new_str="x")
    assert "line numbers" in message


def test_no_match_without_a_similar_passage_is_reported(editor, file):
    assert "Nothing in the file is like it" in editor.refused("str_replace", file, old_str="€" * 30, new_str="x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": "str_replace", "new_str": "x"}, "needs `old_str`"),
        ({"command": "str_replace", "old_str": "", "new_str": "x"}, "`old_str` is empty"),
        ({"command": "str_replace", "old_str": "def g", "new_str": "def g"}, "the same"),
        ({"command": "insert", "new_str": "x"}, "needs `insert_line`"),
        ({"command": "insert", "insert_line": 1}, "needs `new_str`"),
        ({"command": "insert", "insert_line": 7, "new_str": "x"}, "the file has 6 lines"),
        ({"command": "undo_edit"}, "no edit"),
    ],
)
def test_missing_or_invalid_fields_are_clear_errors(editor, file, arguments, message):
    before = file.read_bytes()
    command = arguments.pop("command")
    assert message in editor.refused(command, file, **arguments)
    assert file.read_bytes() == before


def test_create_requires_file_text(editor, project):
    assert "needs `file_text`" in editor.refused("create", project / "x")


@pytest.mark.parametrize(
    ("before", "line", "new", "after"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x", "a\nx\nb\n"),
        ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 2, "x\ny", "a\nb\nx\ny\n"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("a\nb", 1, "x", "a\nx\nb"),
        ("", 0, "x", "x\n"),
        ("a\n", 1, "", "a\n\n"),
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
        ("a\r\nb", 2, "x", "a\r\nb\r\nx"),
    ],
)
def test_insert_adds_whole_lines(editor, project, before, line, new, after):
    path = project / "a.txt"
    path.write_bytes(before.encode())
    editor.done("insert", path, insert_line=line, new_str=new)
    assert path.read_bytes() == after.encode()


def test_directory_cannot_be_edited(editor, project):
    assert "is a directory" in editor.refused("str_replace", project, old_str="a", new_str="b")
    assert "is a directory" in editor.refused("insert", project, insert_line=0, new_str="b")


def test_file_changed_since_it_was_viewed_must_be_viewed_again(editor, file):
    editor.done("view", file)
    status = file.stat()
    file.write_text(file.read_text().replace("return 1", "return 3"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    message = editor.refused("str_replace", file, old_str="def g", new_str="def h")
    assert "changed since it was last shown" in message
    assert "View it again" in message
    editor.done("view", file)
    editor.done("str_replace", file, old_str="def g", new_str="def h")


def test_own_edits_need_no_new_view(editor, file):
    editor.done("view", file)
    editor.done("str_replace", file, old_str="def f", new_str="def h")
    editor.done("insert", file, insert_line=0, new_str="# top")
    editor.done("undo_edit", file)
    editor.done("str_replace", file, old_str="def g", new_str="def i")
    assert file.read_text().startswith("def h")


def test_mode_and_links_are_preserved(editor, file, project):
    file.chmod(0o755)
    (project / "soft").symlink_to(file)
    editor.done("str_replace", project / "soft", old_str="def f", new_str="def h")
    assert (project / "soft").is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert "def h" in file.read_text()


def test_hard_link_sees_the_edit(editor, file, project):
    os.link(file, project / "second")
    editor.done("str_replace", file, old_str="def f", new_str="def h")
    assert "def h" in (project / "second").read_text()
    assert file.samefile(project / "second")


def test_edit_leaves_no_other_file_behind(editor, file, project):
    editor.done("str_replace", file, old_str="def f", new_str="def h")
    editor.refused("str_replace", file, old_str="not there", new_str="def h")
    assert [path.name for path in project.iterdir()] == ["a.py"]


def test_full_disk_leaves_the_file_unchanged(editor, file, project, monkeypatch):
    before = file.read_bytes()

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in editor.refused("str_replace", file, old_str="def f", new_str="def h")
    assert "No space left on device" in editor.refused("create", project / "b.py", file_text="x")
    monkeypatch.undo()
    assert file.read_bytes() == before
    assert [path.name for path in project.iterdir()] == ["a.py"]
    assert "no edit" in editor.refused("undo_edit", file)


def test_text_that_would_make_the_file_binary_is_refused(editor, project):
    assert "NUL" in editor.refused("create", project / "a", file_text="a\0b")
    assert "U+D800" in editor.refused("create", project / "a", file_text="a\ud800b")


def test_text_of_more_than_ten_megabytes_is_refused(editor, project):
    assert "larger than 10 MB" in editor.refused("create", project / "a", file_text="x" * 10_000_001)


def test_no_match_shows_where_a_long_passage_begins_to_differ(editor, project):
    path = project / "a.txt"
    lines = [f"line {number}" for number in range(1, 61)]
    path.write_text("\n".join(lines))
    message = editor.refused("str_replace", path, old_str="\n".join([*lines[:40], "line forty-one"]), new_str="x")
    assert "lines 1 to 41" in message
    assert "    41\tline 41" in message
    assert message.endswith("- line forty-one\n+ line 41")


def test_no_match_in_a_very_long_line_shows_where_it_begins_to_differ(editor, project):
    (project / "a.js").write_text("first\n" + "x" * 3_000_000 + "end")
    message = editor.refused("str_replace", project / "a.js", old_str="first\n" + "x" * 3_000_000 + "END", new_str="x")
    assert len(message) < 3_000
    assert message.endswith("xend")
    assert "xEND\n+ …x" in message


def test_change_since_the_last_view_is_detected_after_a_restart(editor, file, project, tmp_path):
    editor.done("view", file)
    editor.tool.close()
    file.write_text("mine\n")
    later = Editor(project, tmp_path / "state")
    assert "View it again" in later.refused("insert", file, insert_line=0, new_str="x")
    assert later.preview("insert", file, insert_line=0, new_str="x") == ()
    later.done("view", file)
    later.done("insert", file, insert_line=0, new_str="x")
    assert file.read_text() == "x\nmine\n"


def test_file_below_a_file_cannot_be_created(editor, file):
    for path in (file / "b.py", file / "b" / "c.py"):
        assert "Not a directory" in editor.refused("create", path, file_text="x")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2Jb", "a\u202eb", "é" * 127, " ", "-rf", "a'b\"c"])
def test_files_of_any_name_can_be_created_and_edited(editor, project, name):
    path = project / name
    editor.done("create", path, file_text="one\n")
    editor.done("str_replace", path, old_str="one", new_str="two")
    result = editor.run("view", path)
    assert "1\ttwo" in result.text
    editor.done("undo_edit", path)
    assert path.read_text() == "one\n"


def test_file_swapped_for_a_link_or_directory_after_the_preview_is_not_written(editor, file, project):
    other = project / "other.txt"
    other.write_text("def f: mine\n")
    (preview,) = editor.preview("str_replace", file, old_str="def f", new_str="def h")
    file.unlink()
    file.symlink_to(other)
    (now,) = editor.preview("str_replace", file, old_str="def f", new_str="def h")
    assert (preview.path, now.path) == (str(file), str(other))  # another file, to which the decision does not apply
    file.unlink()
    file.mkdir()
    assert "is a directory" in editor.refused("str_replace", file, old_str="def f", new_str="def h")


def test_preview_writes_nothing_and_equals_the_written_content(editor, file, project):
    before = {path: path.read_bytes() for path in project.iterdir()}
    (change,) = editor.preview("insert", file, insert_line=2, new_str="# here")
    (created,) = editor.preview("create", project / "new" / "b.py", file_text="x\n")
    assert {path: path.read_bytes() for path in project.iterdir()} == before
    assert (created.before, created.after) == (None, "x\n")
    editor.done("insert", file, insert_line=2, new_str="# here")
    assert (change.before, change.after) == (before[file].decode(), file.read_text())


def test_preview_of_a_refused_edit_is_empty(editor, file, project):
    for command, more in (("create", {"file_text": ""}), ("str_replace", {"old_str": "not there"}), ("undo_edit", {})):
        assert editor.preview(command, file, **more) == ()
    assert editor.preview("view", "relative") == ()
