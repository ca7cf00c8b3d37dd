"""Trust in a folder: what it brings that runs or decides, and whether the person agreed to exactly that.

Agreement is bound to the folder and to the content: a hash of both. A change asks again.
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
from workbench.errors import UsageError
from workbench.files.replace import replace_json

TOOLS: Final = ".ohw/tools"
RULES: Final = ".ohw/rules.toml"
SERVERS: Final = ".mcp.json"
_MARK: Final = "sha256:"
_NOTHING: Final = "nothing"
"""What a folder brought that brought nothing: what comes later was not agreed to."""
_MOST_FILES: Final = 500


def brought(workspace: Path) -> Sequence[Path]:
    """The files of the folder that count only with trust: tools with all beside them, rules, and MCP servers.

    Compiled files are among them: a tool that imports `helper` may be given `__pycache__/helper.cpython-311.pyc`.
    """
    try:
        found = _all_below(workspace / TOOLS)
        has_tools = any(path.suffix == ".py" for path in found)
        single = [workspace / name for name in (RULES, SERVERS)]
        return [*(sorted(found) if has_tools else ()), *(path for path in single if path.is_file())]
    except OSError:
        return ()


def _all_below(folder: Path) -> list[Path]:
    """Every file, through links too: whatever is there can be imported. No more than show that they are too many."""
    found: list[Path] = []
    for place, _, names in os.walk(folder, followlinks=True):
        found += (path for path in (Path(place, name) for name in names) if path.is_file())
        if len(found) > _MOST_FILES:
            break
    return found


def fingerprint(workspace: Path) -> str:
    """One hash of the folder's place and of all it brings; empty where it brings nothing or it cannot be read."""
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
    """Whether the person agreed to what this very folder brings, as it is now; a path alone is no agreement."""
    marks = {each for each in trusted if each.startswith(_MARK)}
    return bool(marks) and fingerprint(workspace) in marks


def left_out(workspace: Path, trusted: Iterable[str]) -> list[str]:
    """A line for the rules of a folder that is not trusted."""
    own = workspace / RULES
    if not own.is_file() or is_trusted(workspace, trusted):
        return []
    return [f"the rules in {own} are left out: the folder is not trusted; `ohw` in it asks whether to trust it"]


def agreed(locations: Locations, named: Iterable[str] = ()) -> tuple[str, ...]:
    """What the person agreed to, for `Settings.trusted`; a file that cannot be read is none.

    Of the folders that they `named` in their settings it is what was found there first, which is remembered.
    """
    known = _read(locations)
    found = {place: content for place, content in map(_found, named) if content and place not in known}
    if found:
        known |= found
        with suppress(UsageError):
            _write(locations, known)
    return tuple(known.values())


def _found(folder: str) -> tuple[str, str]:
    """The place of a folder by any path, and what it brings now: a hash, "nothing", or empty where nobody knows."""
    try:
        place = Path(folder).expanduser().resolve(strict=True)
        is_folder = Path(folder).expanduser().is_absolute() and place.is_dir()
    except (OSError, RuntimeError, ValueError):  # not there, no such user, no possible name
        return folder, ""
    if not is_folder:
        return folder, ""
    return str(place), fingerprint(place) or ("" if brought(place) else _NOTHING)


def agree(locations: Locations, workspace: Path, content: str) -> None:
    """Remember that the person agreed to that content; what was agreed to for the folder before is forgotten."""
    _write(locations, {**_read(locations), str(workspace.resolve()): content})


def _write(locations: Locations, known: Mapping[str, str]) -> None:
    private_directory(locations.data)
    replace_json(_file(locations), known)


def _file(locations: Locations) -> Path:
    return locations.data / "trusted.json"


def _read(locations: Locations) -> dict[str, str]:
    try:
        told = json.loads(_file(locations).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in told.items() if isinstance(value, str)} if isinstance(told, dict) else {}
