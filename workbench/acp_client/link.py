"""The connection to the program of another agent: its start, its turns and its end; the methods are for any thread.

The connection runs in the event loop that all MCP servers and agents of this process share. What the program sends goes
to `inbox`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence, Set
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Final, cast

import acp
from acp import RequestError
from acp.client.connection import ClientSideConnection
from acp.helpers import text_block
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ClientCapabilities,
    EnvVarAuthMethod,
    FileSystemCapabilities,
    Implementation,
    InitializeResponse,
    PermissionOption,
    ReadTextFileResponse,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)
from pydantic import ValidationError

from workbench import __version__
from workbench.acp_client.calls import AgentCall, Change, clean
from workbench.acp_client.inbox import (
    TOO_MUCH,
    AgentInbox,
    CallBegan,
    CallEnded,
    Chunk,
    Item,
    PlanChanged,
    ProgramGone,
    TurnEnded,
)
from workbench.acp_client.program import AgentConfig, JsonLines
from workbench.acp_client.reads import cut_to, workspace_text
from workbench.acp_client.requests import AgentRequest, PermissionRequest, WriteRequest
from workbench.errors import WorkbenchError
from workbench.files.text_file import EditorError
from workbench.mcp.client import BACKGROUND
from workbench.mcp.config import mask_secrets
from workbench.mcp.errors import with_stderr
from workbench.mcp.server_command import command_of
from workbench.mcp.server_sandbox import ServerSandbox
from workbench.mcp.stdio import StderrTail, server_process
from workbench.processes.launch import Launcher
from workbench.text import first_line

_VERSION: Final = 1
"""The version of the protocol that is used."""
_SIGN_IN: Final = -32000
"""The protocol's error code for an agent that needs a sign-in."""
_LAST_WORDS: Final = 1.0
_CANCEL_SECONDS: Final = 1.0
_END_SECONDS: Final = 15.0
_MOST_CALLS: Final = 10_000
_LARGE: Final = 10_000
_MOST_OF_CALLS: Final = 50_000_000
"""The maximum number of characters stored about all calls; checked only after an update of a call with more than
`_LARGE`.
"""
_MOST_TASKS: Final = 100
NOT_STARTED: Final = "it is not running"


class AgentFailed(WorkbenchError):
    """The program cannot be used. The message continues a sentence about it: 'it refused: …'."""


