"""Trust in a directory: its files that run code or make decisions, and whether the user agreed to exactly these.

An agreement is bound to a hash of the directory's path and of the content, so any change asks again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations, private_directory
from workbench.config.toml_file import read_small_file
from workbench.errors import UsageError
from workbench.files.state_files import replace_json

TOOLS: Final = ".ohw/tools"
RULES: Final = ".ohw/rules.toml"
SERVERS: Final = ".mcp.json"
_MARK: Final = "sha256:"
_NOTHING: Final = "nothing"
"""Stands for the content of a directory without such files; the agreement does not cover files added later."""
_MOST_FILES: Final = 500


def brought(workspace: Path) -> Sequence[Path]:
    """Return the files that are used only if the directory is trusted: tools and all files beside them, rules, MCP
    servers.

    Compiled files are included: a tool that imports `helper` may load `__pycache__/helper.cpython-311.pyc`.
    """
    try:
        files = _files_in(workspace / TOOLS)
        has_tools = any(path.suffix == ".py" for path in files)
        single = [workspace / name for name in (RULES, SERVERS)]
        return [*(sorted(files) if has_tools else ()), *(path for path in single if path.is_file())]
    except OSError:
        return ()


def _files_in(directory: Path) -> list[Path]:
    """Return all files, also through links, because any of them can be imported; stop above `_MOST_FILES`."""
    files: list[Path] = []
    for parent, _, names in os.walk(directory, followlinks=True):
        files += (path for path in (Path(parent, name) for name in names) if path.is_file())
        if len(files) > _MOST_FILES:
            break
    return files


def fingerprint(workspace: Path) -> str:
    """Return a hash of the directory's path and these files; empty if there are none, too many or unreadable ones."""
    files = brought(workspace)
    if not files or len(files) > _MOST_FILES:
        return ""
    whole = hashlib.sha256(os.fsencode(workspace.resolve()))
    try:
        for path in files:
            name = os.fsencode(path.relative_to(workspace))
            whole.update(b"\0" + name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return ""
    return _MARK + whole.hexdigest()


def is_trusted(workspace: Path, trusted: Iterable[str]) -> bool:
    """Return whether the user agreed to the current files of this directory; a path alone is no agreement."""
    marks = {each for each in trusted if each.startswith(_MARK)}
    return bool(marks) and fingerprint(workspace) in marks


def untrusted_notices(workspace: Path, trusted: Iterable[str]) -> list[str]:
    """Return a notice that the rules of an untrusted directory are ignored; empty if it has none or is trusted."""
    own = workspace / RULES
    if not own.is_file() or is_trusted(workspace, trusted):
        return []
    return [f"the rules in {own} are left out: the folder is not trusted; `ohw` in it asks whether to trust it"]


def agreed(locations: Locations, named: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the user's agreements, for `Settings.trusted`; an unreadable file counts as none.

    For directories `named` in the settings, the content found first counts as agreed to and is stored.
    """
    agreements = _read(locations)
    new = {path: content for path, content in map(_content_of, named) if content and path not in agreements}
    if new:
        agreements |= new
        with suppress(UsageError):
            _write(locations, agreements)
    return tuple(agreements.values())


def _content_of(directory: str) -> tuple[str, str]:
    """Return the real path of a directory and its current content: a hash, "nothing", or empty if unknown."""
    try:
        path = Path(directory).expanduser().resolve(strict=True)
        is_directory = Path(directory).expanduser().is_absolute() and path.is_dir()
    except (OSError, RuntimeError, ValueError):  # not there, no such user, no possible name
        return directory, ""
    if not is_directory:
        return directory, ""
    return str(path), fingerprint(path) or ("" if brought(path) else _NOTHING)


def agree(locations: Locations, workspace: Path, content: str) -> None:
    """Store that the user agreed to this content, replacing an earlier agreement for the directory."""
    _write(locations, {**_read(locations), str(workspace.resolve()): content})


def _write(locations: Locations, agreements: Mapping[str, str]) -> None:
    private_directory(locations.data)
    replace_json(_file(locations), agreements)


def _file(locations: Locations) -> Path:
    return locations.data / "trusted.json"


def _read(locations: Locations) -> dict[str, str]:
    try:
        data = json.loads(read_small_file(_file(locations)))
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in data.items() if isinstance(value, str)} if isinstance(data, dict) else {}
