import os
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.tools.search_tree import HANGS, WAYS, call, fake_ripgrep, interrupted, way, write
from tests.tools.shells import eventually, processes
from workbench.tools import ArgumentError, GrepTool, ToolContext

ENDLESS = "(a|aa)+(?!c)b"
"""A pattern that tries every way to split a run of `a`."""


@pytest.fixture(params=WAYS)
def search(request, tmp_path):
    tool = GrepTool(tmp_path)

    def run(pattern: str, **arguments):
        with way(request.param):
            return call(tool, pattern=pattern, **arguments)

    return run


def rows(result, directory: Path) -> list[str]:
    assert not result.is_error, result.text
    if not result.matched_files:
        return []
    return [line.replace(f"{directory}/", "") for line in result.text.splitlines()]


def test_lines_have_file_and_number_in_path_order(search, tmp_path):
    write(tmp_path, {"b.py": "one\ntwo\n", "a/x.py": "two\n", "c.txt": "zero\ntwo"})
    result = search("two")
    assert rows(result, tmp_path) == ["a/x.py:1:two", "b.py:2:two", "c.txt:2:two"]
    assert (result.matched_files, result.matched_lines, result.truncated) == (3, 3, False)
    assert result.text.startswith(f"{tmp_path}/a/x.py:1:")


def test_only_file_names_are_returned_on_request(search, tmp_path):
    write(tmp_path, {"b.py": "two\ntwo\n", "a.py": "two", "c.py": "three"})
    result = search("two", output="files")
    assert rows(result, tmp_path) == ["a.py", "b.py"]
    assert (result.matched_files, result.matched_lines) == (2, 3)


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("*.py", {"a.py", "src/b.py", "src/deep/c.py"}),
        ("*.{ts,tsx}", {"d.ts", "src/e.tsx"}),
        ("src/*.py", {"src/b.py"}),
        ("./src/**/*.py", {"src/b.py", "src/deep/c.py"}),
        ("src/{deep,other}/*", {"src/deep/c.py"}),
        ("src/**", {"src/b.py", "src/e.tsx", "src/deep/c.py"}),
        (".env", {".env"}),
        ("-x", {"-x"}),
        ("?", {"ä"}),
        ("[!b].{py,pyi}", {"a.py", "src/deep/c.py"}),
        ("\\a.py", {"a.py"}),
        ("include:y", {"include:y"}),
    ],
)
def test_include_limits_the_files(search, tmp_path, include, expected):
    files = {"a.py", "d.ts", "src/b.py", "src/e.tsx", "src/deep/c.py", "src/.hidden.py", ".env", "-x", "include:y", "ä"}
    write(tmp_path, dict.fromkeys(files, "here\n"))
    assert set(rows(search("here", include=include, output="files"), tmp_path)) == expected


def test_case_matters_unless_ignored(search, tmp_path):
    write(tmp_path, {"a": "Straße\nstraße\nÄrger\närger\n"})
    assert rows(search("STRA"), tmp_path) == []
    assert len(rows(search("stra", ignore_case=True), tmp_path)) == 2
    assert len(rows(search("(?i)ÄRGER"), tmp_path)) == 2


def test_context_shows_surrounding_lines(search, tmp_path):
    write(tmp_path, {"a": "".join(f"line {number}\n" for number in range(1, 13)), "b": "x\nline 2"})
    assert rows(search("line (2|3|9)$", context=1), tmp_path) == [
        *("a-1-line 1", "a:2:line 2", "a:3:line 3", "a-4-line 4", "--"),
        *("a-8-line 8", "a:9:line 9", "a-10-line 10", "b-1-x", "b:2:line 2"),
    ]


