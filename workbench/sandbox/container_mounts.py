"""The mounts of a container: the workspace, with protected paths read-only, and what the settings add."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from workbench.config.container_settings import ContainerSettings, split_mount
from workbench.risk.paths import within
from workbench.risk.protected_repositories import directories_above
from workbench.sandbox.container_runtime import BindMount
from workbench.sandbox.mounts import Kind
from workbench.sandbox.sandbox import Boundary, access_of


def own_mounts(boundary: Boundary, settings: ContainerSettings, private: Path, outputs: Path) -> list[BindMount]:
    """Return the mounts that every container has, outer ones first; each has the same path as outside.

    `private` is the session's directory of temporary files. Commands can only read it and `outputs`, because this
    process writes there by path. Secrets in the workspace are covered with something empty.
    """
    access = access_of(boundary, str(private))
    file = settings.file_in(boundary.workspace)
    access.protected.read_only.extend([str(file)] if file is not None else [])
    kinds = access.own_mounts()
    outputs.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = _hidden(access.hidden, kinds, access.workspace)
    open_ = {path: kind for path, kind in kinds.items() if not _is_within(path, hidden)}
    by_target = {path: BindMount(path, path, kind == "write") for path, kind in open_.items()}
    above = _above((str(private), *hidden), kinds, access.workspace)
    by_target = {each: BindMount(each, each, True) for each in above} | by_target
    by_target |= {path: BindMount(path, path, False) for path in (str(private), str(outputs))}
    home = own_home(private, settings.user)
    by_target |= {home: BindMount(home, home, True)} if home else {}
    by_target |= {path: _cover(path, private, outputs) for path in hidden}
    return _in_order((*by_target.values(), *_at_other_path(by_target, access.workspace, boundary.container_path)))


def _at_other_path(mounts: Mapping[str, BindMount], workspace: str, path: str) -> list[BindMount]:
    """Return mounts that show the workspace at a second path too, with the same protected and hidden paths in it."""
    in_workspace = [(target, each) for target, each in mounts.items() if path and within(target, workspace)]
    return [BindMount(each.source, path + target[len(workspace) :], each.is_writable) for target, each in in_workspace]


def with_settings_mounts(mounts: Iterable[BindMount], settings: ContainerSettings) -> list[BindMount]:
    """Return these mounts and those of the settings, outer ones first."""
    wished = [
        BindMount(str(Path(source).expanduser()), target, is_writable)
        for source, target, is_writable in map(split_mount, settings.mounts)
    ]
    return _in_order((*mounts, *wished))


def _in_order(mounts: Iterable[BindMount]) -> list[BindMount]:
    return sorted(mounts, key=lambda each: (each.target.count("/"), each.target))


def own_home(private: Path, user: str) -> str:
    """Return a home directory, created if necessary, for a user that the image may not know; empty if it knows the
    user.
    """
    if os.getuid() == 0 or user:
        return ""
    home = private / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    return str(home)


def reach_outside(mounts: Iterable[str], home: Path) -> bool:
    """Return whether any entry of the setting `mounts` opens a way out of a container: it is writable, or contains
    sockets.

    Sockets matter even if they are read-only: whoever connects to docker's socket has root's rights.
    """
    entries = [(os.path.realpath(Path(each[0]).expanduser()), each[2]) for each in map(split_mount, mounts)]
    return any(is_writable or _has_sockets(source, home) for source, is_writable in entries)


def _has_sockets(source: str, home: Path) -> bool:
    """Return whether a source is a socket, contains one, or contains or is in a directory where sockets usually are."""
    usual = ("/tmp", "/run", os.path.realpath(home))
    if within(source, "/run") or any(within(each, source) for each in usual):
        return True
    path = Path(source)
    try:
        return any(each.is_socket() for each in (path.iterdir() if path.is_dir() else (path,)))
    except OSError:
        return True


def _hidden(secret: Iterable[str], open_: Iterable[str], workspace: str) -> set[str]:
    """Return the existing secret paths that `open_` would expose, without those inside others and those around the
    workspace.
    """
    candidates = {path for path in secret if os.path.lexists(path) and not within(workspace, path)}
    visible = {path for path in candidates if _is_within(path, open_)}
    return {each for each in visible if not _is_within(each, visible - {each})}


def _above(paths: Iterable[str], kinds: Mapping[str, Kind], workspace: str) -> set[str]:
    """Return the writable directories of the workspace above these paths; as mounts, they cannot be renamed."""
    parents = {path.rpartition("/")[0] for path in paths if within(path, workspace)}
    above = {each for parent in parents for each in directories_above(parent, workspace)}
    read_only = [path for path, kind in kinds.items() if kind == "read"]
    return {each for each in above if not _is_within(each, read_only)}


def _is_within(path: str, directories: Iterable[str]) -> bool:
    return any(within(path, each) for each in directories)


def _cover(path: str, private: Path, outputs: Path) -> BindMount:
    """Return the mount that hides a path in the workspace with something empty, except for `outputs` if it is
    inside.
    """
    is_directory = Path(path).is_dir()
    empty = private / ("no-files" if is_directory else "no-file")
    if not is_directory:
        empty.touch(mode=0o400)
    elif within(str(outputs), path):
        empty = private / "only-outputs"
        (empty / outputs.relative_to(path)).mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        empty.mkdir(mode=0o500, exist_ok=True)
    return BindMount(str(empty), path, False)
