"""Directories besides the workspace that commands in the sandbox may write to, because a rule of the user's allows it.

The rule is `allow sandbox_write in DIRECTORY`; it belongs to the session or is in the user's file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from workbench.processes.spawn import ROOT
from workbench.risk.paths import PathContext, within
from workbench.rules.rule import Rule
from workbench.rules.subject import SANDBOX_WRITE
from workbench.sandbox.protected_paths import MOST_DIRECTORIES, protected_paths
from workbench.sandbox.sandbox import Boundary, GrantedDirectories, hidden_paths
from workbench.text import visible_path

_OF_SYSTEM: Final = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/System", "/Library", "/private/etc"),
)
"""Directories of the system; neither they nor anything in them can be granted."""
_SHARED: Final = frozenset(("/home", "/media", "/mnt", "/opt", "/srv", "/snap", "/tmp", "/var", "/var/lib", "/var/tmp"))
"""Directories that cannot be granted as a whole, although directories in them can."""
_OF_PATTERNS: Final = ("*", "?", "'", '"', "\\", "\n", "\r", "\t", " $ ")


def granted_directories(rules: Iterable[Rule], boundary: Boundary) -> GrantedDirectories:
    """Return what the rules grant to commands in a workspace, checking the directories as they are now."""
    reasons = {path: refusal(path, boundary) for path in _named(rules, os.path.realpath(boundary.workspace))}
    usable = [path for path, why in reasons.items() if not why]
    # What is in another one needs no mount of its own, which would keep the outer one from protecting the way to it.
    writable = [path for path in usable if not any(within(path, each) for each in usable if each != path)]
    return GrantedDirectories(
        writable=tuple(writable),
        refused=tuple(f"{visible_path(path)} cannot be written: {why}" for path, why in reasons.items() if why),
        limits=tuple(_LIMIT.format(path=visible_path(path)) for path in writable if not _is_searched_whole(path)),
    )


_LIMIT: Final = (
    f"{{path}} has more than {MOST_DIRECTORIES:,} directories; protected files in those furthest from its top can be "
    + "written"
)


@cache
def _is_searched_whole(path: str) -> bool:
    """Return whether the search for a directory's protected files was complete. Cached, because the search takes a
    while.
    """
    return protected_paths(Path(path)).is_complete


def _named(rules: Iterable[Rule], workspace: str) -> Iterator[str]:
    for rule in rules:
        is_grant = (rule.verdict, rule.tool) == ("allow", SANDBOX_WRITE) and rule.source != "folder"
        scope = os.path.realpath(os.path.expanduser(rule.folder))  # noqa: PTH111
        if is_grant and (not rule.folder or within(workspace, scope)):
            yield directory_of(rule.path)


def directory_of(path: str, base: str = "/") -> str:
    """Return the absolute, normalized path of a directory as a user writes it: with `~`, or relative to `base`."""
    return os.path.normpath(os.path.join(base, os.path.expanduser(path.removesuffix("/**"))))  # noqa: PTH111, PTH118


def refusal(path: str, boundary: Boundary) -> str:
    """Return why commands may not write to a directory, as a clause; empty if they may. The path must be absolute.

    The directory may contain only the user's own data: otherwise commands could leave behind files that run outside the
    sandbox.
    """
    if "\0" in path or any(sign in path for sign in _OF_PATTERNS):
        return "its path contains characters that mean something else in a rule"
    real = os.path.realpath(path)
    if not Path(real).is_dir():
        return "there is no such directory"
    if real != path:
        return f"it is a link; name {visible_path(real)}, to which it leads"
    workspace, home = map(os.path.realpath, (boundary.workspace, boundary.home))
    return (
        _refusal_by_path(real, workspace, home)
        or _refusal_by_content(real, home, hidden_paths(boundary))
        or ("" if os.access(real, os.W_OK) else "you cannot write it either")
    )


def _refusal_by_path(real: str, workspace: str, home: str) -> str:
    is_protected = PathContext(workspace, home).protects(real)
    is_hidden = within(real, home) and real[len(home) + 1 :].startswith(".")
    reasons = {
        "it is in the workspace, which commands write anyway": within(real, workspace),
        "it is your home directory": real == home,
        "your home directory is in it": within(home, real),
        "the workspace is in it, with files that are protected there": within(workspace, real),
        "it belongs to the system": real in _SHARED or any(within(real, each) for each in _OF_SYSTEM),
        "it is a hidden directory of your home, in which programs keep what they run, and their settings": is_hidden,
        "it is protected, because what is there decides which programs run": is_protected,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _refusal_by_content(real: str, home: str, hidden: Iterable[str]) -> str:
    secret = next((each for each in hidden if within(each, real) or within(real, each)), "")
    if secret:
        return f"keys, or data of ohw, are there ({visible_path(secret)})"
    program = next((each for each in _programs(home) if within(each, real) or within(real, each)), "")
    if program:
        return f"programs that you run are there ({visible_path(program)})"
    temporary = os.path.realpath(tempfile.gettempdir())
    is_ours = within(temporary, real) or real.startswith(f"{temporary}/ohw-")
    return "temporary files of programs outside the sandbox are there, those of ohw too" if is_ours else ""


def _programs(home: str) -> Iterator[str]:
    """Yield the directories of programs that run outside the sandbox: those on the PATH, and those of `ohw` itself.

    For a `bin` directory, yields its parent, which also contains what the programs load, unless that is the home
    directory or contains it.
    """
    yield from map(os.path.realpath, (ROOT, sys.prefix, sys.base_prefix))
    for each in os.environ.get("PATH", "").split(os.pathsep):
        if each.startswith("/"):
            directory, _, name = os.path.realpath(each).rpartition("/")
            is_prefix = name in ("bin", "sbin") and directory and not within(home, directory)
            yield directory if is_prefix else f"{directory}/{name}"
