"""What the pattern of a command fits: the same as by trying everything, and as quickly for any command."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from workbench.security.rules.patterns import command_pattern


def by_trying_everything(pattern: str) -> re.Pattern[str]:
    """`*` as anything, spaces as some space, ` *` at the end also as nothing; going back wherever it may help."""
    body, rest = (pattern[:-2], "(?: .*)?") if pattern.endswith(" *") and pattern != " *" else (pattern, "")
    pieces = re.findall(r"\*+|\s+|[^*\s]+", body)
    known = {"*": ".*", " ": r"\s+"}
    return re.compile("".join(known.get(piece[0], re.escape(piece)) for piece in pieces) + rest, re.DOTALL)


@given(st.text("ab* ", max_size=10), st.text("ab ", max_size=12))
def test_it_fits_what_trying_everything_fits(pattern: str, command: str):
    assert bool(command_pattern(pattern).fullmatch(command)) == bool(by_trying_everything(pattern).fullmatch(command))


def test_no_command_takes_long_to_compare():
    assert not command_pattern("*a*a*a*b").fullmatch("a" * 50_000)
    assert not command_pattern("*rm *-rf *--force*").fullmatch("rm -rf " * 10_000)
    assert command_pattern("*rm *-rf *--force*").fullmatch("rm -rf " * 10_000 + "--force x")
