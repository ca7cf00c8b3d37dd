"""Makes the workspace of an attempt: a copy that the agent may change, whose changes become a patch."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from workbench.batch.task import TaskSpec
from workbench.batch.task_files import is_url
from workbench.config.locations import Locations
from workbench.config.settings import load_settings, read_container
from workbench.errors import WorkbenchError
from workbench.files.git import clone
from workbench.lazy_pattern import lazy_pattern
from workbench.sandbox.image_copy import copy_from_image
from workbench.sandbox.workspace_copy import WorkspaceCopy
from workbench.text import first_line, visible, visible_path

_USER: Final = lazy_pattern(r"(?<=://)[^/@\s]+@")
_ENDINGS: Final = (".git", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2")


class NoWorkspace(WorkbenchError):
    """The workspace of an attempt cannot be made; the message says why, in one line."""


def _never() -> bool:
    return False


def make_workspace(
    locations: Locations, task: TaskSpec, name: str, run: Path, archive: Path | None = None
) -> WorkspaceCopy:
    """Return a new workspace for a task, in which nothing has changed yet. Raises NoWorkspace.

    `name` is unique on this machine, except that a killed attempt may have left a workspace with it, which is deleted.
    If the directory of the run, `run`, is in what is copied, it is left out. With `archive`, the workspace is unpacked
    from there.
    """
    if task.image_path:
        return _from_image(locations, task)
    WorkspaceCopy.at(locations, "", f"/{_name(task)}", name).remove()
    copy = WorkspaceCopy.create(locations, "", f"/{_name(task)}", name)
    try:
        with _reported(task.workspace):
            if archive is not None:
                _unpack(archive, copy.directory, is_tree=archive.name.startswith("tree"))
            else:
                fill(task, copy.directory, run)
            copy.record(is_durable=False)
    except BaseException:
        copy.remove()
        raise
    return copy


def copy_directory(source: Path, directory: Path, run: Path, is_interrupted: Callable[[], bool] = _never) -> None:
    """Copy a directory as `make_workspace` does, with what is not committed and with its repository.

    `is_interrupted` is called before each file. Raises NoWorkspace, also once that has returned True.
    """
    with _reported(str(source)):
        directory.mkdir()
        _copy(source, directory, run, is_interrupted)


@contextmanager
def _reported(workspace: str) -> Iterator[None]:
    """Within the block, failures of copying the workspace become NoWorkspace."""
    try:
        yield
    except (OSError, tarfile.TarError, EOFError) as error:  # shutil.Error is an OSError
        reason = getattr(error, "strerror", None) or first_line(str(error), 300)
        raise NoWorkspace(f"{visible_path(workspace)} cannot be copied: {reason}") from None


def _name(task: TaskSpec) -> str:
    """Return the name of the directory, which the agent sees: that of the original."""
    name = Path(task.workspace.rstrip("/").rpartition(":")[2]).name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return name.lstrip(".") or "workspace"


def _from_image(locations: Locations, task: TaskSpec) -> WorkspaceCopy:
    try:
        # The table of the settings says which program has the image.
        table = read_container(load_settings(locations, container=task.image).container)
        return copy_from_image(locations, table, task.image_path, lambda line: None)
    except WorkbenchError as error:
        raise NoWorkspace(str(error)) from None


def fill(task: TaskSpec, directory: Path, run: Path) -> None:
    """Copy the workspace of a task into an empty directory, without the directory of the run.

    Raises OSError, shutil.Error, tarfile.TarError, EOFError and NoWorkspace.
    """
    source = Path(task.workspace)
    if not task.workspace:
        return
    if task.revision or is_url(task.workspace):
        _clone(task.workspace, directory, task.revision)
    elif source.is_dir():
        _copy(source, directory, run)
    elif source.is_file():
        _unpack(source, directory)
    else:
        raise NoWorkspace(f"there is no {visible_path(task.workspace)} on this worker")


def _unpack(archive: Path, directory: Path, *, is_tree: bool = False) -> None:
    """Unpack an archive; of one that the client made of a directory, links that lead elsewhere too."""
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="tar" if is_tree else "data")


def _copy(source: Path, directory: Path, run: Path, is_interrupted: Callable[[], bool] = _never) -> None:
    """Copy a directory with everything in it but sockets, pipes and the run. Raises OSError, shutil.Error and
    NoWorkspace.
    """
    is_worktree = (source / ".git").is_file()
    if is_worktree:
        # A copy of that file would share the index and the branch of the original.
        _clone(str(source), directory)
        _empty(directory)

    def check() -> None:
        if is_interrupted():
            raise NoWorkspace(f"interrupted while {visible_path(str(source))} was copied")

    def omitted(parent: str, names: list[str]) -> list[str]:
        check()
        entries = {entry.name: entry for entry in os.scandir(parent)}
        repository = [".git"] if is_worktree and Path(parent) == source else []
        is_copied = {name: _is_ordinary(entries[name]) and Path(parent, name) != run for name in names}
        return [*repository, *(name for name in names if not is_copied[name])]

    def copy(file: str, target: str) -> None:
        check()
        shutil.copy2(file, target)

    shutil.copytree(source, directory, symlinks=True, ignore=omitted, copy_function=copy, dirs_exist_ok=True)


def _is_ordinary(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() or entry.is_dir() or entry.is_file()


def _empty(directory: Path) -> None:
    """Delete everything but the repository."""
    for entry in directory.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _clone(origin: str, directory: Path, revision: str = "") -> None:
    answer = clone(origin, directory, revision)
    if not answer.ok:
        lines = answer.error.strip().splitlines() or [""]
        reason = next((line for line in lines if line.startswith("fatal:")), lines[-1])
        where = visible(_without_user(origin), lines=False)
        raise NoWorkspace(f"{where} cannot be cloned: {first_line(_without_user(reason), 300)}")


def _without_user(text: str) -> str:
    """Return a text without the name and password, or token, in the URLs that it has."""
    return _USER.sub("", text)
