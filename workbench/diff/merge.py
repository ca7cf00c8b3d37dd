"""Merges two changes of one text, by lines, as `git merge-file` does but without starting a process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from workbench.diff.hunks import FileDiff, Hunk, compare


class Merged(msgspec.Struct, frozen=True):
    """Both changes merged into one text; where they conflict, the text has the lines of `edited`.

    `conflicts` is None if the texts could not be merged: then the text is `edited`.
    """

    text: str
    conflicts: int | None = 0


class _Region(msgspec.Struct, frozen=True):
    """Lines `start`..`end` of the base (`end` not included) that a side or both changed, with the hunks of each."""

    start: int
    end: int
    theirs: tuple[Hunk, ...] = ()
    edited: tuple[Hunk, ...] = ()


def merge(base: str, theirs: str, edited: str) -> Merged:
    """Merge two changes of `base`: `theirs` on disk and `edited`. The result never contains conflict markers.

    Changes of the same or adjacent lines conflict, unless both sides made the same change.
    """
    if theirs in (base, edited):
        return Merged(edited)
    if any("\0" in text for text in (base, theirs, edited)):
        return Merged(edited, None)
    other, own = compare("", base, theirs), compare("", base, edited)
    parts: list[str] = []
    at = conflicts = 0
    for region in _regions(other.hunks, own.hunks):
        parts += own.old[at : region.start]
        other_lines, own_lines = _lines(other, region, region.theirs), _lines(own, region, region.edited)
        parts += own_lines if region.edited else other_lines
        conflicts += bool(region.theirs and region.edited) and other_lines != own_lines
        at = region.end
    return Merged("".join([*parts, *own.old[at:]]), conflicts)


def _regions(theirs: Sequence[Hunk], edited: Sequence[Hunk]) -> Iterator[_Region]:
    """Yield the changed regions in order; hunks of the two sides that overlap or touch are in one region."""
    hunks = sorted([*((hunk, "theirs") for hunk in theirs), *((hunk, "edited") for hunk in edited)])
    region: _Region | None = None
    for hunk, side in hunks:
        if region is not None and hunk.old > region.end:
            yield region
            region = None
        region = region or _Region(hunk.old, hunk.old_end)
        end, both = max(region.end, hunk.old_end), {"theirs": region.theirs, "edited": region.edited}
        region = _Region(region.start, end, **(both | {side: (*both[side], hunk)}))
    if region is not None:
        yield region


def _lines(side: FileDiff, region: _Region, hunks: Sequence[Hunk]) -> list[str]:
    """Return what a side has in place of the lines of a region; `hunks` are that side's hunks in the region."""
    if not hunks:
        return side.old[region.start : region.end]
    first, last = hunks[0], hunks[-1]
    return side.new[first.new - (first.old - region.start) : last.new_end + (region.end - last.old_end)]
