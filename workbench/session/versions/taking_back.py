"""Changes that the person takes back: files written again as they were, if they still hold what was shown; used by
the session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.session.data import FileDelta
from workbench.text import visible
from workbench.tools.str_replace_editor import atomic
from workbench.tools.str_replace_editor.text_file import Coding, EditorError, decoded, encoded, read_bytes


class NotTakenBack(WorkbenchError):
    """A change could not be taken back; `done` are the files that were written before that."""

    def __init__(self, reason: str, done: Sequence[FileDelta] = ()) -> None:
        super().__init__(reason)
        self.done = tuple(done)


def take_back(files: Sequence[FileDelta]) -> None:
    """Give each file (`before` is what it must hold now) what `after` says; raises NotTakenBack.

    All are checked before the first is written, and each is written whole or not at all.
    """
    codings = [_checked(file) for file in files]
    done: list[FileDelta] = []
    for file, coding in zip(files, codings, strict=True):
        try:
            _write(file, coding)
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


def _checked(file: FileDelta) -> Coding:
    """How the file's text is coded; raises NotTakenBack where it does not hold what was shown."""
    if not Path(file.path).is_absolute():
        raise NotTakenBack(f"{_name(file)} is no absolute path")
    if file.cut:
        raise NotTakenBack(f"{_name(file)} has no text that could be written ({file.cut})")
    try:
        coding, now = _read(Path(file.path))
    except (OSError, ValueError, EditorError) as error:
        raise NotTakenBack(f"{_name(file)} could not be read: {_why(error)}") from error
    if now != file.before:
        raise NotTakenBack(f"{_name(file)} has changed since it was shown; look at it again. Nothing was written")
    return coding


def _read(path: Path) -> tuple[Coding, str | None]:
    try:
        return decoded(path, read_bytes(path))
    except FileNotFoundError:
        return Coding(), None


def _write(file: FileDelta, coding: Coding) -> None:
    path = Path(file.path).resolve()
    if file.after is None:
        path.unlink(missing_ok=True)
    elif file.before is None:
        atomic.write_new(path, encoded(path, file.after))
    else:
        atomic.replace(path, encoded(path, file.after, coding))


def _name(file: FileDelta) -> str:
    return visible(file.path, lines=False)


def _why(error: OSError | ValueError | EditorError) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
