"""The interface of a model: one request in, deltas while it streams, one response out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from workbench.errors import WorkbenchError
from workbench.protocol.usage import Usage

Message: TypeAlias = dict[str, Any]
"""A chat message in OpenAI's format (role, content, tool_calls, tool_call_id)."""


class ToolCall(msgspec.Struct, frozen=True):
    """A call as the model wrote it; `arguments` is JSON text, valid or not."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """The provider's signature of the call, which must be sent back with it; empty if there is none."""
    repairs: tuple[str, ...] = ()
    """A line for each repair of a call that the model wrote in its text; empty for calls through the API."""
    error: str = ""
    """Why a call in the model's text could not be read, and what to send; empty for calls through the API."""


ToolChoice: TypeAlias = Literal["none", "auto", "required"]
"""Whether a response may, or must, call a tool."""


@dataclass(frozen=True)
class ModelRequest:
    """Everything one call needs; `tools` are in OpenAI's function format."""

    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]] = ()
    tool_choice: ToolChoice = "auto"
    stop: Sequence[str] = ()
    """Stop sequences; they are not part of the response."""
    max_tokens: int = 0
    """The maximum number of tokens in the response; 0 for the limit in the settings or of the provider."""
    temperature: float | None = None
    tries: int = 0
    """The maximum number of tries; 0 for the model's default."""
    tools_for: Callable[[str], Sequence[dict[str, Any]]] | None = None
    """Returns `tools` as described for the model with the given name; None if all models get the same `tools`."""


@dataclass(frozen=True)
class ModelResponse:
    """One response; times in seconds, `cost` in US dollars, or `None` if the price is unknown."""

    id: str
    model: str
    text: str = ""
    reasoning: str = ""
    thinking: tuple[dict[str, Any], ...] = ()
    """Signed reasoning blocks, which must be sent back with the tool calls that followed them."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    latency: float = 0.0
    first_token: float | None = None
    incomplete: bool = False
    """The stream broke or was interrupted: the text may be cut, and calls that may be cut are omitted."""
    fallback: str = ""
    """The name in the settings of the fallback model that responded; empty if the session's own model did."""
    fallback_reason: str = ""
    """What happened to the models that were called before the fallback model."""


class Delta(msgspec.Struct, frozen=True):
    """A piece of the stream, the progress of a tool call, or (`kind` "status") one line about a retry or a wait."""

    kind: Literal["text", "reasoning", "call", "status"]
    text: str
    """The new text; for a tool call, the start of its arguments."""
    model: str = ""
    """In a status, the name in the settings of the fallback model that is called next; otherwise empty."""
    tool: str = ""
    """The name of the tool that is called."""
    size: int = 0
    """The number of characters of the call's arguments so far."""
    wait: float = 0.0
    """In a status: for how many more seconds the provider wants no call; 0 if it did not say."""


class Cancel:
    """A flag by which another thread cancels a call; callbacks, such as closing a socket, run in the thread that sets
    it.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_set(self) -> bool:
        """Whether the call should end."""
        return self._event.is_set()

    def set(self) -> None:
        """Set the flag, so that the running call ends, and run the callbacks."""
        with self._lock:
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_set(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when the flag is set (at once, if it already is)."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether the flag was set."""
        return self._event.wait(seconds)


class ModelError(WorkbenchError):
    """A call failed and is not retried; the message says what to do (set a key, start the server, choose another
    model).
    """

    def __init__(self, message: str = "", *, kind: str = "", fallback_reason: str = "", model: str = "") -> None:
        """`kind` is the kind of the `Fault`. `fallback_reason` says why a fallback model may be called, as a predicate
        about this model ("is overloaded"); it is empty if none may be called. `model` is the name of the fallback model
        that failed; it is empty if the session's own model failed.
        """
        super().__init__(message)
        self.kind = kind
        self.fallback_reason = fallback_reason
        self.model = model


class ContextOverflow(ModelError):
    """The request is larger than the model's window."""


class Model(Protocol):
    """The interface of all models: those of providers, scripted ones, and wrappers of models."""

    name: str

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model. Raises ModelError; a canceled call returns the part that arrived, marked `incomplete`."""

    def close(self) -> None:
        """Close all connections."""


def open_early(model: Model) -> None:
    """Open the model's connection in the background, if it has one that takes time to open."""
    getattr(model, "open_early", lambda: None)()
