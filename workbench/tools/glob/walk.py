"""The files below a folder, as ripgrep would list them; used where ripgrep is not there.

Links are not followed, hidden entries and what ignore files name are left out. Standard library only: the search
process of `grep` imports this.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from workbench.tools.glob.patterns import GlobError, glob_regex
from workbench.tools.glob.program import ProgramError, Stop, output_of, ripgrep

_NAMES = (".rgignore", ".ignore", ".gitignore")
"""The strongest first; `.gitignore` files count up to the folder that holds `.git`."""


@dataclass(frozen=True)
class _Rule:
    regex: re.Pattern[str]
    ignores: bool
    only_folders: bool


class Level:
    """The ignore files of one folder, and those above it."""

    def __init__(self, folder: str, above: Level | None, names: frozenset[str] | None = None) -> None:
        """`names` are the entries of the folder where they are known."""
        self._prefix = len(folder.rstrip("/")) + 1
        self._above = above
        self._is_repository = _has(folder, ".git", names)
        self._rules = {name: tuple(_rules(f"{folder}/{name}")) for name in _NAMES if _has(folder, name, names)}

    def simplest(self) -> Level | None:
        """This level, or the nearest above that says anything."""
        return self if self._rules or self._is_repository or self._above is None else self._above

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether an absolute path is ignored; False when a rule wants it kept, None when no rule names it."""
        for name in _NAMES:
            level: Level | None = self
            while level is not None:
                found = level._said(name, path, is_folder)
                if found is not None:
                    return found
                level = None if name == ".gitignore" and level._is_repository else level._above
        return None

    def _said(self, name: str, path: str, is_folder: bool) -> bool | None:
        rules = self._rules.get(name)
        if not rules:
            return None
        inside = _bytewise(path[self._prefix :])
        for rule in rules:
            if (is_folder or not rule.only_folders) and rule.regex.fullmatch(inside):
                return rule.ignores
        return None


def levels_to(folder: str) -> Level:
    """The level of a folder (absolute, without links), with all those above it."""
    level: Level | None = None
    for end in [at for at, sign in enumerate(folder) if sign == "/"]:
        level = Level(folder[:end] or "/", level).simplest()
    return level if folder == "/" and level else Level(folder, level)


def _has(folder: str, name: str, names: frozenset[str] | None) -> bool:
    return os.path.lexists(f"{folder}/{name}") if names is None else name in names


def _bytewise(text: str) -> str:
    """A sign for each byte: in ignore files `?` and `[a-z]` stand for one byte, as in git and ripgrep."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def _rules(path: str) -> Iterator[_Rule]:
    """The rules of a file, the last line first."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import here
            raw = file.read(1_000_000)
    except OSError:
        return
    made: list[_Rule] = []
    for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            rule = _rule(_bytewise(line.decode()))
        except UnicodeDecodeError:
            break  # as ripgrep does
        except GlobError:
            continue
        if rule is not None:
            made.append(rule)
    yield from reversed(made)


def _rule(line: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    line = line if line.endswith("\\ ") else line.rstrip()
    keeps = line.startswith("!")
    line = line[keeps:]
    is_anchored = line.startswith("/")
    line = line[is_anchored:]
    only_folders = line.endswith("/")
    line = line[:-1] if only_folders else line
    if not line:
        return None
    if not is_anchored and "/" not in line:
        line = f"**/{line}"
    return _Rule(re.compile(glob_regex(line), re.DOTALL), not keeps, only_folders)


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


def files_below(folder: str, stop: Stop, *, hidden: bool) -> Iterator[str]:
    """Their paths relative to the folder (absolute, without links); what ignore files name is left out."""
    command = ripgrep("--files", hidden=hidden)
    if command is not None:
        try:
            yield from _names(output_of(command, folder, stop))
            return
        except (ProgramError, OSError):
            pass  # an old ripgrep that does not know an option, and says so before it lists anything
    yield from walk(folder, hidden=hidden, is_over=stop.is_over)


def _names(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        whole, _, rest = (rest + chunk).rpartition(b"\0")
        if whole:
            for name in os.fsdecode(whole).split("\0"):
                yield name[2:]  # without the ./ that every one has
