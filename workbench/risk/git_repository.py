"""Finds the repository that git would use in a directory, its settings, and the repositories nested in it.

Nothing is executed. Each access to the file system is recorded (see `recorded_stat`), so a rating that depends on it
can be reused while nothing has changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from workbench.files import recorded_stat
from workbench.files.stat_keys import is_settled_directory
from workbench.lazy_pattern import lazy_pattern
from workbench.risk import git_settings

_HEAD: Final = lazy_pattern(r"ref:\s*refs/|[0-9a-f]{40}")
_MOST_INCLUDES: Final = 20
_LONGEST_INDEX: Final = 100_000_000
_INDEX_HEADER: Final = 12
_ENTRY_STAT: Final = 40
"""The number of bytes of an index entry before its hash; the mode is in bytes 24 to 27."""
_MODE: Final = 24
_ALIGNMENT: Final = 8
_GITLINK: Final = b"\0\0\xe0\0"
_HASHES: Final = (20, 32)
_LAST_PLAIN_VERSION: Final = 3
"""The last version of the index format that does not compress names."""
_SPLIT: Final = lazy_pattern(rb"link(....)", re.DOTALL)
_NOT_READ: Final = "\0"


class Repository(NamedTuple):
    """A directory that git may use as a repository."""

    git: str
    """The git directory of this work tree."""
    common: str
    """The git directory that all work trees of the repository share."""
    work_tree: str
    """The top directory of the work tree; for a bare repository, the repository itself."""

    @property
    def is_bare(self) -> bool:
        """Whether the directory itself looks like a repository, rather than one that contains `.git`."""
        return self.git == self.work_tree

    @property
    def is_valid(self) -> bool:
        """Whether git accepts it; otherwise git looks for another repository further up."""
        is_whole = all(recorded_stat.is_directory(f"{self.common}/{name}") for name in ("objects", "refs"))
        return is_whole and bool(_HEAD.match(recorded_stat.text(f"{self.git}/HEAD")))


class SettingsFile(NamedTuple):
    """The settings of one file that a repository uses."""

    path: str
    settings: tuple[git_settings.GitSetting, ...]
    is_of_user: bool
    """Whether the file belongs to the user or the system, and not to the repository."""


def repositories(directory: str) -> Iterator[Repository]:
    """Yield the directories that git may use as the repository, up to the first that is certainly valid."""
    while True:
        for candidate in _candidates(directory):
            yield candidate
            if candidate.is_valid:
                return
        if directory in {"/", ""}:
            return
        directory = directory.rpartition("/")[0] or "/"


def repository_at(work_tree: str) -> Repository | None:
    """Return the repository whose `.git` is in this directory; None if there is none."""
    git = f"{work_tree}/.git"
    if not recorded_stat.exists(git):
        return None
    pointer = "" if recorded_stat.is_directory(git) else recorded_stat.text(git)
    if pointer.startswith("gitdir:"):
        git = _join(work_tree, pointer.removeprefix("gitdir:").strip(" \r\n"))
    shared = recorded_stat.text(f"{git}/commondir").rstrip("\r\n")
    return Repository(git, _join(git, shared) if shared else git, work_tree)


def _candidates(directory: str) -> Iterator[Repository]:
    nested = repository_at(directory)
    if nested is not None:
        yield nested
    if recorded_stat.exists(f"{directory}/HEAD"):
        shared = recorded_stat.text(f"{directory}/commondir").rstrip("\r\n")
        yield Repository(directory, _join(directory, shared) if shared else directory, directory)


def settings_files(repository: Repository, workspace: str, home: str) -> tuple[list[SettingsFile], bool]:
    """Return the settings files that git reads in the repository, with the files that they include, the user's first.

    Also returns whether the list is complete: False if there are too many files or one is too long. A missing file is
    listed too, without settings. Conditions of includes are ignored. A file in the workspace that the user's settings
    include is treated as the repository's, because the user does not control it alone.
    """
    waiting = [(path, True) for path in _user_files(home)]
    waiting += [(f"{repository.common}/config", False), (f"{repository.git}/config.worktree", False)]
    visited: set[str] = set()
    files: list[SettingsFile] = []
    most, is_complete = len(waiting) + _MOST_INCLUDES, True
    for path, is_of_user in waiting:  # grows during the iteration
        if path in visited:
            continue
        visited.add(path)
        text = recorded_stat.text(path)
        is_complete = is_complete and len(text) <= recorded_stat.MOST_TEXT
        files.append(SettingsFile(path, git_settings.parsed(text).settings, is_of_user))
        for named in git_settings.included(text):
            target = _join(path.rpartition("/")[0], named)
            is_outside = not target.startswith(f"{workspace}/") or f"{home}/".startswith(f"{workspace}/")
            waiting.append((target, is_of_user and is_outside))
        if len(waiting) > most:
            return files, False
    return files, is_complete


def _user_files(home: str) -> tuple[str, ...]:
    named = os.environ.get("GIT_CONFIG_GLOBAL", "")
    config = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    own = (named,) if named else (f"{home}/.gitconfig", f"{config}/git/config")
    return "/etc/gitconfig", *own


def _join(directory: str, path: str) -> str:
    return os.path.normpath(os.path.join(directory, path))  # noqa: PTH118 - strings


def nested_work_trees(repository: Repository, work_tree: str) -> Sequence[str] | None:
    """Return the work trees of the submodules in the repository's index, which git examines; None if the index cannot
    be read.
    """
    answer = recorded_stat.ask(_GITLINKS, f"{repository.git}/index")
    if answer == _NOT_READ:
        return None
    return [_join(work_tree, name) for name in answer.split("\0")] if answer else ()


def _gitlinks(index: bytes) -> str:
    """Return the names of the gitlinks in an index, separated by NULs; see gitformat-index(5)."""
    version = int.from_bytes(index[4:8], "big")
    at = index.find(_GITLINK)
    if len(index) > _LONGEST_INDEX or (at >= 0 and version > _LAST_PLAIN_VERSION) or _is_split(index):
        return _NOT_READ
    names = []
    while at >= 0:
        start = at - _MODE
        if start >= _INDEX_HEADER and (start - _INDEX_HEADER) % _ALIGNMENT == 0:
            names += [name for size in _HASHES if (name := _name_of_entry(index, start + _ENTRY_STAT + size))]
        at = index.find(_GITLINK, at + 1)
    return "\0".join(dict.fromkeys(names))


def _is_split(index: bytes) -> bool:
    """Return whether the entries are in another file, as an extension of the index says."""
    for match in _SPLIT.finditer(index):
        end = match.end() + int.from_bytes(match[1], "big")
        if end + min(_HASHES) <= len(index) and (len(index) - end in _HASHES or index[end : end + 4].isalpha()):
            return True
    return False


_EXTENDED: Final = 0x4000
_LENGTH: Final = 0xFFF


def _name_of_entry(index: bytes, position: int) -> str:
    """Return the name of the entry whose flags are at the position; empty if this cannot be an entry."""
    flags = int.from_bytes(index[position : position + 2], "big")
    start = position + (4 if flags & _EXTENDED else 2)
    name = index[start : index.find(b"\0", start)]
    is_entry = len(name) == flags & _LENGTH or (flags & _LENGTH == _LENGTH and len(name) > _LENGTH)
    return os.fsdecode(name) if name and is_entry else ""


# only a program that is already trusted to run could write the index through a map of memory
_GITLINKS: Final = recorded_stat.FileReader(_gitlinks, _LONGEST_INDEX, is_settled=is_settled_directory)
