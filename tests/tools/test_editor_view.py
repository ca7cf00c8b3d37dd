import base64
import os
import re
import socket

import pytest

from workbench.tools import ImageContent

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def numbered(text: str) -> dict[int, str]:
    return {int(number): line for number, line in re.findall(r"^ *(\d+)\t(.*)$", text, re.MULTILINE)}


def test_file_is_shown_with_line_numbers(editor, project):
    (project / "a.txt").write_text("one\ntwo\n")
    view = editor.done("view", project / "a.txt")
    assert view == f"Here's the result of running `cat -n` on {project}/a.txt:\n     1\tone\n     2\ttwo\n"


@pytest.mark.parametrize(
    ("view_range", "lines"), [([2, 3], [2, 3]), ([4, -1], [4, 5]), ([5, 5], [5]), ([4, 900], [4, 5])]
)
def test_range_shows_only_its_lines(editor, project, view_range, lines):
    (project / "a.txt").write_text("1\n2\n3\n4\n5\n")
    view = editor.done("view", project / "a.txt", view_range=view_range)
    assert numbered(view) == {line: str(line) for line in lines}


@pytest.mark.parametrize(
    ("content", "view_range", "length"),
    [("a\nb\n", [1, 50], "2 lines"), ("a\n", [1, 2], "1 line"), ("a\nb\n", [1, 2], ""), ("a\nb\n", [2, -1], "")],
    ids=["behind", "one-line", "exact", "open"],
)
def test_a_range_that_ends_behind_the_file_says_how_long_the_file_is(editor, project, content, view_range, length):
    (project / "a.txt").write_text(content)
    view = editor.done("view", project / "a.txt", view_range=view_range)
    assert (f"[the file has {length}]" in view) == bool(length)


@pytest.mark.parametrize(
    ("content", "view_range", "length"),
    [("a\nb\n", [5, 6], "has 2 lines"), ("a\n", [2, -1], "has 1 line:"), ("", [2, 3], "is empty (0 lines)")],
    ids=["two", "one", "empty"],
)
def test_a_range_that_begins_behind_the_file_says_how_long_the_file_is(editor, project, content, view_range, length):
    (project / "a.txt").write_text(content)
    assert length in editor.refused("view", project / "a.txt", view_range=view_range)


@pytest.mark.parametrize("view_range", [[0, 2], [6, 7], [3, 2], [1], [1, 2, 3], [-1, 2], [2, -5]])
def test_invalid_range_is_explained(editor, project, view_range):
    (project / "a.txt").write_text("1\n2\n3\n4\n5\n")
    assert f"`view_range` is {view_range}" in editor.refused("view", project / "a.txt", view_range=view_range)


def test_long_file_is_cut_in_the_middle_with_correct_line_numbers(editor, project):
    (project / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 5_001)))
    view = editor.done("view", project / "a.txt")
    lines = numbered(view)
    assert len(view) < 17_000
    assert lines[1] == "line 1"
    assert lines[5_000] == "line 5000"
    assert all(line == f"line {number}" for number, line in lines.items())
    first, last = map(int, re.search(r"lines (\d+) to (\d+) omitted", view).groups())
    assert set(lines) == {*range(1, first), *range(last + 1, 5_001)}


def test_very_long_line_is_cut_inside(editor, project):
    (project / "a.txt").write_text("start" + "x" * 1_000_000 + "end\nnext\n")
    view = editor.done("view", project / "a.txt")
    assert len(view) < 17_000
    assert "start" in view
    assert "end" in view
    assert "2\tnext" in view


def test_empty_file_is_reported_as_empty(editor, project):
    (project / "a.txt").touch()
    assert "the file is empty" in editor.done("view", project / "a.txt")


def test_invisible_properties_are_reported(editor, project):
    (project / "a.txt").write_bytes(b"one\r\ntwo\r\nthree")
    view = editor.done("view", project / "a.txt")
    assert numbered(view) == {1: "one", 2: "two", 3: "three"}
    assert "mixed" not in view
    assert "CRLF line ends, no newline at the end" in view


