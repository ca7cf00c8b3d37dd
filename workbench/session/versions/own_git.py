"""What the person's own repository says of files that git deletes or writes over: which of them it does not keep.

Used where the losses of a command are looked up; nothing of the repository is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workbench.safe_git import run_git
from workbench.security.assessment import Part, Spares

LIMIT = 2.0
"""Seconds that git has for one answer."""
_NOT_KEPT: Mapping[Spares, tuple[str, ...]] = {
    "-": ("--others", "--exclude-standard"),
    "x": ("--others",),
    "X": ("--others", "--ignored", "--exclude-standard"),
    "m": ("--modified", "--others", "--exclude-standard"),
}
"""How `git ls-files` names what is not spared."""
_MOST_TREES = 3
_FROM: Mapping[str, str] = {"pull": "@{upstream}", "merge": "@{upstream}", "stash": "stash@{0}", "am": "HEAD"}
"""Where a command without a name takes its files from."""


def not_kept(part: Part, places: Sequence[str], root: Path) -> set[Path] | None:
    """The files at or below these places that the repository around `root` does not keep; None when git cannot say."""
    found = _listed(["ls-files", "-z", *_NOT_KEPT[part.spares], "--", *places], root)
    if found is None:
        return None
    if part.spares == "m":
        found |= _in_the_way(part, root)
    return {root / name for name in found}


def _in_the_way(part: Part, root: Path) -> set[str]:
    """Files that git does not know here, mostly ignored ones, and that stand in what it would check out."""
    names = set().union(*(_listed(["ls-tree", "-r", "-z", "--name-only", tree], root) or () for tree in _trees(part)))
    return names - (_listed(["ls-files", "-z"], root) or set()) if names else set()


def _trees(part: Part) -> Iterator[str]:
    """What the words of the command may name as the state to go to."""
    named = [word for word in part.words[2:] if word and not word.startswith("-") and "\0" not in word]
    yield from named[:_MOST_TREES]
    if not named and len(part.words) > 1 and part.words[1] in _FROM:
        yield _FROM[part.words[1]]


def _listed(arguments: Sequence[str], root: Path) -> set[str] | None:
    said = run_git(arguments, cwd=root, timeout=LIMIT)
    return {os.fsdecode(name) for name in said.output.split(b"\0") if name} if said.ok else None
