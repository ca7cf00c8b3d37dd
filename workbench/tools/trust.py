"""Trust in a directory: the files in it that run code or make decisions, and whether the user agreed to exactly these.

An agreement is bound to a hash of the directory's path and of the content, so any change asks again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec

from workbench.config.locations import Locations, private_directory
from workbench.config.toml_file import read_small_file
from workbench.errors import UsageError
from workbench.files.state_files import replace_json
from workbench.tools.hook_files import hook_files

TOOLS: Final = ".ohw/tools"
RULES: Final = ".ohw/rules.toml"
SERVERS: Final = ".mcp.json"
AGENTS: Final = (".agents/agents", ".ohw/agents")
"""The directories of kinds of sub-agents, one Markdown file each."""
COMMANDS: Final = (".ohw/commands", ".agents/commands", ".claude/commands")
"""The directories of custom commands, Markdown files at most two directories deep."""
_MARK: Final = "sha256:"
NOTHING: Final = "nothing"
"""Stands for the hash of a directory in which no file needs trust; an agreement does not cover files added later."""
_MOST_FILES: Final = 500
Origin: TypeAlias = Literal["user", "settings"]
"""Who agreed: the user, when asked, or the settings, which name the directory."""
Standing: TypeAlias = Literal[
    "trusted", "nothing yet", "changed", "missing", "not there yet", "revoked", "not in settings"
]


class Agreement(msgspec.Struct, frozen=True):
    """The user's agreement for one directory: the hash of its files, who agreed, and when (ISO 8601, UTC)."""

    path: str
    content: str
    by: Origin
    at: str = ""
    is_revoked: bool = False
    image: str = ""
    """The hash of the files that decide on the container, if the user agreed to those too."""

    def is_valid(self, named: Container[str]) -> bool:
        """Return whether the agreement applies, given the real paths of the directories that the settings name."""
        return not self.is_revoked and (self.by == "user" or self.path in named)

    def stored(self) -> dict[str, Any]:
        """Return the agreement as it is stored in `trusted.json`."""
        revoked = {"revoked": True} if self.is_revoked else {}
        image = {"image": self.image} if self.image else {}
        return {"content": self.content, "by": self.by, "at": self.at, **image, **revoked}


def brought(workspace: Path) -> Sequence[Path]:
    """Return the files that are used only if the directory is trusted.

    These are tools and all files beside them, rules, MCP servers, kinds of sub-agents, custom commands, and hooks with
    the files that they run. Compiled files are included: a tool that imports `helper` may load
    `__pycache__/helper.cpython-311.pyc`.
    """
    try:
        files = _files_in(workspace / TOOLS)
        has_tools = any(path.suffix == ".py" for path in files)
        single = [workspace / name for name in (RULES, SERVERS)]
        agents = [path for name in AGENTS for path in agent_files(workspace / name)]
        commands = [path for name in COMMANDS for path in command_files(workspace / name)]
        own_tools = sorted(files) if has_tools else ()
        files = [*own_tools, *(path for path in single if path.is_file()), *agents, *commands, *hook_files(workspace)]
        return list(dict.fromkeys(files))
    except OSError:
        return ()


def agent_files(directory: Path) -> list[Path]:
    """Return the files in a directory that define kinds of sub-agents. Raises OSError."""
    return sorted(path for path in directory.glob("*.md") if path.name.lower() != "readme.md" and path.is_file())


def command_directories(directory: Path) -> list[Path]:
    """Return the directory and those below it in which `command_files` searches, whether or not it exists."""
    try:
        return [directory, *sorted(path for depth in ("*/", "*/*/") for path in directory.glob(depth))]
    except OSError:
        return [directory]


def command_files(directory: Path) -> list[Path]:
    """Return the files in a directory that define custom commands. Raises OSError."""
    paths = (path for depth in ("*.md", "*/*.md", "*/*/*.md") for path in directory.glob(depth))
    return sorted(path for path in paths if path.name.lower() != "readme.md" and path.is_file())


