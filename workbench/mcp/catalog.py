"""What servers offer, as it was agreed to: each tool's definition is pinned, and a change waits for the user.

So are the files that a server is started from. What a tool says of itself counts only once the user approved it.

One small file a server under the data folder, shared by all engines and by the screen.
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
from workbench.mcp.config import ServerConfig
from workbench.mcp.definitions import Definition, checked, digest, name_of
from workbench.mcp.errors import StartChanged
from workbench.text import visible
from workbench.whole_files import replace_json


@dataclass(frozen=True)
class CatalogEntry:
    """What is known of a server. `waiting` holds changed definitions by name, None for a tool that is gone."""

    listed: bool = False
    """Whether the server ever said what it offers."""
    tools: Mapping[str, Definition] = field(default_factory=dict)
    waiting: Mapping[str, Definition | None] = field(default_factory=dict)
    prompts: Sequence[Mapping[str, Any]] = ()
    resources: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[str] = ()
    """What of the list is left out, a line each."""
    failure: str = ""
    """Why the last start failed."""
    approved: Sequence[str] = ()
    """Tools that the user has looked at and approved: what they say of themselves counts."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What the files it is started from held when that was agreed to, by their paths."""
    files_now: Mapping[str, str] = field(default_factory=dict)
    """What they hold now, where that differs: it is not started before that is approved."""

    @property
    def usable(self) -> dict[str, Definition]:
        """The tools as they were agreed to, without those that have changed since."""
        return {name: tool for name, tool in self.tools.items() if name not in self.waiting}

    @property
    def claiming(self) -> Sequence[str]:
        """Usable tools that say they only read, or may be repeated, and that the user has not approved yet."""
        return [name for name, tool in self.usable.items() if name not in self.approved and _claims(tool)]

    @property
    def changed_files(self) -> dict[str, str]:
        """What happened to each file it is started from that is not as it was agreed to."""
        told = {path: "has changed" if path in self.files else "is new" for path, held in self.files_now.items()}
        told |= {path: "is not used any more" for path in self.files if self.files_now and path not in self.files_now}
        return {path: how for path, how in told.items() if self.files.get(path) != self.files_now.get(path)}

    @property
    def waits(self) -> bool:
        """Whether something of it does not work before the user approves it."""
        return bool(self.waiting or self.files_now)


class Catalog:
    """The files of all servers; several processes may use it."""

    def __init__(self, locations: Locations) -> None:
        self.locations = locations
        self.folder = locations.data / "mcp"
        self.logs = locations.logs
        self._read: dict[str, tuple[int, CatalogEntry]] = {}

    def path(self, server: ServerConfig) -> Path:
        """The file of a server."""
        return self.folder / f"{server.key}.json"

    def shown(self, server: ServerConfig) -> Path:
        """Where it is kept which changes the person was shown last."""
        return self.folder / f"{server.key}.shown"

    def log(self, server: ServerConfig) -> Path:
        """Where its log goes."""
        return self.logs / f"mcp-{server.name}-{server.key[:8]}.log"

    def version(self, server: ServerConfig) -> int:
        """Another number after each change."""
        try:
            return self.path(server).stat().st_mtime_ns
        except OSError:
            return 0

    def entry(self, server: ServerConfig) -> CatalogEntry:
        """What is known; nothing where the file is missing or damaged."""
        version = self.version(server)
        known = self._read.get(server.key)
        if known is None or known[0] != version:
            known = self._read[server.key] = (version, _loaded(self.path(server)))
        return known[1]

    def names(self, servers: Iterable[ServerConfig]) -> set[str]:
        """What the tools of these may be called."""
        named = [(server.name, tool) for server in servers for tool in self.entry(server).tools]
        return {name_of(tool) for _, tool in named} | {name_of(f"{server}_{tool}") for server, tool in named}

    def listed(
        self,
        server: ServerConfig,
        listed: Sequence[Definition],
        prompts: Sequence[Any] = (),
        resources: Sequence[Any] = (),
    ) -> CatalogEntry:
        """Record what the server offers now: the first list is taken, later ones are compared with what is pinned."""
        tools, faults = checked(listed)

        def change(old: CatalogEntry) -> CatalogEntry:
            new = CatalogEntry(True, tools, {}, tuple(prompts), tuple(resources), tuple(faults))
            new = replace(new, approved=old.approved, files=old.files, files_now=old.files_now)
            return replace(new, tools=old.tools, waiting=_changes(old.tools, tools)) if old.listed else new

        return self._change(server, change)

    def failed(self, server: ServerConfig, why: str) -> None:
        """Record why it could not be used."""
        self._change(server, lambda old: replace(old, failure=why))

    def starting(self, server: ServerConfig, files: Mapping[str, str]) -> None:
        """Pin the files a server is started from for the first time; later raises StartChanged where they differ."""

        def change(old: CatalogEntry) -> CatalogEntry:
            if not old.files:
                return replace(old, files=dict(files))
            return replace(old, files_now=dict(files) if files != old.files else {})

        told = self._change(server, change).changed_files
        if told:
            what = "; ".join(f"{path} {how}" for path, how in list(told.items())[:3])
            raise StartChanged(f"what it is started from is not what was agreed to ({what}); look at it in /mcp")

    def approve(self, server: ServerConfig, shown: CatalogEntry) -> CatalogEntry:
        """Pin what waits in `shown`, and have its tools' words count; what has changed again since goes on waiting."""

        def change(old: CatalogEntry) -> CatalogEntry:
            same = [name for name, new in old.waiting.items() if name in shown.waiting and new == shown.waiting[name]]
            new = {**old.tools, **{name: old.waiting[name] for name in same}}
            tools = {name: tool for name, tool in new.items() if tool is not None}
            seen = {**shown.tools, **shown.waiting}
            approved = tuple(sorted(name for name, tool in tools.items() if seen.get(name) == tool))
            waiting = {name: tool for name, tool in old.waiting.items() if name not in same}
            entry = replace(old, tools=tools, waiting=waiting, approved=approved)
            if old.files_now and old.files_now == shown.files_now:
                entry = replace(entry, files=old.files_now, files_now={}, failure="")
            return entry

        return self._change(server, change)

    def forget(self, server: ServerConfig) -> None:
        """As if it had never been seen."""
        self.path(server).unlink(missing_ok=True)
        self.shown(server).unlink(missing_ok=True)

    def _change(self, server: ServerConfig, change: Callable[[CatalogEntry], CatalogEntry]) -> CatalogEntry:
        path = self.path(server)
        with self._locked():
            old = _loaded(path)
            new = change(old)
            if new != old or not path.exists():
                replace_json(path, {"server": server.name, **asdict(new)})
        return new

    @contextmanager
    def _locked(self) -> Iterator[None]:
        private_directory(self.folder)
        with (self.folder / "lock").open("a", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _changes(old: Mapping[str, Definition], new: Mapping[str, Definition]) -> dict[str, Definition | None]:
    """What differs, by name; None for what is gone."""
    return {
        name: new.get(name)
        for name in sorted({*old, *new})
        if name not in new or name not in old or digest(new[name]) != digest(old[name])
    }


def _claims(tool: Definition) -> bool:
    hints = tool.get("annotations") or {}
    return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True


def _loaded(path: Path) -> CatalogEntry:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told.pop("server", None)
        known: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in told.items()}
        return CatalogEntry(**known)
    except (OSError, ValueError, TypeError, AttributeError):
        return CatalogEntry()


