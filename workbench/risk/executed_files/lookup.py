"""Looks up names on disk for one action, within limits: exact names, globs, and names that the shell completes."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.executed_files.directories import directories_under, files_under
from workbench.risk.executed_files.source import Kind, is_program
from workbench.risk.executed_files.unknown_names import endings_of, has_unknown, is_open, parents_of, patterns_of
from workbench.risk.word import UNKNOWN

Bases: TypeAlias = tuple[str, ...]
"""Directories to which a name may be relative."""
_MOST_STEPS: Final = 4_000
"""The number of names that are looked up on disk for one action."""
_MOST_DIRECTORIES: Final = 12
_MOST_MATCHES: Final = 60
_MOST_ENTRIES: Final = 1_000
_MOST_WALKED: Final = 2_000
"""The number of directory entries that are examined for a partly unknown name."""
_ALWAYS_THERE: Final = frozenset({"", ".", ".."})
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/sys", "/proc", "/dev", "/nix", "/System")
VARIABLE_DIRECTORY: Final = lazy_pattern(r"\$(?:\{[^}]*\}|\(\w+\)|\w+|@)/(?=.)")
"""A leading directory that is known only to the shell."""
_EXPANDED: Final = lazy_pattern(r"[*?\[$~]")


class Lookup:
    """Looks up names below directories; calls `cut` whenever a limit is reached."""

    def __init__(self, pending: Mapping[str, str | None], cut: Callable[[], None]) -> None:
        """`pending` maps paths that earlier actions will write to their future text."""
        self.values: tuple[str, ...] = ()
        """Words of the line that may be the value of a variable in a name."""
        self.pending = pending
        self.own_name: Callable[[str], str] = lambda path: path
        """Returns the path on this machine of a path as it is where the action runs, such as in a container."""
        self._cut = cut
        self._steps = iter(range(_MOST_STEPS))
        self._entries: dict[str, frozenset[str]] = {}
        self._compiled: dict[str, dict[str, list[str]]] = {}

    def count_step(self) -> bool:
        """Count one more access to the disk; return False if there have been too many."""
        return next(self._steps, None) is not None

    def at(self, name: str, bases: Bases) -> Iterator[str]:
        """Yield the paths of existing files with this name, which may be a glob, below the bases."""
        name = VARIABLE_DIRECTORY.sub("", name, count=1) if name.startswith("$") else name
        name = f"{Path.home()}{name[1:]}" if name.startswith("~/") else name
        if not name or UNKNOWN in name or "$" in name or len(name) > 1_000:
            return
        name = self.own_name(name)
        if "**/" in name:
            yield from self._at_any_depth(name, bases)
            return
        for base in dict.fromkeys(bases) if not name.startswith("/") else ("",):
            if base and self.has_not(base, name.partition("/")[0]):
                continue
            if not self.count_step():
                self._cut()
                return
            path = os.path.normpath(f"{base}/{name}" if base else name) if ".." not in name else f"{base}/{name}"
            if self.is_file(path):
                yield path
            elif any(sign in name for sign in "*?["):
                pattern = f"{glob.escape(base)}{path[len(base) :]}" if path.startswith(base) else path
                matches = islice(glob.iglob(pattern), _MOST_MATCHES)  # noqa: PTH207 - strings
                yield from filter(self.is_file, sorted(matches))

    def _at_any_depth(self, name: str, bases: Bases) -> Iterator[str]:
        before, _, behind = name.partition("**/")
        for base in dict.fromkeys(bases) if not before.startswith("/") else ("",):
            budget = iter(range(_MOST_WALKED))
            for directory in directories_under(os.path.normpath(f"{base}/{before}"), budget):
                yield from self.at(behind, (directory,))
            if next(budget, None) is None:
                self._cut()

    def perhaps_at(self, name: str, bases: Bases, kind: Kind = "") -> Iterator[str]:
        """Yield the paths of existing files with this name, or with a name that it may become when the shell expands
        it.

        If no part of the name is known, these are the scripts in and below the directory, and the executable files in
        it.
        """
        if not has_unknown(name):
            yield from self.at(name, bases)
        elif is_open(name):
            yield from self._any_script(name.rpartition("/")[0], bases, kind)
        else:
            around = (*bases, *parents_of(bases[0])) if bases else ()
            for pattern in patterns_of(name, self.values):
                yield from self.at(pattern.removeprefix("**/"), around if pattern.startswith("**/") else bases)
                yield from self.at(pattern, bases[:1]) if "**/" in pattern else ()

    def directories_at(self, name: str, bases: Bases) -> Bases:
        """Return the directories that a name may mean, relative to the bases, when the shell expands it."""
        if not has_unknown(name):
            return tuple(os.path.normpath(os.path.join(base, name)) for base in bases[:2])  # noqa: PTH118 - strings
        result: dict[str, None] = {}
        for base in bases[:2]:
            for pattern in patterns_of(name, self.values):
                result |= dict.fromkeys(islice(self._directories(pattern, base), _MOST_DIRECTORIES + 1))
        if len(result) > _MOST_DIRECTORIES:
            self._cut()
        return tuple(result)[:_MOST_DIRECTORIES]

    def _directories(self, pattern: str, base: str) -> Iterator[str]:
        before, deep, behind = pattern.rpartition("**/")
        start = os.path.normpath(f"{base}/{before}") if not pattern.startswith("/") else before or "/"
        for directory in directories_under(start, iter(range(_MOST_WALKED))) if deep else (start,):
            paths = glob.iglob(f"{glob.escape(directory)}/{behind}")  # noqa: PTH207 - strings
            yield from map(os.path.normpath, filter(os.path.isdir, islice(paths, _MOST_MATCHES)))

    def _any_script(self, directory: str, bases: Bases, kind: Kind) -> Iterator[str]:
        endings = endings_of(kind)
        certain = "" if has_unknown(directory) else directory
        top = os.path.normpath(os.path.join(bases[0], certain))  # noqa: PTH118 - strings
        budget = iter(range(_MOST_WALKED))
        for path in files_under(top, self.pending, budget):
            if path.endswith(endings) or (os.path.dirname(path) == top and is_program(path)):  # noqa: PTH120
                yield path
        if next(budget, None) is None:
            self._cut()

    def may_have(self, name: str, bases: Bases) -> bool:
        """Return whether a file with this name may exist below one of the bases; a quick check that may be wrong if
        True.
        """
        if not name or name.startswith("/"):
            return bool(name) and not name.startswith(SYSTEM)
        first = name.partition("/")[0]
        return not all(self.has_not(base, first) for base in bases)

    def has(self, directory: str, name: str) -> bool:
        """Return whether a directory may have an entry with this name, without listing the directory."""
        if _EXPANDED.search(name):
            return True
        path = f"{directory}/{name}"
        try:
            return path in self.pending or os.access(path, os.F_OK)
        except ValueError:  # a null byte, or a character that no file name can contain
            return False

    def has_not(self, directory: str, name: str) -> bool:
        """Return whether a directory certainly has no entry with this name."""
        entries = self.entries(directory)
        if name in entries or name in _ALWAYS_THERE or len(entries) >= _MOST_ENTRIES:
            return False
        return not ("*" in name or "?" in name or "[" in name)

    def entries(self, directory: str) -> frozenset[str]:
        """Return the names in a directory, including those that earlier actions will create; cached."""
        cached = self._entries.get(directory)
        if cached is None:
            try:
                names = os.listdir(directory)[:_MOST_ENTRIES]  # noqa: PTH208 - strings
            except (OSError, ValueError):
                names = []
            coming = (
                path[len(directory) + 1 :].partition("/")[0]
                for path in self.pending
                if path.startswith(f"{directory}/")
            )
            cached = self._entries[directory] = frozenset((*names, *coming))
        return cached

    def compiled_modules(self, directory: str) -> Mapping[str, list[str]]:
        """Return the compiled modules of Python in a directory, by the name under which they are imported; cached."""
        cached = self._compiled.get(directory)
        if cached is None:
            cached = self._compiled[directory] = {}
            for name in sorted(self.entries(directory)):
                if name.endswith((".so", ".pyd", ".pyc")):
                    cached.setdefault(name.partition(".")[0], []).append(name)
        return cached

    def is_file(self, path: str) -> bool:
        """Return whether a path is a regular file, or will be one once earlier actions have run."""
        if self.pending.get(path) is not None:
            return True
        try:
            return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - a string comes in
        except (OSError, ValueError):
            return False
