"""The scripted agent of `acp_agent` with the protocol's own package, which checks everything that it gets and sends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema
from pydantic import TypeAdapter

from tests.fakes.acp_agent import Refused, ScriptedAgent


class PackageAgent:
    """Passes on what the package calls to the scripted agent, and what that sends to the package."""

    def __init__(self, script: Path) -> None:
        self._agent = ScriptedAgent(script)
        self._agent.client = self
        self._connection: Any = None
        notification = schema.SessionNotification.model_fields["update"]
        self._updates: TypeAdapter[Any] = TypeAdapter(notification.rebuild_annotation())

    def on_connect(self, conn: Any) -> None:
        self._connection = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        self._agent.note(initialize=_dumped(client_capabilities))
        return schema.InitializeResponse.model_validate(self._agent.description())

    async def authenticate(self, method_id: str, **_: Any) -> Any:
        self._agent.authenticate(method_id)
        return schema.AuthenticateResponse()

    async def new_session(self, cwd: str, **_: Any) -> Any:
        if not self._agent.is_signed_in:
            raise acp.RequestError.auth_required()
        self._agent.note(cwd=cwd)
        return schema.NewSessionResponse(session_id="one")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._agent.cancel(session_id)

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        reason: Any = await self._agent.play(session_id, prompt[0].text)
        return schema.PromptResponse(stop_reason=reason)

    async def update(self, session: str, update: dict[str, Any]) -> None:
        await self._connection.session_update(session_id=session, update=self._updates.validate_python(update))

    async def request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        request = schema.RequestPermissionRequest.model_validate(params)
        response = await self._connection.request_permission(
            session_id=request.session_id, tool_call=request.tool_call, options=request.options
        )
        return _dumped(response)

    async def write_text_file(self, params: dict[str, Any]) -> None:
        request = schema.WriteTextFileRequest.model_validate(params)
        try:
            await self._connection.write_text_file(
                session_id=request.session_id, path=request.path, content=request.content
            )
        except acp.RequestError as error:
            raise Refused(str(error)) from error

    async def read_text_file(self, params: dict[str, Any]) -> str:
        request = schema.ReadTextFileRequest.model_validate(params)
        try:
            response = await self._connection.read_text_file(
                session_id=request.session_id, path=request.path, line=request.line, limit=request.limit
            )
        except acp.RequestError as error:
            raise Refused(str(error)) from error
        return str(response.content)


def _dumped(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


if __name__ == "__main__":
    asyncio.run(acp.run_agent(PackageAgent(Path(sys.argv[1])), use_unstable_protocol=True))  # type: ignore[arg-type]