def _files_in(directory: Path) -> list[Path]:
    """Return all files, also through links, because any of them can be imported; stop above `_MOST_FILES`."""
    files: list[Path] = []
    for parent, _, names in os.walk(directory, followlinks=True):
        files += (path for path in (Path(parent, name) for name in names) if path.is_file())
        if len(files) > _MOST_FILES:
            break
    return files


def fingerprint(workspace: Path) -> str:
    """Return a hash of the directory's path and of its files that need trust (see `brought`).

    Empty if there are none or too many of them, or if one is unreadable.
    """
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
    """Return whether the user agreed to the current files of this directory; a path in `trusted` is no agreement."""
    marks = {each for each in trusted if each.startswith(_MARK)}
    return bool(marks) and fingerprint(workspace) in marks


def is_agreed(locations: Locations, workspace: Path, trusted: Iterable[str]) -> bool:
    """Return whether the user agreed to this directory, even if none of its files needs trust."""
    entry = _read(locations).get(str(workspace.resolve()))
    named = {_content_of(each)[0] for each in trusted if not each.startswith(_MARK)}
    return entry is not None and _standing(entry, named) in ("trusted", "nothing yet")


def image_mark(files: Mapping[Path, bytes]) -> str:
    """Return the hash of the paths and the contents of the files that decide on the container."""
    whole = hashlib.sha256()
    for file, content in sorted(files.items()):
        whole.update(os.fsencode(file) + b"\0" + hashlib.sha256(content).digest())
    return _MARK + whole.hexdigest()


def may_build(locations: Locations, workspace: Path, trusted: Iterable[str], mark: str) -> bool:
    """Return whether the user agreed to this directory, and to the container whose files have the `image_mark` `mark`.

    If only the settings name the directory, the first mark is stored as if the user had agreed to it.
    """
    trusted, path = tuple(trusted), str(workspace.resolve())
    if not is_agreed(locations, workspace, trusted):
        return False
    entry = _read(locations)[path]
    if entry.image or entry.by == "user":
        return entry.image == mark
    with suppress(UsageError):
        _change(locations, lambda entries: {**entries, path: msgspec.structs.replace(entry, image=mark)})
    return True


def untrusted_notices(workspace: Path, trusted: Iterable[str]) -> list[str]:
    """Return a notice for the rules, the sub-agents and the custom commands of an untrusted directory, which are
    ignored.
    """
    files = brought(workspace)
    own = [f"the rules in {workspace / RULES}"] if workspace / RULES in files else []
    for name in AGENTS:
        own += [f"the sub-agents in {workspace / name}"] if any(p.parent == workspace / name for p in files) else []
    for name in COMMANDS:
        own += [f"the commands in {workspace / name}"] if any(p.is_relative_to(workspace / name) for p in files) else []
    if not own or is_trusted(workspace, trusted):
        return []
    return [f"{each} are ignored: the directory is not trusted; `ohw` in it asks whether to trust it" for each in own]


