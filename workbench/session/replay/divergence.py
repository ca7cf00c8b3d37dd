"""A difference between a replay and the record, as a diff; and the result of a whole replay."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from msgspec import Struct, field

_CONTEXT = 2


class Divergence(Struct, frozen=True):
    """One difference: `what` differs at event `seq`; `tool` and `title` describe the action."""

    seq: int
    what: Literal["call", "result", "file"]
    action_id: str
    tool: str
    title: str
    diff: tuple[str, ...]
    """Lines that begin with `-` (recorded), `+` (now) or a space."""
    path: str = ""
    """The file that differs, relative to the workspace; empty for a call or a result."""


class ReplayResult(Struct):
    """The result of a replay; `ran` is the number of actions that were run again."""

    ran: int = 0
    recorded: dict[str, int] = field(default_factory=dict)
    """How many recorded results were used because the action was not run again, by the reason for that."""
    not_run: int = 0
    """How many calls did not run in the session either, because they were rejected, skipped or unreadable."""
    divergences: list[Divergence] = field(default_factory=list)
    is_confined: bool = False
    """Whether the system prevented everything that ran from writing outside the scratch directory."""


def lines_of(value: object) -> list[str]:
    """Return plain data as the lines of readable JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, default=str).splitlines()


def difference(recorded: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the lines that differ, with a few around them; empty if none do.

    Each line is a pair: the text to show, and the text to compare.
    """
    one, other = list(recorded), list(now)
    matcher = SequenceMatcher(None, [key for _, key in one], [key for _, key in other], autojunk=False)
    groups = [group for group in matcher.get_grouped_opcodes(_CONTEXT) if any(code[0] != "equal" for code in group)]
    return tuple(line for group in groups for line in _marked(group, one, other))


def _marked(
    group: Sequence[tuple[str, int, int, int, int]], one: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]
) -> Iterator[str]:
    for tag, first, last, start, end in group:
        if tag == "equal":
            yield from (f" {line}" for line, _ in one[first:last])
        else:
            yield from (f"-{line}" for line, _ in one[first:last])
            yield from (f"+{line}" for line, _ in other[start:end])


def plain(divergence: Divergence) -> dict[str, Any]:
    """Return a divergence as plain data for JSON."""
    return {name: getattr(divergence, name) for name in divergence.__struct_fields__}
