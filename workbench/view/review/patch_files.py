"""The files of a patch as the diff viewer shows them, although a patch has only the lines around its changes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from workbench.diff.git_patch import PatchHunk, hunks_in, name_in, sections
from workbench.files.text_file import EditorError, decoded_versions
from workbench.view.state import FileState

LARGEST: Final = 20_000_000
"""The size in bytes of the largest patch whose lines are shown."""
_MOST_FILES: Final = 2_000
_MOST_MISSING: Final = 200_000
"""The lines of a file that its patch does not have, up to which lines have their numbers in the file."""
_MISSING: Final = b"(not in the patch)\n"


def files_of_patch(patch: bytes, directory: str) -> list[FileState]:
    """Return the files that a patch of git changes, at most 2,000, with paths in this directory.

    Between hunks, each line that the patch does not have is a line that says so, so that the others have their numbers.
    """
    return [_file(section, directory) for section, _ in zip(sections(patch), range(_MOST_FILES), strict=False)]


def _file(section: bytes, directory: str) -> FileState:
    path = os.path.join(directory, os.fsdecode(name_in(section)))  # noqa: PTH118 - a Path would normalize it
    header, has_hunks, _ = section.partition(b"\n@@ ")
    note = _note(header) if not has_hunks else ""
    if note:
        return FileState(path, None, None, note=note)
    hunks = list(hunks_in(section))
    old = None if b"\nnew file mode " in header else _side(hunks, [(each.old_start, each.old) for each in hunks])
    new = None if b"\ndeleted file mode " in header else _side(hunks, [(each.new_start, each.new) for each in hunks])
    try:
        return FileState(path, *decoded_versions(Path(path), old, new))
    except EditorError:
        return FileState(path, None, None, note="not text")


def _note(header: bytes) -> str:
    """Return why a file without hunks has no lines to show."""
    if b"\nGIT binary patch" in header or b"\nBinary files " in header:
        return "not text"
    if b"\nold mode " in header:
        return "only its mode changes"
    return "an empty file was added" if b"\nnew file mode " in header else "an empty file was deleted"


def _side(hunks: Sequence[PatchHunk], parts: Sequence[tuple[int, list[bytes]]]) -> bytes:
    """Return the content of one side."""
    has_numbers = not hunks or hunks[-1].old_start + hunks[-1].new_start <= 2 * _MOST_MISSING
    lines: list[bytes] = []
    for start, part in parts:
        missing = start - len(lines) if has_numbers else 1
        lines += [_MISSING] * max(0, missing)
        lines += part
    return b"".join(lines)