class AgentLink:
    """One program and its one session; call `start` first and `close` last."""

    def __init__(self, config: AgentConfig) -> None:
        self.config = config
        self.inbox = AgentInbox()
        self.cost: float | None = None
        """The cost of the program's session in US dollars; None if the program does not report it."""
        self._gone = NOT_STARTED
        self._on_gone: Callable[[str], None] = lambda reason: None
        self._calls: dict[str, AgentCall] = {}
        self._requests: set[AgentRequest] = set()
        self._tail = StderrTail(lambda line: None)
        self._owner: asyncio.Task[None] | None = None
        self._leave: asyncio.Event | None = None
        self._starting: Future[str] | None = None
        self._turn: _Turn | None = None
        self._connection: ClientSideConnection | None = None
        self._session = ""

    @property
    def gone(self) -> str:
        """Why the program cannot be used, as in the message of AgentFailed; empty while it runs."""
        return self._gone

    def when_gone(self, report: Callable[[str], None]) -> None:
        """Call `report` with the reason, in another thread, when the program ends without being asked to."""
        self._on_gone = report

    def start(self, launcher: Launcher | None) -> str:
        """Start the program in its sandbox and begin its session; return its name and version. Raises AgentFailed."""
        if self._starting is not None:
            raise AgentFailed(self._gone or "it runs already")
        mask_secrets(self.config)
        BACKGROUND.acquire()
        self._starting = BACKGROUND.submit(lambda: self._opened(ServerSandbox(self.config, launcher)))
        try:
            return self._starting.result()
        except CancelledError:
            self._gone = "it was stopped before it had answered"
            raise AgentFailed(self._gone) from None
        except WorkbenchError as error:
            self._gone = str(error)
            raise AgentFailed(self._gone) from error

    def stop_starting(self) -> None:
        """Cancel the start, if it is still in progress."""
        if self._starting is not None:
            self._starting.cancel()

    def prompt(self, text: str) -> None:
        """Send a prompt; the end of its turn is an item in `inbox`. The session must have begun."""
        _call_soon(self._begin_turn, text)

    def cancel(self) -> None:
        """Ask the agent to stop, and answer all its open requests as canceled."""
        _call_soon(self._cancel)

    def close(self) -> None:
        """End the turn, and then the program with all processes that it has started."""
        if self._starting is None:
            return
        self._on_gone = lambda reason: None
        self.stop_starting()
        with suppress(TimeoutError, CancelledError):
            BACKGROUND.submit(self._close).result(_END_SECONDS)
        self._gone = self._gone or "it was ended"
        self._starting = None
        BACKGROUND.release()

    async def _opened(self, sandbox: ServerSandbox) -> str:
        self._leave = asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(sandbox, ready, self._leave))
        try:
            return await ready
        except asyncio.CancelledError:
            self._owner.cancel()
            raise

    async def _own(self, sandbox: ServerSandbox, ready: asyncio.Future[str], leave: asyncio.Event) -> None:
        """Start, run and end the program: one task enters and exits all its context managers."""
        try:
            argv, directory, env = command_of(self.config)
            async with server_process(argv, directory, env, self._tail, sandbox=sandbox) as process:
                lines = JsonLines(process)
                # The package's interface has methods that need not be offered.
                connection = ClientSideConnection(cast("acp.Client", _Client(self)), lines)
                try:
                    name = await self._greeted(connection, lines, process, sandbox)
                    self._connection, self._gone = connection, ""
                    ready.set_result(name)
                    await self._ended(connection, lines, process, sandbox, leave)
                finally:
                    await connection.close()
        except AgentFailed as error:
            _fail(ready, str(error))
        except WorkbenchError as error:
            _fail(ready, f"it cannot be started: {error}")
        except (OSError, ValueError) as error:  # ValueError: a word that no command line can have
            _fail(ready, f"it cannot be started: {getattr(error, 'strerror', None) or error}")
        finally:
            _fail(ready, "its start was interrupted")

    async def _greeted(
        self,
        connection: ClientSideConnection,
        lines: JsonLines,
        process: asyncio.subprocess.Process,
        sandbox: ServerSandbox,
    ) -> str:
        """Exchange capabilities and create the session; return the agent's name and version. Raises AgentFailed."""
        seconds = self.config.start_seconds
        try:
            async with asyncio.timeout(seconds) as limit, sandbox.holding(limit, seconds):
                offer = await connection.initialize(
                    protocol_version=_VERSION,
                    client_capabilities=ClientCapabilities(fs=FileSystemCapabilities(write_text_file=True)),
                    client_info=Implementation(name="ohw", version=__version__),
                )
                if offer.protocol_version != _VERSION:
                    raise AgentFailed(f"it speaks version {offer.protocol_version} of the protocol, not {_VERSION}")
                self._session = await _new_session(connection, offer, self.config)
        except TimeoutError:
            raise AgentFailed(self._explained(f"it did not answer within {seconds:g} s", lines, sandbox)) from None
        except ValidationError:
            raise AgentFailed("its answer does not follow the protocol") from None
        except RequestError as error:
            raise AgentFailed(self._explained(f"it refused: {_one_line(error)}", lines, sandbox)) from None
        except ConnectionError:
            raise AgentFailed(await self._why_ended(lines, process, sandbox)) from None
        info = offer.agent_info
        return first_line(f"{info.title or info.name} {info.version}" if info else self.config.name, 100)

    async def _ended(
        self,
        connection: ClientSideConnection,
        lines: JsonLines,
        process: asyncio.subprocess.Process,
        sandbox: ServerSandbox,
        leave: asyncio.Event,
    ) -> None:
        """Wait until the program ends, and report that, or until `leave` is set."""
        closed = asyncio.create_task(lines.closed.wait())
        asked = asyncio.create_task(leave.wait())
        try:
            await asyncio.wait([closed, asked], return_when=asyncio.FIRST_COMPLETED)
        finally:
            closed.cancel()
            asked.cancel()
        if leave.is_set():
            return
        self._gone = await self._why_ended(lines, process, sandbox)
        self.add(ProgramGone(self._gone))
        await asyncio.to_thread(self._on_gone, self._gone)

    async def _why_ended(self, lines: JsonLines, process: asyncio.subprocess.Process, sandbox: ServerSandbox) -> str:
        """Return why the program has ended, with its last output."""
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LAST_WORDS)
        code = process.returncode
        ended = lines.fault or ("it ended" if code is None else f"it ended with exit code {code}")
        return self._explained(ended, lines, sandbox)

    def _explained(self, why: str, lines: JsonLines, sandbox: ServerSandbox) -> str:
        noise = f"; it printed what is not a message: {clean(lines.noise)}" if lines.noise else ""
        tail = [clean(line) for line in self._tail.lines]
        return sandbox.explained(with_stderr(f"{why}{noise}", tail), tail)

    def _begin_turn(self, text: str) -> None:
        self._turn = _Turn(self._prompted(text))

    async def _prompted(self, text: str) -> None:
        assert self._connection is not None
        try:
            response = await self._connection.prompt(session_id=self._session, prompt=[text_block(text)])
        except RequestError as error:
            self.add(TurnEnded(f"it reported an error: {_one_line(error)}"))
        except ValidationError:
            self.add(TurnEnded("its answer does not follow the protocol"))
        except ConnectionError:
            return  # the end of the program is an item of its own
        else:
            usage = response.usage
            tokens = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
            self.add(TurnEnded(response.stop_reason, *tokens))

    def _cancel(self) -> None:
        for request in tuple(self._requests):
            request.cancel()
        if self._turn is not None and self._turn.cancel() and self._connection is not None:
            asyncio.create_task(_send_cancel(self._connection, self._session))  # noqa: RUF006 - the loop outlives it

    async def _close(self) -> None:
        if self._turn is not None and not self._turn.task.done():
            self._cancel()
            await asyncio.wait([self._turn.task], timeout=_CANCEL_SECONDS)
        if self._leave is not None:
            self._leave.set()
        if self._owner is not None:
            await asyncio.wait([self._owner])

    def add(self, item: Item) -> None:
        """Add an item to `inbox`; a program that has sent too many is ended."""
        if not self.inbox.put(item):
            self._end_flood()

    def _end_flood(self) -> None:
        if self._gone:
            return
        self._gone = TOO_MUCH
        self.inbox.put(ProgramGone(TOO_MUCH))
        if self._leave is not None:
            self._leave.set()
        BACKGROUND.submit(lambda: asyncio.to_thread(self._on_gone, TOO_MUCH))

    def unfinished(self) -> list[AgentCall]:
        """Return the calls that no action represents and whose end the program has not reported."""
        return [call for call in list(self._calls.values()) if not (call.is_over or call.was_proposed)]

    def apply(self, change: Change) -> AgentCall | None:
        """Apply an update about a call, and return the call; None if there are too many.

        A report of a start, or a request about a call, begins a new call if the one with its ID is over.
        """
        call = self._calls.get(change.tool_call_id)
        if call is None or (call.is_over and not isinstance(change, ToolCallProgress)):
            if len(self._calls) >= _MOST_CALLS:
                return None
            call = self._calls[change.tool_call_id] = AgentCall(change.tool_call_id)
        was_over = call.is_over
        call.apply(change)
        if call.size > _LARGE and sum(each.size for each in self._calls.values()) > _MOST_OF_CALLS:
            self._end_flood()
        if call.is_over and not was_over:
            self.add(CallEnded(call))
        elif not call.is_over and isinstance(change, ToolCallStart):
            self.add(CallBegan(call))
        self.inbox.notify()
        return call

    async def ask(self, request: AgentRequest, item: Item) -> Any:
        """Add `item` to the inbox, and wait for the answer to `request`. Raises RequestError if it is refused."""
        self._requests.add(request)
        self.add(item)
        try:
            return await request.answered()
        finally:
            self._requests.discard(request)


