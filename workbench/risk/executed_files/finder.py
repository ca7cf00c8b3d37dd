"""Collects the files of one action: looks up names on disk, then follows the names in those files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

from workbench.files.root_directory import real_path
from workbench.risk.executed_files.installed_packages import (
    mains_of,
    node_package,
    settings_around,
    settings_of,
    site_packages,
)
from workbench.risk.executed_files.lookup import SYSTEM, Bases, Lookup
from workbench.risk.executed_files.source import (
    Kind,
    ScannedFile,
    modules_in,
    quoted_names,
    search_paths_in,
    source_of,
    source_of_text,
    state_of,
)
from workbench.risk.executed_files.unknown_names import has_unknown
from workbench.risk.paths import within

MOST_FILES: Final = 600
_DEEPEST: Final = 6
_MOST_BASES: Final = 12
LOADED_ENDINGS: Final = (
    "", ".bash", ".pm", ".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".rb", ".php", ".pl", ".lua", ".jq", ".awk",
    ".so", "/index.js", "/index.ts",
)  # fmt: skip
"""Endings that may be omitted when a file is loaded by name."""
_LIBRARY: Final = sys.stdlib_module_names - {"__main__", "antigravity", "idlelib", "imp", "lib2to3", "test", "this"}
"""The modules of Python's standard library that other modules import."""
_NODE_ENDINGS: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
CommandReader: TypeAlias = Callable[["Finder", Sequence[str], Bases, int], None]


