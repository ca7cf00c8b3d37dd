"""Pinned tool definitions of MCP servers: a changed definition is not used until the user approves it.

The files that start a server are pinned too. A tool's hints about itself (read-only, idempotent) are ignored until the
user approves the tool. Each server has one small file in the data directory, shared by all engines and the MCP screen.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations, private_directory
from workbench.errors import UsageError
from workbench.files.state_files import replace_json
from workbench.mcp.config import ServerConfig
from workbench.mcp.definitions import Definition, checked, digest, name_of
from workbench.mcp.errors import StartChanged
from workbench.text import visible

NOT_COMPARED = "(more start files than can be compared)"
"""Listed in place of a path if some start files were not examined."""
_ONE_START = "one start is approved"


@dataclass(frozen=True)
class PinnedServer:
    """The record of one server. `tools` are the pinned definitions by name, `waiting` the changed ones that are not
    approved yet, with None for a removed tool.
    """

    listed: bool = False
    """Whether the server has ever listed its tools."""
    tools: Mapping[str, Definition] = field(default_factory=dict)
    waiting: Mapping[str, Definition | None] = field(default_factory=dict)
    prompts: Sequence[Mapping[str, Any]] = ()
    resources: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[str] = ()
    """One line about each tool that is ignored or cut short."""
    failure: str = ""
    """Why the last start failed."""
    approved: Sequence[str] = ()
    """Names of the tools that the user has reviewed and approved; their hints are trusted."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The approved hashes of the files that start the server, by path."""
    files_now: Mapping[str, str] = field(default_factory=dict)
    """The current hashes of these files if any of them differs, else empty; until approved, the server is not started.
    """

    @property
    def usable(self) -> dict[str, Definition]:
        """The pinned tools by name, except those that have changed since."""
        return {name: tool for name, tool in self.tools.items() if name not in self.waiting}

    @property
    def claiming(self) -> Sequence[str]:
        """The names of usable tools that claim to be read-only or idempotent and have not been approved yet."""
        return [name for name, tool in self.usable.items() if name not in self.approved and _claims(tool)]

    @property
    def changed_files(self) -> dict[str, str]:
        """How each start file differs from the approved one, as text for the user, by path."""
        changes = {path: "has changed" if path in self.files else "is new" for path, held in self.files_now.items()}
        changes |= {
            path: "is not used any more" for path in self.files if self.files_now and path not in self.files_now
        }
        changes |= {path: "may have changed unseen" for path in self.files_now if path == NOT_COMPARED}
        return {path: how for path, how in changes.items() if self.files.get(path) != self.files_now.get(path)}

    @property
    def waits(self) -> bool:
        """Whether a tool or the server is disabled until the user approves a change."""
        return bool(self.waiting or self.files_now)


