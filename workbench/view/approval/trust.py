"""The question of whether to trust a directory: asked before its session begins, answered on the trust screen."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.text import visible
from workbench.tools.trust import AGENTS, COMMANDS, RULES, SERVERS, agree, brought, fingerprint, is_trusted

if TYPE_CHECKING:
    from workbench.mcp.config import ServerConfig

_MOST_SERVERS: Final = 8
_AGENT_FILES: Final = tuple(f"{directory}/" for directory in AGENTS)
_COMMAND_FILES: Final = tuple(f"{directory}/" for directory in COMMANDS)
_KINDS: Final = {
    RULES: "rules on what is asked and denied",
    SERVERS: "MCP servers, programs that run with your rights",
}


@dataclass
class TrustQuestion:
    """The question about one directory and its files; `wait` blocks the thread that would begin the session until the
    answer.
    """

    locations: Locations
    directory: Path
    files: tuple[Path, ...]
    content: str
    """The hash of the files asked about, so that an answer does not cover later changes."""
    named: tuple[str, ...] = ()
    """The directories that the settings name."""
    refused: set[str] = field(default_factory=set)
    """The hashes that were refused since the start; they are not asked about again."""
    _answered: threading.Event = field(default_factory=threading.Event)
    is_trusted: bool = False

    def answer(self, trusts: bool) -> None:
        """Answer the question: a yes is stored until the files change, a no is remembered until this process ends.

        Raises UsageError.
        """
        self.is_trusted = trusts
        if not trusts:
            self.refused.add(self.content)
        self._answered.set()
        if trusts:
            agree(self.locations, self.directory, self.content, self.named)

    def wait(self) -> tuple[str, ...]:
        """Wait for the answer and return the trusted hash, if any, for `Settings.trusted`."""
        self._answered.wait()
        return (self.content,) if self.is_trusted else ()


def kind_of(name: str) -> str:
    """Describe the effect of a file in a directory that asks for trust."""
    if name.startswith(_AGENT_FILES):
        return "a sub-agent: instructions and tools"
    if name.startswith(_COMMAND_FILES):
        return "a command: a message that you can send"
    return _KINDS.get(name, "code that runs with your rights")


def brings(question: TrustQuestion) -> str:
    """Return what the directory contains, for a heading."""
    names = [str(path.relative_to(question.directory)) for path in question.files]
    has_agents, has_commands = (any(name.startswith(each) for name in names) for each in (_AGENT_FILES, _COMMAND_FILES))
    has_others = any(not name.startswith((*_AGENT_FILES, *_COMMAND_FILES)) for name in names)
    parts = ["tools", "rules"] * has_others + ["sub-agents"] * has_agents + ["commands"] * has_commands
    return f"its own {' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}"


def started_by(question: TrustQuestion, name: str) -> list[str]:
    """Return the commands that a file of MCP servers would start, one line per server; empty for other files."""
    if name != SERVERS:
        return []
    from workbench.mcp.config import read_file, read_server

    try:
        table = read_file(question.directory / name)
    except WorkbenchError as error:
        return [visible(str(error), lines=False)]
    lines = []
    for server, config in list(table.items())[:_MOST_SERVERS]:
        try:
            start = _start_of(read_server(server, config, name, str(question.directory), runs_there=True))
        except WorkbenchError as error:
            start = f"ignored: {error}"
        lines.append(visible(f"{server}: {start}", lines=False))
    return lines + ([f"and {len(table) - _MOST_SERVERS} more"] if len(table) > _MOST_SERVERS else [])


def _start_of(server: ServerConfig) -> str:
    """Return the command or URL of a server as written, with the variables and headers that it would get."""
    more = [*(f"{name}={value}" for name, value in server.env.items())]
    more += [f"{name}: {value}" for name, value in server.headers.items()]
    start = f"{server.target} · with {', '.join(more)}" if more else server.target
    start = f"off, {server.problem}: {start}" if server.problem else start
    return " · ".join([start, *server.notices])


def contents(question: TrustQuestion) -> str:
    """Return the text of all files that need trust, to be read before the directory is trusted."""
    parts = []
    for path in question.files:
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError as error:
            text = f"cannot be read: {error.strerror}"
        parts.append(f"── {path.relative_to(question.directory)}\n\n{text}")
    return "\n\n".join(parts)


def trust_question(
    locations: Locations, directory: Path, trusted: Iterable[str], refused: set[str]
) -> TrustQuestion | None:
    """Return the question to ask, or None if the directory has no such files, or the user has already answered."""
    trusted, files = tuple(trusted), tuple(brought(directory))
    if not files or is_trusted(directory, trusted):
        return None
    content = fingerprint(directory)
    if not content or content in refused:
        return None
    return TrustQuestion(locations, directory, files, content, trusted, refused)
