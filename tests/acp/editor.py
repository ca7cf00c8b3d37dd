"""An editor: the package's own client, connected to the agent of `ohw acp`, whose messages are all validated."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.client.connection import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent

from tests.sandbox import Sandbox
from workbench.acp.agent import EditorAgent
from workbench.acp.main import LONGEST_LINE, serve_streams
from workbench.cli.arguments import parse
from workbench.cli.common import settings_of

PATIENCE = 60.0
ANSWERS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/close": schema.CloseSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "authenticate": schema.AuthenticateResponse,
}
"""The model of the answer to each request of an editor."""
REQUESTS: dict[str, Any] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
}
"""The model of each message that the agent sends on its own."""


@dataclass
class Asked:
    """A permission request as the editor got it."""

    session_id: str
    tool_call: Any
    options: list[Any]

    def option(self, name: str) -> str:
        """Return the id of the option whose name begins like this."""
        (option, *_) = (each.option_id for each in self.options if each.name.startswith(name))
        return option

    @property
    def text(self) -> str:
        """The text that is shown with the question."""
        return "\n".join(each.content.text for each in self.tool_call.content if each.type == "content")

    @property
    def diffs(self) -> list[tuple[str, str | None, str]]:
        """The path, the old and the new text of each file that would change."""
        return [(each.path, each.old_text, each.new_text) for each in self.tool_call.content if each.type == "diff"]


Answer = Callable[[Asked], "schema.RequestPermissionResponse | Awaitable[schema.RequestPermissionResponse]"]


def choose(name: str) -> Answer:
    """Return a user who chooses the option whose name begins like this."""
    return lambda asked: selected(asked.option(name))


def selected(option_id: str) -> schema.RequestPermissionResponse:
    """Return the answer that an option was chosen."""
    return schema.RequestPermissionResponse(
        outcome=schema.AllowedOutcome(outcome="selected", option_id=option_id),
    )


def cancelled(_: Asked) -> schema.RequestPermissionResponse:
    """Answer as an editor whose user closed the question."""
    return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


async def never(_: Asked) -> schema.RequestPermissionResponse:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


@dataclass
class Editor:
    """What the client of an editor has received; `answers` are used in order, the last one from then on."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    methods: dict[Any, str] = field(default_factory=dict)
    buffers: dict[str, str] | None = None
    """The contents of the files that are open, by path; None for an editor that offers no files to the agent."""
    can_save: bool = True
    reads: list[str] = field(default_factory=list)

    @property
    def capabilities(self) -> schema.ClientCapabilities:
        """What the editor can do."""
        has_files = self.buffers is not None
        files = schema.FileSystemCapabilities(read_text_file=has_files, write_text_file=has_files)
        return schema.ClientCapabilities(fs=files)

    async def read_text_file(self, path: str, **_: Any) -> schema.ReadTextFileResponse:
        """Return what is in the editor, or else on the disk."""
        assert self.buffers is not None
        self.reads.append(path)
        try:
            text = self.buffers[path] if path in self.buffers else Path(path).read_text()
        except OSError as error:
            raise acp.RequestError.resource_not_found(path) from error
        return schema.ReadTextFileResponse(content=text)

    async def write_text_file(self, path: str, content: str, **_: Any) -> schema.WriteTextFileResponse:
        """Put a text into the editor and save it."""
        assert self.buffers is not None
        if not self.can_save:
            raise acp.RequestError.internal_error()
        self.buffers[path] = content
        Path(path).write_text(content)
        return schema.WriteTextFileResponse()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        asked = Asked(session_id, tool_call, options)
        self.asked.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        result = answer(asked)
        return await result if asyncio.iscoroutine(result) else result

    def check(self, event: StreamEvent) -> None:
        """Validate a message of the agent against the protocol's models, without what these would let pass."""
        message = event.message
        if event.direction is StreamDirection.OUTGOING:
            if "method" in message and "id" in message:
                self.methods[message["id"]] = message["method"]
            return
        if "error" in message:
            schema.Error.model_validate(message["error"])
            return
        is_answer = "method" not in message
        method = self.methods.get(message["id"], "") if is_answer else message["method"]
        model = (ANSWERS if is_answer else REQUESTS).get(method)
        if model is None:
            self.problems.append(f"{method!r} is no message of the agent")
            return
        payload = message["result" if is_answer else "params"]
        try:
            read = model.model_validate(payload)
        except ValueError as error:
            self.problems.append(f"{method}: {error}")
            return
        again = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
        if again != payload:
            self.problems.append(f"{method}: {payload} is read as {again}")

    def kinds(self) -> list[str]:
        """Return the kind of each update, without repetitions."""
        kinds = [each.session_update for each in self.updates]
        return [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """Return the text of all chunks of a kind."""
        return "".join(each.content.text for each in self.updates if each.session_update == kind)

    def calls(self) -> dict[str, dict[str, Any]]:
        """Return each tool call as the editor shows it, by its title at first."""
        shown: dict[str, dict[str, Any]] = {}
        for each in self.updates:
            if each.session_update in ("tool_call", "tool_call_update"):
                fields = each.model_dump(exclude_unset=True, exclude={"session_update"})
                shown.setdefault(each.tool_call_id, {}).update(fields)
        return {call["title"]: call for call in shown.values()}

    def of_kind(self, kind: str) -> list[Any]:
        """Return the updates of a kind."""
        return [each for each in self.updates if each.session_update == kind]


class Connected:
    """A connected editor: `agent` sends requests, `editor` has what came."""

    def __init__(
        self, editor: Editor, agent: ClientSideConnection, process: asyncio.subprocess.Process | None = None
    ) -> None:
        self.editor = editor
        self.agent = agent
        self._process = process

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The program that the editor has started."""
        assert self._process is not None
        return self._process

    async def new(self, sandbox: Sandbox, **more: Any) -> str:
        """Start a session in the project and return its id."""
        return (await self.agent.new_session(cwd=str(sandbox.project), **more)).session_id

    async def prompt(self, session_id: str, *blocks: Any) -> str:
        """Send a prompt, of text or blocks, and return why the agent stopped."""
        content = [acp.text_block(each) if isinstance(each, str) else each for each in blocks]
        response = await asyncio.wait_for(self.agent.prompt(session_id=session_id, prompt=content), PATIENCE)
        return response.stop_reason


@contextmanager
def served(sandbox: Sandbox, *args: str) -> Iterator[socket.socket]:
    """Serve one editor in a thread as `ohw acp` with these arguments does, and yield the editor's end.

    That costs a third of a program of its own, whose start, streams and signals have their own tests.
    """
    ours, theirs = socket.socketpair()
    _, arguments = parse(["acp", *args])
    agent = EditorAgent(sandbox.locations, lambda: settings_of(arguments)[1])

    async def serve() -> None:
        reader, writer = await asyncio.open_connection(sock=theirs, limit=LONGEST_LINE)
        try:
            await serve_streams(agent, reader, writer)
        finally:
            writer.close()

    with sandbox.entered(), ThreadPoolExecutor(1) as threads:
        serving = threads.submit(asyncio.run, serve())
        try:
            yield ours
        finally:
            ours.close()
            serving.result(PATIENCE)


@asynccontextmanager
async def editor(
    sandbox: Sandbox, *args: str, answers: tuple[Answer, ...] = (), buffers: dict[str, str] | None = None
) -> AsyncIterator[Connected]:
    """Connect an editor to the agent with these arguments; its messages are valid at the end."""
    client = Editor(list(answers), buffers=buffers)
    with served(sandbox, *args) as connection:
        reader, writer = await asyncio.open_connection(sock=connection, limit=LONGEST_LINE)
        agent = acp.connect_to_agent(client, writer, reader, observers=[client.check], use_unstable_protocol=True)
        await agent.initialize(protocol_version=1, client_capabilities=client.capabilities)
        yield Connected(client, agent)
        await agent.close()
        writer.close()
    assert client.problems == []


@asynccontextmanager
async def editor_of_program(sandbox: Sandbox, *args: str, answers: tuple[Answer, ...] = ()) -> AsyncIterator[Connected]:
    """Start `ohw acp` with these arguments and connect an editor to it; its messages are valid at the end."""
    client = Editor(list(answers))
    command = [sys.executable, "-m", "workbench", "acp", *args]
    async with acp.spawn_agent_process(
        client, *command, env=sandbox.env, cwd=sandbox.project, observers=[client.check], use_unstable_protocol=True
    ) as (agent, process):
        await agent.initialize(protocol_version=1)
        yield Connected(client, agent, process)
    assert client.problems == []


async def until(is_so: Callable[[], Any], what: str) -> Any:
    """Return the first true value of `is_so`; fail if there is none in time."""
    async with asyncio.timeout(PATIENCE):
        while not (value := is_so()):
            await asyncio.sleep(0.02)
        return value