class Finder:
    """Finds the files that one action in a workspace executes."""

    def __init__(
        self, workspace: str, search: Bases, pending: Mapping[str, str | None], command: CommandReader
    ) -> None:
        """`search` lists directories of programs; `command` adds the files that one command of a script executes.

        `pending` maps paths that earlier actions will write to their future text.
        """
        self.files: dict[str, str] = {}
        self.scripts: dict[str, tuple[Kind, int]] = {}
        """Language and depth (distance from the command line) of files that contain commands or code, by path."""
        self.is_cut = False
        """Whether a limit was reached, so some files that may run are missing."""
        self.is_script_cut = False
        """Whether some of the missing files may be scripts, instead of only sources in a build's tree."""
        self.in_tree = False
        """Whether the files being added are sources in a build's tree, which will not necessarily run."""
        self.lines: list[tuple[str, str]] = []
        """Command lines in settings that will run, each with the path of the settings."""
        self.targets: list[str] = []
        """The requested targets of a recipe file, as in `make test`."""
        self.workspace = workspace
        self.pending = pending
        self.lookup = Lookup(pending, self.cut)
        self._followed: dict[tuple[str, Kind], bool] = {}
        """The added files, each with whether it was added only as part of a build's tree."""
        self.search = search
        self.searched: set[tuple[str, str]] = set()
        """The names of programs that have been looked for, each with the directory of the search."""
        self._command = command
        self._site_packages: dict[str, Bases] = {}

    def cut(self, *, is_code: bool = True) -> None:
        """Record that a limit was reached; `is_code` is False if the files beyond it may be data."""
        self.is_cut = True
        self.is_script_cut |= is_code and not self.in_tree

    def program(self, name: str, bases: Bases, depth: int, kind: Kind = "") -> bool:
        """Add the files with this name, and the files that they name in turn; return whether any exist."""
        result = list(self.lookup.perhaps_at(name, bases, kind))
        for path in result:
            self.add(path, bases, depth, kind)
        return bool(result)

    def add(self, path: str, bases: Bases, depth: int, kind: Kind = "") -> None:
        """Add one file and the files that it names; system files are added only if a link outside leads to them."""
        was_in_tree = self._followed.get((path, kind))
        if was_in_tree is not None and (self.in_tree or not was_in_tree):
            return
        if len(self._followed) >= MOST_FILES - 1:
            self.cut()
            return
        self._followed[path, kind] = self.in_tree
        if not within(path, self.workspace) and any(within(path, directory) for directory in SYSTEM):
            return
        real = real_path(path)
        is_system = any(within(real, directory) for directory in SYSTEM)
        source = state_of(real) if is_system else self._source(path, kind)
        if source is None:
            return
        self.files[path] = source.digest if real == path else f"{source.digest} {real}"
        for settings in dict.fromkeys((*settings_around(path), *settings_around(real))):
            self._add_only(settings)
        if not self.in_tree:
            self.scripts.setdefault(path, (source.kind, depth))
        if depth < _DEEPEST:
            self._follow(path, real, source, bases, depth + 1)

    def _add_only(self, path: str) -> None:
        """Add a file without the files that it names."""
        if path not in self.files and self.lookup.is_file(path) and (source := self._source(path, "")) is not None:
            self.files[path] = source.digest

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
        searched = (*both, *self._search_paths(source.search_paths, both))
        for module in source.modules:
            self.module(module, searched, depth)
        self._follow_installed(path, real, source)
        for name in source.names:
            may_lack_ending = source.kind not in {"python", "recipes"} and "." not in name.rpartition("/")[2]
            for ending in LOADED_ENDINGS if may_lack_ending else ("",):
                if self.program(f"{name}{ending}", both if source.kind == "python" else searched, depth):
                    break

    def _follow_installed(self, path: str, real: str, source: ScannedFile) -> None:
        """Add the installed packages that a file of the project imports, but not those that they import in turn."""
        if path.endswith(_NODE_ENDINGS) and "/node_modules/" not in real:
            self._node_packages(source.names, os.path.dirname(real))  # noqa: PTH120
        installed = self._installed(path) if source.modules and "/site-packages/" not in real else ()
        for module in source.modules if installed else ():
            self.module(module, installed, _DEEPEST)

    def _node_packages(self, names: Iterable[str], directory: str) -> None:
        """Add the main files of the installed packages that a file of Node.js imports."""
        packages = (node_package(name, directory, self.workspace) for name in names)
        for package in dict.fromkeys(filter(None, packages)):
            for name in mains_of(settings_of(f"{package}/package.json", self.pending)):
                self._add_only(os.path.normpath(f"{package}/{name}"))
            self._add_only(f"{package}/package.json")

    def _installed(self, script: str) -> Bases:
        """Return the directories with the packages that are installed for a script; cached."""
        directory = os.path.dirname(script)  # noqa: PTH120 - strings
        if directory not in self._site_packages:
            self._site_packages[directory] = site_packages(self.workspace, script)
        return self._site_packages[directory]

    def installed_module(self, name: str, depth: int) -> None:
        """Add a module, and the program of that name, from the environments of the workspace."""
        installed = self._installed(f"{self.workspace}/x")
        self.module(name, installed, depth)
        self.program(f"{name.replace('.', '/')}/__main__.py", installed, depth, "python")

    def _follow_commands(self, source: ScannedFile, bases: Bases, both: Bases, depth: int) -> None:
        """Add the files that a script's commands execute, started in `bases`, in its own directory, or in one it
        changes to.
        """
        self.commands(source.commands, bases, both, depth)

    def commands(self, commands: Iterable[Sequence[str]], start: Bases, bases: Bases, depth: int) -> None:
        """Add the files that several commands execute in this order; a `cd`, relative to `start`, adds to the
        directories.
        """
        for words in commands:
            if words[0] in {"cd", "pushd"} and len(words) > 1:
                bases = (*bases, *self.lookup.directories_at(words[-1], start))[:_MOST_BASES]
            self._command(self, words, bases, depth)

    def python_text(self, code: str, bases: Bases, depth: int) -> None:
        """Add the modules that Python code imports, and the scripts that it names."""
        bases = (*bases, *self._search_paths(search_paths_in(code), bases))
        for module in modules_in(code.replace(";", "\n")):
            self.module(module, bases, depth)
        for name in quoted_names(code):
            self.program(name, bases, depth)

    def _search_paths(self, names: Iterable[str], bases: Bases) -> Bases:
        paths = (os.path.normpath(os.path.join(base, name)) for name in names for base in bases[:3])  # noqa: PTH118
        return tuple(islice(filter(self._is_directory, dict.fromkeys(paths)), _MOST_BASES))

    def module(self, name: str, bases: Bases, depth: int) -> None:
        """Add the files of a module below the bases, including its parent packages; leading dots make it relative."""
        if has_unknown(name):
            self.program(f"{name.replace('.', '/')}.py", bases, depth, "python")
            return
        dots = len(name) - len(name.lstrip("."))
        pieces = [piece for piece in name.split(".") if piece]
        if dots:
            bases = tuple(os.path.normpath(f"{base}/{'../' * (dots - 1)}") for base in bases[-2:])
        if pieces:
            bases = tuple(base for base in bases if self._may_have_module(base, pieces[0]))
        for end in range(1, min(len(pieces), 8) + 1) if bases else ():
            path = "/".join(pieces[:end])
            self._compiled(path, bases, depth)
            result = self.program(f"{path}.py", bases, depth, "python")
            if not self.program(f"{path}/__init__.py", bases, depth, "python") and not result and end == 1 and not dots:
                bases = tuple(base for base in bases if self._is_directory(f"{base}/{path}"))
                if not bases:
                    return

    def shadowing(self, directory: str, depth: int) -> None:
        """Add the modules in a directory that shadow those of Python's library or of installed packages.

        Python searches the directory of a script, or the one in which a module or code is started, first.
        """
        installed = {name for each in self._installed(f"{self.workspace}/x") for name in self.lookup.entries(each)}
        for name in sorted(self.lookup.entries(directory)):
            module = name.removesuffix(".py")
            if (module in _LIBRARY and module.isidentifier()) or not installed.isdisjoint((module, f"{module}.py")):
                self.module(module, (directory,), depth)

    def _may_have_module(self, base: str, name: str) -> bool:
        is_missing = all(self.lookup.has_not(base, each) for each in (name, f"{name}.py"))
        return not is_missing or name in self.lookup.compiled_modules(base)

    def _compiled(self, path: str, bases: Bases, depth: int) -> None:
        """Add the compiled forms of a module: Python loads an extension (`.so`) rather than the `.py` beside it."""
        directory, _, name = path.rpartition("/")
        for base in bases:
            there = f"{base}/{directory}".rstrip("/")
            if not directory or self._is_directory(there):
                for file in self.lookup.compiled_modules(there).get(name, ()):
                    self.program(file, (there,), depth)

    def _is_directory(self, path: str) -> bool:
        return self.lookup.count_step() and os.path.isdir(path)  # noqa: PTH112 - a string comes in
