"""States of the protected files around a workspace: which there are, what they hold and what changed; only reads.

A scan that finds nothing changed costs one lstat per directory and file: a file is read again only when its stat
differs. No program can set the ctime, so a change that keeps size and mtime is found too; a file whose ctime is younger
than the clock's grain is read again. Links to directories are never descended.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from workbench.security.places import code_reason, within
from workbench.security.protected import words

MOST_FOLDERS: Final = 500
"""Directories that are looked through, those nearest to the workspace first."""
MOST_FILES: Final = 1_000
"""Protected files that are compared."""
MOST_BYTES: Final = 200_000
"""The largest file that is read; a larger one is compared by its stat, and cannot be restored."""
_GRAIN_NS: Final = 30_000_000
"""Two changes of a file within this time may leave the same ctime."""
_PASSED_OVER: Final = words(
    "node_modules __pycache__ .venv venv .tox .nox .pytest_cache .mypy_cache .ruff_cache .hypothesis site-packages "
    ".cache .gradle .terraform .next .nuxt .turbo target"
)
"""Directories of builds and installs; protected names in them are not the project's."""
_HOME: Final = words(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout "
    ".kshrc .cshrc .tcshrc .inputrc .xprofile .xinitrc .xsession .gitconfig .git-credentials .netrc .npmrc .yarnrc "
    ".yarnrc.yml .pypirc .condarc .gemrc .curlrc .wgetrc .tmux.conf .screenrc .vimrc .exrc .nanorc .emacs .pdbrc "
    ".pythonrc .irbrc .gdbinit .lldbinit .sqliterc .psqlrc .mcp.json .claude.json .envrc .direnvrc .pgpass .hgrc "
    ".claude/settings.json .claude/CLAUDE.md .codex/config.toml .codex/AGENTS.md .gemini/settings.json "
    ".cursor/mcp.json .cargo/config.toml .cargo/config .cargo/env .pip/pip.conf .m2/settings.xml "
    ".gradle/init.gradle .docker/config.json .kube/config .aws/config .aws/credentials"
)
_HOME_FOLDERS: Final = words(
    ".ssh .config/ohw .config/git .config/systemd/user .config/autostart .config/environment.d .config/fish "
    ".config/pip .config/uv .config/direnv .config/mise .bashrc.d .zshrc.d .local/share/applications"
)
_IN_GIT: Final = ("config", "config.worktree", "commondir", "gitdir", "info/attributes", "objects/info/alternates")
_Scope: TypeAlias = Literal["tree", "all", "hooks", "git", "modules"]
"""How a directory is looked through: for protected names, for every file (with or without what is below), or as a git
directory or a directory of such.
"""
_Key: TypeAlias = tuple[int | str, ...]


class PathState(NamedTuple):
    """What a path holds, and its mode."""

    kind: Literal["file", "link", "other"]
    mode: int
    digest: bytes
    """Of a file's content or a link's target; empty where it was not read."""
    content: bytes | None
    """What can be restored; None outside the workspace and for what was not read."""
    key: _Key
    """Of its stat."""
    is_settled: bool
    """Whether an equal stat means an equal content."""

    def is_same(self, other: PathState | None) -> bool:
        """Whether the other holds the same; where the content was not read, whether its stat is equal."""
        if other is None or (self.kind, self.mode) != (other.kind, other.mode):
            return False
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.kind == "other" or self.key == other.key


class PathChange(NamedTuple):
    """A protected path that holds something else than before; None stands for nothing."""

    path: str
    before: PathState | None
    after: PathState | None


class _Listing(NamedTuple):
    """The protected entries of one directory."""

    key: _Key
    files: tuple[str, ...]
    below: tuple[tuple[str, _Scope], ...]


class Baseline(NamedTuple):
    """The protected files at one moment, and where they were looked for."""

    files: Mapping[str, PathState]
    scopes: Mapping[str, _Scope]
    """The scope by which each file was found."""
    folders: Mapping[str, _Scope]
    """Every directory that was looked into, or would have been had it existed."""
    listings: Mapping[str, _Listing]
    is_whole: bool
    """Whether there were no more files than are compared."""

    def would_find(self, path: str, scope: _Scope) -> bool:
        """Whether this scan would have found a file at the path, so that its absence is a fact.

        A hooks path that was set since, or a directory beyond the limit, makes no old file a new one.
        """
        folder, child = path.rpartition("/")[0], ""
        if not self.is_whole:
            return False
        if folder in self.folders:
            return self.folders[folder] == scope
        while folder and folder not in self.folders:
            child, folder = folder, folder.rpartition("/")[0]
        listing = self.listings.get(folder)
        return bool(folder) and (listing is None or all(name != child for name, _ in listing.below))


