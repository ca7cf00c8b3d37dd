"""Files that a page downloads, saved in a directory of the workspace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from workbench.files.root_directory import Root
from workbench.lazy_pattern import lazy_pattern

_SAFE = lazy_pattern(r"[^\w.() -]+")
_MOST_WITH_ONE_NAME = 1_000


def safe_name(suggested: str) -> str:
    """Return a file name that has no directories, no special characters of shells, and no leading dot."""
    return _SAFE.sub("_", suggested).lstrip(". ")[-100:] or "download"


def save_download(source: Path, name: str, directory: Path, root: Root) -> Path:
    """Copy a downloaded file into a directory, whose path is below that of `root`; return the new file's path.

    If the name is in use, a number is put before it. The directory is opened relative to `root`, so a link in its place
    is not followed. Raises OSError.
    """
    if directory.is_symlink():
        raise OSError(0, f"{directory} leads out of the workspace")
    for number in range(1, _MOST_WITH_ONE_NAME):
        whole = directory / (name if number == 1 else f"{number}-{name}")
        with root.entry(whole, make=True) as entry:
            try:
                target = entry.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                continue
        with os.fdopen(target, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file, 1 << 20)
        return whole
    raise OSError(0, f"there are too many files called {name}")
