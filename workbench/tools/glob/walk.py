"""Lists the files below a directory as ripgrep would; used if ripgrep is not installed.

Symbolic links are not followed; hidden entries and ignored files are omitted. Standard library only, because the search
process of `grep` imports this module.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from workbench.tools.glob.patterns import GlobError, glob_regex
from workbench.tools.glob.program import ProgramError, Stop, output_of, ripgrep

_NAMES = (".rgignore", ".ignore", ".gitignore")
"""The names of ignore files, in order of precedence. Those in all parent directories apply too; of `.gitignore`, only
those up to the directory that contains `.git`.
"""


@dataclass(frozen=True)
class _Rule:
    regex: re.Pattern[str]
    ignores: bool
    only_directories: bool


class Level:
    """The ignore files of one directory, linked to those of its parent directories."""

    def __init__(self, directory: str, above: Level | None, names: frozenset[str] | None = None) -> None:
        """`names` are the directory's entries, if already known."""
        self._prefix = len(directory.rstrip("/")) + 1
        self._above = above
        self._is_repository = _has(directory, ".git", names)
        self._rules = {name: tuple(_rules(f"{directory}/{name}")) for name in _NAMES if _has(directory, name, names)}

    def simplest(self) -> Level | None:
        """Return this level, or its parent level if this one has no rules and is not a repository."""
        return self if self._rules or self._is_repository or self._above is None else self._above

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """Return whether an absolute path is ignored; False if a rule includes it, None if no rule matches it."""
        for name in _NAMES:
            level: Level | None = self
            while level is not None:
                verdict = level._own_verdict(name, path, is_directory)
                if verdict is not None:
                    return verdict
                level = None if name == ".gitignore" and level._is_repository else level._above
        return None

    def _own_verdict(self, name: str, path: str, is_directory: bool) -> bool | None:
        rules = self._rules.get(name)
        if not rules:
            return None
        inside = _bytewise(path[self._prefix :])
        for rule in rules:
            if (is_directory or not rule.only_directories) and rule.regex.fullmatch(inside):
                return rule.ignores
        return None


def levels_to(directory: str) -> Level:
    """Return the level of a directory (absolute, without links), linked to those of its parents."""
    level: Level | None = None
    for end in [at for at, character in enumerate(directory) if character == "/"]:
        level = Level(directory[:end] or "/", level).simplest()
    return level if directory == "/" and level else Level(directory, level)


def _has(directory: str, name: str, names: frozenset[str] | None) -> bool:
    return os.path.lexists(f"{directory}/{name}") if names is None else name in names


def _bytewise(text: str) -> str:
    """Return one character per byte: in ignore files `?` and `[a-z]` match one byte, as in git and ripgrep."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def _rules(path: str) -> Iterator[_Rule]:
    """Yield the rules of an ignore file, last line first; nothing if it cannot be read."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            raw = file.read(1_000_000) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
    except OSError:
        return
    rules: list[_Rule] = []
    for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        try:
            rule = _rule(_bytewise(line.decode()))
        except UnicodeDecodeError:
            break  # as ripgrep does
        except GlobError:
            continue
        if rule is not None:
            rules.append(rule)
    yield from reversed(rules)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a pipe must not block


def _rule(line: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    line = line if line.endswith("\\ ") else line.rstrip()
    keeps = line.startswith("!")
    line = line[keeps:]
    is_anchored = line.startswith("/")
    line = line[is_anchored:]
    only_directories = line.endswith("/")
    line = line[:-1] if only_directories else line
    if not line:
        return None
    if not is_anchored and "/" not in line:
        line = f"**/{line}"
    return _Rule(re.compile(glob_regex(line), re.DOTALL), not keeps, only_directories)


def walk(root: str, *, hidden: bool = False, is_over: Callable[[], object] = bool) -> Iterator[str]:
    """Yield file paths relative to `root`, which is absolute and free of links; stop once `is_over()`, called before
    each directory, returns true.
    """
    above = levels_to(os.path.dirname(root)) if root != "/" else None  # noqa: PTH120
    open_directories: list[tuple[str, Level | None]] = [("", above)]
    while open_directories and not is_over():
        prefix, level = open_directories.pop()
        directory = f"{root.rstrip('/')}/{prefix}".rstrip("/") or "/"
        try:
            with os.scandir(directory) as scan:
                entries = list(scan)
        except OSError:
            continue
        names = frozenset(entry.name for entry in entries)
        level = Level(directory, level, names).simplest()
        for entry in entries:
            is_directory = _is_directory(entry)
            if is_directory is None or not _is_included(entry, is_directory, level, hidden):
                continue
            if is_directory:
                open_directories.append((f"{prefix}{entry.name}/", level))
            else:
                yield prefix + entry.name


def _is_directory(entry: os.DirEntry[str]) -> bool | None:
    """Return whether the entry is a directory; None if it is neither a directory nor a regular file."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return True
        return False if entry.is_file(follow_symlinks=False) else None
    except OSError:
        return None


def _is_included(entry: os.DirEntry[str], is_directory: bool, level: Level | None, hidden: bool) -> bool:
    if hidden and entry.name == ".git":
        return False
    verdict = level.verdict(entry.path, is_directory) if level else None
    if verdict is None:
        return hidden or not entry.name.startswith(".")
    return not verdict


def list_files(directory: str, stop: Stop, *, hidden: bool) -> Iterator[str]:
    """Yield the paths of files relative to `directory`, omitting ignored files. `directory` is absolute and free of
    links.
    """
    command = None if blocks_above(directory) else ripgrep("--files", hidden=hidden)
    listed: set[str] = set()
    if command is not None:
        try:
            for name in _names(output_of(command, directory, stop, partial(blocks_inside, directory, stop))):
                listed.add(name)
                yield name
            return
        except (ProgramError, OSError):
            pass  # an old ripgrep without one of the options, or one that waits for an ignore file that is a pipe
    yield from (name for name in walk(directory, hidden=hidden, is_over=stop.is_over) if name not in listed)


def blocks_above(directory: str) -> bool:
    """Return whether ripgrep would wait for an ignore file of the directory or one above it, such as a pipe."""
    ends = [at for at, character in enumerate(directory) if character == "/"]
    return any(_waits(f"{base}/{name}") for base in (*(directory[:at] for at in ends), directory) for name in _NAMES)


def blocks_inside(directory: str, stop: Stop) -> bool:
    """Return whether ripgrep would wait for an ignore file anywhere below the directory."""
    for base, _, names in os.walk(directory):
        if stop.why:
            return False
        if any(_waits(f"{base}/{name}") for name in _NAMES if name in names):
            return True
    return False


def _waits(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - pathlib is slow to import here
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _names(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        whole, _, rest = (rest + chunk).rpartition(b"\0")
        if whole:
            for name in os.fsdecode(whole).split("\0"):
                yield name[2:]  # without the leading ./
