"""All ways to search give the same result, whatever the files, the ignore files and the pattern.

Without ripgrep there is only one way; its result is then compared with the simplest search possible.
"""

import tempfile
from pathlib import Path

import regex
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.search_tree import RIPGREP_OR_NOT, call, way, write
from workbench.tools.glob.definition import GlobTool
from workbench.tools.grep.definition import GrepTool
from workbench.tools.grep.pattern import PatternError, read_pattern

NAMES = st.sampled_from(["a", "b", "a.py", "b.txt", "c.log", ".h", "build", "sub", "ä", "a b", "-n", "x.min.js"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
RULES = st.sampled_from([
    *("*.py", "/a", "sub/", "!b.txt", "**/build", "a/*", "sub/**", "*.log", "!*.log", "b*", "[ab]", "a/**/b", "!.h"),
    *("# note", "", "  ", "\\!x", "*", "!*/", "/sub/*", "!/sub/a", "?", "*.min.*", "-n", "a b ", ".h"),
])  # fmt: skip
IGNORES = st.lists(RULES, max_size=4).map("\n".join)
LINES = st.text(st.sampled_from('ab c_1.-ä²é\u0301"\\/(){}[]<&~\t\r'), max_size=12)
CONTENTS = st.one_of(
    st.lists(LINES, max_size=6).map(lambda lines: "\n".join(lines).encode()),
    st.lists(LINES, max_size=3).map(lambda lines: b"\xff\xfe" + "\n".join(lines).encode("utf-16-le")),
    st.lists(LINES, max_size=3).map(lambda lines: b"a\xff\xc3b".join(line.encode() for line in lines)),
    st.binary(max_size=12),
)
TREES = st.dictionaries(PATHS, CONTENTS, max_size=8)
DIRECTORIES = st.sampled_from(["", "sub/", "a/", "build/"])
IGNORE_FILES = st.dictionaries(
    st.tuples(DIRECTORIES, st.sampled_from([".gitignore", ".ignore", ".rgignore"])).map("".join), IGNORES, max_size=3
)
PIECES = st.sampled_from([
    *("a", "b", "ä", ".", "^", "$", r"\b", r"\B", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", "[ab]", "[^a]", r"[^\w]"),
    *("a*", "b+", r"\w+?", "(a|b)", "(?:ä|1)", r"\.", "{", "}", r"\(", '"', r"\"", r"\\", "[.-]", "c?", "a{2}", "²"),
    *(r"\t", "]", "[", "[&a]", "[a-c]", r"[\W_]", "(?P<x>a)", "{1,}", "+", "|", r"\r", "&&", "~", "-", r"\<", r"\/"),
    "(?=a)",
])  # fmt: skip
PATTERNS = st.lists(PIECES, min_size=1, max_size=5).map("".join)
GLOBS = st.sampled_from(["*", "**", "*.py", "a/*", "**/b.txt", "*.{py,log}", "[!a]*", "sub/**/a", ".*", "?", "**/.h"])
INCLUDES = st.sampled_from([None, "*.py", "a/**", ".h", "?", "[!a]"])

same = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def is_read(pattern: str) -> bool:
    try:
        return bool(read_pattern(pattern))
    except PatternError:
        return False


def grow(directory: Path, *trees) -> None:
    for files in trees:
        for name, content in files.items():
            try:
                write(directory, {name: content})
            except OSError:
                continue  # a file at a path that another one needs as a directory


def in_all_ways(tool, **arguments):
    results = []
    for ripgrep in RIPGREP_OR_NOT:
        with way(ripgrep):
            results.append(call(tool, **arguments))
    assert all(result == results[0] for result in results)
    return results[0]


@same
@given(
    TREES,
    IGNORE_FILES,
    PATTERNS.filter(is_read),
    st.booleans(),
    INCLUDES,
)
def test_grep_respects_ignore_files_like_ripgrep(tree, ignore_files, pattern, ignore_case, include):
    with tempfile.TemporaryDirectory(prefix="ohw-same-") as directory:
        grow(Path(directory), ignore_files, tree)
        asked = {"pattern": pattern, "ignore_case": ignore_case, "include": include}
        lines = in_all_ways(GrepTool(directory, seconds=600), output="lines", **asked)
        files = in_all_ways(GrepTool(directory, seconds=600), output="files", **asked)
        assert not lines.is_error
        assert (lines.matched_files, lines.matched_lines) == (files.matched_files, files.matched_lines)


@same
@given(
    st.lists(LINES, max_size=12).filter(lambda lines: not any("\r" in line for line in lines)), PATTERNS.filter(is_read)
)
def test_grep_finds_the_lines_that_match(lines, pattern):
    with tempfile.TemporaryDirectory(prefix="ohw-same-") as directory:
        text = "".join(f"{line}\n" for line in lines)
        write(Path(directory), {"a": text})
        plain = regex.compile(read_pattern(pattern).python)
        observation = in_all_ways(GrepTool(directory, seconds=600), pattern=pattern)
        expected = [f"{directory}/a:{number}:{line}" for number, line in enumerate(lines, 1) if plain.search(line)]
        assert (observation.text.splitlines() if observation.matched_files else []) == expected


@same
@given(TREES, IGNORE_FILES, GLOBS, st.booleans())
def test_glob_respects_ignore_files_like_ripgrep(tree, ignore_files, pattern, is_repository):
    with tempfile.TemporaryDirectory(prefix="ohw-same-") as directory:
        grow(Path(directory), ignore_files, tree, {"sub/.git/HEAD": ""} if is_repository else {})
        observation = in_all_ways(GlobTool(directory, seconds=600), pattern=pattern)
        names = {Path(name).relative_to(directory).as_posix() for name in observation.files}
        assert names <= {*tree, *ignore_files, "sub/.git/HEAD"}
