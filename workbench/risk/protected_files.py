"""Finds the protected files around a workspace and records their contents; never writes.

A scan that finds no change costs one lstat per directory and file: the paths that the last search found are used again
while everything that decides them is the same, and a file is read again only if its stat differs, or is too recent to
prove that nothing changed (see `stat_keys`). A link to a directory is followed where its name is that of a protected
directory, or of one with protected files; the files are then listed by their paths through the link.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from workbench.files.absent_paths import AbsentPaths
from workbench.files.root_directory import real_path
from workbench.files.stat_keys import StatKey, is_settled_directory, stat_key
from workbench.risk import home_files
from workbench.risk.paths import within
from workbench.risk.protected_entries import LISTED, Lister, Scope, is_near
from workbench.risk.protected_repositories import GitPathFinder, directories_above
from workbench.risk.protected_state import NAME_ONLY, PathState, state_of
from workbench.risk.protected_targets import note_symlinks

MOST_DIRECTORIES: Final = 3_000
"""The number of directories without protected files that each scan visits, nearest to the workspace first."""
MOST_NEW_DIRECTORIES: Final = 5_000
"""The number of directories that one scan may list for the first time."""
MOST_CLONES: Final = 400
"""The number of tool-made directories that each scan searches for repositories."""
MOST_FILES: Final = 1_000
"""The number of protected files whose content is read; further files, up to MOST_STATS, are compared by their stat."""
MOST_STATS: Final = 20_000
MOST_PROGRAMS: Final = 200
"""The number of programs in one directory of PATH that are compared; if there are more, only their names are."""
MOST_SYMLINKS: Final = 3
"""The number of links to directories that are followed in one path."""
_UNLISTED: Final = "unlisted"
"""The scope of a directory that was not searched completely, because of a limit."""
Directory: TypeAlias = tuple[str, Scope]
"""The path of a directory, and how it is searched."""


class _Listing(NamedTuple):
    """The protected entries of one directory."""

    key: StatKey
    files: tuple[str, ...]
    near: tuple[Directory, ...]
    """Subdirectories that hold protected files, or may further down; these are searched first."""
    others: tuple[Directory, ...]
    """The other subdirectories."""


class _Search(NamedTuple):
    """The paths that one search found, and what they depend on besides git's settings and paths that are absent."""

    scopes: dict[str, Scope]
    directories: dict[str, set[Scope]]
    symlinks: Mapping[str, str]
    omitted: list[str]
    visited: dict[Directory, _Listing | None]
    """The entries of each path that was looked at; None for a path that is not a directory."""
    starts: dict[str, bool]
    """Whether each existing path at which the search starts is a link."""


class Baseline(NamedTuple):
    """The protected files at one moment, and the directories that were searched for them."""

    files: Mapping[str, PathState]
    scopes: Mapping[str, Scope]
    """The scope of the directory in which each path was looked up, including paths that did not exist."""
    directories: Mapping[str, set[Scope]]
    """Every directory that was searched, or would have been if it had existed."""
    listings: Mapping[Directory, _Listing]
    symlinks: Mapping[str, str]
    """The real path of each directory that was reached through a link, by the path of the link."""
    omitted: tuple[str, ...] = ()
    """Descriptions of the files that were not compared because of a limit, for the user."""

    def would_find(self, path: str, scope: Scope) -> bool:
        """Return whether this scan covers the path: if it does not list a file there, the file did not exist."""
        # Old files must not count as new because a hooks path was set since, or a directory was over the limit.
        directory, child = path.rpartition("/")[0], ""
        scope = "programs" if scope == "names" else scope
        if self.scopes.get(path) == scope or scope in self.directories.get(directory, ()):
            return True
        if path in self.directories:  # a link in place of a directory
            return scope in self.directories[path]
        if path in self.scopes or directory in self.directories:
            return False
        while directory and directory not in self.directories:
            child, directory = directory, directory.rpartition("/")[0]
        searched = self.directories.get(directory, {_UNLISTED})
        if _UNLISTED in searched:
            return False
        listings = [self.listings.get((directory, each)) for each in searched]
        children = {name for each in listings if each is not None for name, _ in (*each.near, *each.others)}
        return child not in children

    def had_directory(self, path: str) -> bool:
        """Return whether the directory existed."""
        return any((path, scope) in self.listings for scope in self.directories.get(path, ()))

    def symlinks_above(self, path: str) -> tuple[tuple[str, str], ...]:
        """Return the links to directories through which the path leads, each with its real path, outermost first."""
        roots = sorted(self.symlinks.items()) if self.symlinks else ()
        return tuple(each for each in roots if path.startswith(f"{each[0]}/"))


