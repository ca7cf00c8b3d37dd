"""Rates reading, writing or deleting a path, with links resolved and case ignored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from workbench.config.locations import Locations
from workbench.files import recorded_stat
from workbench.files.workspace_names import by_own_name
from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk, higher
from workbench.risk.home_files import TOOLCHAINS
from workbench.risk.protected_names import CODE_BEGINNINGS, CODE_PATHS, code_reason, is_secret
from workbench.risk.protected_targets import ProtectedTargets
from workbench.risk.reason import (
    READS_PROCESS,
    READS_SECRETS,
    Reason,
    Trait,
)
from workbench.risk.symlink_patterns import TooManyMatches, descendant_symlinks, is_pattern, symlinked_paths


def words(text: str, between: str | None = None) -> frozenset[str]:
    """Split a text into a set of words; used to write tables."""
    return frozenset(text.split(between))


REGENERABLE = frozenset(
    words(
        "node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox "
        ".cache .parcel-cache .next "
        ".nuxt .turbo .gradle build dist target out coverage htmlcov .coverage .venv venv env .eggs obj tmp temp "
        ".nyc_output .import_linter_cache cmake-build-debug _build .sass-cache .terraform "
        "package-lock.json yarn.lock pnpm-lock.yaml uv.lock poetry.lock"
    )
)
"""Files and directories that a build or an install recreates."""
REGENERABLE_ENDINGS = (".pyc", ".pyo", ".o", ".log", ".tmp", ".egg-info", ".class", ".bak", ".orig", ".swp", ".cache")

Rating: TypeAlias = tuple[Risk, str]
F = TypeVar("F")

_HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full"})
_PUBLIC = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/sys", "/nix", "/System", "/Library")
_PUBLIC_PROC = words("cpuinfo meminfo version uptime loadavg stat filesystems mounts")
_REMEMBERED = 2_048
_MOST_SYMLINKS = 40
"""The number of links that the kernel follows in one path; see path_resolution(7)."""
_OF_A_PROCESS = lazy_pattern(r"/dev/fd/|/proc/(?:self|thread-self|\d+)/(?:fd|cwd|root|exe|task|map_files)")
_USUAL_DESCRIPTORS = frozenset({"0", "1", "2", "63"})
"""The three standard descriptors of a process, and the one that process substitution uses."""
_BY_SYMLINKS = Reason("reads what very many links may lead to", Trait.READS)
_OUTSIDE = "writes outside the workspace"
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/var/folders", "/private/var/folders")


@dataclass(frozen=True)
class PathContext:
    """The directories on which a rating depends; the links in `symlinks` (path -> target) are assumed to exist."""

    workspace: str
    home: str
    symlinks: Mapping[str, str] = field(default_factory=dict)
    container_path: str = ""
    """A second path of the workspace, in the container in which the action runs; see `in_container`."""
    granted: tuple[str, ...] = ()
    """Real paths of directories outside the workspace that the user lets the action write to."""
    cached: dict[str, str] | None = field(default=None, compare=False, repr=False)
    """Cache of real paths while one action is rated; None disables it."""
    facts: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """Cache of the results of `once` while one action is rated; None disables it."""

    def remembering(self) -> PathContext:
        """Return a copy that caches real paths; use it for one action only, because links may change afterwards."""
        return replace(self, symlinks=dict(self.symlinks), cached={}, facts={})

    def in_container(self, path: str) -> PathContext:
        """Return a copy for an action in a container that has the workspace at `path` too, unless `path` is empty."""
        return replace(self, container_path=path) if path != self.container_path else self

    def granting(self, directories: tuple[str, ...]) -> PathContext:
        """Return a copy for an action that may write to these directories outside the workspace."""
        return replace(self, granted=directories) if directories != self.granted else self

    def by_own_name(self, path: str) -> str:
        """Return an absolute path without `..`, with the workspace's own path in place of the container's."""
        return by_own_name(path, self.workspace, self.container_path)

    def placed(self, path: str) -> str:
        """Return an absolute path by the workspace's own name; links before a `..` are resolved."""
        return self.by_own_name(self._walked(path)) if self.container_path else path

    def _walked(self, path: str) -> str:
        """Return a path in the container without `..`: each leads to the parent of what the path before it resolves to.
        The workspace has another parent in the container than on this machine.
        """
        if ".." not in path.split("/"):
            return path
        current = ""
        for name in path.split("/"):
            if name == "..":
                current = self._parent(current).rstrip("/")
            elif name not in {"", "."}:
                current += f"/{name}"
        return current or "/"

    def _parent(self, path: str) -> str:
        real, root = self.resolved(path or "/"), self.resolved(self.workspace)
        if within(path, self.container_path) and within(real, root):
            real = self.container_path + real[len(root) :]
        return real.rpartition("/")[0]

    def once(self, name: str, fact: Callable[[], F]) -> F:
        """Return the result of `fact`, a question about the file system that is answered once per action and name."""
        if self.facts is None:
            return fact()
        if name not in self.facts:
            self.facts[name] = fact()
        result: F = self.facts[name]
        return result

    def assume(self, link: str, target: str | None) -> None:
        """Treat `link` as a link to `target`, or as no link if that is None; call this only on a copy
        (`remembering`).
        """
        others = {name: leads for name, leads in self.symlinks.items() if name != link}
        object.__setattr__(self, "symlinks", others if target is None else {**others, link: target})
        if self.cached is not None:
            self.cached.clear()

    def resolved(self, path: str) -> str:
        """Return the real path, even if nothing exists there, or the path itself if it cannot be determined."""
        if self.cached is None:
            return self._looked_up(path)
        result = self.cached.get(path)
        if result is None:
            result = self.cached[path] = self._looked_up(path)
        return result

    def _looked_up(self, path: str) -> str:
        if not self.container_path:
            return self._on_disk(path)
        # A link may lead to the path in the container, where this machine has nothing.
        for _ in range(_MOST_SYMLINKS):
            real = self._on_disk(self.placed(path))
            path = self.by_own_name(real)
            if path == real:
                return real
        return path

    def _on_disk(self, path: str) -> str:
        for link, target in self.symlinks.items():
            if within(path, link):
                path = target + path[len(link) :]
        if path.startswith(("/proc/", "/dev/fd/")) and _OF_A_PROCESS.match(path):
            return path  # it leads to another place in the process that opens it
        directory, _, name = path.rpartition("/")
        if self.cached is not None and path.startswith("/") and name not in {"", ".", ".."}:
            return self._entry(f"{self.resolved(directory).rstrip('/') if directory else ''}/{name}")
        return recorded_stat.real_path(path)

    @staticmethod
    def _entry(path: str) -> str:
        """Return the real path of an entry in a resolved directory; fast, because few entries are links."""
        return recorded_stat.real_path(path) if recorded_stat.is_link(path) else path

    def reading(self, path: str, *, deep: bool = False) -> Rating:
        """Return the risk and reason of reading an absolute path; with `deep`, of reading everything below it too."""
        real = self.resolved(path)
        if is_secret(real) or (path != real and is_secret(path)):
            return "HIGH", READS_SECRETS
        if path in _HARMLESS_DEVICES or path.startswith("/dev/fd/"):
            return _descriptor(path)
        if real.startswith(("/dev/", "/proc/")):
            return _reading_device(real)
        if within(real, self.workspace):
            return self._symlinked(real) if is_pattern(path) else ("LOW", "")
        if deep and self._holds_secrets(real):
            return "HIGH", Reason("reads a directory that may contain secrets", Trait.READS)
        return self._reading_outside(real)

    def _symlinked(self, pattern: str) -> Rating:
        """Return the risk and reason of reading the files outside the workspace that a pattern inside it reaches."""
        directory, is_deep, rest = pattern.partition("/**")
        assumed = [target for link, target in self.symlinks.items() if fnmatchcase(link, pattern)]
        if not is_deep or is_pattern(directory):
            return self.led_to(chain(assumed, symlinked_paths(pattern)))
        descendants = (path for path in descendant_symlinks(directory, self.workspace) if fnmatchcase(path, f"*{rest}"))
        return self.led_to(chain(assumed, descendants))

    def led_to(self, symlinks: Iterable[str], *, deep: bool = False) -> Rating:
        """Return the highest risk, with its reason, of reading any target of these links that is outside the
        workspace.
        """
        rating: Rating = ("LOW", "")
        try:
            for target in (path for path in map(self.resolved, symlinks) if not within(path, self.workspace)):
                other = self.reading(target, deep=deep)
                rating = other if higher(other[0], rating[0]) != rating[0] else rating
        except TooManyMatches:
            return rating if rating[0] == "HIGH" else ("MEDIUM", _BY_SYMLINKS)
        return rating

    def listing(self, path: str) -> Rating:
        """Return the risk and reason of reading names, sizes and dates at an absolute path, but no content. Outside the
        workspace, this is LOW where reading is MEDIUM, except in home directories of other users.
        """
        risk, reason = self.reading(path)
        real = self.resolved(path)
        is_foreign = within(real, "/home") and real != "/home" and not within(real, self.home)
        return ("LOW", "") if risk == "MEDIUM" and not is_foreign else (risk, reason)

    def _reading_outside(self, real: str) -> Rating:
        if within(real, "/root") and not within(real, self.home):
            return "HIGH", Reason("reads what belongs to another user", Trait.READS)
        if any(within(real, each) for each in (*_PUBLIC, *(f"{self.home}/{name}" for name in TOOLCHAINS))):
            return "LOW", ""
        return "MEDIUM", Reason("reads outside the workspace", Trait.READS)

    def writing(self, path: str) -> Rating:
        """Return the risk and reason of writing to an absolute path."""
        rating = self._changing(path, _OUTSIDE)
        if rating == ("HIGH", _OUTSIDE) and any(within(self.resolved(path), each) for each in self.granted):
            return "MEDIUM", "writes a directory that you let commands write"
        return rating

    def _changing(self, path: str, outside: str) -> Rating:
        real = self.resolved(path)
        if real in _HARMLESS_DEVICES or real.startswith("/dev/fd/") or path in _HARMLESS_DEVICES:
            return _descriptor(real)
        reason = self._protection(path, real)
        if reason:
            return "HIGH", reason
        if is_secret(real):
            return "HIGH", "changes a file that may contain secrets"
        if within(real, self.workspace):
            return "MEDIUM", "changes the workspace"
        if any(within(real, directory) and real != directory for directory in _TEMPORARY) and not within(
            real, self.home
        ):
            return "MEDIUM", "writes a temporary file"
        return "HIGH", outside

    def deleting(self, path: str, *, deep: bool = False) -> Rating:
        """Return the risk and reason of deleting an absolute path, which may be a glob; with `deep`, with all below
        it.
        """
        risk, reason = self._changing(path, "deletes outside the workspace")
        if risk == "HIGH":
            return risk, reason
        if not within(self.resolved(path), self.workspace):
            return risk, "deletes a temporary file"
        directory, _, name = path.rstrip("/").rpartition("/")
        is_all = name in {"*", ".*"} and self.resolved(directory or "/") == self.workspace
        if self.resolved(path) == self.workspace or is_all or name in {"", ".", ".."}:
            return "HIGH", "deletes the workspace"
        deep = deep and not recorded_stat.is_file(self.resolved(path))
        whole = directory if name == "*" else path
        return (
            ("HIGH", "deletes a directory permanently") if deep and not is_regenerable(whole) else ("MEDIUM", "deletes")
        )

    def protects(self, path: str, *, deep: bool = False) -> bool:
        """Return whether writing to the path needs approval in every mode; with `deep`, everything below it changes
        too.
        """
        real = self.resolved(path)
        holds_workspace = within(self.workspace, real) or within(self.container_path, real)
        return bool(self._protection(path, real)) or (deep and holds_workspace)

    def _protection(self, path: str, real: str) -> str:
        """Return why a path is protected, by its name, its real path or another name of the file; empty if it is
        not.
        """
        return self.once(f"protection\0{path}\0{real}", lambda: self._find_protection(path, real))

    def _find_protection(self, path: str, real: str) -> str:
        reason = code_reason(real) or code_reason(path)
        if reason or not real.startswith("/"):
            return reason
        own = self.once("own", lambda: _own_directories(*map(os.environ.get, _OWN_VARIABLES)))
        if not within(real, self.workspace):
            own = self.once("own, resolved", lambda: (*own, *(f"{self.resolved(each.rstrip('/'))}/" for each in own)))
        if f"{real}/".startswith(own) or f"{path}/".startswith(own):
            return CODE_PATHS[".local/share/ohw"]
        targets = self.once("targets", self._targets)
        return next(filter(None, map(code_reason, targets.other_names(real))), "")

    def _targets(self) -> ProtectedTargets:
        return ProtectedTargets(self.resolved(self.workspace), self.resolved(self.home), _SYMLINKS)

    def shares(self, path: str) -> bool:
        """Return whether the path is a file with several hard links, all of which a write changes."""
        real = self.resolved(path)
        return self.once(
            f"shares\0{real}", lambda: recorded_stat.link_count(real) > 1 and not recorded_stat.is_directory(real)
        )

    def may_be_reverted(self, path: str) -> bool:
        """Return whether a revert may write the file: only unprotected workspace files, because the log may be
        forged.
        """
        return path.startswith("/") and within(self.resolved(path), self.workspace) and not self.protects(path)

    def _holds_secrets(self, real: str) -> bool:
        return within(self.home, real) or real in {f"{self.home}/.config", f"{self.home}/.local"}