def test_directory_is_shown_two_levels_deep_without_hidden_entries(editor, project):
    (project / "src" / "inner" / "deep").mkdir(parents=True)
    for name in ("src/a.py", "src/inner/b.py", "src/inner/deep/c.py", ".hidden", ".git", "z.txt", "src/.secret"):
        (project / name).touch()
    view = editor.done("view", project)
    rows = [row.strip() for row in view.splitlines()[1:]]
    assert rows == ["src/", "a.py", "inner/", "z.txt", "[2 hidden entries are not shown]"]


def test_directory_that_links_to_itself_ends(editor, project):
    (project / "loop").symlink_to(project)
    assert "loop" in editor.done("view", project)


def test_directory_with_many_entries_is_cut(editor, project):
    for number in range(2_000):
        (project / f"file-number-{number:05d}").touch()
    view = editor.done("view", project)
    assert len(view) < 17_000
    assert "omitted" in view


@pytest.mark.parametrize(
    ("name", "raw", "mime"),
    [
        ("a.png", PNG, "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0rest", "image/jpeg"),
        ("a.gif", b"GIF89a\x01\x00", "image/gif"),
        ("a.webp", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_image_is_an_image_block(editor, project, name, raw, mime):
    (project / name).write_bytes(raw)
    result = editor.run("view", project / name)
    (image,) = [part for part in result.to_llm_content if isinstance(part, ImageContent)]
    assert (image.mime_type, base64.b64decode(image.data)) == (mime, raw)


def test_text_file_named_like_an_image_is_text(editor, project):
    (project / "a.png").write_text("not really\n")
    assert "1\tnot really" in editor.done("view", project / "a.png")


def test_relative_path_suggests_the_absolute_one(editor, project):
    assert f"Did you mean {project}/src/a.py?" in editor.refused("view", "src/a.py")


def test_missing_file_names_the_nearest_one(editor, project):
    (project / "parser.py").touch()
    assert f"Did you mean {project}/parser.py?" in editor.refused("view", project / "parsr.py")


@pytest.mark.parametrize("path", ["/a\0b", "/" + "x" * 5_000, "/\ud800"])
def test_impossible_path_is_refused(editor, path):
    assert editor.refused("view", path)


def test_fifo_is_refused_at_once(editor, project):
    os.mkfifo(project / "pipe")
    assert "FIFO" in editor.refused("view", project / "pipe")
    assert "FIFO" in editor.refused("str_replace", project / "pipe", old_str="a", new_str="b")


def test_device_is_refused(editor):
    assert "device" in editor.refused("view", "/dev/zero")


def test_binary_file_is_refused(editor, project):
    (project / "a.bin").write_bytes(b"\x7fELF\0\0\x01")
    assert "binary" in editor.refused("view", project / "a.bin")


def test_file_of_more_than_ten_megabytes_is_refused(editor, project):
    with (project / "big.txt").open("wb") as file:
        file.truncate(10_000_001)
    assert "larger than 10 MB" in editor.refused("view", project / "big.txt")


def test_sparse_file_of_two_gigabytes_is_refused(editor, project):
    with (project / "hole").open("wb") as file:
        file.truncate(2_000_000_000)
    for command, more in (("view", {}), ("insert", {"insert_line": 0, "new_str": "x"})):
        assert "larger than 10 MB" in editor.refused(command, project / "hole", **more)
    assert (project / "hole").stat().st_size == 2_000_000_000


def test_socket_is_refused(editor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name may have at most a hundred characters
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        assert "a socket" in editor.refused("view", tmp_path / "s")


@pytest.mark.parametrize("path", ["/proc/kcore", "/proc/self/mem", "/dev/tty", "/dev/full"])
def test_kernel_files_are_refused_at_once(editor, path):
    assert editor.refused("view", path)


def test_image_too_large_for_a_model_is_refused(editor, project):
    (project / "a.png").write_bytes(PNG + bytes(4_000_000))
    assert "4.0 MB; at most 3.5" in editor.refused("view", project / "a.png")


def test_view_has_no_preview(editor, project):
    (project / "a.txt").touch()
    assert editor.preview("view", project / "a.txt") == ()