def test_single_file_is_searched(search, tmp_path):
    write(tmp_path, {"a.py": "x = 1\ny = 2\n", "b.py": "x"})
    assert rows(search("x", path="a.py"), tmp_path) == ["a.py:1:x = 1"]
    assert rows(search("x", path=str(tmp_path / "a.py"), include="*.rs"), tmp_path) == ["a.py:1:x = 1"]


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a.c", "abc", True),
        ("a.c", "ac", False),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoo", False),
        (r"\bfoo\b", "éfoo", False),
        (r"\Bfoo", "éfoo", True),
        (r"^\s+$", " \t", True),
        (r"^\w+$", "größe_1", True),
        (r"^\w+$", "a²", False),
        (r"^\w+$", "e\u0301", True),
        (r"^\W$", "²", True),
        (r"^\d+$", "٣4", True),
        (r"\D", "12", False),
        (r"\S", "\u2003", False),
        (r"end$", "end\r", True),
        (r"^$", "", True),
        (r"x{2,3}y", "xxy", True),
        (r"x{,2}y$", "y", True),
        (r"function() {", "function {", True),
        (r"interface{}", "interface{}", True),
        (r"map[string]", "maps", True),
        (r"[[]a]", "[a]", True),
        (r"[a&&b]", "&", True),
        (r"[]x]", "]", True),
        (r"[^\]]", "]", False),
        (r"[\w.-]+@", "a-b.c@", True),
        (r"[[:digit:]]+", "12", True),
        (r"[^[:space:]]", " ", False),
        (r"\"a\/b\"", '"a/b"', True),
        (r"\x41\u00e9\U0001F600", "Aé😀", True),
        (r"(?<year>\d{4})", "2024", True),
        (r"(?P<year>\d{4})-", "2024-", True),
        (r"(?i:ab)c", "ABc", True),
        (r"\Aab\z", "ab", True),
        (r"a|^b", "xb", False),
        (r"foo(?!bar)", "foobaz", True),
        (r"foo(?!bar)", "foobar", False),
        (r"(?<=a)b", "ab", True),
        (r"(\w)\1", "abba", True),
        (r"(\w)\1", "abab", False),
        (r"a++b", "aab", True),
        (r"-v", "a -v b", True),
        (r"--files", "--files", True),
        (r"[^a]", "\n", False),
        (r"[\x00-\x20]b", "a\nb", False),
        (r"\p{Lu}\p{Ll}", "xÄä", True),
        (r"fn {e}", "fn {e}", True),
        (r"fn {e}", "fn x", False),
        (r"a{1,}b", "ab", True),
        (r"}{", "}{", True),
        (r"\<b\>", "<b>", True),
        ("~", "~", True),
        ("#", "#", True),
    ],
)
def test_pattern_matches_these_lines(search, tmp_path, pattern, text, matches):
    write(tmp_path, {"a": f"{text}\n"})
    assert bool(rows(search(pattern), tmp_path)) is matches


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "missing )"),
        ("a)", "unbalanced parenthesis"),
        ("[a", "unterminated character set at position 2"),
        ("*a", "nothing to repeat"),
        ("a**", "multiple repeat"),
        ("a\\", "bad escape"),
        ("[z-a]", "bad character range"),
        (r"\q", r"bad escape \q"),
        (r"\p{Nonsense}", "unknown property"),
        (r"(a)\2", "invalid group reference"),
        (r"\L<names>", "undefined named list"),
        ("a\nb", "line by line"),
        (r"a\nb", "line by line"),
        ("a" * 20_000, "longer than"),
    ],
)
def test_invalid_pattern_is_explained(search, tmp_path, pattern, message):
    write(tmp_path, {"a": "a\n"})
    result = search(pattern)
    assert result.is_error
    assert "not a regular expression" in result.text
    assert message in result.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "nowhere"}, "No such file"),
        ({"include": "*.{a"}, "`{` without `}`"),
        ({"path": "pipe"}, "neither a directory nor a regular file"),
        ({"path": "/dev/zero"}, "neither a directory nor a regular file"),
    ],
)
def test_path_that_cannot_be_searched_is_explained(search, tmp_path, arguments, message):
    os.mkfifo(tmp_path / "pipe")
    result = search("x", **arguments)
    assert result.is_error
    assert message in result.text


def test_arguments_out_of_range_are_refused():
    tool = GrepTool()
    for arguments in ({}, {"pattern": ""}, {"pattern": "a", "context": -1}, {"pattern": "a", "output": "count"}):
        with pytest.raises(ArgumentError):
            tool.action_from_arguments(arguments)


def test_lone_surrogate_is_refused_and_shown():
    with pytest.raises(ArgumentError, match=r"`pattern` is .*ud800"):
        GrepTool().action_from_arguments({"pattern": "\ud800"})


def test_no_match_is_reported_and_no_error(search, tmp_path):
    write(tmp_path, {"a.py": "x"})
    result = search("y", include="*.py")
    assert not result.is_error
    assert f"No line matches `y` in {tmp_path} in files that fit `*.py`" in result.text


def test_ignored_hidden_and_binary_files_are_not_searched(search, tmp_path):
    late = b"x\n" + b"a" * 200_000 + b"\n\0"
    write(
        tmp_path,
        {
            ".gitignore": "out/\n",
            "out/a": "x",
            ".hidden": "x",
            "sub/.git/config": "x",
            "binary": b"x\n\0",
            "late": late,
            "plain": "x",
        },
    )
    (tmp_path / "link").symlink_to(tmp_path / "plain")
    os.mkfifo(tmp_path / "pipe")
    assert rows(search("x"), tmp_path) == ["plain:1:x"]
    assert rows(search("x", output="files"), tmp_path) == ["plain"]


def test_huge_file_is_skipped_at_once(search, tmp_path):
    write(tmp_path, {"small": "x\n"})
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"x\n")
        file.truncate(2 << 30)
    assert rows(search("x"), tmp_path) == ["small:1:x"]


