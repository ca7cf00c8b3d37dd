"""Another agent, in a process of its own: plays a script over the Agent Client Protocol.

Its argument is a JSON file: a list of turns, each a list of steps, one turn for each prompt. What it gets is appended
to `heard.jsonl` beside the script. If the variable SIGN_IN_WITH names another variable, it has no session before the
client tells it to use that one.

It writes the protocol's lines itself, because its package takes 0.7 s of CPU to import, ten times as long as all that
most scripts do. `acp_package_agent` plays the same scripts with the package.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

ONCE = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class Refused(Exception):
    """The client answered a request with an error."""


class Client(Protocol):
    """The client of the agent; all values are in the protocol's form."""

    async def update(self, session: str, update: dict[str, Any]) -> None:
        """Send an update of the session."""

    async def request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        """Ask for a permission and return the answer."""

    async def write_text_file(self, params: dict[str, Any]) -> None:
        """Have a file written. Raises Refused."""

    async def read_text_file(self, params: dict[str, Any]) -> str:
        """Have a file read and return its text. Raises Refused."""


class ScriptedAgent:
    """Plays the steps of the next turn for each prompt."""

    client: Client

    def __init__(self, script: Path) -> None:
        self._turns = json.loads(script.read_text())
        self._heard = script.with_name("heard.jsonl")
        self._allowed = False
        self._canceled = asyncio.Event()
        self._go = script.with_name("go")
        self._key = os.environ.get("SIGN_IN_WITH", "")
        self.is_signed_in = not self._key
        self.outlives = False

    def note(self, **what: Any) -> None:
        """Append what the agent got to its file."""
        with suppress(OSError), self._heard.open("a") as file:  # inside a sandbox it cannot be written
            file.write(json.dumps(what) + "\n")

    def description(self) -> dict[str, Any]:
        """Return the answer to the first request."""
        methods: list[dict[str, Any]] = [{"id": "web", "name": "Sign in on the web"}]
        methods += [{"type": "env_var", "id": "key", "name": "Use a key", "vars": [{"name": self._key}]}]
        info = {"name": "scripted", "version": "1.0"}
        return {"protocolVersion": 1, "agentInfo": info, "authMethods": methods if self._key else []}

    def authenticate(self, method: str) -> None:
        """Sign in."""
        self.note(authenticate=method)
        self.is_signed_in = True

    def cancel(self, session: str) -> None:
        """Cancel the turn, if it reacts."""
        self.note(cancel=session)
        self._canceled.set()

    async def play(self, session: str, prompt: str) -> str:
        """Play the next turn and return the reason for its end."""
        self.note(prompt=prompt)
        self._canceled.clear()
        for step in self._turns.pop(0) if self._turns else [{"say": "Nothing more."}]:
            if step.pop("if_allowed", self._allowed) != self._allowed:
                continue
            ((kind, value),) = step.items()
            end = await getattr(self, f"_{kind}")(session, value)
            if end is not None:
                return end
        return "end_turn"

    async def _say(self, session: str, text: str) -> None:
        await self._chunk(session, "agent_message_chunk", text)

    async def _think(self, session: str, text: str) -> None:
        await self._chunk(session, "agent_thought_chunk", text)

    async def _chunk(self, session: str, kind: str, text: str) -> None:
        await self.client.update(session, {"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    async def _call(self, session: str, fields: dict[str, Any]) -> None:
        await self.client.update(session, {"sessionUpdate": "tool_call", **fields})

    async def _progress(self, session: str, fields: dict[str, Any]) -> None:
        await self.client.update(session, {"sessionUpdate": "tool_call_update", **fields})

    async def _plan(self, session: str, entries: list[dict[str, str]]) -> None:
        await self.client.update(session, {"sessionUpdate": "plan", "entries": entries})

    async def _usage(self, session: str, fields: dict[str, Any]) -> None:
        await self.client.update(session, {"sessionUpdate": "usage_update", **fields})

    async def _ask(self, session: str, fields: dict[str, Any]) -> None:
        options = fields.pop("options", ONCE)
        answer = await self.client.request_permission({"sessionId": session, "toolCall": fields, "options": options})
        self._allowed = answer["outcome"].get("optionId") == "yes"
        self.note(answer=answer)

    async def _write(self, session: str, fields: dict[str, str]) -> None:
        try:
            await self.client.write_text_file({"sessionId": session, **fields})
            self.note(written=fields["path"])
        except Refused as error:
            self.note(refused=str(error))

    async def _read(self, session: str, fields: dict[str, Any]) -> None:
        try:
            self.note(read=await self.client.read_text_file({"sessionId": session, **fields}))
        except Refused as error:
            self.note(refused=str(error))

    async def _shell(self, session: str, line: str) -> None:
        process = await asyncio.create_subprocess_shell(line)
        await process.wait()

    async def _stderr(self, session: str, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()

    async def _raw(self, session: str, text: str) -> None:
        os.write(1, text.encode())

    async def _flood(self, session: str, megabytes: int) -> None:
        os.set_blocking(1, True)
        block = b"x" * 1_000_000
        for _ in range(megabytes):
            os.write(1, block)

    async def _floods(self, session: str, calls: int) -> None:
        for number in range(calls):
            await self._call(session, {"toolCallId": f"f{number}", "title": "One of many"})

    async def _meanwhile(self, session: str, step: dict[str, Any]) -> None:
        """Play a step while others go on, once the test has made the file `go`."""

        async def play() -> None:
            while not self._go.exists():
                await asyncio.sleep(0.02)
            ((kind, value),) = step.items()
            await getattr(self, f"_{kind}")(session, value)
            self.note(meanwhile=kind)

        self._played = asyncio.create_task(play())

    async def _exit(self, session: str, code: int) -> None:
        os._exit(code)

    async def _until_canceled(self, session: str, reacts: bool | float) -> str:
        """Wait until the turn is canceled, and then as many seconds as `reacts` says; for ever if it is False."""
        await (asyncio.Event() if reacts is False else self._canceled).wait()
        await asyncio.sleep(0 if reacts is True else reacts)
        return "cancelled"

    async def _outlive(self, session: str, _: bool) -> None:
        """Ignore signals and the end of the input from here on."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.outlives = True

    async def _stop(self, session: str, reason: str) -> str:
        return reason


class LinesClient:
    """The client at the other end of the standard streams, one JSON object a line."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self._agent = agent
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def update(self, session: str, update: dict[str, Any]) -> None:
        self._send(method="session/update", params={"sessionId": session, "update": update})

    async def request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        return await self._request("session/request_permission", params)

    async def write_text_file(self, params: dict[str, Any]) -> None:
        await self._request("fs/write_text_file", params)

    async def read_text_file(self, params: dict[str, Any]) -> str:
        return (await self._request("fs/read_text_file", params))["content"]

    async def serve(self) -> None:
        """Answer the client until it closes the stream."""
        reader = asyncio.StreamReader(limit=2**24)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        async for line in reader:
            message = json.loads(line)
            if "method" not in message:
                self._answers.pop(message["id"]).set_result(message)
            elif "id" not in message:
                assert message["method"] == "session/cancel"
                self._agent.cancel(message["params"]["sessionId"])
            else:
                task = asyncio.create_task(self._answer(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        self._send(id=number, method=method, params=params)
        message = await self._answers[number]
        if "error" in message:
            raise Refused(message["error"]["message"])
        return message["result"]

    async def _answer(self, request: dict[str, Any]) -> None:
        result: dict[str, Any] = {}
        match request:
            case {"method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": offered}}:
                self._agent.note(initialize=offered)
                result = self._agent.description()
            case {"method": "authenticate", "params": {"methodId": method}}:
                self._agent.authenticate(method)
            case {"method": "session/new"} if not self._agent.is_signed_in:
                error = {"code": -32000, "message": "Authentication required"}
                return self._send(id=request["id"], error=error)
            case {"method": "session/new", "params": {"cwd": directory, "mcpServers": [*_]}}:
                self._agent.note(cwd=directory)
                result = {"sessionId": "one"}
            case {
                "method": "session/prompt",
                "params": {"sessionId": "one", "prompt": [{"type": "text", "text": text}]},
            }:
                result = {"stopReason": await self._agent.play("one", text)}
            case _:
                raise ValueError(f"not a request of the protocol, version 1: {request}")
        self._send(id=request["id"], result=result)


async def main(script: Path) -> None:
    """Serve one client on the standard streams."""
    agent = ScriptedAgent(script)
    agent.client = client = LinesClient(agent)
    await client.serve()
    if agent.outlives:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
