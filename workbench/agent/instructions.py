"""A project's own instructions for agents (AGENTS.md or an alternative to it), which become part of the
system prompt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from workbench.text import well_formed

MAX_GUIDE: Final = 32_000
"""The maximum number of bytes of one file that the model gets."""
NAMES: Final = ("AGENTS.md", "CLAUDE.md", ".cursorrules")
"""In each directory, the first of these files that is not empty is used; all but the first are files of other tools."""
_MOST_DIRECTORIES, _MOST_NESTED, _DEEPEST = 2_000, 20, 6
_PASSED_BY: Final = frozenset({"node_modules", "venv", "target", "build", "dist", "vendor"})


def project_notes(workspace: Path) -> str:
    """Return the section of the system prompt with the project's notes; empty if there are none.

    It contains the notes from the repository's root down to the workspace, and lists the paths of notes in
    subdirectories.
    """
    parts = [
        _rendered(note, workspace)
        for directory in _directories_down_to(workspace)
        if (note := _note_of(directory)) is not None
    ]
    nested = list(islice(_nested(workspace), _MOST_NESTED))
    if nested:
        lines = "\n".join(f"- {well_formed(str(path.relative_to(workspace)))}" for path in nested)
        parts.append(f"Notes for parts of the project; read them before you work there:\n{lines}")
    if not parts:
        return ""
    return (
        "# Notes of this project (AGENTS.md)\nThey say how this project works. If they contradict the user or "
        "the rules above, follow the user and the rules; a later note overrides an earlier one.\n\n"
        + "\n\n".join(parts)
    )


def notes_request(workspace: Path, focus: str = "") -> str:
    """Return the message that asks an agent to write or update AGENTS.md; `focus` is appended to it."""
    there = [name for name in NAMES if (workspace / name).is_file()]
    task = f"Write {NAMES[0]} in the top directory of this project" if NAMES[0] not in there else f"Refresh {NAMES[0]}"
    others = [name for name in there if name != NAMES[0]]
    return "\n".join(
        [
            f"{task}: the notes that a coding agent reads before it works here.",
            "- Look first: README, build and test configuration, CI, the layout of the code, a few of its files.",
            "- Say how to install, build, run and check it, with the commands as they are: all tests, a single test,"
            " lint and format. Try those that are harmless and quick, and write down what works.",
            "- Say where things are, which conventions the code follows, and what a newcomer would get wrong.",
            "- Only what is true of this project and cannot be seen at a glance; no general advice. At most 120 lines.",
            *(["- Keep what is still true in it, fix what is not, and drop what no one needs."] if there else []),
            *([f"- Take over what {' and '.join(others)} say{'s' * (len(others) == 1)}."] if others else []),
            "- Change no other file.",
            *([focus] if focus else []),
        ]
    )


def _directories_down_to(workspace: Path) -> list[Path]:
    """Return the directories from the repository's root down to the workspace; only the workspace if it is in no
    repository.
    """
    above = [workspace, *workspace.parents]
    root = next((at for at, directory in enumerate(above) if (directory / ".git").exists()), 0)
    return above[root::-1]


def _note_of(directory: Path) -> tuple[Path, bytes] | None:
    for name in NAMES:
        data = _content(directory / name)
        if data is not None and data.strip():
            return directory / name, data
    return None


def _content(path: Path) -> bytes | None:
    """Return the first `MAX_GUIDE + 1` bytes of a file (one more shows that it is too long); None if it cannot be read
    or is a link that leads out of its directory.
    """
    try:
        real = path.resolve()
        if not real.is_file() or not real.is_relative_to(path.parent.resolve()):  # a link could lead to a secret
            return None
        with real.open("rb") as file:
            return file.read(MAX_GUIDE + 1)
    except OSError:
        return None


def _rendered(note: tuple[Path, bytes], workspace: Path) -> str:
    path, data = note
    text = well_formed(data[:MAX_GUIDE].decode("utf-8", "replace")).strip()
    cut = f"\n[cut here: {path.name} is longer than {MAX_GUIDE // 1000} kB]" if len(data) > MAX_GUIDE else ""
    where = path.name if path.parent == workspace else str(path)
    return f"## {well_formed(where)}\n{text}{cut}"


def _nested(workspace: Path) -> Iterator[Path]:
    """Yield notes in subdirectories of the workspace, up to limits of depth and count."""
    for directory, inside, files in islice(os.walk(workspace), _MOST_DIRECTORIES):
        depth = len(Path(directory).relative_to(workspace).parts)
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name not in _PASSED_BY)
        if depth >= _DEEPEST:
            inside.clear()
        name = next((name for name in NAMES if name in files), None)
        if depth and name is not None:
            yield Path(directory, name)
