"""Finished spans as plain data, and what all spans of an agent have in common.

The names of spans and attributes are those of OpenTelemetry's conventions for generative AI:
https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.usage import Usage

AttributeValue: TypeAlias = str | int | float | tuple[str, ...]
_SESSION_ID = lazy_pattern(r"(\d{8})-.*-([0-9a-f]{4})")
_PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "cohere_chat": "cohere",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The conventions' names of providers whose models have another prefix in the settings."""


class TraceParent(msgspec.Struct, frozen=True):
    """The position of a new span: its trace, and the span that it is a child of, if any."""

    trace_id: int
    span_id: int | None = None


class CallInput(msgspec.Struct, frozen=True):
    """All that a model is sent in one call, in the format of OpenAI; the messages are shared with other calls."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()


class SpanRecord(msgspec.Struct, frozen=True):
    """A span that has ended."""

    name: str
    parent: TraceParent
    span_id: int
    start: datetime
    end: datetime
    attributes: Mapping[str, AttributeValue]
    content: Mapping[str, Any] = {}
    """Attributes with what was written, as JSON-like data in which secrets are not masked yet."""
    request: CallInput | None = None
    """All that a model was sent, which is content too."""
    error: str = ""
    """The kind of failure, for `error.type`; empty if there was none."""
    is_call_to_server: bool = False
    """Whether the span is a request to another program, such as a model's server."""


class AgentIdentity(msgspec.Struct, frozen=True):
    """An agent: its name, the id of its conversation, and the models that it asks."""

    name: str
    conversation: str
    model_for: Callable[[str], str]
    """Returns the model to ask as provider/model, given the name of a fallback model, which may be empty.

    The result is empty if the model is not known.
    """
    labels: Mapping[str, AttributeValue] = {}
    """Attributes by which all spans of a session can be selected, such as the task of a batch."""

    def attributes(self, operation: str) -> dict[str, AttributeValue]:
        """Return the attributes that every span of the agent has; without an operation it is one of our own."""
        named = {"gen_ai.operation.name": operation} if operation else {}
        return {**named, "gen_ai.agent.name": self.name, "gen_ai.conversation.id": self.conversation, **self.labels}

    def model_attributes(self, fallback: str = "") -> dict[str, AttributeValue]:
        """Return the provider and the name of the model that is asked; nothing if it is not known."""
        provider, _, name = self.model_for(fallback).partition("/")
        if not provider:
            return {}
        return {
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": name or provider,
        }


def conversation_id(session_id: str) -> str:
    """Return an id for a session that contains no word of its first message, as the session's own id does.

    It starts with the day and the last part of the session's id, by which the user recognizes the session.
    """
    digest = hashlib.sha256(session_id.encode()).hexdigest()[:12]
    parts = _SESSION_ID.fullmatch(session_id)
    return "-".join((*parts.groups(), digest)) if parts else digest


def is_session_name(name: str) -> bool:
    """Return whether a name is the id of a session, or made as one, so that it may contain words of a message."""
    return _SESSION_ID.fullmatch(name) is not None


def new_trace_id() -> int:
    """Return a random id for a trace, of 128 bits."""
    return random.getrandbits(128) or 1


def new_span_id() -> int:
    """Return a random id for a span, of 64 bits."""
    return random.getrandbits(64) or 1


def usage_attributes(usage: Usage) -> dict[str, AttributeValue]:
    """Return the tokens that the provider has reported."""
    counts = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "gen_ai.usage.cache_creation.input_tokens": usage.written,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
    }
    return {name: count for name, count in counts.items() if count is not None}
