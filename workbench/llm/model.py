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
    """The provider's signature of the call, to be sent back with it."""
    repairs: tuple[str, ...] = ()
    """A line for each thing that was not read as it was written; empty for native calls."""
    error: str = ""
    """What is wrong with a call that could not be read, with what to send; empty for native calls."""


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
    """Maximum tokens of the response; 0 leaves it to the profile and the provider."""
    temperature: float | None = None
    tries: int = 0
    """How often the call is tried at most; 0 leaves it to the model."""
    tools_for: Callable[[str], Sequence[dict[str, Any]]] | None = None
    """Returns `tools` as they are described to another model, by its name; None if they are the same for all."""


@dataclass(frozen=True)
class ModelResponse:
    """One response; times in seconds, `cost` in US dollars, or `None` if the price is unknown."""

    id: str
    model: str
    text: str = ""
    reasoning: str = ""
    thinking: tuple[dict[str, Any], ...] = ()
    """Signed reasoning blocks, to be sent back with the calls they led to."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    latency: float = 0.0
    first_token: float | None = None
    incomplete: bool = False
    """The stream broke or was interrupted: the text may be cut, and calls that may be cut are omitted."""
    fallback: str = ""
    """The model that was called instead of the session's, by its name in the settings; empty if that one answered."""
    fallback_reason: str = ""
    """Why: what happened to the models called before."""


class Delta(msgspec.Struct, frozen=True):
    """A piece of the stream, the progress of a tool call, or (`kind` "status") one line about a retry or a wait."""

    kind: Literal["text", "reasoning", "call", "status"]
    text: str
    """For a call, the beginning of its arguments."""
    model: str = ""
    """In a status, the name in the settings of the model that is called from now on, if it changes."""
    tool: str = ""
    """The tool that is called."""
    size: int = 0
    """The number of characters of the call's arguments so far."""


class Cancel:
    """A flag that another thread sets; callbacks (to close a socket, for example) run at once, in that thread."""

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
        """`kind` is the kind of the `Fault`. `fallback_reason` says, as a predicate of which the model is the subject,
        why another model may be called instead; it is empty if none may. `model` is the name of the fallback model that
        failed; it is empty if that was the first one.
        """
        super().__init__(message)
        self.kind = kind
        self.fallback_reason = fallback_reason
        self.model = model


class ContextOverflow(ModelError):
    """The request is larger than the model's window."""


class Model(Protocol):
    """The interface of all models: those behind litellm, the scripted one, and wrappers."""

    name: str

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model. Raises ModelError; a canceled call returns the part that arrived, marked `incomplete`."""

    def close(self) -> None:
        """Close connections."""


def open_early(model: Model) -> None:
    """Open the model's connection in the background, if it has one that takes time to open."""
    getattr(model, "open_early", lambda: None)()
