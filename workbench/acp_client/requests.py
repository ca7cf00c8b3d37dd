"""Requests of an agent's program while it works; each is answered once, from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp import RequestError
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    PermissionOptionKind,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from workbench.acp_client.calls import AgentCall

_REFUSED = -32000
"""The error code of a refusal: JSON-RPC leaves the codes from -32000 down to -32099 to implementations."""


class AgentRequest:
    """A request whose answer the agent's program awaits; must be created in the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Any] = self._loop.create_future()

    async def answered(self) -> Any:
        """Wait for the answer and return it. Raises RequestError if the request was refused."""
        return await self._answer

    def cancel(self) -> None:
        """Answer that the turn was canceled."""
        self.refuse("canceled")

    def refuse(self, reason: str) -> None:
        """Refuse the request, with the reason."""
        self._finish(RequestError(_REFUSED, reason))

    def _finish(self, answer: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended, and the program with it
            self._loop.call_soon_threadsafe(self._set, answer)

    def _set(self, answer: Any) -> None:
        if self._answer.done():
            return
        if isinstance(answer, BaseException):
            self._answer.set_exception(answer)
        else:
            self._answer.set_result(answer)


class PermissionRequest(AgentRequest):
    """A request for permission to make a call; the agent offers the possible answers."""

    def __init__(self, call: AgentCall, options: Sequence[PermissionOption]) -> None:
        super().__init__()
        self.call = call
        self._options = {option.kind: option.option_id for option in reversed(options)}
        self.is_answered = False

    @property
    def can_be_granted(self) -> bool:
        """Whether the agent offers "allow once"; an option that allows more is never chosen."""
        return "allow_once" in self._options

    def grant(self) -> None:
        """Allow the call once."""
        self._choose("allow_once")

    def refuse(self, reason: str) -> None:
        """Reject the call once; sending the reason is an extension of the protocol."""
        self._choose("reject_once", {"reason": reason})

    def cancel(self) -> None:
        """Answer that the turn was canceled, as the protocol demands."""
        self._end(DeniedOutcome(outcome="cancelled"))

    def _choose(self, kind: PermissionOptionKind, meta: Mapping[str, str] | None = None) -> None:
        if kind in self._options:
            self._end(AllowedOutcome(outcome="selected", option_id=self._options[kind]), meta)
        else:
            self._end(DeniedOutcome(outcome="cancelled"), meta)

    def _end(self, outcome: AllowedOutcome | DeniedOutcome, meta: Mapping[str, str] | None = None) -> None:
        self.is_answered = True
        more = {"field_meta": {"ohw": dict(meta)}} if meta else {}
        self._finish(RequestPermissionResponse(outcome=outcome, **more))


class WriteRequest(AgentRequest):
    """A request to write a text file."""

    def __init__(self, path: str, content: str) -> None:
        super().__init__()
        self.path = path
        self.content = content

    def writes(self, path: str, content: str | None) -> bool:
        """Return whether the request is to write this content to this file."""
        return content == self.content and Path(self.path).resolve() == Path(path).resolve()

    def confirm(self) -> None:
        """Answer that the file was written."""
        self._finish(WriteTextFileResponse())
