"""The file system inside the sandbox, as options of bubblewrap.

Everything is read-only except the workspace, the session's temporary directory and the enabled caches. Secrets and the
directories of `ohw` itself appear empty. Protected paths inside the workspace are read-only, and the directories above
them are mounts of their own, because a mount cannot be renamed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from workbench.processes.mount_check import encoded
from workbench.risk.paths import within
from workbench.risk.protected_repositories import directories_above
from workbench.sandbox.protected_paths import ProtectedPaths

Kind: TypeAlias = Literal["read", "write", "hide", "private"]
"""How a path is mounted: read-only, writable, empty and read-only, or as the session's own temporary directory."""
_NO_FILE: Final = "/dev/null"
_RUN: Final = "/run"
REPLACED: Final = ("/tmp", "/var/tmp", _RUN)
PROGRAMS_IN_RUN: Final = ("/run/current-system", "/run/opengl-driver", "/run/wrappers")
"""Where NixOS keeps its programs."""


@dataclass(frozen=True)
class FileAccess:
    """Which files the programs in the sandbox reach. All paths are real paths, and missing ones are ignored."""

    workspace: str
    is_writable: bool
    """Whether the workspace and the caches are writable."""
    granted: Sequence[str]
    """The directories, besides the workspace, that commands may write to."""
    private: str
    """The session's temporary directory, which is mounted as /tmp."""
    temporary: str
    """This machine's directory for temporary files, which is replaced too; empty if it is in the workspace or contains
    the home.
    """
    protected: ProtectedPaths
    caches: Sequence[str]
    hidden: Sequence[str]
    programs: Sequence[str]
    """Directories of programs, which must stay visible even inside replaced or hidden directories."""

    def options(self, writable: Iterable[str], readable: Iterable[str]) -> tuple[list[str], bytes]:
        """Return bubblewrap's options, and the order of mounts that the supervisor checks.

        `writable` and `readable` are directories that one program needs in addition.
        """
        mounts = self._mounts()
        mounts.update(dict.fromkeys(_existing(readable), "read"))
        mounts.update(dict.fromkeys(_existing(writable), "write"))
        options: list[str] = []
        closing: list[str] = []
        order: list[tuple[str, str, bool]] = []
        for path, kind in sorted(mounts.items(), key=lambda mount: (mount[0].count("/"), mount[0])):
            option, *source = self._option(path, kind)
            options += (option, *source, path)
            closing += ("--remount-ro", path) if kind == "hide" and not source else ()
            order.append((source[0] if source else "", path, kind in ("read", "hide")))
        return [*options, *closing], encoded(order)

    def _mounts(self) -> dict[str, Kind]:
        """Return all mounts, with their kinds, by path; if two kinds apply to a path, the stricter one."""
        mounts: dict[str, Kind] = dict.fromkeys(
            _existing((*map(os.path.realpath, REPLACED), self.temporary)), "private"
        )
        mounts |= dict.fromkeys((*_existing(PROGRAMS_IN_RUN), *self._covered(_existing(self.programs), mounts)), "read")
        mounts |= self.own_mounts()
        mounts.update({path: "hide" for path in _existing(self.hidden) if not self._is_needed(path)})
        return mounts

    def own_mounts(self) -> dict[str, Kind]:
        """Return the mounts of the workspace, its repository, the caches and the granted directories, by path."""
        if not self.is_writable:
            return {self.workspace: "read"}
        roots = [self.workspace, *_existing(self.granted), *self.protected.git_directories]
        mounts: dict[str, Kind] = dict.fromkeys((*roots, *_existing(self.caches)), "write")
        for path in _existing(map(_in_real_directory, self.protected.read_only)):
            root = max((root for root in roots if within(path, root)), key=len, default="")
            if root:
                mounts |= {each: "write" for each in directories_above(path, root) if each not in mounts}
                mounts[path] = "read"
        for directory in self.protected.git_directories:
            for root in (self.workspace, *self.granted):
                if within(directory, root):
                    mounts |= {each: "write" for each in directories_above(directory, root) if each not in mounts}
        return mounts

    def _covered(self, paths: Iterable[str], replaced: Iterable[str]) -> list[str]:
        """Return those paths that a replaced or hidden directory would make invisible."""
        covers = [*replaced, *_existing(self.hidden)]
        return [path for path in paths if any(within(path, each) for each in covers)]

    def _is_needed(self, path: str) -> bool:
        """Return whether hiding the path would hide the whole workspace."""
        return within(self.workspace, path)

    def _option(self, path: str, kind: Kind) -> Sequence[str]:
        """Return the option for a mount without its last word, the path: its name, and the source if it has one."""
        if kind == "write":
            return "--bind", path
        if kind == "read":
            return "--ro-bind", path
        if kind == "private":
            return ("--tmpfs",) if path == _RUN else ("--bind", self.private)
        return ("--tmpfs",) if Path(path).is_dir() else ("--ro-bind", _NO_FILE)


def _in_real_directory(path: str) -> str:
    """Return the path with its directory resolved, because parts of a git directory may be links, which bubblewrap does
    not follow.
    """
    directory, _, name = path.rpartition("/")
    return f"{os.path.realpath(directory)}/{name}"


def _existing(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path and os.path.lexists(path) and not os.path.islink(path)]  # noqa: PTH114