def changed_lines(entry: CatalogEntry) -> Iterator[str]:
    """Each changed file, changed, new or missing tool with the lines of its definition that differ, and bold words."""
    for path, how in entry.changed_files.items():
        yield f"the file {path} it is started from {how}"
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


_NOTHING = "nothing of {} waits for approval"


def show_changes(catalog: Catalog, server: ServerConfig, say: Callable[[str], None]) -> None:
    """Say what waits, and remember that it was shown."""
    entry = catalog.entry(server)
    if not (entry.waits or entry.claiming):
        say(_NOTHING.format(server.name))
        return
    for line in changed_lines(entry):
        say(visible(line, lines=False))
    with suppress(OSError):  # then its hash has to be given
        catalog.shown(server).write_text(mark_of(entry), encoding="ascii")
    until = "These are off" if entry.waits else "What they say does not count, and each call is asked about,"
    say(f"{until} until you approve them: ohw mcp approve {server.name} {mark_of(entry)}")


def approve(catalog: Catalog, server: ServerConfig, given: str, say: Callable[[str], None]) -> None:
    """Pin what was shown: what has this hash, or was shown last. Raises UsageError for anything else."""
    entry = catalog.entry(server)
    if not (entry.waits or entry.claiming):
        say(_NOTHING.format(server.name))
        return
    agreed = given or _last_shown(catalog, server)
    if agreed != mark_of(entry):
        why = "has changed since it was shown" if agreed else "was not shown yet"
        raise UsageError(f"what waits of {server.name} {why}; look at it first: ohw mcp changes {server.name}")
    left = catalog.approve(server, entry)
    if left.waits:
        what = ", ".join((*left.waiting, *left.changed_files))
        raise UsageError(f"{what} changed meanwhile; look again: ohw mcp changes {server.name}")
    catalog.shown(server).unlink(missing_ok=True)
    names = (*entry.changed_files, *entry.waiting, *entry.claiming)
    say(f"approved: {', '.join(visible(name, lines=False) for name in names)}")


def mark_of(entry: CatalogEntry) -> str:
    """A short hash of what waits, and of what it would replace."""
    told: dict[str, Any] = {name: [entry.tools.get(name), new] for name, new in entry.waiting.items()}
    told |= {f"{name} ": entry.usable[name] for name in entry.claiming}
    told["/"] = dict(entry.files_now)
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def _last_shown(catalog: Catalog, server: ServerConfig) -> str:
    try:
        return catalog.shown(server).read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
