"""The files of a directory that define hooks, and the files of the workspace that their commands name.

Trust in a directory covers both: a hook is a program that runs without a question, so neither its definition nor its
script may change unseen.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

HOOKS: Final = ".ohw/hooks.toml"
CLAUDE_HOOKS: Final = (".claude/settings.json", ".claude/settings.local.json")
HOOK_DIRECTORIES: Final = (".ohw/hooks", ".claude/hooks")
"""The directories whose files are scripts of hooks."""
_VARIABLES: Final = r"\$\{?(?:CLAUDE_PROJECT_DIR|OHW_WORKSPACE|PWD)\}?/*"
_MOST_BYTES: Final = 1_000_000
LONGEST_COMMAND: Final = 10_000


def named_files(command: str, workspace: Path) -> list[Path]:
    """Return the files of the workspace that a command names, in its first LONGEST_COMMAND characters."""
    plain = re.sub(_VARIABLES, "", re.sub(r"""["']""", "", command[:LONGEST_COMMAND]))
    words = dict.fromkeys(re.split(r"[\s;|&<>()=`]+", plain))
    root = workspace.resolve()
    paths = (Path(os.path.normpath(root / word)) for word in words if word and "\0" not in word)
    return [path for path in paths if path.is_relative_to(root) and path != root and _is_file(path)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the word is too long for a name
        return False


def content_marks(command: str, workspace: Path) -> dict[str, str]:
    """Return, by path, a hash of each file of the workspace that a command names; an empty one if it is unreadable."""
    return {str(path): _mark(path) for path in named_files(command, workspace)}


def _mark(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def hook_files(workspace: Path) -> list[Path]:
    """Return the files of a directory that define hooks, and the files that these hooks name. Raises OSError."""
    files: dict[Path, None] = {}
    for name in (HOOKS, *CLAUDE_HOOKS):
        path = workspace / name
        commands = list(_commands(path)) if path.is_file() else []
        if commands:
            files |= dict.fromkeys([path, *(each for one in commands for each in named_files(one, workspace))])
    if not files:
        return []
    scripts = (path for name in HOOK_DIRECTORIES for path in sorted((workspace / name).rglob("*")))
    files |= dict.fromkeys(path for path in scripts if path.is_file())
    root = workspace.resolve()
    return list(
        dict.fromkeys(workspace / path.relative_to(root) if path.is_relative_to(root) else path for path in files)
    )


def _commands(path: Path) -> Iterator[str]:
    """Yield the commands of a file that defines hooks; one empty command if it cannot be parsed. Raises OSError."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES)
    try:
        values = json.loads(content) if path.suffix == ".json" else tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        yield ""
        return
    hooks = values.get("hooks") if isinstance(values, dict) else None
    yield from _command_lines(hooks)


def _command_lines(value: Any) -> Iterator[str]:
    """Yield every string with the key `command`, at any depth."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name == "command" and isinstance(part, str):
                yield part
            else:
                yield from _command_lines(part)
    elif isinstance(value, list):
        for part in value:
            yield from _command_lines(part)
