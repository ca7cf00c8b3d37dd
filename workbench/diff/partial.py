"""Partial acceptance of a proposed change: the chosen hunks of each file, and the resulting contents. Pure functions.

The hunks of several files are numbered consecutively, in the order of the files; front ends and the session share this
numbering.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.diff.hunks import FileDiff, taken


def chosen_of_each(diffs: Sequence[FileDiff], chosen: Collection[int]) -> list[frozenset[int]]:
    """Return the chosen hunks of each file, numbered within the file; `chosen` numbers them over all files."""
    each, first = [], 0
    for diff in diffs:
        own = range(first, first + len(diff.hunks))
        each.append(frozenset(index - first for index in chosen if index in own))
        first = own.stop
    return each


def contents_with(diffs: Sequence[FileDiff], chosen: Collection[int]) -> list[str | None]:
    """Return each file's content with the chosen hunks (numbered over all files); `None` if the file does not exist.

    With all hunks, the files are as proposed, and with none, as they were before. An empty file that is created or
    deleted has no hunk: it changes only if all hunks of the other files are chosen.
    """
    count = sum(len(diff.hunks) for diff in diffs)
    if count and len(set(chosen)) == count:
        return [diff.after for diff in diffs]
    return [content_with(diff, own) for diff, own in zip(diffs, chosen_of_each(diffs, chosen), strict=True)]


def content_with(diff: FileDiff, chosen: Collection[int]) -> str | None:
    """Return one file's content with only the chosen hunks applied, which are numbered within this file.

    None if the file does not exist.
    """
    if not diff.hunks or not chosen:
        return diff.before
    return diff.after if len(set(chosen)) == len(diff.hunks) else taken(diff, chosen)
