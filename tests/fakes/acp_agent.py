"""Another agent, in a process of its own: plays a script over the Agent Client Protocol, with its package's agent side.

Its argument is a JSON file: a list of turns, each a list of steps, one turn for each prompt. What it gets is appended
to `heard.jsonl` beside the script. If the variable SIGN_IN_WITH names another variable, it has no session before the
client tells it to use that one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.helpers import update_agent_message_text, update_agent_thought_text

ONCE = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class ScriptedAgent:
    """Plays the steps of the next turn for each prompt."""

    def __init__(self, script: Path) -> None:
        self._turns = json.loads(script.read_text())
        self._heard = script.with_name("heard.jsonl")
        self._client: Any = None
        self._allowed = False
        self._canceled = asyncio.Event()
        self._go = script.with_name("go")
        self._key = os.environ.get("SIGN_IN_WITH", "")
        self._is_signed_in = not self._key

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    def _note(self, **what: Any) -> None:
        with suppress(OSError), self._heard.open("a") as file:  # inside a sandbox it cannot be written
            file.write(json.dumps(what) + "\n")

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        self._note(initialize=client_capabilities.model_dump(mode="json", by_alias=True, exclude_none=True))
        methods = [{"id": "web", "name": "Sign in on the web"}]
        methods += [{"type": "env_var", "id": "key", "name": "Use a key", "vars": [{"name": self._key}]}]
        return schema.InitializeResponse.model_validate(
            {
                "protocolVersion": protocol_version,
                "agentInfo": {"name": "scripted", "version": "1.0"},
                "authMethods": methods if self._key else [],
            }
        )

    async def authenticate(self, method_id: str, **_: Any) -> Any:
        self._note(authenticate=method_id)
        self._is_signed_in = True
        return schema.AuthenticateResponse()

    async def new_session(self, cwd: str, **_: Any) -> Any:
        if not self._is_signed_in:
            raise acp.RequestError.auth_required()
        self._note(cwd=cwd)
        return schema.NewSessionResponse(session_id="one")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._note(cancel=session_id)
        self._canceled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        self._note(prompt=prompt[0].text)
        self._canceled.clear()
        for step in self._turns.pop(0) if self._turns else [{"say": "Nothing more."}]:
            if step.pop("if_allowed", self._allowed) != self._allowed:
                continue
            ((kind, value),) = step.items()
            end = await getattr(self, f"_{kind}")(session_id, value)
            if end is not None:
                return end
        return schema.PromptResponse(stop_reason="end_turn")

    async def _update(self, session: str, update: Any) -> None:
        await self._client.session_update(session_id=session, update=update)

    async def _say(self, session: str, text: str) -> None:
        await self._update(session, update_agent_message_text(text))

    async def _think(self, session: str, text: str) -> None:
        await self._update(session, update_agent_thought_text(text))

    async def _call(self, session: str, fields: dict[str, Any]) -> None:
        await self._update(session, schema.ToolCallStart.model_validate({"sessionUpdate": "tool_call", **fields}))

    async def _progress(self, session: str, fields: dict[str, Any]) -> None:
        change = schema.ToolCallProgress.model_validate({"sessionUpdate": "tool_call_update", **fields})
        await self._update(session, change)

    async def _plan(self, session: str, entries: list[dict[str, str]]) -> None:
        await self._update(
            session, schema.AgentPlanUpdate.model_validate({"sessionUpdate": "plan", "entries": entries})
        )

    async def _usage(self, session: str, fields: dict[str, Any]) -> None:
        await self._update(session, schema.UsageUpdate.model_validate({"sessionUpdate": "usage_update", **fields}))

    async def _ask(self, session: str, fields: dict[str, Any]) -> None:
        options = [schema.PermissionOption.model_validate(each) for each in fields.pop("options", ONCE)]
        response = await self._client.request_permission(
            session_id=session, tool_call=schema.ToolCallUpdate.model_validate(fields), options=options
        )
        answer = response.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._allowed = answer["outcome"].get("optionId") == "yes"
        self._note(answer=answer)

    async def _write(self, session: str, fields: dict[str, str]) -> None:
        try:
            await self._client.write_text_file(session_id=session, **fields)
            self._note(written=fields["path"])
        except acp.RequestError as error:
            self._note(refused=str(error))

    async def _read(self, session: str, fields: dict[str, Any]) -> None:
        try:
            response = await self._client.read_text_file(session_id=session, **fields)
            self._note(read=response.content)
        except acp.RequestError as error:
            self._note(refused=str(error))

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
            self._note(meanwhile=kind)

        self._played = asyncio.create_task(play())

    async def _exit(self, session: str, code: int) -> None:
        os._exit(code)

    async def _until_canceled(self, session: str, reacts: bool) -> Any:
        await (self._canceled if reacts else asyncio.Event()).wait()
        return schema.PromptResponse(stop_reason="cancelled")

    async def _stop(self, session: str, reason: Any) -> Any:
        return schema.PromptResponse(stop_reason=reason)


async def main(script: Path) -> None:
    """Serve one client on the standard streams."""
    await acp.run_agent(ScriptedAgent(script), use_unstable_protocol=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
