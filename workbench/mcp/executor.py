"""Runs the calls of one MCP tool: through the client, with a timeout, ended by an interrupt; used by `offered`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.mcp.client import MCPClient
from workbench.mcp.content import content_of
from workbench.mcp.definitions import Definition
from workbench.mcp.faults import CallTimedOut, ServerGone, SessionLost, SignInNeeded
from workbench.mcp.requests import Asker
from workbench.mcp.tool import MCPToolAction, MCPToolObservation, annotations_of
from workbench.secrets.masker import KNOWN
from workbench.tools.executor import ToolExecutor

if TYPE_CHECKING:
    from mcp import types as t

_UNKNOWN = "Whether the call did anything is unknown: look before you repeat it."
_SLACK = 30.0


def _nobody(server: str) -> Asker | None:
    """Where a tool is used by itself, its server's questions are refused."""
    return None


class MCPToolExecutor(ToolExecutor[MCPToolAction, MCPToolObservation]):
    """One tool of one server."""

    def __init__(
        self,
        client: MCPClient,
        definition: Definition,
        notice: Callable[[str], None] = lambda text: None,
        asker_of: Callable[[str], Asker | None] = _nobody,
        *,
        is_approved: bool = False,
    ) -> None:
        """`notice` takes a line for the person, from any thread: what only they can mend.

        `asker_of` gives, in the thread of a call, who answers the server's questions in it; `is_approved` says that
        the tool's hints count.
        """
        hints = annotations_of(definition.get("annotations") or {}, is_approved=is_approved)
        self._client = client
        self._asker_of = asker_of
        self._definition = definition
        self._notice = notice
        self._may_repeat = hints.readOnlyHint or hints.idempotentHint
        self.side_by_side = hints.readOnlyHint
        self._lock = threading.Lock()
        self._running: set[Future[Any]] = set()

    def __call__(self, action: MCPToolAction) -> MCPToolObservation:
        """The server's answer; what goes wrong is an observation with `is_error`."""
        arguments = action.to_mcp_arguments()
        try:
            try:
                return self._told(self._answer(arguments))
            except ServerGone as error:
                if not (self._may_repeat or isinstance(error, SessionLost)):
                    raise
            return self._told(self._answer(arguments))
        except CancelledError:
            return self._failed(f"the call was interrupted and the server told to stop. {_UNKNOWN}")
        except (ServerGone, CallTimedOut) as error:
            return self._failed(f"{error}. {_UNKNOWN}")
        except SignInNeeded as error:
            self._notice(KNOWN.masked(str(error)))
            return self._failed(str(error))
        except WorkbenchError as error:
            return self._failed(str(error))

    def _answer(self, arguments: dict[str, Any]) -> t.CallToolResult:
        server = self._client.server
        asker = self._asker_of(server.name)
        with self._lock:
            future = self._client.call_tool(self._definition, arguments, self.on_output, asker)
            self._running.add(future)
        try:
            while not wait([future], server.call_seconds + server.start_seconds + _SLACK).done:
                if not self._client.is_asking:
                    future.cancel()
                    raise CallTimedOut(f"the MCP server {server.name} did not answer in time")
            return future.result()
        finally:
            with self._lock:
                self._running.discard(future)

    def _told(self, result: t.CallToolResult) -> MCPToolObservation:
        content = content_of(result.content, result.structured_content)
        return MCPToolObservation(content=tuple(content), is_error=bool(result.is_error), **self._whose())

    def _failed(self, why: str) -> MCPToolObservation:
        return MCPToolObservation.from_text(KNOWN.masked(why), is_error=True, **self._whose())

    def _whose(self) -> dict[str, str]:
        return {"server": self._client.server.name, "tool": self._definition["name"]}

    def interrupt(self) -> None:
        """End all running calls; the server is told."""
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()
