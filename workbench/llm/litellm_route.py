"""The route of a model's requests through litellm, for every server that is not called directly.

Requests to OpenAI carry messages and tools in `extra_body`, because OpenAI's client library would otherwise transform
every message of the history at every step, which takes time. The streams of their responses are parsed by `sse`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

from workbench.llm.call import UNREADABLE_CALLS, Ending
from workbench.llm.cohere import read_streams
from workbench.llm.discovery import base_and_query, usual_openai_base, usual_openai_key
from workbench.llm.errors import Fault
from workbench.llm.exchange import Chunk, Connections
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import ModelRequest
from workbench.llm.openai_compatible import read_answer
from workbench.llm.prompt_cache import (
    takes_cache_marks,
    takes_marked_tools,
    with_marked_messages,
    with_marked_tools,
)
from workbench.llm.provider_models import provider_at
from workbench.llm.route import Target, options_of
from workbench.llm.signatures import in_written_order, signed_for, unsigned, without_positions
from workbench.llm.stream_decoder import BrokenStream

_IN_ORDER = ("anthropic", "azure_ai", "vertex_ai")
"""The providers to which litellm can send thinking and text in any order; to the others it sends thinking first."""


class LitellmRoute:
    """Calls a model through litellm."""

    def __init__(self, target: Target, connections: Connections) -> None:
        self._target = target
        self._connections = connections

    @property
    def base(self) -> str | None:
        """The base URL, from the settings or, for a model of OpenAI only, from the environment; None if none is set.

        Raises Fault if the provider is unknown.
        """
        return self._target.api_base or (usual_openai_base() if self._provider == "openai" else None)

    @property
    def listed(self) -> dict[str, Any] | None:
        """The price table's entry for the model; None if there is none or the server is the user's own.

        Raises Fault if the provider is unknown.
        """
        base = self.base
        return _listed(self._target.name) if not base or provider_at(base) == self._provider else None

    def open_early(self) -> None:
        """Do nothing: litellm opens its connections itself, with the first request."""

    def stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        """Send a request and yield the chunks of its response."""
        return self._compatible_stream(request) if self._is_compatible else self._general_stream(request)

    @cached_property
    def _route(self) -> tuple[str, str]:
        """litellm's names of the model and the provider; a name without provider, with a URL, means `openai`."""
        name, base = self._target.name, self._target.api_base
        litellm = load_litellm()
        try:
            return name, str(litellm.get_llm_provider(name, api_base=base)[1])
        except litellm.BadRequestError as error:
            if base or usual_openai_base():
                return f"openai/{name}", "openai"
            raise Fault("provider") from error

    @property
    def _provider(self) -> str:
        return self._route[1]

    @property
    def _key(self) -> str | None:
        return self._target.key_for(self._provider, self.base)

    @cached_property
    def _is_compatible(self) -> bool:
        """Whether the server uses OpenAI's chat completions API, not another API or a bridge to one."""
        name, provider = self._route
        if provider != "openai":
            return False
        short = name.removeprefix("openai/")
        tools = [{"type": "function", "function": {"name": "any"}}]
        check = load_litellm().main.responses_api_bridge_check
        return bool(check(short, "openai", tools=tools, api_base=self.base)[0].get("mode") != "responses")

    def _compatible_stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        body: dict[str, Any] = {"messages": unsigned(request.messages)}
        body |= options_of(request)
        # The messages in `extra_body` replace this one.
        placeholder = [{"role": "user", "content": "."}]
        response = self._complete(
            placeholder, request, extra_body=body, client=self._openai_client
        ).completion_stream.response
        with contextlib.closing(response):
            yield from read_answer(response)

    def _general_stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        extra = options_of(request)
        if self._provider in ("cohere", "cohere_chat"):
            read_streams()
        if self._target.api_base:
            extra["api_base"] = self._target.api_base
        messages = self._messages_of(request)
        # A single question is not worth caching.
        if request.tools and takes_cache_marks(*self._route):
            messages = with_marked_messages(messages)
            if takes_marked_tools(self._provider):
                extra["tools"] = with_marked_tools(request.tools)
        with self._connections.owning() as call:
            ending = Ending(self._complete(messages, request, **extra))
            for chunk in ending.stream:
                omitted = None if ending.has_usage else {"usage"}
                yield chunk.model_dump(exclude_none=True, exclude=omitted, warnings=False)
            if ending.reason in UNREADABLE_CALLS:
                raise Fault("busy", text=f"it could not read a tool call of its model ({ending.reason})")
            if not ending.reason:
                raise BrokenStream("the stream ended in the middle of the answer")
            yield from _finish_chunks(ending.reason)
            yield None
            call.read_to_end()

    def _messages_of(self, request: ModelRequest) -> list[dict[str, Any]]:
        """Return the messages with the thinking that this model signed, in the order of its answers if possible."""
        signed = signed_for(request.messages)
        return in_written_order(signed) if self._provider in _IN_ORDER else without_positions(signed)

    def _complete(self, messages: list[dict[str, Any]], request: ModelRequest, **extra: Any) -> Any:
        litellm = load_litellm()
        return litellm.completion(
            model=self._route[0],
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            api_key=self._key,
            timeout=self._target.patience.timeout,
            max_retries=0,
            num_retries=0,
            drop_params=True,
            # Otherwise any request with tools imports a package that we do not need.
            _skip_mcp_handler=True,
            **self._target.tuning.of(request),
            **extra,
        )

    @cached_property
    def _openai_client(self) -> Any:
        import openai

        timeout = self._target.patience.timeout
        client = self._connections.client(timeout)
        base, query = base_and_query(self.base or "")
        return openai.OpenAI(
            api_key=self._key or usual_openai_key(),
            base_url=base or None,
            default_query=dict(parse_qsl(query)),
            http_client=client,
            max_retries=0,
            timeout=timeout,
        )


def _finish_chunks(reason: str) -> Iterator[Chunk]:
    """Yield a chunk with the finish reason if the provider stopped at a limit or a filter, because litellm may have
    reported `stop` or `tool_calls` instead.
    """
    from litellm.litellm_core_utils.core_helpers import map_finish_reason

    mapped = map_finish_reason(reason)
    if mapped in ("length", "content_filter"):
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": mapped}]}


def _listed(name: str) -> dict[str, Any] | None:
    table = load_litellm().model_cost
    entry = table.get(name) or table.get(name.partition("/")[2])
    return entry if isinstance(entry, dict) else None