class PinStore:
    """The records of all servers, in files that several processes can use at once."""

    def __init__(self, locations: Locations) -> None:
        self.locations = locations
        self.directory = locations.data / "mcp"
        self.logs = locations.logs
        self._read: dict[str, tuple[int, PinnedServer]] = {}

    def path(self, server: ServerConfig) -> Path:
        """Return the path of a server's record."""
        return self.directory / f"{server.key}.json"

    def review_path(self, server: ServerConfig) -> Path:
        """Return the path of the file with the hash of the changes that were last shown to the user."""
        return self.directory / f"{server.key}.shown"

    def log(self, server: ServerConfig) -> Path:
        """Return the path of a server's log file."""
        return self.logs / f"mcp-{server.name}-{server.key[:8]}.log"

    def version(self, server: ServerConfig) -> int:
        """Return a number that differs after each change of the record; 0 if there is no record."""
        try:
            return self.path(server).stat().st_mtime_ns
        except OSError:
            return 0

    def entry(self, server: ServerConfig) -> PinnedServer:
        """Return a server's record, or an empty one if its file is missing or damaged."""
        version = self.version(server)
        cached = self._read.get(server.key)
        if cached is None or cached[0] != version:
            cached = self._read[server.key] = (version, _loaded(self.path(server)))
        return cached[1]

    def names(self, servers: Iterable[ServerConfig]) -> set[str]:
        """Return every name by which the model may call a tool of these servers, with and without the server's name."""
        named = [(server.name, tool) for server in servers for tool in self.entry(server).tools]
        return {name_of(tool) for _, tool in named} | {name_of(f"{server}_{tool}") for server, tool in named}

    def listed(
        self,
        server: ServerConfig,
        listed: Sequence[Definition],
        prompts: Sequence[Any] = (),
        resources: Sequence[Any] = (),
    ) -> PinnedServer:
        """Record the server's current lists and return the record.

        The tools of the first list are pinned; later changes need the user's approval.
        """
        tools, faults = checked(listed)

        def change(old: PinnedServer) -> PinnedServer:
            new = PinnedServer(True, tools, {}, tuple(prompts), tuple(resources), tuple(faults))
            new = replace(new, approved=old.approved, files=old.files, files_now=old.files_now)
            return replace(new, tools=old.tools, waiting=_changes(old.tools, tools)) if old.listed else new

        return self._change(server, change)

    def failed(self, server: ServerConfig, why: str) -> None:
        """Record why the server could not be used."""
        self._change(server, lambda old: replace(old, failure=why))

    def starting(self, server: ServerConfig, files: Mapping[str, str]) -> None:
        """Pin the hashes of the start files at the first start. Raises StartChanged if they differ at a later one.

        If they cover only some of the start files, every start needs an approval.
        """

        def change(old: PinnedServer) -> PinnedServer:
            if not old.files:
                return replace(old, files=dict(files))
            if NOT_COMPARED in files:
                one_start = {**files, NOT_COMPARED: _ONE_START}
                is_approved = old.files == one_start
                return replace(
                    old, files=dict(files) if is_approved else old.files, files_now={} if is_approved else one_start
                )
            return replace(old, files_now=dict(files) if files != old.files else {})

        changed = self._change(server, change).changed_files
        if changed:
            what = "; ".join(f"{path} {how}" for path, how in list(changed.items())[:3])
            if NOT_COMPARED in changed:
                raise StartChanged(
                    f"it starts from more files than can be compared ({what}); approve this start in /mcp"
                )
            raise StartChanged(f"its start files differ from the approved ones ({what}); review them in /mcp")

    def approve(self, server: ServerConfig, reviewed: PinnedServer) -> PinnedServer:
        """Pin the changes in `reviewed`, trust the hints of its tools, and return the record.

        Anything that has changed again since `reviewed` was read stays unapproved.
        """

        def change(old: PinnedServer) -> PinnedServer:
            same = [
                name for name, new in old.waiting.items() if name in reviewed.waiting and new == reviewed.waiting[name]
            ]
            new = {**old.tools, **{name: old.waiting[name] for name in same}}
            tools = {name: tool for name, tool in new.items() if tool is not None}
            definitions = {**reviewed.tools, **reviewed.waiting}
            approved = tuple(sorted(name for name, tool in tools.items() if definitions.get(name) == tool))
            waiting = {name: tool for name, tool in old.waiting.items() if name not in same}
            entry = replace(old, tools=tools, waiting=waiting, approved=approved)
            if old.files_now and old.files_now == reviewed.files_now:
                entry = replace(entry, files=old.files_now, files_now={}, failure="")
            return entry

        return self._change(server, change)

    def forget(self, server: ServerConfig) -> None:
        """Delete a server's record, and that of the changes last shown to the user."""
        self.path(server).unlink(missing_ok=True)
        self.review_path(server).unlink(missing_ok=True)

    def _change(self, server: ServerConfig, change: Callable[[PinnedServer], PinnedServer]) -> PinnedServer:
        path = self.path(server)
        with self._locked():
            old = _loaded(path)
            new = change(old)
            if new != old or not path.exists():
                replace_json(path, {"server": server.name, **asdict(new)})
        return new

    @contextmanager
    def _locked(self) -> Iterator[None]:
        private_directory(self.directory)
        with (self.directory / "lock").open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _changes(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> dict[str, Definition | None]:
    """Return the definitions of `new` that differ from `old`, by name, with None for a removed tool."""
    return {
        name: new.get(name)
        for name in sorted({*old, *new})
        if name not in new or name not in old or digest(new[name]) != digest(old[name])
    }


def _claims(tool: Definition) -> bool:
    hints = tool.get("annotations") or {}
    return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True


def _loaded(path: Path) -> PinnedServer:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        data.pop("server", None)
        fields: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in data.items()}
        return PinnedServer(**fields)
    except (OSError, ValueError, TypeError, AttributeError):
        return PinnedServer()


