"""What every model looks like to the agent: one request in, deltas while it streams, one response out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from workbench.errors import WorkbenchError

Message: TypeAlias = dict[str, Any]
"""A chat message in OpenAI's shape (role, content, tool_calls, tool_call_id)."""


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it; `arguments` is JSON text, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """What the provider wants back with the call, where it signs calls."""


@dataclass(frozen=True)
class ModelUsage:
    """Tokens; `None` where the provider did not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    written: int | None = None
    """Of the input, what the provider put into its cache and charges for."""
    reasoning: int | None = None
    window: int | None = None
    """Tokens that a request to this model may hold; `None` when nobody says."""


ToolChoice: TypeAlias = Literal["none", "auto", "required"]
"""Whether an answer may, or must, call a tool."""


@dataclass(frozen=True)
class ModelRequest:
    """Everything one call needs; `tools` in OpenAI's function shape."""

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: ToolChoice = "auto"
    stop: Sequence[str] = ()
    """Words at which the answer ends; they are not part of it."""
    max_tokens: int = 0
    """The most that the answer may have; 0 leaves it to the profile and the provider."""
    temperature: float | None = None


@dataclass(frozen=True)
class ModelResponse:
    """One whole answer; times in seconds, `cost` in US dollars or `None` when the price is unknown."""

    id: str
    model: str
    text: str = ""
    reasoning: str = ""
    thinking: tuple[dict[str, Any], ...] = ()
    """The reasoning in blocks that the provider signed and wants back with the calls it led to."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: ModelUsage = field(default_factory=ModelUsage)
    cost: float | None = None
    latency: float = 0.0
    first_token: float | None = None
    incomplete: bool = False
    """The stream broke or was interrupted: the text is what had come, calls that may be cut are left out."""


@dataclass(frozen=True)
class Delta:
    """A piece of the stream, or (`kind` "status") one line about a retry or a wait."""

    kind: Literal["text", "reasoning", "status"]
    text: str


class Cancel:
    """A flag that another thread raises; callbacks (closing a socket) run at once, in that thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the call should end."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask the running call to end."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> None:
        """Run `callback` once when the flag is raised (now, if it already is)."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, seconds: float) -> bool:
        """Sleep at most so long; True when the flag was raised."""
        return self._event.wait(seconds)


class ModelError(WorkbenchError):
    """A call failed for good; the message says what to do (set a key, start the server, choose another model)."""


class ContextOverflow(ModelError):
    """The request is larger than the model's window."""


class Model(Protocol):
    """A model behind litellm, or the scripted one."""

    name: str

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model. Raises ModelError; a cancelled call returns what came, marked `incomplete`."""

    def close(self) -> None:
        """Free connections."""
