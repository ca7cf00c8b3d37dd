"""The question whether to trust a folder: asked before its session begins, answered on the trust screen."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tools.trust import RULES, SERVERS, agree, brought, fingerprint, is_trusted

if TYPE_CHECKING:
    from workbench.mcp.config import ServerConfig

_MOST_SERVERS: Final = 8
_KINDS: Final = {
    RULES: "rules on what is asked and denied",
    SERVERS: "MCP servers, programs that run with your rights",
}


@dataclass
class TrustQuestion:
    """One folder and what it brings; `wait` blocks the thread that would begin the session until there is an answer."""

    locations: Locations
    folder: Path
    files: tuple[Path, ...]
    content: str
    """The hash of what is asked about: a later change is not what was agreed to."""
    said_no: set[str] = field(default_factory=set)
    """What was refused since the start; it is not asked again."""
    _answered: threading.Event = field(default_factory=threading.Event)
    is_trusted: bool = False

    def answer(self, trusts: bool) -> None:
        """Yes is kept for good, as long as nothing changes; no holds until the end. Raises UsageError."""
        self.is_trusted = trusts
        if not trusts:
            self.said_no.add(self.content)
        self._answered.set()
        if trusts:
            agree(self.locations, self.folder, self.content)

    def wait(self) -> tuple[str, ...]:
        """What is trusted by the answer, for `Settings.trusted`."""
        self._answered.wait()
        return (self.content,) if self.is_trusted else ()


def kind_of(name: str) -> str:
    """What a file that a folder brings would do."""
    return _KINDS.get(name, "code that runs with your rights")


def started_by(question: TrustQuestion, name: str) -> list[str]:
    """What a file of MCP servers would have started, word for word, a line each; nothing for any other file."""
    if name != SERVERS:
        return []
    from workbench.mcp.config import read_file, read_server

    try:
        table = read_file(question.folder / name)
    except WorkbenchError as error:
        return [visible(str(error), lines=False)]
    lines = []
    for server, told in list(table.items())[:_MOST_SERVERS]:
        try:
            start = _start_of(read_server(server, told, name, str(question.folder)))
        except WorkbenchError as error:
            start = f"left out: {error}"
        lines.append(visible(f"{server}: {start}", lines=False))
    return lines + ([f"and {len(table) - _MOST_SERVERS} more"] if len(table) > _MOST_SERVERS else [])


def _start_of(server: ServerConfig) -> str:
    """The command or URL of a server as it is written, with the variables and headers that it would get."""
    more = [*(f"{name}={value}" for name, value in server.env.items())]
    more += [f"{name}: {value}" for name, value in server.headers.items()]
    return f"{server.target} · with {', '.join(more)}" if more else server.target


def contents(question: TrustQuestion) -> str:
    """All that the folder brings, to be read before it is trusted."""
    parts = []
    for path in question.files:
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
        parts.append(f"── {path.relative_to(question.folder)}\n\n{text}")
    return "\n\n".join(parts)


def trust_question(
    locations: Locations, folder: Path, trusted: Iterable[str], said_no: set[str]
) -> TrustQuestion | None:
    """The question to ask, where the folder brings something that the person has not answered for yet."""
    files = tuple(brought(folder))
    if not files or is_trusted(folder, trusted):
        return None
    content = fingerprint(folder)
    return None if not content or content in said_no else TrustQuestion(locations, folder, files, content, said_no)