class ProtectedFiles:
    """Finds the protected files of a workspace, its repositories and the home directory; never writes."""

    def __init__(
        self,
        workspace: str,
        home: str,
        config: str = "",
        settings: Iterable[str] = (),
        programs: Iterable[str] = (),
        *,
        own: Iterable[str] = (),
        pythons: Iterable[Directory] = (),
        system_programs: Iterable[str] = (),
    ) -> None:
        """Prepare the scans; nothing is read yet.

        `config` is the user's configuration directory, `settings` are further protected settings files, `programs` are
        the directories in which shells look for programs, `own` are our data and logs, which are not searched, and
        `pythons` are directories outside the workspace with Python libraries. In directories of `programs` inside the
        workspace, only programs with the name of one in `system_programs` are compared.
        """
        self._workspace = real_path(workspace)
        self._home = real_path(home)
        configs = dict.fromkeys(filter(None, (f"{self._home}/.config", config)))
        files = {f"{self._home}/{name}" for name in home_files.HOME_FILES}
        files |= {f"{each}/{name}" for each in configs for name in home_files.CONFIG_FILES}
        self._named = tuple(sorted(files.union(settings)))
        directories = [f"{each}/{name}" for each in configs for name in sorted(home_files.CONFIG_DIRECTORIES)]
        directories += [f"{self._home}/{name}" for name in sorted(home_files.HOME_DIRECTORIES)]
        self._starts: tuple[Directory, ...] = (*((path, "all") for path in directories), *pythons)
        self._programs = tuple(dict.fromkeys(map(real_path, programs)))
        self._system_programs = tuple(system_programs)
        self._absent = AbsentPaths()
        of_user = (f"{self._home}/.gitconfig", *(f"{each}/git/config" for each in configs), *settings)
        self._git = GitPathFinder(of_user, self._absent)
        self._replaced: dict[str, bool] = {}
        self._listings: dict[Directory, _Listing] = {}
        self._passed: set[str] = set(map(real_path, own))
        self._states: Mapping[str, PathState] = {}
        self._symlinks: dict[str, str] = {}
        self._search: _Search | None = None

    def scan(self) -> Baseline:
        """Return a baseline with the current state of every protected file."""
        self._listings = dict(self._listings)  # an earlier baseline keeps its own
        search = self._last_search() or self._searched()
        result: dict[str, PathState] = {}
        for path, scope in search.scopes.items():
            previous = self._states.get(path)
            state = state_of(path, previous, len(result) < MOST_FILES) if scope != "names" else NAME_ONLY
            if state is not None:
                result[path] = state if state is previous else self._retained(path, scope, state)
        self._states = result
        symlinks = (path for path, state in result.items() if state.kind == "link" and within(path, self._workspace))
        note_symlinks(self._workspace, symlinks)
        return Baseline(
            result, search.scopes, search.directories, self._listings, search.symlinks, tuple(search.omitted)
        )

    def _last_search(self) -> _Search | None:
        """Return the last search if another one would find the same paths, else None."""
        are_absent, search, self._symlinks = self._absent.refresh(), self._search, {}
        is_same = (
            search is not None
            and are_absent
            and self._git.is_unchanged()
            and all(os.path.islink(path) == is_link for path, is_link in search.starts.items())  # noqa: PTH114
            and all(_is_same(self._listing(*each), listing) for each, listing in search.visited.items())
            and self._symlinks == search.symlinks
        )
        return search if is_same else None

    def _searched(self) -> _Search:
        """Search for the paths that may be protected files."""
        self._git.start()
        self._symlinks = {}
        directories: dict[str, set[Scope]] = {path.rpartition("/")[0]: {"all"} for path in self._named}
        self._search = search = _Search({}, directories, self._symlinks, [], {}, {})
        for path, scope in self._paths(search):
            if path in search.scopes:
                continue
            if len(search.scopes) >= MOST_STATS:
                search.omitted.insert(0, f"protected files beyond the first {MOST_STATS:,}")
                self._search = None
                break
            search.scopes[path] = scope
        for each in [each for each in search.visited if each[0] in self._absent]:
            del search.visited[each]
        return search

    def _retained(self, path: str, scope: Scope, state: PathState) -> PathState:
        """Return the state without content that is not needed."""
        # outside the workspace, content is retained only if it is needed to decide whether a change is inert
        is_needed = within(path, self._workspace) or scope in ("git", "site") or path.endswith("/known_hosts")
        return state if is_needed or state.content is None or state.kind == "link" else state._replace(content=None)

    def _paths(self, search: _Search) -> Iterator[Directory]:
        """Yield the paths that may be protected files, those of the workspace before those of the home directory."""
        named = self._git.named_by_user(self._workspace)
        for path in (*filter(self._exists, self._named), *named.files):
            yield path, "all"
        starts: list[Directory] = [(path, "hooks") for path in named.hooks]
        starts += [(f"{each}/.git", "git") for each in directories_above(self._workspace, self._home)]
        starts.append((self._workspace, "tree"))
        for path, _ in (*starts, *self._starts):
            search.directories.setdefault(path, set()).add(_UNLISTED)
        yield from self._walked(starts, search)
        yield from self._walked(self._starts, search)
        yield from self._programs_of_path(search)
        self._forget_most(search.visited)

    def _programs_of_path(self, search: _Search) -> Iterator[Directory]:
        for directory in self._programs:
            scope: Scope = "replacing" if within(directory, self._workspace) else "programs"
            listing = search.visited[directory, scope] = self._listing(directory, scope)
            files = listing.files if listing is not None else ()
            if scope == "replacing":
                files = tuple(path for path in files if self._replaces_program(path.rpartition("/")[2]))
            is_large = len(files) > MOST_PROGRAMS and scope == "programs"
            if is_large:
                search.omitted.append(f"the contents of the {len(files):,} programs in {directory}")
            search.directories.setdefault(directory, set()).add(scope)
            for path in files:
                yield path, "names" if is_large else scope

    def _replaces_program(self, name: str) -> bool:
        """Return whether this name hides a system program that is not a script."""
        if name not in self._replaced:
            self._replaced[name] = any(is_binary(f"{each}/{name}") for each in self._system_programs)
        return self._replaced[name]

    def _exists(self, path: str) -> bool:
        if path not in self._absent and not os.path.lexists(path):
            self._absent.add(path)
        return path not in self._absent

    def _walked(self, starts: Iterable[Directory], search: _Search) -> Iterator[Directory]:
        """Yield the files of these directories and of those below, nearest first; record each one in `search`."""
        urgent, waiting = deque[Directory](), deque(starts)
        search.starts.update({path: os.path.islink(path) for path, _ in waiting if self._exists(path)})  # noqa: PTH114
        yield from [(path, scope) for path, scope in waiting if search.starts.get(path)]
        pointers: set[str] = set()
        remaining = {"new": MOST_NEW_DIRECTORIES, "clones": MOST_CLONES}
        while urgent or waiting:
            path, scope = (urgent or waiting).popleft()
            if scope == "git":
                if path in pointers:
                    continue
                pointers.add(path)
                named = self._git.named_by(path)
                yield from ((file, "all") for file in named.files)
                urgent += [(each, "hooks") for each in named.hooks]
                urgent += [(named.common, "git")] if named.common else []
                path = named.git
            if (path, scope) in search.visited or path in self._passed or not self._may_list(path, scope, remaining):
                continue
            searched = search.directories.setdefault(path, set())
            searched.add(_UNLISTED)
            listing = search.visited[path, scope] = self._listing(path, scope)
            if listing is not None:
                yield from ((file, scope) for file in listing.files)
                urgent += listing.near
                waiting += listing.others
            searched.discard(_UNLISTED)
            searched.add(scope)

    def _may_list(self, path: str, scope: Scope, remaining: dict[str, int]) -> bool:
        """Return whether the limits let the directory be searched, and count it."""
        if (path, scope) not in self._listings:
            remaining["new"] -= 1
            if remaining["new"] < 0:
                self._passed.add(path)
                return False
        remaining["clones"] -= scope == "clones"
        return scope != "clones" or remaining["clones"] >= 0

    def _forget_most(self, visited: Iterable[Directory]) -> None:
        """From now on, skip directories beyond MOST_DIRECTORIES that have no protected files in or below them."""
        plain = [path for path, scope in visited if scope == "tree"]
        if len(plain) > MOST_DIRECTORIES:
            self._search = None
            retained = set(plain[:MOST_DIRECTORIES])
            for path in plain[MOST_DIRECTORIES:]:
                listing = self._listings.get((path, "tree"))
                if listing is not None and (listing.files or listing.near):
                    while path not in retained:
                        retained.add(path)
                        path = path.rpartition("/")[0]
            self._passed.update(path for path in plain if path not in retained)
            for key in [(path, "tree") for path in retained]:
                if (listing := self._listings.get(key)) is not None:
                    children = tuple(each for each in listing.others if each[0] not in self._passed)
                    self._listings[key] = listing._replace(others=children)
        retained_keys = {key for key in visited if key[0] not in self._passed}
        if len(self._listings) > len(retained_keys):
            self._listings = {key: cached for key, cached in self._listings.items() if key in retained_keys}

    def _listing(self, path: str, scope: Scope) -> _Listing | None:
        if path in self._absent:
            return None
        try:
            info, lister = os.lstat(path), LISTED[scope]
            if stat.S_ISLNK(info.st_mode):
                info, lister = self._behind(path, scope)
            if not stat.S_ISDIR(info.st_mode):
                self._listings.pop((path, scope), None)
                return None
            key, cached = stat_key(info), self._listings.get((path, scope))
            if cached is not None and cached.key == key:
                return cached
            with os.scandir(path) as entries:
                listed = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries
                )
        except (OSError, ValueError):
            self._listings.pop((path, scope), None)
            self._absent.add(path)
            return None
        files, children = lister(path, listed, self._workspace)
        # a directory that changed too recently to rely on its stat is listed again
        children = [each for each in children if each[0] not in self._passed]
        near = tuple(each for each in children if is_near(*each))
        plain = tuple(each for each in children if not is_near(*each))
        listing = _Listing(key if is_settled_directory(info) else (), tuple(files), near, plain)
        self._listings[path, scope] = listing
        return listing

    def _behind(self, symlink: str, scope: Scope) -> tuple[os.stat_result, Lister]:
        """Return the stat of the directory to which a link leads, and the function that lists it. Raises OSError."""
        info, real = os.stat(symlink), real_path(symlink)  # noqa: PTH116 - asked for each action
        if sum(symlink.startswith(f"{each}/") for each in self._symlinks) >= MOST_SYMLINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if stat.S_ISDIR(info.st_mode):
            self._symlinks[symlink] = real
        # a link to a directory around it does not make everything there a protected file
        is_around = within(real_path(symlink.rpartition("/")[0]), real)
        return info, LISTED["hooks" if is_around and scope == "all" else scope]


def _is_same(one: _Listing | None, other: _Listing | None) -> bool:
    """Return whether both have the same entries."""
    return one is other or (one is not None and other is not None and one[1:] == other[1:])


def is_binary(path: str) -> bool:
    """Return whether the path is a program that is not a script."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a string
            return file.read(2) not in {b"#!", b""}
    except OSError:
        return False
