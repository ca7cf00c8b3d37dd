"""A model that plays responses, as a program would give it to an agent."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from workbench.llm.model import Cancel, Delta, ModelRequest, ModelResponse, ToolCall

_numbers = count(1)


def says(text: str) -> ModelResponse:
    return ModelResponse(id=f"r{next(_numbers)}", model="fake/one", text=text)


def calls(*proposed: tuple[str, dict[str, Any]], text: str = "") -> ModelResponse:
    """A response with these calls, each a tool and its arguments, of LOW risk unless they say otherwise."""
    made = tuple(
        ToolCall(f"c{next(_numbers)}", name, json.dumps({"security_risk": "LOW", **arguments}))
        for name, arguments in proposed
    )
    return ModelResponse(id=f"r{next(_numbers)}", model="fake/one", text=text, tool_calls=made)


class FakeModel:
    """Plays responses in order; an entry may be a function of the request, or an exception to raise."""

    def __init__(self, *script: Any, name: str = "fake/one") -> None:
        self.name = name
        self.script = list(script)
        self.requests: list[ModelRequest] = []
        self.is_closed = False

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        self.requests.append(request)
        entry = self.script.pop(0) if self.script else says("Nothing is left to do.")
        if isinstance(entry, Exception):
            raise entry
        response: ModelResponse = entry(request, cancel) if callable(entry) else entry
        return response

    def close(self) -> None:
        self.is_closed = True

    @property
    def offered(self) -> list[list[str]]:
        """The names of the tools in each request."""
        return [[tool["function"]["name"] for tool in request.tools] for request in self.requests]

    @property
    def results(self) -> list[str]:
        """The results of tools in the last request."""
        return [message["content"] for message in self.requests[-1].messages if message["role"] == "tool"]