class _Turn:
    """A turn of the agent, which is asked to end it at most once."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self.task = asyncio.create_task(work)
        self._was_canceled = False

    def cancel(self) -> bool:
        """Note that the turn is to end; return whether the agent has to be asked for that."""
        was_canceled, self._was_canceled = self._was_canceled, True
        return not (was_canceled or self.task.done())


def _call_soon(do: Callable[..., None], *args: Any) -> None:
    """Call a function in the shared event loop, without waiting."""

    async def call() -> None:
        do(*args)

    with suppress(RuntimeError):  # the loop has ended
        BACKGROUND.submit(call)


async def _send_cancel(connection: ClientSideConnection, session: str) -> None:
    with suppress(ConnectionError):
        await connection.cancel(session_id=session)


async def _new_session(connection: ClientSideConnection, offer: InitializeResponse, config: AgentConfig) -> str:
    """Create the session and return its ID. Raises RequestError, and AgentFailed if the agent needs a sign-in.

    An agent that takes a key from a variable, and was started with it, is told to use it.
    """
    keys = [each for each in offer.auth_methods or () if isinstance(each, EnvVarAuthMethod)]
    try:
        return (await connection.new_session(cwd=config.workspace, mcp_servers=[])).session_id
    except RequestError as error:
        if error.code != _SIGN_IN:
            raise
    method = next((each.id for each in keys if _has_variables(each, config.env.keys())), None)
    if method is None:
        raise AgentFailed(_sign_in(offer, config))
    await connection.authenticate(method_id=method)
    return (await connection.new_session(cwd=config.workspace, mcp_servers=[])).session_id


def _has_variables(method: EnvVarAuthMethod, names: Set[str]) -> bool:
    """Return whether the variables that a method of signing in uses are among these."""
    needed = {each.name for each in method.vars if not each.optional}
    return needed <= names and not names.isdisjoint(each.name for each in method.vars)


def _sign_in(offer: InitializeResponse, config: AgentConfig) -> str:
    methods = offer.auth_methods or ()
    ways = ", ".join(first_line(each.name, 60) for each in methods)
    how = f" ({ways})" if ways else ""
    return (
        f"it needs a sign-in{how}: start `{config.target}` yourself once, or set its key in [agents.{config.name}] env"
    )


def _fail(ready: asyncio.Future[str], reason: str) -> None:
    if not ready.done():
        ready.set_exception(AgentFailed(reason))


def _one_line(error: RequestError) -> str:
    data = error.data if isinstance(error.data, str) else ""
    details = error.data.get("details") if isinstance(error.data, dict) else ""
    return clean(first_line("; ".join(filter(None, (str(error), data, str(details or "")))), 300))


class _Client:
    """Receives the program's messages, in order, in the event loop."""

    def __init__(self, link: AgentLink) -> None:
        self._link = link

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Add what the agent says and does to the inbox."""
        link = self._link
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                link.add(Chunk(clean(text)))
            case AgentThoughtChunk(content=TextContentBlock(text=text)):
                link.add(Chunk(clean(text), is_reasoning=True))
            case ToolCallStart() | ToolCallProgress():
                link.apply(update)
            case AgentPlanUpdate(entries=entries):
                tasks = ((clean(first_line(each.content, 200)), each.status) for each in entries[:_MOST_TASKS])
                link.add(PlanChanged(tuple(tasks)))
            case UsageUpdate(cost=cost) if cost is not None and cost.currency.upper() == "USD":
                link.cost = cost.amount

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: Sequence[PermissionOption], **_: Any
    ) -> Any:
        """Wait for the session's decision about a call, and return it."""
        call = self._link.apply(tool_call)
        if call is None:
            raise RequestError(-32000, "too many tool calls")
        request = PermissionRequest(call, options)
        return await self._link.ask(request, request)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> Any:
        """Return the lines of a file of the workspace.

        It is not offered, because agents read files themselves, but the adapter `claude-code-acp` asks before it edits.
        """
        try:
            content = await asyncio.to_thread(workspace_text, self._link.config.workspace, path)
        except (EditorError, OSError, ValueError) as error:
            raise RequestError(-32000, clean(str(error))) from None
        return ReadTextFileResponse(content=cut_to(content, line, limit))

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> Any:
        """Wait until the file is written; the session does that once it is approved."""
        request = WriteRequest(path, content)
        return await self._link.ask(request, request)
