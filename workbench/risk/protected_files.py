"""Find the protected files around a workspace, record their contents and tell what changed; never writes.

A scan that finds no change costs one lstat per directory and file: a file is read again only if its stat differs, or is
too recent to prove that nothing changed (see `stat_keys`). A link to a directory is followed only in place of a
directory of hooks or of protected files.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from workbench.files.root_directory import real_path
from workbench.files.stat_keys import StatKey, has_settled, is_settled_directory, stat_key
from workbench.risk import git_settings
from workbench.risk import paths as names
from workbench.risk.paths import within
from workbench.risk.protected_entries import LISTED, Scope, is_near

MOST_DIRECTORIES: Final = 3_000
"""How many directories without protected files each scan visits, those nearest to the workspace first."""
MOST_NEW_DIRECTORIES: Final = 5_000
"""How many directories one scan may list for the first time."""
MOST_FILES: Final = 1_000
"""How many protected files are read; further files, up to MOST_STATS, are compared by their stat."""
MOST_STATS: Final = 20_000
MOST_PROGRAMS: Final = 200
"""The maximum number of programs of one directory of PATH that are compared; of more, only the names are."""
MOST_BYTES: Final = 200_000
"""The largest file that is read, in bytes; a larger one is compared by its stat and cannot be restored."""
_MOST_INCLUDES: Final = 20
"""The maximum number of included git settings files that are read."""
_UNLISTED: Final = "unlisted"
"""The scope of a directory that was not searched completely, because of a limit."""


class PathState(NamedTuple):
    """The state of a path: its kind, mode, content and stat."""

    kind: Literal["file", "link", "other", "name"]
    """`name` if only its name was looked at."""
    mode: int
    digest: bytes
    """Hash of a file's content or a link's target; empty if it was not read."""
    content: bytes | None
    """The content that can be restored; None if it was not read, or the path is outside the workspace."""
    key: StatKey
    """The key of the path's stat, for comparison."""
    is_settled: bool
    """Whether the same stat later proves the same content."""

    def is_same(self, other: PathState | None) -> bool:
        """Return whether the other state holds the same content; if that was not read, whether the stats are equal."""
        if other is not None and "name" in (self.kind, other.kind):
            return True
        if other is None or (self.kind, self.mode) != (other.kind, other.mode):
            return False
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.kind == "other" or self.key == other.key


_NAMED: Final = PathState("name", 0, b"", None, (), is_settled=False)


class PathChange(NamedTuple):
    """A protected path whose content changed, with its states; a state is None if nothing existed."""

    path: str
    before: PathState | None
    after: PathState | None

    @property
    def is_behind_link(self) -> bool:
        """Whether the path is the same link as before, and only the linked file changed."""
        symlinks = [state.content for state in (self.before, self.after) if state is not None and state.kind == "link"]
        return len(symlinks) == 2 and symlinks[0] is not None and symlinks[0] == symlinks[1]


class _Listing(NamedTuple):
    """The protected entries of one directory."""

    key: StatKey
    files: tuple[str, ...]
    near: tuple[tuple[str, Scope], ...]
    """Subdirectories that hold protected files, or may further down; these are searched first."""
    others: tuple[tuple[str, Scope], ...]
    """The other subdirectories."""