class ProtectedFiles:
    """Finds the protected files of a workspace, its repositories and the home directory; only reads."""

    def __init__(self, workspace: str, home: str, config: str = "") -> None:
        """`config` is the directory of the workbench's own settings, where that is not the usual one."""
        self._workspace = os.path.realpath(workspace)
        self._home = os.path.realpath(home)
        self._home_files = tuple(f"{self._home}/{name}" for name in sorted(_HOME))
        starts = [f"{self._home}/{name}" for name in sorted(_HOME_FOLDERS)] + ([config] if config else [])
        self._starts: tuple[tuple[str, _Scope], ...] = tuple((path, "all") for path in starts)
        self._listings: dict[str, _Listing] = {}
        self._states: Mapping[str, PathState] = {}
        self._texts: dict[str, tuple[_Key, str]] = {}

    def scan(self) -> Baseline:
        """Return every protected file with its state now, by absolute path."""
        self._listings = dict(self._listings)  # an earlier baseline keeps its own
        found: dict[str, PathState] = {}
        scopes: dict[str, _Scope] = {}
        folders: dict[str, _Scope] = dict.fromkeys((path.rpartition("/")[0] for path in self._home_files), "all")
        for path, scope in self._paths(folders):
            if len(found) >= MOST_FILES:
                break
            state = self._state(path, scope)
            if state is not None:
                found[path], scopes[path] = state, scope
        self._states = found
        return Baseline(found, scopes, folders, self._listings, len(found) < MOST_FILES)

    def _state(self, path: str, scope: _Scope) -> PathState | None:
        is_inside = within(path, self._workspace)
        state = _state(path, self._states.get(path), follows=not is_inside)
        # of files outside, the content is kept only where the kind of change is judged by it
        if state is None or is_inside or scope == "git" or path.endswith("/known_hosts"):
            return state
        return state if state.content is None else state._replace(content=None)

    def _paths(self, folders: dict[str, _Scope]) -> Iterator[tuple[str, _Scope]]:
        for path in self._home_files:
            yield path, "all"
        starts = [*self._starts, *self._repositories_around(), (self._workspace, "tree")]
        yield from self._walked(starts, folders)

    def _walked(self, starts: Iterable[tuple[str, _Scope]], folders: dict[str, _Scope]) -> Iterator[tuple[str, _Scope]]:
        """Files of these directories and of those below, nearest first."""
        waiting, seen = list(starts), set[str]()
        for path, scope in waiting:  # grows while it is walked
            if path in seen or len(seen) >= MOST_FOLDERS:
                continue
            seen.add(path)
            folders[path] = scope
            listing = self._listing(path, scope)
            if listing is not None:
                for file in listing.files:
                    yield file, scope
                waiting += listing.below
        if len(self._listings) > len(seen):
            self._listings = {path: listing for path, listing in self._listings.items() if path in seen}

    def _listing(self, path: str, scope: _Scope) -> _Listing | None:
        try:
            info = os.lstat(path)
            if not stat.S_ISDIR(info.st_mode):
                self._listings.pop(path, None)
                return None
            key, known = (*stat_key(info), scope), self._listings.get(path)
            if known is not None and known.key == key:
                return known
            with os.scandir(path) as entries:
                listed = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except (OSError, ValueError):
            self._listings.pop(path, None)
            return None
        files, below = _LISTED[scope](path, listed, self._workspace)
        # one that is too young to rely on is listed again
        listing = self._listings[path] = _Listing(key if _is_settled(info) else (), tuple(files), tuple(below))
        return listing

    def _repositories_around(self) -> Iterator[tuple[str, _Scope]]:
        """The git directories that commands in the workspace use: of a directory above, of a worktree, a hooks path."""
        folder = self._workspace
        while True:
            yield from self._git_of(f"{folder}/.git")
            if folder in {self._home, "/"}:
                return
            folder = folder.rpartition("/")[0] or "/"

    def _git_of(self, git: str) -> Iterator[tuple[str, _Scope]]:
        pointed = self._text(git)
        if pointed.startswith("gitdir:"):
            git = _beside(git.rpartition("/")[0], pointed.removeprefix("gitdir:").strip())
            yield git, "git"
            git = _beside(git, self._text(f"{git}/commondir").strip() or ".")
        config = self._text(f"{git}/config")
        if config:
            yield git, "git"
        for value in _HOOKS_PATH.findall(config):
            hooks = _beside(git.rpartition("/")[0], os.path.expanduser(value.strip().strip('"')))  # noqa: PTH111
            yield hooks, "hooks"

    def _text(self, path: str) -> str:
        """The content of a small regular file, read again when its stat differs; empty where there is none."""
        try:
            info = os.stat(path)  # noqa: PTH116 - asked for each action
            if not stat.S_ISREG(info.st_mode):
                return ""
            known = self._texts.get(path)
            if known is None or known[0] != stat_key(info) or not _is_settled(info):
                with open(path, "rb") as file:  # noqa: PTH123
                    known = self._texts[path] = (stat_key(info), file.read(MOST_BYTES).decode(errors="replace"))
        except (OSError, ValueError):
            return ""
        return known[1]


