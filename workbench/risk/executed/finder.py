"""Collects the files of one action: looks up names on disk, then follows the names in those files."""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from workbench.files.root_directory import real_path
from workbench.risk.executed.source import (
    Kind,
    ScannedFile,
    modules_in,
    quoted_names,
    source_of,
    source_of_text,
    state_of,
)
from workbench.risk.paths import within
from workbench.risk.word import UNKNOWN

MOST_FILES: Final = 600
_MOST_STEPS: Final = 4_000
"""How many names are looked up on disk for one action."""
_DEEPEST: Final = 6
_MOST_BASES: Final = 12
_MOST_MATCHES: Final = 60
_MOST_ENTRIES: Final = 1_000
_ALWAYS_THERE: Final = frozenset({"", ".", ".."})
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/sys", "/proc", "/dev", "/nix", "/System")
LOADED_ENDINGS: Final = (
    "", ".bash", ".pm", ".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".rb", ".php", ".pl", ".lua", ".jq", ".awk",
    ".so", "/index.js", "/index.ts",
)  # fmt: skip
"""Endings that may be omitted from the name of a loaded file."""
VARIABLE_DIRECTORY: Final = re.compile(r"\$(?:\{[^}]*\}|\(\w+\)|\w+|@)/(?=.)")
"""A leading directory that is known only to the shell."""
_EXPANDED: Final = re.compile(r"[*?\[$~]")
Bases: TypeAlias = tuple[str, ...]
"""Directories to which a name may be relative."""
CommandReader: TypeAlias = Callable[["Finder", Sequence[str], Bases, int], None]


