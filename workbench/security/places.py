"""What it means to read, write or delete a path: by its real place, links resolved, case folded."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from workbench.protocol.risk import Risk
from workbench.security import protected as names
from workbench.security.protected import words
from workbench.tools.anchored import real_path

Rating: TypeAlias = tuple[Risk, str]

_HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full"})
_PUBLIC = ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/sys", "/nix", "/System", "/Library")
_PUBLIC_PROC = words("cpuinfo meminfo version uptime loadavg stat filesystems mounts")
_REMEMBERED = 2_048
_CODE_FOLDERS = frozenset(names.CODE_FOLDERS)
CODE_BEGINNINGS = frozenset(path.partition("/")[0] for path in names.CODE_PATHS)
"""The first directories of protected paths, which are protected themselves where they are links."""
_CODE_ENDINGS = tuple(names.CODE_ENDINGS)
_OF_A_PROCESS = re.compile(r"/dev/fd/|/proc/(?:self|thread-self|\d+)/(?:fd|cwd|root|exe|task|map_files)")
_USUAL_DESCRIPTORS = frozenset({"0", "1", "2", "63"})
"""The three that each process has, and the one that a process substitution stands for."""
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/var/folders", "/private/var/folders")


@dataclass(frozen=True)
class Places:
    """The folders a rating depends on; `links` are assumed besides those on disk (path -> target)."""

    workspace: str
    home: str
    links: Mapping[str, str] = field(default_factory=dict)
    known: dict[str, str] | None = field(default=None, compare=False, repr=False)
    """Real paths found already, while one action is looked at."""

    def remembering(self) -> Places:
        """The same, asking the disk once for each path: for one action, as the next may find other links."""
        return replace(self, known={}, links=dict(self.links))

    def assume(self, link: str, target: str | None) -> None:
        """From here on a link is to be assumed, or with None none; for one that `remembering` has made."""
        others = {name: leads for name, leads in self.links.items() if name != link}
        object.__setattr__(self, "links", others if target is None else {**others, link: target})
        if self.known is not None:
            self.known.clear()

    def resolved(self, path: str) -> str:
        """The real path, also of what does not exist yet; the path itself where that cannot be found out."""
        if self.known is None:
            return self._looked_up(path)
        found = self.known.get(path)
        if found is None:
            found = self.known[path] = self._looked_up(path)
        return found

    def _looked_up(self, path: str) -> str:
        for link, target in self.links.items():
            if within(path, link):
                path = target + path[len(link) :]
        if path.startswith(("/proc/", "/dev/fd/")) and _OF_A_PROCESS.match(path):
            return path  # where it leads is another place for the program that opens it
        folder, _, name = path.rpartition("/")
        if self.known is not None and folder.startswith("/") and name not in {"", ".", ".."}:
            return self._below(f"{self.resolved(folder).rstrip('/')}/{name}")
        return _real(path)

    @staticmethod
    def _below(path: str) -> str:
        """The real path of what lies in a folder whose own real path it is: few are links."""
        try:
            return _real(path) if stat.S_ISLNK(os.lstat(path).st_mode) else path
        except (OSError, ValueError):
            return path

    def reading(self, path: str, *, deep: bool = False) -> Rating:
        """The risk of reading an absolute path; `deep` when all that is below it is read too."""
        real = self.resolved(path)
        if is_secret(real) or (path != real and is_secret(path)):
            return "HIGH", "reads what holds secrets"
        if path in _HARMLESS_DEVICES or path.startswith("/dev/fd/"):
            return _descriptor(path)
        if real.startswith(("/dev/", "/proc/")):
            return _reading_device(real)
        if within(real, self.workspace):
            return "LOW", ""
        if deep and self._holds_secrets(real):
            return "HIGH", "reads a folder that holds secrets"
        return self._reading_outside(real)

    def _reading_outside(self, real: str) -> Rating:
        if within(real, "/root") and not within(real, self.home):
            return "HIGH", "reads what belongs to another user"
        if any(within(real, folder) for folder in _PUBLIC):
            return "LOW", ""
        return "MEDIUM", "reads outside the workspace"

    def writing(self, path: str) -> Rating:
        """The risk of writing an absolute path."""
        real = self.resolved(path)
        if real in _HARMLESS_DEVICES or real.startswith("/dev/fd/") or path in _HARMLESS_DEVICES:
            return _descriptor(real)
        reason = code_reason(real) or code_reason(path)
        if reason:
            return "HIGH", reason
        if is_secret(real):
            return "HIGH", "changes what holds secrets"
        if within(real, self.workspace):
            return "MEDIUM", "changes the workspace"
        if any(within(real, folder) and real != folder for folder in _TEMPORARY) and not within(real, self.home):
            return "MEDIUM", "writes a temporary file"
        return "HIGH", "writes outside the workspace"

    def deleting(self, path: str, *, deep: bool = False) -> Rating:
        """The risk of deleting an absolute path; `deep` with all that is below it. A pattern may "
        "stand in the path."""
        risk, reason = self.writing(path)
        if risk == "HIGH":
            return risk, reason.replace("writes outside", "deletes outside")
        if not within(self.resolved(path), self.workspace):
            return risk, "deletes a temporary file"
        folder, _, name = path.rstrip("/").rpartition("/")
        is_all = name in {"*", ".*"} and self.resolved(folder or "/") == self.workspace
        if self.resolved(path) == self.workspace or is_all or name in {"", ".", ".."}:
            return "HIGH", "deletes the workspace"
        deep = deep and not os.path.isfile(self.resolved(path))  # noqa: PTH113 - a string comes in
        whole = folder if name == "*" else path
        return ("HIGH", "deletes a folder for good") if deep and not is_made_again(whole) else ("MEDIUM", "deletes")

    def protects(self, path: str, *, deep: bool = False) -> bool:
        """Whether to write it is asked about in every mode; `deep` with all that is below it."""
        real = self.resolved(path)
        return bool(code_reason(real) or code_reason(path)) or (deep and within(self.workspace, real))

    def _holds_secrets(self, real: str) -> bool:
        return within(self.home, real) or real in {f"{self.home}/.config", f"{self.home}/.local"}


