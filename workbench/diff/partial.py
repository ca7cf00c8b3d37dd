"""A part of a proposed change: which hunks of which file are taken, and what the file then holds. Pure.

The hunks of several files are counted as one row, in the order of the files; screen and session count them here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workbench.diff.hunks import FileDiff, taken


def chosen_of_each(diffs: Sequence[FileDiff], chosen: Collection[int]) -> list[frozenset[int]]:
    """For each file the indexes of its own accepted hunks, from those counted over all files."""
    each, first = [], 0
    for diff in diffs:
        own = range(first, first + len(diff.hunks))
        each.append(frozenset(index - first for index in chosen if index in own))
        first = own.stop
    return each


def texts_with(diffs: Sequence[FileDiff], chosen: Collection[int]) -> list[str | None]:
    """What each file holds with the chosen hunks (counted over all files); `None` where none shall be.

    Every hunk gives the proposal, none the files as they are. A file that is made or deleted empty has no hunk: it is
    left as it is unless all that there are were chosen.
    """
    count = sum(len(diff.hunks) for diff in diffs)
    if count and len(set(chosen)) == count:
        return [diff.after for diff in diffs]
    return [text_with(diff, own) for diff, own in zip(diffs, chosen_of_each(diffs, chosen), strict=True)]


def text_with(diff: FileDiff, chosen: Collection[int]) -> str | None:
    """What one file holds with only these of its own hunks."""
    if not diff.hunks or not chosen:
        return diff.before
    return diff.after if len(set(chosen)) == len(diff.hunks) else taken(diff, chosen)