class Finder:
    """Finds the files that one action in a workspace executes."""

    def __init__(
        self, workspace: str, search: Bases, pending: Mapping[str, str | None], command: CommandReader
    ) -> None:
        """`search` lists directories with programs; `command` adds the files that one command of a script executes."""
        self.files: dict[str, str] = {}
        self.scripts: dict[str, tuple[Kind, int]] = {}
        """Language and depth (distance from the command line) of files that contain commands or code, by path."""
        self.is_cut = False
        """Whether a limit was reached, so some files that may run are missing."""
        self.is_script_cut = False
        """Whether some of the missing files are scripts, not only part of a build's tree."""
        self.in_tree = False
        """Whether the files being added are only part of a build's tree, so they will not necessarily run."""
        self.lines: list[tuple[str, str]] = []
        """Command lines in settings that will run, each with the path of the settings."""
        self.targets: list[str] = []
        """The requested targets of recipes, as in `make test`."""
        self.workspace = workspace
        self.pending = pending
        self._steps = iter(range(_MOST_STEPS))
        self._followed: set[tuple[str, Kind]] = set()
        self.search = search
        self.searched: set[tuple[str, str]] = set()
        """Names of programs that have been looked for, each with the starting directory."""
        self._command = command
        self._entries: dict[str, frozenset[str]] = {}

    def at(self, name: str, bases: Bases) -> Iterator[str]:
        """Yield the paths of existing files with this name, which may be a glob, below the bases."""
        name = VARIABLE_DIRECTORY.sub("", name, count=1) if name.startswith("$") else name
        name = f"{Path.home()}{name[1:]}" if name.startswith("~/") else name
        if not name or UNKNOWN in name or "$" in name or len(name) > 1_000:
            return
        if "**/" in name:  # also without it; otherwise only one level, because a full search would be unbounded
            yield from self.at(name.replace("**/", ""), bases)
        for base in dict.fromkeys(bases) if not name.startswith("/") else ("",):
            if base and self._has_not(base, name.partition("/")[0]):
                continue
            if next(self._steps, None) is None:
                self.cut()
                return
            path = os.path.normpath(f"{base}/{name}" if base else name) if ".." not in name else f"{base}/{name}"
            if self._is_file(path):
                yield path
            elif any(sign in name for sign in "*?["):
                matches = islice(glob.iglob(path), _MOST_MATCHES)  # noqa: PTH207 - strings
                yield from filter(self._is_file, sorted(matches))

    def cut(self, *, is_code: bool = True) -> None:
        """Record that a limit was reached; `is_code` is false for files that may be data instead."""
        self.is_cut = True
        self.is_script_cut |= is_code and not self.in_tree

    def may_have(self, name: str, bases: Bases) -> bool:
        """Return whether a file with this name may exist below one of the bases; a cheap check."""
        if not name or name.startswith("/"):
            return bool(name) and not name.startswith(SYSTEM)
        first = name.partition("/")[0]
        return not all(self._has_not(base, first) for base in bases)

    def has(self, directory: str, name: str) -> bool:
        """Return whether a directory may have an entry with this name, without listing the directory."""
        if _EXPANDED.search(name):
            return True
        path = f"{directory}/{name}"
        try:
            return path in self.pending or os.access(path, os.F_OK)
        except ValueError:  # a null byte, or a character that no file name can contain
            return False

    def _has_not(self, directory: str, name: str) -> bool:
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
            except OSError:
                names = []
            coming = (
                path[len(directory) + 1 :].partition("/")[0]
                for path in self.pending
                if path.startswith(f"{directory}/")
            )
            cached = self._entries[directory] = frozenset((*names, *coming))
        return cached

    def _is_file(self, path: str) -> bool:
        if self.pending.get(path) is not None:
            return True
        try:
            return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 - a string comes in
        except (OSError, ValueError):
            return False

    def program(self, name: str, bases: Bases, depth: int, kind: Kind = "") -> bool:
        """Add the files with this name, and the files that they name; return whether there are any."""
        result = list(self.at(name, bases))
        for path in result:
            self.add(path, bases, depth, kind)
        return bool(result)

    def add(self, path: str, bases: Bases, depth: int, kind: Kind = "") -> None:
        """Add one file and the files that it names; system files count only if a link leads to them."""
        if (path, kind) in self._followed:
            return
        if len(self._followed) >= MOST_FILES - 1:
            self.cut()
            return
        self._followed.add((path, kind))
        if not within(path, self.workspace) and any(within(path, directory) for directory in SYSTEM):
            return
        real = real_path(path)
        is_system = any(within(real, directory) for directory in SYSTEM)
        source = state_of(real) if is_system else self._source(path, kind)
        if source is None:
            return
        self.files[path] = source.digest if real == path else f"{source.digest} {real}"
        if not self.in_tree:
            self.scripts.setdefault(path, (source.kind, depth))
        if depth < _DEEPEST:
            self._follow(path, real, source, bases, depth + 1)

    def _source(self, path: str, kind: Kind) -> ScannedFile | None:
        text = self.pending.get(path)
        return source_of(path, kind) if text is None else source_of_text(path, text, kind)

    def _follow(self, path: str, real: str, source: ScannedFile, bases: Bases, depth: int) -> None:
        beside = os.path.dirname(real)  # noqa: PTH120 - a string comes in
        both = (*bases, os.path.dirname(path), beside)  # noqa: PTH120
        if source.shebang:
            is_env = source.shebang[0].endswith("/env")
            self._command(self, source.shebang[is_env:], both, depth)
            self.program(source.shebang[0], both, depth)
        self._follow_commands(source, bases, both, depth)
        for module in source.modules:
            self.module(module, both, depth)
        for name in source.names:
            may_lack_ending = source.kind not in {"python", "recipes"} and "." not in name.rpartition("/")[2]
            for ending in LOADED_ENDINGS if may_lack_ending else ("",):
                if self.program(f"{name}{ending}", both, depth):
                    break

    def _follow_commands(self, source: ScannedFile, bases: Bases, both: Bases, depth: int) -> None:
        """Add the files that a script's commands execute in its start directory, its own, or one it changed to."""
        for words in source.commands:
            if words[0] == "cd" and len(words) == 2:
                both = (*both, *(f"{base}/{words[1]}" for base in bases[:2]))[:_MOST_BASES]
            self._command(self, words, both, depth)

    def python_text(self, code: str, bases: Bases, depth: int) -> None:
        """Add the modules that Python code imports, and the scripts that it names."""
        for module in modules_in(code.replace(";", "\n")):
            self.module(module, bases, depth)
        for name in quoted_names(code):
            self.program(name, bases, depth)

    def module(self, name: str, bases: Bases, depth: int) -> None:
        """Add the files of a module below the bases, including its parent packages."""
        dots = len(name) - len(name.lstrip("."))
        pieces = [piece for piece in name.split(".") if piece]
        if dots:
            bases = tuple(os.path.normpath(f"{base}/{'../' * (dots - 1)}") for base in bases[-2:])
        if pieces:
            names = (pieces[0], f"{pieces[0]}.py")
            bases = tuple(base for base in bases if not all(self._has_not(base, name) for name in names))
        for end in range(1, min(len(pieces), 8) + 1) if bases else ():
            path = "/".join(pieces[:end])
            result = self.program(f"{path}.py", bases, depth, "python")
            if not self.program(f"{path}/__init__.py", bases, depth, "python") and not result and end == 1 and not dots:
                bases = tuple(base for base in bases if self._is_directory(f"{base}/{path}"))
                if not bases:
                    return

    def _is_directory(self, path: str) -> bool:
        return next(self._steps, None) is not None and os.path.isdir(path)  # noqa: PTH112 - a string comes in
