"""What the pattern of a command matches: the same as a naive matcher, and fast for any command."""

from __future__ import annotations

import os
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.rules.patterns import command_pattern, path_pattern


def by_trying_everything(pattern: str) -> re.Pattern[str]:
    """Return a backtracking pattern: `*` is anything, spaces are blanks, ` *` at the end may match nothing."""
    body, rest = (pattern[:-2], "(?: .*)?") if pattern.endswith(" *") and pattern != " *" else (pattern, "")
    pieces = re.findall(r"\*+|\s+|[^*\s]+", body)
    known = {"*": ".*", " ": r"\s+"}
    return re.compile("".join(known.get(piece[0], re.escape(piece)) for piece in pieces) + rest, re.DOTALL)


@given(st.text("ab* ", max_size=10), st.text("ab ", max_size=12))
def test_command_pattern_matches_what_an_exhaustive_search_matches(pattern: str, command: str):
    assert bool(command_pattern(pattern).fullmatch(command)) == bool(by_trying_everything(pattern).fullmatch(command))


def test_no_command_takes_long_to_match():
    assert not command_pattern("*a*a*a*b").fullmatch("a" * 50_000)
    assert not command_pattern("*rm *-rf *--force*").fullmatch("rm -rf " * 10_000)
    assert command_pattern("*rm *-rf *--force*").fullmatch("rm -rf " * 10_000 + "--force x")


def path_by_trying_everything(pattern: str, *, below: bool) -> re.Pattern[str]:
    """Return a backtracking pattern: `*` matches within a name, `**` across directories."""
    whole = pattern if pattern.startswith(("/", "**/")) else f"/w/{pattern}"
    is_directory = whole.endswith("/")
    whole = whole if "**" in whole else os.path.normpath(whole)
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", whole.rstrip("/"))
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    end = "/.*" if is_directory and not below else "(?:/.*)?" if below or is_directory else ""
    return re.compile("".join(known.get(piece) or re.escape(piece) for piece in pieces) + end, re.DOTALL)


@settings(max_examples=600, deadline=None)
@given(st.text("ab*?/", min_size=1, max_size=9), st.text("ab/", max_size=10), st.booleans())
def test_path_pattern_matches_what_an_exhaustive_search_matches(pattern: str, path: str, below: bool):
    found = path_pattern(pattern, "/w", "/h", descendants=below, folded=False)
    expected = path_by_trying_everything(pattern, below=below)
    for each in (path, f"/w/{path}"):
        assert found.fullmatch(each) == bool(expected.fullmatch(each)), each


def test_no_path_takes_long_to_match():
    slow = path_pattern("**/*a*a*a*a*a*a**/**/**b", "/w", "/h", descendants=True, folded=True)
    assert not slow.fullmatch("/" + "a" * 4_000)
    assert not slow.fullmatch("/a" * 2_000)
    assert slow.fullmatch("/" + "a" * 4_000 + "b")


def test_letter_case_matters_only_for_allow_rules():
    assert path_pattern("Src/*.PY", "/w", "/h", descendants=True, folded=True).fullmatch("/w/src/A.py")
    assert not path_pattern("Src/*.PY", "/w", "/h", descendants=False, folded=False).fullmatch("/w/src/A.py")