def changed_lines(entry: PinnedServer) -> Iterator[str]:
    """Yield lines about each changed file, each changed tool with its diff, and each hint that is not approved yet."""
    for path, how in entry.changed_files.items():
        yield f"the start file {path} {how}" if not path.startswith("(") else f"{path[1:-1]}: {how}"
        yield from (
            f"  {sign} {each[path]}" for sign, each in (("-", entry.files), ("+", entry.files_now)) if path in each
        )
    for name, new in entry.waiting.items():
        old = entry.tools.get(name)
        word = "is gone" if new is None else "is new" if old is None else "has changed"
        yield f"the tool {name} {word}"
        if new is not None:
            yield from _diff(old, new)
    for name in entry.claiming:
        yield f"the tool {name} says that it {_claim(entry.usable[name])}"


def _claim(tool: dict[str, Any]) -> str:
    return "only reads" if (tool.get("annotations") or {}).get("readOnlyHint") is True else "may be repeated"


def _diff(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Iterator[str]:
    for line in difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=2):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"


def _lines(definition: dict[str, Any] | None) -> list[str]:
    return json.dumps(definition, indent=1, ensure_ascii=False).splitlines() if definition is not None else []


_NOTHING = "{} has no changes to approve"


def show_changes(pins: PinStore, server: ServerConfig, print_line: Callable[[str], None]) -> None:
    """Print the changes that need approval, and record that they were shown to the user."""
    entry = pins.entry(server)
    if not (entry.waits or entry.claiming):
        print_line(_NOTHING.format(server.name))
        return
    for line in changed_lines(entry):
        print_line(visible(line, lines=False))
    # If this record cannot be written, the user has to pass the hash to `ohw mcp approve`.
    with suppress(OSError):
        pins.review_path(server).write_text(mark_of(entry), encoding="ascii")
    state = "These are disabled" if entry.waits else "These hints are ignored, and each call needs approval,"
    print_line(f"{state} until you approve them: ohw mcp approve {server.name} {mark_of(entry)}")


def approve(pins: PinStore, server: ServerConfig, mark: str, print_line: Callable[[str], None]) -> None:
    """Approve the current changes if their hash is `mark` or, without `mark`, the hash of the changes last shown.

    Raises UsageError if it is a different hash, or if something changed during the approval.
    """
    entry = pins.entry(server)
    if not (entry.waits or entry.claiming):
        print_line(_NOTHING.format(server.name))
        return
    agreed = mark or _last_mark(pins, server)
    if agreed != mark_of(entry):
        why = "changed since they were shown" if agreed else "were not shown yet"
        raise UsageError(f"the changes of {server.name} {why}; review them first: ohw mcp changes {server.name}")
    rest = pins.approve(server, entry)
    if rest.waits:
        what = ", ".join((*rest.waiting, *rest.changed_files))
        raise UsageError(f"{what} changed meanwhile; review again: ohw mcp changes {server.name}")
    pins.review_path(server).unlink(missing_ok=True)
    names = (*entry.changed_files, *entry.waiting, *entry.claiming)
    print_line(f"approved: {', '.join(visible(name, lines=False) for name in names)}")


def mark_of(entry: PinnedServer) -> str:
    """Return a short hash of the changes that need approval and of the definitions they would replace."""
    changes: dict[str, Any] = {name: [entry.tools.get(name), new] for name, new in entry.waiting.items()}
    changes |= {f"{name} ": entry.usable[name] for name in entry.claiming}
    changes["/"] = dict(entry.files_now)
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:12]


def _last_mark(pins: PinStore, server: ServerConfig) -> str:
    try:
        return pins.review_path(server).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
