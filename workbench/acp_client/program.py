"""The program of another agent: its start, and its messages, one JSON object per line."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from workbench.agent.agent_kinds import AgentKind, AgentProgram
from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config import ServerConfig
from workbench.mcp.stdio import LINE_LIMIT, LineReader, TooLong
from workbench.processes.launch import AGENT
from workbench.text import first_line

START_SECONDS: Final = 60.0
"""Seconds within which a program must answer; its package may have to be downloaded first."""
_NAMED: Final = lazy_pattern(r"\$\{(?:env:|input:)?([\w./-]+)")
_CHUNK: Final = 256 * 1024
_QUOTED: Final = 80


@dataclass(frozen=True)
class AgentConfig(ServerConfig):
    """The configuration of an agent's program, which is started in the workspace like an MCP server."""

    @property
    def program(self) -> str:
        """The name of the program in questions about the network hosts that it wants to reach."""
        return f"{AGENT} {self.name}"

    @property
    def line(self) -> str:
        """The command line of the program; `${NAME}` is not expanded."""
        return AgentProgram(self.command, self.args).line

    @property
    def variables(self) -> list[str]:
        """The environment variables passed to the program, each with the user's variables of other names that its value
        uses.
        """
        return [_variable(name, value) for name, value in self.env.items()]


def _variable(name: str, value: str) -> str:
    others = [other for other in _NAMED.findall(value) if other != name]
    return f"{name} (from {', '.join(others)})" if others else name


def config_of(kind: AgentKind, workspace: str) -> AgentConfig:
    """Return the configuration of the program of this kind of sub-agent; `kind.program` must be set."""
    program = kind.program
    assert program is not None
    return AgentConfig(
        name=kind.name,
        kind="stdio",
        source=kind.source,
        command=program.command,
        args=program.args,
        env=dict(program.env),
        cwd=workspace,
        workspace=workspace,
        is_confined=program.is_confined,
        start_seconds=START_SECONDS,
    )


class JsonLines:
    """A program's pipes as a transport for the protocol's package; lines that are not JSON objects are dropped."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        self._reader, self._writer = process.stdout, process.stdin
        self._lines = LineReader(LINE_LIMIT)
        self._waiting: deque[bytes] = deque()
        self.closed = asyncio.Event()
        """Set once no more messages can arrive."""
        self.fault = ""
        """Why the connection ended, if the program sent too much."""
        self.noise = ""
        """The first line that was not a message."""

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message. Raises ConnectionError if the program no longer reads."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None once the program has closed its output or sent too much."""
        while True:
            while self._waiting:
                message = self._message(self._waiting.popleft())
                if message is not None:
                    return message
            if not await self._read():
                self.closed.set()
                return None

    async def _read(self) -> bool:
        """Read the available output; return False at its end, or if the program sent too much."""
        try:
            data = await self._reader.read(_CHUNK)
            self._waiting.extend(self._lines.feed(data))
        except TooLong as error:
            self.fault = str(error)
            return False
        return bool(data)

    def _message(self, line: bytes) -> dict[str, Any] | None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
        self.noise = self.noise or first_line(line[: 4 * _QUOTED].decode(errors="replace"), _QUOTED)
        return None

    async def close(self) -> None:
        """Do nothing: the pipes end with the process."""
