"""Where a replay leaves the record, as a diff; and what a whole replay has found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

from msgspec import Struct, field

_CONTEXT = 2


class Divergence(Struct, frozen=True):
    """One difference: `what` differed at event `seq`, in the action that is described by `tool` and `title`."""

    seq: int
    what: Literal["call", "result", "file"]
    action_id: str
    tool: str
    title: str
    diff: tuple[str, ...]
    """Lines that begin with `-` (recorded), `+` (now) or a space."""
    path: str = ""
    """The file, relative to the workspace."""


class ReplayResult(Struct):
    """What a replay has found: how many actions ran again, and the reasons why the results of others were used."""

    ran: int = 0
    recorded: dict[str, int] = field(default_factory=dict)
    """How many actions were not run again, by what they reach."""
    not_run: int = 0
    """How many calls had not run in the session either: rejected, skipped or unreadable."""
    divergences: list[Divergence] = field(default_factory=list)
    is_confined: bool = False
    """Whether the system kept everything that ran from writing outside the scratch directory."""


def lines_of(value: object) -> list[str]:
    """Return plain data as readable lines of JSON."""
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, default=str).splitlines()


def difference(recorded: Iterable[tuple[str, str]], now: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the differing lines with a few around them; empty if there are none.

    Each line is given as it is, which is shown, and as it is compared.
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
