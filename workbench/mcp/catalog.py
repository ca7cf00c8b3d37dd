"""What servers offer, as it was agreed to: each tool's definition is pinned, and a change waits for the user.

So are the files that a server is started from. What a tool says of itself counts only once the user approved it.

One small file a server under the data folder, shared by all engines and by the screen.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations, private_directory
from workbench.mcp.definitions import Definition, checked, digest, name_of
from workbench.mcp.faults import StartChanged
from workbench.mcp.servers import Server
from workbench.whole_files import replace_json


@dataclass(frozen=True)
class Entry:
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
        self._read: dict[str, tuple[int, Entry]] = {}

    def path(self, server: Server) -> Path:
        """The file of a server."""
        return self.folder / f"{server.key}.json"

    def shown(self, server: Server) -> Path:
        """Where it is kept which changes the person was shown last."""
        return self.folder / f"{server.key}.shown"

    def log(self, server: Server) -> Path:
        """Where its log goes."""
        return self.logs / f"mcp-{server.name}-{server.key[:8]}.log"

    def version(self, server: Server) -> int:
        """Another number after each change."""
        try:
            return self.path(server).stat().st_mtime_ns
        except OSError:
            return 0

    def entry(self, server: Server) -> Entry:
        """What is known; nothing where the file is missing or damaged."""
        version = self.version(server)
        known = self._read.get(server.key)
        if known is None or known[0] != version:
            known = self._read[server.key] = (version, _loaded(self.path(server)))
        return known[1]

    def names(self, servers: Iterable[Server]) -> set[str]:
        """What the tools of these may be called."""
        named = [(server.name, tool) for server in servers for tool in self.entry(server).tools]
        return {name_of(tool) for _, tool in named} | {name_of(f"{server}_{tool}") for server, tool in named}

    def listed(
        self, server: Server, listed: Sequence[Definition], prompts: Sequence[Any] = (), resources: Sequence[Any] = ()
    ) -> Entry:
        """Record what the server offers now: the first list is taken, later ones are compared with what is pinned."""
        tools, faults = checked(listed)

        def change(old: Entry) -> Entry:
            new = Entry(True, tools, {}, tuple(prompts), tuple(resources), tuple(faults))
            new = replace(new, approved=old.approved, files=old.files, files_now=old.files_now)
            return replace(new, tools=old.tools, waiting=_changes(old.tools, tools)) if old.listed else new

        return self._change(server, change)

    def failed(self, server: Server, why: str) -> None:
        """Record why it could not be used."""
        self._change(server, lambda old: replace(old, failure=why))

    def starting(self, server: Server, files: Mapping[str, str]) -> None:
        """Pin the files a server is started from for the first time; later raises StartChanged where they differ."""

        def change(old: Entry) -> Entry:
            if not old.files:
                return replace(old, files=dict(files))
            return replace(old, files_now=dict(files) if files != old.files else {})

        told = self._change(server, change).changed_files
        if told:
            what = "; ".join(f"{path} {how}" for path, how in list(told.items())[:3])
            raise StartChanged(f"what it is started from is not what was agreed to ({what}); look at it in /mcp")

    def approve(self, server: Server, shown: Entry) -> Entry:
        """Pin what waits in `shown`, and have its tools' words count; what has changed again since goes on waiting."""

        def change(old: Entry) -> Entry:
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

    def forget(self, server: Server) -> None:
        """As if it had never been seen."""
        self.path(server).unlink(missing_ok=True)
        self.shown(server).unlink(missing_ok=True)

    def _change(self, server: Server, change: Callable[[Entry], Entry]) -> Entry:
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


def _loaded(path: Path) -> Entry:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told.pop("server", None)
        known: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in told.items()}
        return Entry(**known)
    except (OSError, ValueError, TypeError, AttributeError):
        return Entry()
