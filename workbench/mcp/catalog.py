"""What servers offer, as it was agreed to: each tool's definition is pinned, and a change waits for the person.

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

from workbench.config import Locations, private_folder
from workbench.mcp.definitions import Definition, checked, digest, name_of
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

    @property
    def usable(self) -> dict[str, Definition]:
        """The tools as they were agreed to, without those that have changed since."""
        return {name: tool for name, tool in self.tools.items() if name not in self.waiting}


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
            return replace(new, tools=old.tools, waiting=_changes(old.tools, tools)) if old.listed else new

        return self._change(server, change)

    def failed(self, server: Server, why: str) -> None:
        """Record why it could not be used."""
        self._change(server, lambda old: replace(old, failure=why))

    def approve(self, server: Server, names: Sequence[str], shown: Mapping[str, Definition | None]) -> Entry:
        """Pin these as they are in `shown`; one that has changed again since goes on waiting."""

        def change(old: Entry) -> Entry:
            same = [name for name in names if name in old.waiting and old.waiting[name] == shown.get(name)]
            new = {**old.tools, **{name: old.waiting[name] for name in same}}
            tools = {name: tool for name, tool in new.items() if tool is not None}
            return replace(old, tools=tools, waiting={k: v for k, v in old.waiting.items() if k not in same})

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
        private_folder(self.folder)
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


def _loaded(path: Path) -> Entry:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told.pop("server", None)
        known: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in told.items()}
        return Entry(**known)
    except (OSError, ValueError, TypeError, AttributeError):
        return Entry()