_OWN_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")


@lru_cache(maxsize=4)
def _own_directories(*values: str | None) -> tuple[str, ...]:
    """Return the directories, each ending with `/`, of our settings, sessions, approvals and sockets."""
    variables = {name: value for name, value in zip(_OWN_VARIABLES, values, strict=True) if value is not None}
    locations = Locations.from_environment(variables)
    return tuple(f"{each}/" for each in (locations.config, locations.data, locations.state, locations.runtime))


def _descriptor(path: str) -> Rating:
    if path.startswith("/dev/fd/") and path.removeprefix("/dev/fd/") not in _USUAL_DESCRIPTORS:
        return "MEDIUM", "uses what an earlier command opened"
    return "LOW", ""


def within(path: str, directory: str) -> bool:
    """Return whether a path is `directory` or below it."""
    return path == directory or path.startswith(directory if directory.endswith("/") else f"{directory}/")


def _reading_device(real: str) -> Rating:
    if real in _HARMLESS_DEVICES or real.startswith("/dev/fd/"):
        return _descriptor(real)
    if real.startswith(("/dev/tcp/", "/dev/udp/")):
        return "HIGH", "opens a network connection"
    if real.startswith("/dev/"):
        return "HIGH", Reason("reads a device, perhaps without end", Trait.READS)
    if real.removeprefix("/proc/") in _PUBLIC_PROC:
        return "LOW", ""
    return ("HIGH", READS_PROCESS) if real.count("/") > 2 else ("MEDIUM", Reason("reads /proc", Trait.READS))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def is_regenerable(path: str) -> bool:
    """Return whether a build or an install can recreate a file or directory with this name."""
    name = _name(path.rstrip("/"))
    return name in REGENERABLE or name.endswith(REGENERABLE_ENDINGS)


_SYMLINKS = recorded_stat.DirectoryReader(
    lambda path: bool(code_reason(path)) or path.rpartition("/")[2].casefold() in CODE_BEGINNINGS
)