def _descriptor(path: str) -> Rating:
    if path.startswith("/dev/fd/") and path.removeprefix("/dev/fd/") not in _USUAL_DESCRIPTORS:
        return "MEDIUM", "uses what an earlier command opened"
    return "LOW", ""


def within(path: str, folder: str) -> bool:
    """Whether a path is the folder or below it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _real(path: str) -> str:
    try:
        return real_path(path)
    except (OSError, ValueError):
        return path


@lru_cache(maxsize=_REMEMBERED)
def is_secret(path: str) -> bool:
    """Whether a file of this name usually holds keys, tokens or passwords, or is a folder of such."""
    folded = path.casefold()
    name = _name(folded.rstrip("/"))
    if name in names.SECRET_NAMES and not name.endswith(names.PUBLIC_ENDINGS):
        return not path.startswith("/usr/")
    if name.startswith(names.SECRET_BEGINNINGS) and not name.endswith(names.PUBLIC_ENDINGS):
        return True
    if name.endswith(names.SECRET_ENDINGS):
        return not path.startswith(("/usr/", "/etc/ssl/certs", "/etc/apt"))
    if not names.SECRET_FOLDERS.isdisjoint(folded.split("/")) or "/.config/gh" in folded:
        return not name.endswith((".pub", "known_hosts")) and not folded.startswith("/usr/")
    return folded.startswith(names.SECRET_SYSTEM)


def _reading_device(real: str) -> Rating:
    if real in _HARMLESS_DEVICES or real.startswith("/dev/fd/"):
        return _descriptor(real)
    if real.startswith(("/dev/tcp/", "/dev/udp/")):
        return "HIGH", "opens a network connection"
    if real.startswith("/dev/"):
        return "HIGH", "reads a device, perhaps without end"
    if real.removeprefix("/proc/") in _PUBLIC_PROC:
        return "LOW", ""
    return (
        ("HIGH", "reads the memory or surroundings of a process") if real.count("/") > 2 else ("MEDIUM", "reads /proc")
    )


@lru_cache(maxsize=_REMEMBERED)
def code_reason(path: str) -> str:
    """Why a path is protected by its name; empty when it is not."""
    folded = path.casefold()
    parts = folded.split("/")
    if not _CODE_FOLDERS.isdisjoint(parts):
        return next(names.CODE_FOLDERS[part] for part in parts if part in names.CODE_FOLDERS)
    if parts[-1] in names.CODE_NAMES:
        return names.CODE_NAMES[parts[-1]]
    for piece, reason in names.CODE_PATHS.items() if not CODE_BEGINNINGS.isdisjoint(parts) else ():
        if f"/{piece}/" in f"{folded}/":
            return reason
    if not folded.endswith(_CODE_ENDINGS):
        return ""
    return next((reason for ending, reason in names.CODE_ENDINGS.items() if folded.endswith(ending)), "")


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def is_made_again(path: str) -> bool:
    """Whether a build or an install makes again what is called so."""
    name = _name(path.rstrip("/"))
    return name in names.MADE_AGAIN or name.endswith(names.MADE_AGAIN_ENDINGS)