_HOOKS_PATH = re.compile(r"(?im)^\s*hookspath\s*=\s*(.+?)\s*$")


def changes(before: Baseline, after: Baseline) -> list[PathChange]:
    """Return what differs, by path, without what makes no program run."""
    found = []
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
            found.append(change)
    return found


def _tree(path: str, listed: list[tuple[str, bool]], workspace: str) -> tuple[list[str], list[tuple[str, _Scope]]]:
    """Protected files of a directory of the workspace, and the directories below it."""
    files: list[str] = []
    below: list[tuple[str, _Scope]] = []
    for name, is_folder in listed:
        whole, folded = f"{path}/{name}", name.casefold()
        reason = code_reason(whole[len(workspace) :])
        if is_folder and folded == ".git":
            below.append((whole, "git"))
        elif is_folder and folded not in _PASSED_OVER:
            below.append((whole, "all" if reason else "tree"))
        elif not is_folder and reason:
            files.append(whole)
    return files, below


def _all(path: str, listed: list[tuple[str, bool]], workspace: str) -> tuple[list[str], list[tuple[str, _Scope]]]:
    """Every file of a protected directory, and of those below."""
    files, below = _hooks(path, listed, workspace)
    below += [(f"{path}/{name}", "all") for name, is_folder in listed if is_folder]
    return files, below


def _hooks(path: str, listed: list[tuple[str, bool]], workspace: str) -> tuple[list[str], list[tuple[str, _Scope]]]:
    """Every file of a directory of hooks, which may be any directory."""
    return [f"{path}/{name}" for name, is_folder in listed if not is_folder], []


def _git(path: str, listed: list[tuple[str, bool]], workspace: str) -> tuple[list[str], list[tuple[str, _Scope]]]:
    """What makes git run something; objects, index and refs change with each use."""
    below: list[tuple[str, _Scope]] = [(f"{path}/hooks", "all"), (f"{path}/modules", "modules")]
    below.append((f"{path}/worktrees", "modules"))
    files = [f"{path}/{name}" for name in _IN_GIT]
    # a link in the place of one of the directories
    files += [f"{path}/{name}" for name, is_folder in listed if not is_folder and name in {"hooks", "info", "modules"}]
    return files, below


def _modules(path: str, listed: list[tuple[str, bool]], workspace: str) -> tuple[list[str], list[tuple[str, _Scope]]]:
    """The git directories of submodules and worktrees, whose names may hold a slash."""
    below: list[tuple[str, _Scope]] = []
    for name, is_folder in listed:
        if is_folder:
            is_git = any(os.path.lexists(f"{path}/{name}/{file}") for file in ("config", "HEAD", "gitdir"))
            below.append((f"{path}/{name}", "git" if is_git else "modules"))
    return [], below


_Listed: TypeAlias = Callable[[str, list[tuple[str, bool]], str], tuple[list[str], list[tuple[str, _Scope]]]]
_LISTED: Mapping[_Scope, _Listed] = {"tree": _tree, "all": _all, "hooks": _hooks, "git": _git, "modules": _modules}


def stat_key(info: os.stat_result) -> _Key:
    """Return what differs with each change of a file."""
    return info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev, info.st_size, info.st_mode


def _is_settled(info: os.stat_result) -> bool:
    """Whether the last change is old enough for an equal ctime to mean that there was no other."""
    return abs(time.time_ns() - info.st_ctime_ns) >= _GRAIN_NS


