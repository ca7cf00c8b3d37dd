"""Changes that the person takes back: files written again as they were, if they still hold what was shown; used by
the session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.session.data import FileDelta
from workbench.text import visible
from workbench.tools.anchored import SYSTEM, Root, real_path
from workbench.tools.str_replace_editor import atomic
from workbench.tools.str_replace_editor.text_file import Coding, EditorError, decoded, encoded, read_bytes


class NotTakenBack(WorkbenchError):
    """A change could not be taken back; `done` are the files that were written before that."""

    def __init__(self, reason: str, done: Sequence[FileDelta] = ()) -> None:
        super().__init__(reason)
        self.done = tuple(done)


def take_back(files: Sequence[FileDelta], root: Root) -> None:
    """Give each file (`before` is what it must hold now) what `after` says; raises NotTakenBack. `root`: the workspace.

    All are checked before the first is written, and each is written whole or not at all.
    """
    found = [_checked(file, root) for file in files]
    done: list[FileDelta] = []
    for file, was in zip(files, found, strict=True):
        try:
            _write(file, was)
        except (OSError, ValueError, EditorError) as error:
            said = f"{_name(file)} could not be written: {_why(error)}"
            raise NotTakenBack(f"{said}; {len(done)} of {len(files)} files were", done) from error
        done.append(file)


def check_paths(files: Sequence[FileDelta]) -> None:
    """Raise NotTakenBack for a path that no file can have."""
    for file in files:
        try:
            is_possible = b"\0" not in os.fsencode(file.path)
        except UnicodeEncodeError:
            is_possible = False
        if not is_possible:
            raise NotTakenBack(f"{_name(file)} cannot be the name of a file; nothing was written")


@dataclass(frozen=True)
class _Found:
    """A file as it was found: its real path, below which directory it is opened, its bytes and how they are coded."""

    path: Path
    root: Root
    raw: bytes | None = None
    coding: Coding = field(default_factory=Coding)


def _checked(file: FileDelta, root: Root) -> _Found:
    """The file as it is; raises NotTakenBack where it does not hold what was shown."""
    if not Path(file.path).is_absolute():
        raise NotTakenBack(f"{_name(file)} is no absolute path")
    if file.cut:
        raise NotTakenBack(f"{_name(file)} has no text that could be written ({file.cut})")
    try:
        found, now = _read(Path(file.path), root)
    except (OSError, ValueError, EditorError) as error:
        raise NotTakenBack(f"{_name(file)} could not be read: {_why(error)}") from error
    if now != file.before:
        raise NotTakenBack(f"{_name(file)} has changed since it was shown; look at it again. Nothing was written")
    return found


def _read(path: Path, workspace: Root) -> tuple[_Found, str | None]:
    """The file and its text; a path of the workspace must lead to a file of the workspace."""
    real = Path(real_path(path))
    if real != path and path.is_relative_to(workspace.path) and not workspace.holds(real):
        raise EditorError("it leads out of the workspace now")
    root = workspace if workspace.holds(real) else SYSTEM
    try:
        raw = read_bytes(real, root)
    except FileNotFoundError:
        return _Found(real, root), None
    coding, text = decoded(real, raw)
    return _Found(real, root, raw, coding), text


def _write(file: FileDelta, was: _Found) -> None:
    if file.after is None:
        if was.raw is not None:
            atomic.remove(was.path, was.root, before=was.raw)
    elif file.before is None:
        atomic.write_new(was.path, encoded(was.path, file.after), was.root)
    else:
        atomic.replace(was.path, encoded(was.path, file.after, was.coding), was.root, before=was.raw)


def _name(file: FileDelta) -> str:
    return visible(file.path, lines=False)


def _why(error: OSError | ValueError | EditorError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