def agreed(locations: Locations, named: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the contents that are trusted now, for `Settings.trusted`; an unreadable file contains none.

    For directories `named` in the settings, the first content that is found is stored as if the user had agreed to it.
    This agreement applies only while the settings name the directory.
    """
    stored, real = _read(locations), dict(map(_content_of, named))
    undated = {path: entry.content for path, entry in stored.items() if path in real and not entry.at}
    first = {path: content for path, content in real.items() if content and path not in stored} | undated
    if first:
        new = {path: Agreement(path, content, "settings", _now()) for path, content in first.items()}
        stored |= new
        with suppress(UsageError):
            _change(locations, lambda entries: {**entries, **new})
    return tuple(entry.content for entry in stored.values() if entry.is_valid(real))


def refreshed(locations: Locations, trusted: Iterable[str]) -> tuple[str, ...]:
    """Return `Settings.trusted` with what is trusted now: with later agreements, without what was revoked since."""
    named = tuple(each for each in trusted if not each.startswith(_MARK))
    return (*named, *agreed(locations, named))


def agreements(locations: Locations, named: Iterable[str] = ()) -> list[tuple[Agreement, Standing]]:
    """Return every stored agreement with its current state, by path; `named` are the directories in the settings.

    Those of them that do not exist yet are included: their first content will be trusted.
    """
    agreed(locations, named)
    real = dict(map(_content_of, named))
    absent = {path: Agreement(path, "", "settings") for path in real if path.startswith("/")}
    entries = absent | _read(locations)
    return [(entry, _standing(entry, real)) for _, entry in sorted(entries.items())]


def _standing(entry: Agreement, named: Container[str]) -> Standing:
    if entry.is_revoked:
        return "revoked"
    if not entry.is_valid(named):
        return "not in settings"
    path = Path(entry.path)
    if not path.is_dir():
        return "missing" if entry.content else "not there yet"
    if entry.content == NOTHING:
        return "changed" if brought(path) else "nothing yet"
    return "trusted" if fingerprint(path) == entry.content else "changed"


def agree(locations: Locations, workspace: Path, content: str, named: Iterable[str] = (), image: str = "") -> None:
    """Store that the user agreed to this content, replacing an earlier agreement for the directory.

    `image` is the `image_mark` of the files that define the container; if it is empty, the earlier one is kept.
    If the settings name the directory, the agreement applies only while they do. Raises UsageError.
    """
    path = str(workspace.resolve())
    by: Origin = "settings" if path in dict(map(_content_of, named)) else "user"

    def changed(entries: dict[str, Agreement]) -> dict[str, Agreement]:
        mark = image or (entries[path].image if path in entries else "")
        return {**entries, path: Agreement(path, content, by, _now(), image=mark)}

    _change(locations, changed)


def revoke(locations: Locations, paths: Iterable[str], named: Iterable[str] = ()) -> None:
    """End the trust in these directories; their files are used again only after the user has agreed again.

    A directory that the settings name stays stored as revoked, because naming it would trust it. Raises UsageError.
    """
    still_named = {_content_of(each)[0] for each in named}
    gone = set(paths)

    def without(entries: dict[str, Agreement]) -> dict[str, Agreement]:
        rest = {path: entry for path, entry in entries.items() if path not in gone}
        return rest | {path: Agreement(path, "", "user", _now(), is_revoked=True) for path in gone & still_named}

    _change(locations, without)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _content_of(directory: str) -> tuple[str, str]:
    """Return the real path of a directory and its current content: a hash, "nothing", or empty if unknown."""
    try:
        path = Path(directory).expanduser()
        if not path.is_absolute():
            return directory, ""
        path = path.resolve()
        if not path.is_dir():
            return str(path), ""
    except (OSError, RuntimeError, ValueError):  # no such user, links in a circle, no possible name
        return directory, ""
    return str(path), fingerprint(path) or ("" if brought(path) else NOTHING)


def _change(locations: Locations, change: Callable[[dict[str, Agreement]], dict[str, Agreement]]) -> None:
    """Change the stored agreements while no other process does. Raises UsageError if they cannot be written."""
    private_directory(locations.data)
    try:
        lock = (locations.data / "trusted.lock").open("ab")
    except OSError as error:
        raise UsageError(f"cannot write {_file(locations)}: {error.strerror or error}") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = change(_read(locations))
        replace_json(_file(locations), {path: entry.stored() for path, entry in entries.items()})


def _file(locations: Locations) -> Path:
    return locations.data / "trusted.json"


def _read(locations: Locations) -> dict[str, Agreement]:
    try:
        data = json.loads(read_small_file(_file(locations)))
    except (OSError, ValueError, RecursionError):
        return {}
    items = data.items() if isinstance(data, dict) else ()
    return {path: entry for path, value in items if (entry := _entry(path, value))}


def _entry(path: str, value: object) -> Agreement | None:
    # An agreement without a date is of a version that did not record who agreed. It applies only while the settings
    # name the directory: if they once did and no longer do, that revoked it, and otherwise asking again does no harm.
    if isinstance(value, str):
        return Agreement(path, value, "settings")
    if not isinstance(value, dict) or not isinstance(value.get("content"), str):
        return None
    at = str(value.get("at") or "")
    by: Origin = "user" if at and value.get("by") != "settings" else "settings"
    return Agreement(path, value["content"], by, at, bool(value.get("revoked")), str(value.get("image") or ""))