class Baseline(NamedTuple):
    """The protected files at one moment, and the directories that were searched for them."""

    files: Mapping[str, PathState]
    scopes: Mapping[str, Scope]
    """The scope of the directory in which each path was looked up, also of one that did not exist."""
    directories: Mapping[str, Scope]
    """Every directory that was searched, or would have been if it had existed."""
    listings: Mapping[str, _Listing]
    omitted: tuple[str, ...] = ()
    """What was not compared because of a limit, as text for the user."""

    def would_find(self, path: str, scope: Scope) -> bool:
        """Return whether this scan would have found a file at the path, so that one not found did not exist."""
        # Old files must not count as new because a hooks path was set since, or a directory was over the limit.
        directory, child = path.rpartition("/")[0], ""
        scope = "programs" if scope == "names" else scope
        if path in self.scopes or directory in self.directories or scope == "linked":
            return scope in (self.scopes.get(path), self.directories.get(directory))
        while directory and directory not in self.directories:
            child, directory = directory, directory.rpartition("/")[0]
        listing = self.listings.get(directory)
        if self.directories.get(directory, _UNLISTED) == _UNLISTED:
            return False
        return listing is None or all(name != child for name, _ in (*listing.near, *listing.others))


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
        data: str = "",
    ) -> None:
        """Take the user's configuration directory as `config`, further protected settings files as `settings`,
        directories in which shells look for programs as `programs`, and our own data, not searched, as `data`.
        """
        self._workspace = real_path(workspace)
        self._home = real_path(home)
        configs = dict.fromkeys(filter(None, (f"{self._home}/.config", config)))
        files = {f"{self._home}/{name}" for name in names.HOME_FILES}
        files |= {f"{each}/{name}" for each in configs for name in names.CONFIG_FILES}
        self._named: dict[str, list[str]] = {}
        for path in sorted(files.union(settings)):
            self._named.setdefault(path.rpartition("/")[0], []).append(path)
        self._existing: dict[str, tuple[StatKey, list[str]]] = {}
        directories = [f"{each}/{name}" for each in configs for name in sorted(names.CONFIG_DIRECTORIES)]
        directories += [f"{self._home}/{name}" for name in sorted(names.HOME_DIRECTORIES)]
        self._starts: tuple[tuple[str, Scope], ...] = tuple((path, "all") for path in directories)
        self._programs = tuple(dict.fromkeys(map(real_path, programs)))
        self._git_settings = (f"{self._home}/.gitconfig", *(f"{each}/git/config" for each in configs), *settings)
        self._listings: dict[str, _Listing] = {}
        self._passed: set[str] = {real_path(data)} if data else set()
        self._states: Mapping[str, PathState] = {}
        self._contents: dict[str, tuple[StatKey, str]] = {}
        self._up_to_date: set[str] = set()
        """The paths in `_contents` that were read or compared in this scan."""

    def scan(self) -> Baseline:
        """Return a baseline with the current state of every protected file."""
        self._listings = dict(self._listings)  # an earlier baseline keeps its own
        self._up_to_date.clear()
        result: dict[str, PathState] = {}
        scopes: dict[str, Scope] = {}
        directories: dict[str, Scope] = dict.fromkeys(self._named, "all")
        omitted: list[str] = []
        for path, scope in self._paths(directories, omitted):
            if len(result) >= MOST_STATS:
                omitted.insert(0, f"protected files beyond the first {MOST_STATS:,}")
                break
            state, scopes[path] = self._state(path, scope, len(result) < MOST_FILES), scope
            if state is not None:
                result[path] = state
        self._states = result
        return Baseline(result, scopes, directories, self._listings, tuple(omitted))

    def _state(self, path: str, scope: Scope, reads: bool) -> PathState | None:
        if scope == "names":
            return _NAMED
        is_inside = within(path, self._workspace)
        state = _state(path, self._states.get(path), reads)
        # outside the workspace, content is retained only if it is needed to decide whether a change is inert
        if state is None or is_inside or scope == "git" or path.endswith("/known_hosts"):
            return state
        return state if state.content is None or state.kind == "link" else state._replace(content=None)

    def _paths(self, directories: dict[str, Scope], omitted: list[str]) -> Iterator[tuple[str, Scope]]:
        """Yield the paths that may be protected files, those of the workspace before those of the home directory."""
        included = self._included()
        for path in (*self._named_files(), *included):
            yield path, "all"
        visited: dict[str, Scope] = {}
        starts = [*self._repositories_around(included), (self._workspace, "tree")]
        directories.update((path, _UNLISTED) for path, _ in (*starts, *self._starts))
        yield from self._walked(starts, directories, visited)
        yield from self._walked(self._starts, directories, visited)
        for directory in self._programs:
            visited[directory] = "programs"
            listing = self._listing(directory, "programs")
            files = listing.files if listing is not None else ()
            is_large = len(files) > MOST_PROGRAMS
            if is_large:
                omitted.append(f"the contents of the {len(files):,} programs in {directory}")
            directories.setdefault(directory, "programs")
            for path in files:
                yield path, "names" if is_large else "programs"
        self._forget_most(visited)

    def _named_files(self) -> Iterator[str]:
        """Yield the existing files that are protected by their whole path."""
        for directory, paths in self._named.items():
            try:
                info = os.stat(directory)  # noqa: PTH116 - asked for each action
            except OSError:
                self._existing.pop(directory, None)
                continue
            cached = self._existing.get(directory)
            if cached is None or cached[0] != stat_key(info):
                key = stat_key(info) if is_settled_directory(info) else ()
                cached = self._existing[directory] = key, [path for path in paths if os.path.lexists(path)]
            yield from cached[1]

    def _walked(
        self, starts: Iterable[tuple[str, Scope]], directories: dict[str, Scope], visited: dict[str, Scope]
    ) -> Iterator[tuple[str, Scope]]:
        """Yield the files of these directories and of those below, nearest first; record each one in `directories`."""
        urgent, waiting, new = deque[tuple[str, Scope]](), deque(starts), 0
        while urgent or waiting:
            path, scope = (urgent or waiting).popleft()
            if path in visited or path in self._passed:
                continue
            if path not in self._listings:
                new += 1
                if new > MOST_NEW_DIRECTORIES:
                    self._passed.add(path)
                    continue
            visited[path], directories[path] = scope, _UNLISTED
            listing = self._listing(path, scope)
            for file in listing.files if listing is not None else ():
                yield file, scope
            if listing is not None:
                urgent += listing.near
                waiting += listing.others
            directories[path] = scope

    def _forget_most(self, visited: Mapping[str, Scope]) -> None:
        """Skip, from now on, directories beyond MOST_DIRECTORIES that have no protected file in or below them."""
        plain = [path for path, scope in visited.items() if scope == "tree"]
        if len(plain) > MOST_DIRECTORIES:
            retained = set(plain[:MOST_DIRECTORIES])
            for path in plain[MOST_DIRECTORIES:]:
                listing = self._listings.get(path)
                if listing is not None and (listing.files or listing.near):
                    while path not in retained:
                        retained.add(path)
                        path = path.rpartition("/")[0]
            self._passed.update(path for path in plain if path not in retained)
            for path, listing in [(path, self._listings[path]) for path in retained if path in self._listings]:
                children = tuple(each for each in listing.others if each[0] not in self._passed)
                self._listings[path] = listing._replace(others=children)
        if len(self._listings) > len(visited) or len(plain) > MOST_DIRECTORIES:
            retained_paths = visited.keys() - self._passed
            self._listings = {path: cached for path, cached in self._listings.items() if path in retained_paths}

    def _listing(self, path: str, scope: Scope) -> _Listing | None:
        try:
            info = os.lstat(path)
            if not stat.S_ISDIR(info.st_mode):
                self._listings.pop(path, None)
                return None
            key, cached = (*stat_key(info), scope), self._listings.get(path)
            if cached is not None and cached.key == key:
                return cached
            with os.scandir(path) as entries:
                listed = sorted(
                    (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries
                )
        except (OSError, ValueError):
            self._listings.pop(path, None)
            return None
        files, children = LISTED[scope](path, listed, self._workspace)
        # a directory that changed too recently to rely on its stat is listed again
        children = [each for each in children if each[0] not in self._passed]
        near = tuple(each for each in children if is_near(*each))
        plain = tuple(each for each in children if not is_near(*each))
        listing = _Listing(key if is_settled_directory(info) else (), tuple(files), near, plain)
        self._listings[path] = listing
        return listing

    def _repositories_around(self, included: Iterable[str]) -> Iterator[tuple[str, Scope]]:
        """Yield the git and hooks directories that commands in the workspace use, also those of directories above."""
        directory = self._workspace
        for hooks in self._hooks_named((*self._git_settings, *included)):
            yield _beside(directory, hooks), "hooks"
        while True:
            yield from self._git_of(f"{directory}/.git")
            if directory in {self._home, "/"}:
                return
            directory = directory.rpartition("/")[0] or "/"

    def _git_of(self, git: str) -> Iterator[tuple[str, Scope]]:
        own = git = self._git_directory(git)
        if self._text(f"{git}/commondir"):
            yield git, "git"
            git = _beside(git, self._text(f"{git}/commondir").strip() or ".")
        if self._text(f"{git}/config"):
            yield git, "git"
        for hooks in self._hooks_named((f"{git}/config", f"{own}/config.worktree")):
            yield _beside(git.rpartition("/")[0], hooks), "hooks"
        if os.path.islink(f"{git}/hooks"):  # noqa: PTH114 - asked for each action
            yield real_path(f"{git}/hooks"), "linked"

    def _git_directory(self, git: str) -> str:
        """Return the git directory of a `.git` path, which is a file in worktrees and submodules."""
        pointed = self._text(git)
        if not pointed.startswith("gitdir:"):
            return git
        return _beside(git.rpartition("/")[0], pointed.removeprefix("gitdir:").strip())

    def _hooks_named(self, files: Iterable[str]) -> Iterator[str]:
        for file in files:
            yield from git_settings.hooks_paths(self._text(file))

    def _included(self) -> list[str]:
        """Return the files included by the user's git settings and those of the workspace's repository."""
        git = self._git_directory(f"{self._workspace}/.git")
        common = _beside(git, self._text(f"{git}/commondir").strip() or ".")
        waiting = [*self._git_settings, f"{common}/config", f"{git}/config.worktree"]
        own = len(waiting)
        for file in waiting:  # grows during the iteration
            for path in git_settings.included(self._text(file)) if len(waiting) < own + _MOST_INCLUDES else ():
                waiting.append(_beside(file.rpartition("/")[0], path))
        return list(dict.fromkeys(waiting[own:]))

    def _text(self, path: str) -> str:
        """Return the first MOST_BYTES of a regular file, read only if its stat differs; empty if there is none."""
        if path in self._up_to_date:
            return self._contents[path][1]
        cached = self._contents.get(path, ((), ""))
        try:
            info = os.stat(path)  # noqa: PTH116 - asked for each action
            if not stat.S_ISREG(info.st_mode):
                cached = (), ""
            elif cached[0] != stat_key(info):
                key = stat_key(info) if has_settled(info) else ()
                with open(path, "rb") as file:  # noqa: PTH123
                    cached = key, file.read(MOST_BYTES).decode(errors="replace")
        except (OSError, ValueError):
            cached = (), ""
        self._contents[path] = cached
        self._up_to_date.add(path)
        return cached[1]


def changes(before: Baseline, after: Baseline) -> list[PathChange]:
    """Return the changed paths in order, without changes that cannot make a program run."""
    result = []
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        if old is new or (old is not None and old.is_same(new)):
            continue
        if old is None and not before.would_find(path, after.scopes[path]):
            continue
        if new is None and not after.would_find(path, before.scopes[path]):
            continue
        change = PathChange(path, old, new)
        if not _is_inert(change):
            result.append(change)
    return result


def _state(path: str, previous: PathState | None, reads: bool) -> PathState | None:
    """Return the state of the path, for a link also with the linked file's content; None if nothing exists.

    Content is read only if `reads`. `previous` is the path's earlier state; it is returned again if the stat proves
    that nothing changed.
    """
    try:
        info = os.lstat(path)
        key, is_settled, target = stat_key(info), has_settled(info), None
        is_link = stat.S_ISLNK(info.st_mode)
        if is_link:
            target = _target(path)
            key += stat_key(target) if target is not None else ()
            is_settled = is_settled and (target is None or has_settled(target))
        if previous is not None and previous.is_settled and previous.key == key:
            return previous
        if is_link:
            content = os.fsencode(os.readlink(path))  # noqa: PTH115 - bytes may be any
            read = _content(path, os.O_RDONLY) if target is not None and reads else None
            digest = hashlib.sha256(content + b"\0" + (read or b"")).digest() if reads else b""
            return PathState("link", 0, digest, content, key, is_settled)
        if not stat.S_ISREG(info.st_mode):
            return PathState("other", 0, b"", None, key, is_settled)
        content_ = _content(path, os.O_RDONLY | os.O_NOFOLLOW) if reads else None
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256(content_).digest() if content_ is not None else b""
    return PathState("file", stat.S_IMODE(info.st_mode), digest, content_, key, is_settled)


def _target(path: str) -> os.stat_result | None:
    try:
        info = os.stat(path)  # noqa: PTH116 - asked for each action
    except OSError:
        return None
    return info if stat.S_ISREG(info.st_mode) else None


def _content(path: str, flags: int) -> bytes | None:
    try:
        handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        is_small = stat.S_ISREG(info.st_mode) and info.st_size <= MOST_BYTES
        return file.read(MOST_BYTES + 1) if is_small else None


def _beside(directory: str, path: str) -> str:
    return os.path.normpath(path if path.startswith("/") else f"{directory}/{path}")


def _is_inert(change: PathChange) -> bool:
    """Return whether a change cannot make a program run: sample hooks, git branches and remotes, known ssh hosts."""
    directory, _, name = change.path.rpartition("/")
    if change.after is not None and change.after.kind == "link":
        return False
    if directory.endswith("/site-packages"):
        return change.after is None or (name.endswith(".pth") and _only_adds_paths(change.after.content, change.path))
    if name.endswith(".sample") and _is_git_directory(f"{directory}/".partition("/hooks/")[0]):
        return change.before is None or change.after is None
    if name == "config" and _is_git_directory(directory):
        return _is_inert_config(change)
    if directory.endswith("/.ssh") and name in {"known_hosts", "known_hosts.old"}:
        old = change.before.content if change.before else b""
        new = change.after.content if change.after else b""
        return name.endswith(".old") or (bool(new) and new.startswith(old or b""))  # type: ignore[union-attr]
    is_empty = change.after is None and change.before is not None and change.before.content == b""
    return is_empty or (name in {"commondir", "gitdir"} and change.before is None and _is_of_new_worktree(change))


def _is_git_directory(directory: str) -> bool:
    if "/.git/" in f"{directory}/" or directory.endswith(".git"):
        return True
    return all(os.path.exists(f"{directory}/{name}") for name in ("HEAD", "objects"))  # noqa: PTH110 - strings


_INSTALLED_LINE: Final = re.compile(
    r"import _virtualenv|import (__editable___\w+_finder); ?\1\.install\(\)|"
    r"import os; ?var = 'SETUPTOOLS_USE_DISTUTILS'; ?enabled = os\.environ\.get\(var, 'local'\) == 'local'; ?"
    r"enabled and __import__\('_distutils_hack'\)(?:\.add_shim\(\))?; ?"
)
"""Lines of code in `.pth` files that installers write: of virtualenv, editable installs and setuptools."""
_LIBRARIES: Final = re.compile(r"(?:/\.[tn]ox)?/[^/]+/[lL]ib(?:/py[^/]*)?/site-packages/[^/]*\Z")
"""The path of a `.pth` file from the directory of the project on."""


def _only_adds_paths(content: bytes | None, path: str) -> bool:
    """Return whether a `.pth` file runs nothing but known code of installers, and adds no path outside the project."""
    if content is None:
        return False
    project = _LIBRARIES.sub("", path)
    for line in content.decode("utf-8-sig", "replace").splitlines():
        if line.lstrip().startswith(("import ", "import\t")):
            if not _INSTALLED_LINE.fullmatch(line.strip()):
                return False
        elif not line.startswith("#") and not within(_beside(path.rpartition("/")[0], line.strip()), project):
            return False
    return True


def _is_of_new_worktree(change: PathChange) -> bool:
    """Return whether the file is as `git worktree add` writes it: it leads to its own repository, or to a `.git`."""
    directory, _, name = change.path.rpartition("/")
    content = change.after.content if change.after else None
    written = rb"\.\./\.\.\n?" if name == "commondir" else rb"[^\0\n]+/\.git\n?"
    return directory.rpartition("/")[0][-10:] == "/worktrees" and bool(re.fullmatch(written, content or b""))


def _is_inert_config(change: PathChange) -> bool:
    before, after = change.before, change.after
    if after is None or after.content is None or (before is not None and before.content is None):
        return False
    if before is not None and before.mode != after.mode:
        return False
    return git_settings.is_harmless(before.content if before and before.content else b"", after.content)