def _state(path: str, known: PathState | None, *, follows: bool) -> PathState | None:
    """What the path holds, None for nothing; `follows` adds what a link to a file leads to."""
    try:
        info = os.lstat(path)
        key, is_settled, target = stat_key(info), _is_settled(info), None
        is_link = stat.S_ISLNK(info.st_mode)
        if is_link and follows:
            target = _target(path)
            key += stat_key(target) if target is not None else ()
            is_settled = is_settled and (target is None or _is_settled(target))
        if known is not None and known.is_settled and known.key == key:
            return known
        if is_link:
            content = os.fsencode(os.readlink(path))  # noqa: PTH115 - bytes may be any
            read = _content(path, os.O_RDONLY) if target is not None else None
            return PathState("link", 0, _digest(content + b"\0" + (read or b"")), content, key, is_settled)
        if not stat.S_ISREG(info.st_mode):
            return PathState("other", 0, b"", None, key, is_settled)
        content_ = _content(path, os.O_RDONLY | os.O_NOFOLLOW)
    except (OSError, ValueError):
        return None
    digest = _digest(content_) if content_ is not None else b""
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


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _beside(folder: str, path: str) -> str:
    return os.path.normpath(path if path.startswith("/") else f"{folder}/{path}")


_HARMLESS_KEY = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|"
    r"branch\..*\.(?:merge|rebase)|extensions\.(?:objectformat|refstorage)|submodule\..*\.active|submodule\.active|"
    r"remote\..*\.fetch|user\.(?:name|email)|init\.defaultbranch|lfs\.repositoryformatversion"
)
_HARMLESS_VALUE = re.compile(r"[\w./+*:@ ^<>-]*")
_REMOTE_KEY = re.compile(r"branch\..*\.remote|remote\..*\.url|submodule\..*\.url")
_REMOTE = re.compile(r"(?:https?://|ssh://|git://|git@|/|\.{0,2}/|[\w.-]+\Z)(?!.*::)[\w@.:/~+ %-]*")


def _is_inert(change: PathChange) -> bool:
    """Whether what changed makes no program run: samples of hooks, branches and remotes of git, hosts met by ssh."""
    folder, _, name = change.path.rpartition("/")
    if change.after is not None and change.after.kind == "link":
        return False
    if "/.git" in change.path and f"{folder}/".find("/hooks/") > 0 and name.endswith(".sample"):
        return change.before is None or change.after is None
    if name == "config" and ("/.git/" in change.path or folder.endswith(".git")):
        return _is_inert_config(change)
    if folder.endswith("/.ssh") and name in {"known_hosts", "known_hosts.old"}:
        old = change.before.content if change.before else b""
        new = change.after.content if change.after else b""
        return name.endswith(".old") or (bool(new) and new.startswith(old or b""))  # type: ignore[union-attr]
    if change.after is None and change.before is not None and change.before.content == b"":
        return True
    return name in {"commondir", "gitdir"} and change.before is None and _is_plain_pointer(change)


def _is_plain_pointer(change: PathChange) -> bool:
    """What `git worktree add` writes."""
    content = change.after.content if change.after else None
    return content is not None and re.fullmatch(rb"[^\0\n]+\n?", content) is not None


def _is_inert_config(change: PathChange) -> bool:
    old, new = _settings(change.before), _settings(change.after)
    if old is None or new is None or change.after is None:
        return False
    if change.before is not None and change.before.mode != change.after.mode:
        return False
    for key in old.keys() | new.keys():
        before, now = old.get(key, ()), new.get(key, ())
        if before == now:
            continue
        if _REMOTE_KEY.fullmatch(key):
            # a remote may come, or go; where commits are sent is not turned round unseen
            if (before and now and not key.startswith("branch.")) or not all(map(_REMOTE.fullmatch, now)):
                return False
        elif not _HARMLESS_KEY.fullmatch(key) or not all(map(_HARMLESS_VALUE.fullmatch, now)):
            return False
    return True


_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_SETTING = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")


def _settings(state: PathState | None) -> dict[str, tuple[str, ...]] | None:
    """The settings of a configuration of git; None for what is not plainly read."""
    if state is None:
        return {}
    if state.content is None or b"\\\n" in state.content or b"\0" in state.content:
        return None
    found: dict[str, tuple[str, ...]] = {}
    section = ""
    for line in state.content.decode(errors="replace").splitlines():
        text = line.strip()
        head = _SECTION.match(text)
        if head:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            text = text[head.end() :]
        if not text or text[0] in "#;":
            continue
        setting = _SETTING.fullmatch(text)
        if setting is None or not section:
            return None
        key = f"{section}.{setting[1].lower()}"
        found[key] = (*found.get(key, ()), setting[2] or "")
    return found