def test_encodings_are_read_by_their_mark_and_invalid_bytes_shown(search, tmp_path):
    write(
        tmp_path,
        {
            "bom": b"\xef\xbb\xbfword\n",
            "le": b"\xff\xfe" + "a wörd\nword\n".encode("utf-16-le"),
            "broken": b"word \xff!\nw\xffrd\n",
        },
    )
    assert rows(search("^word"), tmp_path) == ["bom:1:word", "broken:1:word \ufffd!", "le:2:word"]
    assert rows(search("w.rd", include="broken"), tmp_path) == ["broken:1:word \ufffd!"]


def test_long_result_is_cut_and_counts_the_omission(search, tmp_path):
    write(tmp_path, {f"{number:03}.txt": "needle in the hay\n" * 60 for number in range(100)})
    result = search("needle")
    assert len(result.text) < 31_000
    assert result.truncated
    assert (result.matched_files, result.matched_lines) == (100, 6_000)
    count = result.text.count("needle in")
    assert f"{6_000 - count} more matching lines; 100 files match in all" in result.text
    assert rows(result, tmp_path)[0] == "000.txt:1:needle in the hay"


def test_long_line_is_cut(search, tmp_path):
    write(tmp_path, {"min.js": "needle" + "ä" * 1_000_000, "z": "needle"})
    result = search("needle")
    assert len(result.text) < 1_500
    assert "ä […]" in result.text
    assert f"{tmp_path}/z:1:needle" in result.text


def test_odd_names_are_shown_on_one_line(search, tmp_path):
    write(tmp_path, {"a\nb: 1": "x", "-n": "x", "c:3:d": "x"})
    assert rows(search("x"), tmp_path) == ["-n:1:x", "a\\nb: 1:1:x", "c:3:d:1:x"]


def test_endless_pattern_ends_at_its_timeout_without_leaving_a_process(tmp_path):
    write(tmp_path, {"a": "a" * 60 + "!\n"})
    tool = GrepTool(tmp_path, seconds=0.5)
    result = call(tool, pattern=ENDLESS)
    assert result.is_error
    assert "Stopped after 0.5 seconds" in result.text
    eventually(lambda: not _workers(), "the search process is gone")


def test_interrupt_ends_an_endless_pattern(tmp_path):
    write(tmp_path, {"a": "a" * 60 + "!\n"})
    tool = GrepTool(tmp_path, seconds=60)
    results = []
    thread = threading.Thread(target=lambda: results.append(call(tool, pattern=ENDLESS)))
    began = time.monotonic()
    thread.start()
    eventually(_workers, "the search process runs")
    tool.executor.interrupt()
    thread.join(30)
    assert time.monotonic() - began < 45  # and not the 60 s of its limit
    assert results[0].is_error
    assert "interrupted" in results[0].text
    eventually(lambda: not _workers(), "the search process is gone")
    assert call(tool, pattern="a!").matched_lines == 1


def test_interrupt_ends_a_hanging_ripgrep(tmp_path, monkeypatch):
    result = interrupted(GrepTool(tmp_path, seconds=300), tmp_path, monkeypatch)
    assert result.is_error
    assert "interrupted" in result.text
    assert not processes(HANGS)


def _workers() -> list:
    """Search processes started by this process."""
    return [child for child in psutil.Process().children() if _is_worker(child)]


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any(part.endswith("/worker.py") for part in process.cmdline())
    except psutil.Error:
        return False


def test_unknown_kind_of_ripgrep_is_replaced_by_our_own_search(tmp_path, monkeypatch):
    write(tmp_path, {"tree/a": "x\n", "bin/rg": "#!/bin/sh\necho 'error: unexpected argument' >&2\nexit 2\n"})
    (tmp_path / "bin/rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert rows(call(GrepTool(tmp_path / "tree"), pattern="x"), tmp_path) == ["tree/a:1:x"]


@pytest.mark.starts
@pytest.mark.parametrize("place", [".gitignore", "tree/.ignore", "tree/sub/.rgignore"])
@pytest.mark.parametrize("has_ripgrep", [True, False], ids=["ripgrep", "own"])
def test_an_ignore_file_that_is_a_pipe_is_skipped(tmp_path, monkeypatch, place, has_ripgrep):
    write(tmp_path, {"tree/a": "x\n", "tree/sub/b": "x\n"})
    os.mkfifo(tmp_path / place)
    if has_ripgrep:
        fake_ripgrep(tmp_path, monkeypatch, "./a\\0001:x\\n")
    result = call(GrepTool(tmp_path / "tree", seconds=20), pattern="x")
    assert rows(result, tmp_path) == ["tree/a:1:x", "tree/sub/b:1:x"]


def test_home_is_expanded(tmp_path, monkeypatch):
    write(tmp_path, {"home/a": "x\n", "b": "x\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert rows(call(GrepTool(tmp_path), pattern="x", path="~"), tmp_path) == ["home/a:1:x"]


def test_tool_is_read_only_and_created_for_a_session(tmp_path):
    (tool,) = GrepTool.create(ToolContext(str(tmp_path)))
    assert tool.name == "grep"
    assert tool.is_read_only
    assert call(tool, pattern="x").text.startswith("No line matches")
    tool.close()
