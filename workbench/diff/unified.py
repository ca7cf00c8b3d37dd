"""Writes a difference in the unified format, as `diff -u` and git do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.diff.hunks import FileDiff, Hunk

_CONTEXT = 3
"""How many unchanged lines surround a change."""
_NO_NEWLINE = "\\ No newline at end of file"


def unified_lines(diff: FileDiff) -> Iterator[str]:
    """Yield the lines of the diff without line ends; nothing if the texts are the same."""
    if not diff.hunks:
        return
    yield f"--- {'/dev/null' if diff.before is None else diff.path}"
    yield f"+++ {'/dev/null' if diff.after is None else diff.path}"
    for group in _groups(diff.hunks):
        yield from _group_lines(diff, group)


def _groups(hunks: Sequence[Hunk]) -> Iterator[list[Hunk]]:
    """Yield the hunks in groups; hunks are in the same group if their surrounding lines overlap or touch."""
    group: list[Hunk] = []
    for hunk in hunks:
        if group and hunk.old - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(hunk)
    yield group


def _group_lines(diff: FileDiff, group: list[Hunk]) -> Iterator[str]:
    first, last = group[0], group[-1]
    before = min(_CONTEXT, first.old)
    end = min(last.old_end + _CONTEXT, len(diff.old))
    old = _range(first.old - before, end)
    new = _range(first.new - before, last.new_end + end - last.old_end)
    yield f"@@ -{old} +{new} @@"
    at = first.old - before
    for hunk in group:
        yield from _signed(" ", diff.old[at : hunk.old])
        yield from _signed("-", diff.old[hunk.old : hunk.old_end])
        yield from _signed("+", diff.new[hunk.new : hunk.new_end])
        at = hunk.old_end
    yield from _signed(" ", diff.old[at:end])


def _range(start: int, end: int) -> str:
    """Return a range for the line that starts with `@@`: the number of the first line (of the line before, for an empty
    range), and the number of lines unless that is 1.
    """
    size = end - start
    return f"{start + 1}" if size == 1 else f"{start + 1 if size else start},{size}"


def _signed(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{sign}{line.removesuffix(chr(10))}"
        if not line.endswith("\n"):
            yield _NO_NEWLINE
