"""The files below a folder, as ripgrep would list them; used where ripgrep is not there.

Links are not followed, hidden entries and what ignore files name are left out. Standard library only: the search
process of `grep` imports this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from workbench.tools.glob.ignore import Level, levels_to


def walk(root: str, *, hidden: bool = False, is_over: Callable[[], object] = bool) -> Iterator[str]:
    """Paths relative to `root` (absolute, without links); ends early once `is_over()`, asked at each folder."""
    above = levels_to(os.path.dirname(root)) if root != "/" else None  # noqa: PTH120
    open_folders: list[tuple[str, Level | None]] = [("", above)]
    while open_folders and not is_over():
        prefix, level = open_folders.pop()
        folder = f"{root.rstrip('/')}/{prefix}".rstrip("/") or "/"
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:
            continue
        names = frozenset(entry.name for entry in entries)
        level = Level(folder, level, names).simplest()
        for entry in entries:
            is_folder = _is_folder(entry)
            if is_folder is None or not _is_wanted(entry, is_folder, level, hidden):
                continue
            if is_folder:
                open_folders.append((f"{prefix}{entry.name}/", level))
            else:
                yield prefix + entry.name


def _is_folder(entry: os.DirEntry[str]) -> bool | None:
    """None for what is neither folder nor regular file."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return True
        return False if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def _is_wanted(entry: os.DirEntry[str], is_folder: bool, level: Level | None, hidden: bool) -> bool:
    if hidden and entry.name == ".git":
        return False
    verdict = level.verdict(entry.path, is_folder) if level else None
    if verdict is None:
        return hidden or not entry.name.startswith(".")
    return not verdict
