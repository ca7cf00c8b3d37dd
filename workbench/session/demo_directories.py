"""Deletes the directories of finished and of old demos, unless something in them is the user's.

`ohw demo` works in a copy of the demo project among the temporary files. Every file in it must be as it came with the
program, or as an edit of the script leaves it; a directory with any other file, or with a commit, is never deleted.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.demo import DEMO_DIRECTORY, DEMO_MODEL, DEMO_PREFIX, demo_files
from workbench.llm.scripted.model import PREFIX
from workbench.llm.scripted.script import load_script
from workbench.session.session_names import session_path
from workbench.session.storage.lock import holder
from workbench.session.storage.session_list import list_sessions

_STALE: Final = 86_400.0
"""Seconds after which a demo that was not finished, and is not open, is not expected to be resumed."""
_COMPILED: Final = "__pycache__"
_GIT: Final = ".git"
_OF_A_COMMIT: Final = ("COMMIT_EDITMSG", "refs/stash")
"""What git leaves in a repository in which the user committed or stashed something."""


def is_disposable(workspace: Path) -> bool:
    """Return whether this is the directory of a demo and nothing in it is the user's; also true if it is gone."""
    parent = workspace.parent
    temporary = Path(tempfile.gettempdir()).resolve()
    if workspace.name != DEMO_DIRECTORY or parent.parent != temporary or not parent.name.startswith(DEMO_PREFIX):
        return False
    try:
        if parent.exists() and (parent.is_symlink() or parent.stat().st_uid != os.getuid()):
            return False
        return not any((workspace / _GIT / name).exists() for name in _OF_A_COMMIT) and all(_is_ours(parent))
    except OSError:
        return False


def discard_demo(workspace: Path, ended: str) -> None:
    """Delete the directory of a demo whose last run `ended` in "finished", if nothing in it is the user's."""
    if ended == "finished" and is_disposable(workspace):
        shutil.rmtree(workspace.parent, ignore_errors=True)


def sweep_demos(locations: Locations) -> None:
    """Delete the directories of demos that were last changed a day ago, are not open, and contain nothing of the
    user's.
    """
    for parent in Path(tempfile.gettempdir()).resolve().glob(f"{DEMO_PREFIX}*"):
        workspace = parent / DEMO_DIRECTORY
        if _is_old(parent) and is_disposable(workspace) and not _is_open(locations, workspace):
            shutil.rmtree(parent, ignore_errors=True)


def _is_ours(parent: Path) -> Iterator[bool]:
    """Yield for each file below a demo's directory, and for each link, whether it is none of the user's."""
    contents = _contents()
    for directory, directories, names in os.walk(parent):
        at = Path(directory)
        directories[:] = [name for name in directories if name not in (_GIT, _COMPILED) or (at / name).is_symlink()]
        for path in (at / name for name in (*names, *(name for name in directories if (at / name).is_symlink()))):
            possible = contents.get(path.relative_to(parent).as_posix(), frozenset())
            yield not path.is_symlink() and path.is_file() and path.read_bytes() in possible


def _contents() -> Mapping[str, frozenset[bytes]]:
    """Return the possible contents of each file of a demo without the user's changes, by its path."""
    contents: dict[str, set[bytes]] = defaultdict(set)
    for path, content in demo_files():
        contents[f"{DEMO_DIRECTORY}/{path}"].add(content)
    for turn in load_script(DEMO_MODEL.removeprefix(PREFIX)).turns:
        for call in turn.calls:
            values = call.arguments
            if values.get("command") == "str_replace":
                path = values["path"].replace("{workspace}", DEMO_DIRECTORY)
                old, new = values["old_str"].encode(), values["new_str"].encode()
                contents[path] |= {content.replace(old, new) for content in contents[path]}
    return {path: frozenset(each) for path, each in contents.items()}


def _is_old(parent: Path) -> bool:
    try:
        times = [path.lstat().st_mtime for path in (parent, *parent.rglob("*"))]
    except OSError:
        return False
    return time.time() - max(times) > _STALE


def _is_open(locations: Locations, workspace: Path) -> bool:
    return any(
        each.workspace == str(workspace) and holder(session_path(locations, each.id)) is not None
        for each in list_sessions(locations)
    )
