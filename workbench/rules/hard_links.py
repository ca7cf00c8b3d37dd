"""Files that a rule names under another name: hard links; used by `book`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from stat import S_ISREG
from typing import Final

from workbench.risk.deletion import mentioned
from workbench.rules.matching import is_in_force
from workbench.rules.patterns import path_pattern
from workbench.rules.reach import base_of, candidates, is_recursive
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject

_MOST_ENTRIES: Final = 4_000
"""Directory entries that one search looks at; beyond it any named hard link counts."""
_MOST_PATHS: Final = 200
_PASSED_OVER: Final = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})
"""Directories whose files are linked by package managers and git themselves."""

Inode = tuple[int, int]


def linked_by(rules: Iterable[Rule], subject: Subject) -> Rule | None:
    """Return the first `ask` or `deny` rule that names a file of which the action opens another hard link.

    Where the files of a rule are too many to look at, each hard link that is named by itself counts.
    """
    rules = [rule for rule in rules if rule.path and not rule.command and is_in_force(rule, subject)]
    if not rules:
        return None
    paths = list(_named(subject))
    opened = set(filter(None, map(_linked, paths)))
    directories = [path for path in paths if os.path.isdir(path)] if is_recursive(subject) else []  # noqa: PTH112
    if not opened and not directories:
        return None
    return next((rule for rule in rules if _opens_one_of(rule, opened, directories, subject)), None)


def _named(subject: Subject) -> Iterator[str]:
    """The paths that an action names, or may name by its words, patterns filled in."""
    words = (path for part in subject.parts for path in (*candidates(part, part.words[1:]), *mentioned(part)))
    for path in islice(dict.fromkeys((*subject.paths, *words)), _MOST_PATHS):
        is_pattern = any(sign in path for sign in "*?[")
        yield from islice(glob.iglob(path), _MOST_PATHS) if is_pattern else (path,)  # noqa: PTH207 - strings


def _opens_one_of(rule: Rule, opened: set[Inode], folders: list[str], subject: Subject) -> bool:
    """Whether a file of the rule has another name among the opened ones, or below the folders."""
    pattern = path_pattern(rule.path, subject.workspace, subject.home, below=True, folded=True)
    budget = iter(range(_MOST_ENTRIES))
    base = base_of(rule.path, subject) or subject.workspace
    files = [base] if os.path.isfile(base) else _files_below(base, budget)  # noqa: PTH113 - a string
    linked = {inode for path in files if pattern.fullmatch(path) and (inode := _linked(path))}
    if next(budget, None) is None or opened & linked:
        return bool(opened)
    below = (path for folder in folders for path in _files_below(folder, budget)) if linked else ()
    return any(not pattern.fullmatch(path) and _linked(path) in linked for path in below)


def _linked(path: str) -> Inode | None:
    """The file at a path if it has more than one name."""
    try:
        info = os.stat(path)  # noqa: PTH116 - asked for each path
    except (OSError, ValueError):
        return None
    return (info.st_dev, info.st_ino) if info.st_nlink > 1 and S_ISREG(info.st_mode) else None


def _files_below(folder: str, budget: Iterator[int]) -> Iterator[str]:
    """The paths of files below a directory, as far as the budget of entries reaches."""
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if next(budget, None) is None:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        folders += [entry.path] if entry.name not in _PASSED_OVER else []
                    else:
                        yield entry.path
        except OSError:
            continue
