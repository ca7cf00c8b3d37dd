"""What an engine tells its screens and never stores; part of the contract in `events`, which names it too."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from workbench.protocol.events import Data


class TextDelta(Data):
    """Text of the answer as it streams."""

    kind: Literal["text_delta"] = "text_delta"
    text: str


class ReasoningDelta(Data):
    """Reasoning as it streams."""

    kind: Literal["reasoning_delta"] = "reasoning_delta"
    text: str


class ToolOutput(Data):
    """Output of a running action."""

    kind: Literal["tool_output"] = "tool_output"
    action_id: str
    text: str


class EngineState(Data):
    """What the engine does now; `detail` is one line (a retry countdown, "saving fails", …)."""

    kind: Literal["engine_state"] = "engine_state"
    state: Literal["idle", "thinking", "deciding", "acting"]
    detail: str = ""
    queued: int = 0
    address: str = ""
    """Host and port where the model is asked, when that is not its provider's own address."""


class Notice(Data):
    """A line for the person, about what the session works with: a server that cannot be used, for example."""

    kind: Literal["notice"] = "notice"
    text: str


class PromptReady(Data):
    """What a prompt of a server says, for the one who asked for it: they look at it before anything is sent."""

    kind: Literal["prompt_ready"] = "prompt_ready"
    server: str
    text: str


LiveEvent: TypeAlias = Annotated[
    TextDelta | ReasoningDelta | ToolOutput | EngineState | Notice | PromptReady, Field(discriminator="kind")
]
LIVE: TypeAdapter[LiveEvent] = TypeAdapter(LiveEvent)
