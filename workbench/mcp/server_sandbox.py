"""Starts a local server inside a sandbox, and says whether the sandbox may have caused a failure."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, nullcontext, suppress
from pathlib import Path

from workbench.lazy_pattern import lazy_pattern
from workbench.mcp.config import ServerConfig
from workbench.mcp.errors import ServerFailed
from workbench.processes.launch import Launcher, ProgramStart
from workbench.processes.leftovers import prefix

_INTERVAL = 0.25
_MOST_HOSTS = 3
_HELD = lazy_pattern(
    r"(?i)read-only file system|\bE(?:ROFS|ACCES|PERM)\b|permission denied|operation not permitted|"
    r"(?:docker|podman)[^\n]{0,40}(?:daemon|socket)|ENOTFOUND|EAI_AGAIN|network is unreachable|ENETUNREACH"
)
"""Matches what programs write when the sandbox stops them."""
_WALL = "it runs in the sandbox: it writes only the workspace and $TMPDIR, and the network is behind a proxy"
_WAY_OUT = "`sandbox = false` in its settings starts it outside, where it can do whatever you can"


class ServerSandbox:
    """The sandbox of one server; there is none if `launcher` is None or the server's configuration disables it."""

    def __init__(self, server: ServerConfig, launcher: Launcher | None) -> None:
        self._server = server
        self._launcher = launcher if server.is_confined else None
        self._started = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the server waits until the user has decided on a host."""
        return self._launcher is not None and self._launcher.is_waiting(self._server.program)

    def refused_since(self, since: float) -> Sequence[str]:
        """Return a line for each host that was refused to the server since a time of `time.monotonic`."""
        return self._launcher.refused_since(self._server.program, since) if self._launcher is not None else ()

    def private_directory(self) -> AbstractContextManager[str | None]:
        """Return a new directory that is the server's /tmp, deleted after the block; None without a sandbox."""
        if self._launcher is None:
            return nullcontext()
        return tempfile.TemporaryDirectory(prefix=prefix("sandbox"), ignore_cleanup_errors=True)

    @asynccontextmanager
    async def starting(
        self,
        argv: Sequence[str],
        directory: str,
        env: Mapping[str, str],
        private: str | None,
        writable: Sequence[Path] = (),
    ) -> AsyncIterator[ProgramStart]:
        """Yield how to start the server in its sandbox; the caller starts it in the block.

        `private` is the directory from `private_directory`. Raises ServerFailed if there is no sandbox although the
        user demands one.
        """
        launcher = self._launcher
        if launcher is None:
            yield ProgramStart(argv, env)
            return
        self._started = time.monotonic()
        await asyncio.to_thread(lambda: launcher.holds)  # waits for the proof
        with ExitStack() as stack:
            own = Path(private) if private is not None else None
            launch = launcher.launch(argv, directory, env, writable=writable, private=own, name=self._server.program)
            try:
                program = stack.enter_context(launch)
            except OSError as error:
                raise ServerFailed(error.strerror or str(error)) from error
            yield program

    @asynccontextmanager
    async def holding(self, limit: asyncio.Timeout, seconds: float) -> AsyncIterator[None]:
        """Within the block, keep resetting the limit to `seconds` from now while the server waits for a decision on a
        host.
        """
        if self._launcher is None:
            yield
            return
        task = asyncio.create_task(self._hold(limit, seconds))
        try:
            yield
        finally:
            task.cancel()

    async def _hold(self, limit: asyncio.Timeout, seconds: float) -> None:
        with suppress(RuntimeError):  # the limit has passed
            while True:
                await asyncio.sleep(_INTERVAL)
                if self.is_waiting and limit.when() is not None:
                    limit.reschedule(asyncio.get_running_loop().time() + seconds)

    def explained(self, message: str, lines: Iterable[str]) -> str:
        """Return the message about a failure, followed by what the sandbox refused, or may have refused.

        `lines` are the last lines that the server wrote to stderr.
        """
        if self._launcher is None or not self._launcher.holds:
            return message
        refused = self.refused_since(self._started)
        if not refused and not any(map(_HELD.search, lines)):
            return message
        why = f"the sandbox refused {', '.join(refused[:_MOST_HOSTS])}" if refused else _WALL
        return f"{message}; {why}. {_WAY_OUT}"
