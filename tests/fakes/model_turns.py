"""The answers that the fake model server can play; used by `model_server` and the tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Request:
    """One request as it was received."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    client: str = ""
    """Address and port of the sender."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages."""
        return list(self.body["messages"])


@dataclass(frozen=True)
class Called:
    """A tool call of an answer; `arguments` may be text, valid or not."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None

    @property
    def text(self) -> str:
        """The arguments as they go over the wire."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Turn:
    """A streamed answer. `cut_after` breaks off before that chunk, then hangs up or stalls (`then`)."""

    text: str = ""
    calls: Sequence[Called] = ()
    reasoning: str = ""
    finish: str | None = None
    usage: Mapping[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    piece: int = 12
    """Characters per chunk."""
    pause: float = 0.0
    """Seconds after each chunk."""
    cut_after: int | None = None
    then: Literal["hang up", "stall"] = "hang up"
    done: bool = True
    raw: Sequence[bytes] = ()
    """Bytes sent unchanged, in place of everything else."""


Reply: TypeAlias = Turn


@dataclass(frozen=True)
class Fault:
    """No answer: an HTTP error, no byte at all ("silent"), or a connection reset before the first ("hang up")."""

    status: int = 500
    message: str = "the server had an error"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    kind: Literal["http", "silent", "hang up"] = "http"
    raw: bytes = b""
    """The body, where it is not the usual one."""

    @property
    def error(self) -> dict[str, Any]:
        """The body's error object."""
        return {"message": self.message, "type": "error", "code": self.code}


ScriptTurn: TypeAlias = Turn | Fault | Callable[[Request], Turn | Fault]


def bash(command: str, *, risk: str = "LOW", **more: Any) -> Turn:
    """An answer that runs one command."""
    arguments = {"security_risk": risk, "summary": f"Run {command.split()[0]}", "command": command}
    return Turn(calls=(Called("execute_bash", arguments),), **more)


def finish(message: str = "Done.") -> Turn:
    """An answer that ends the run."""
    return Turn(calls=(Called("finish", {"message": message}),))


def turn_from_json(entry: Mapping[str, Any]) -> Turn | Fault:
    """A turn of a script file: the fields of Turn, or of Fault when it has `status` or `kind`."""
    if "status" in entry or "kind" in entry:
        return Fault(**entry)
    calls = tuple(Called(**call) for call in entry.get("calls", ()))
    return Turn(**{**entry, "calls": calls})
