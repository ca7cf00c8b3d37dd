"""Models of every provider, streaming, with native tool calls; opened by `factory`.

An OpenAI-compatible server of the user's own is called directly (`compatible`), all others through litellm. Requests
to OpenAI carry messages and tools in `extra_body`, because the client library's parameter transform would cost time for
every message of the history at every step. Their streams are parsed by `sse`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from workbench.config.settings import Profile
from workbench.llm.call import UNREADABLE_CALLS, Answering, Ending, masked, takes_cache_marks, with_cache_marks
from workbench.llm.cohere import read_streams
from workbench.llm.compatible import own_server, read_answer, stream
from workbench.llm.discovery import takes_usual_key, usual_openai_base
from workbench.llm.errors import Fault, fault_of, model_error
from workbench.llm.exchange import Chunk, Connections, Exchange, Silence
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Cancelled, Patience, with_retries
from workbench.llm.signatures import signed_for, unsigned
from workbench.llm.stream import Joiner
from workbench.llm.stream_decoder import BrokenStream

_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
}


class Tuning(msgspec.Struct, frozen=True):
    """A profile's settings for a model: parameters, prices and context window."""

    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Parameters of each call, by litellm's names."""
    overrides: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Entries that override the price table."""

    def of(self, request: ModelRequest) -> dict[str, Any]:
        """Return the parameters of one call. The request overrides the profile, but of two token limits the lower one
        applies.
        """
        wished = dict(self.parameters)
        if request.max_tokens:
            wished["max_tokens"] = min(request.max_tokens, wished.get("max_tokens") or request.max_tokens)
        if request.temperature is not None:
            wished["temperature"] = request.temperature
        return wished

    def over(self, listed: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the price table's entry with the overrides, or None if there is neither."""
        return {**(listed or {}), **self.overrides} if self.overrides or listed is not None else None


def tuning_of(profile: Profile) -> Tuning:
    """Return the tuning of a profile."""
    wished = {
        "temperature": profile.temperature,
        "reasoning_effort": profile.reasoning_effort,
        "max_tokens": profile.max_output_tokens,
    }
    overrides: dict[str, Any] = {}
    if profile.context_window:
        overrides["max_input_tokens"] = profile.context_window
    if profile.price:
        per_million = {entry: profile.price.get(name) for name, entry in _PRICES.items()}
        overrides |= {entry: None if price is None else price / 1e6 for entry, price in per_million.items()}
        overrides["price_is_set"] = True
    return Tuning({name: value for name, value in wished.items() if value is not None}, overrides)


class ProviderModel:
    """One model of one provider; calls run one at a time."""

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        patience: Patience | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        if api_key and (not api_key.isascii() or any(sign.isspace() for sign in api_key)):
            raise ModelError("the key contains spaces or characters that no key has: check `api_key` or `api_key_env`")
        self.name = name
        self._api_base = api_base
        self._api_key = api_key
        self._patience = patience or Patience()
        self._tuning = tuning or Tuning()
        self._connections = Connections()

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model, with retries. Raises ModelError; a canceled call returns an incomplete response."""
        patience = self._patience
        call = Answering(self, request, on_delta, cancel)
        try:
            return with_retries(call.run, on_delta, cancel, request.tries or patience.tries, patience.first_wait)
        except Cancelled:
            return call.response(Joiner(), "interrupted")
        except Fault as fault:
            raise self.error(fault) from fault

    def close(self) -> None:
        """Close connections."""
        self._connections.close()

    def exchange(self, request: ModelRequest, cancel: Cancel) -> Exchange:
        """Start a request."""
        return Exchange(lambda: self._stream(request), cancel, self._connections.shut)

    def fault(self, error: BaseException) -> Fault:
        """Classify an error of an exchange; the key is masked in its text."""
        if isinstance(error, Silence):
            return Fault("stalled")
        fault = error if isinstance(error, Fault) else fault_of(error)
        return replace(fault, text=masked(fault.text, self._api_key))

    def error(self, fault: Fault) -> ModelError:
        """Return the error for the user."""
        return model_error(fault, self.name, None if fault.kind == "provider" else self._base)

    @property
    def longest_silence(self) -> float:
        """Seconds without any part of a response after which the request is abandoned."""
        return self._patience.silence

    @cached_property
    def prices(self) -> dict[str, Any] | None:
        """The price table's entry for this model; for the user's own server, only the prices that the profile sets."""
        try:
            listed = None if self._base else _listed(self.name)
        except Fault:
            # The call itself reports an unknown provider.
            listed = None
        return self._tuning.over(listed)

    @cached_property
    def _own_server(self) -> str | None:
        """The base URL of the user's own OpenAI-compatible server, or None if the call needs litellm."""
        return own_server(self.name, self._api_base)

    @cached_property
    def _target(self) -> tuple[str, str]:
        """litellm's names for the model and the provider; a bare name with a URL means a compatible server."""
        if self._own_server:
            return self.name, "openai"
        litellm = load_litellm()
        try:
            return self.name, str(litellm.get_llm_provider(self.name, api_base=self._api_base)[1])
        except litellm.BadRequestError as error:
            if self._api_base or usual_openai_base():
                return f"openai/{self.name}", "openai"
            raise Fault("provider") from error

    @cached_property
    def _is_compatible(self) -> bool:
        """Whether the server uses OpenAI's chat completions API, not another API or a bridge to one."""
        name, provider = self._target
        if provider != "openai":
            return False
        short = name.removeprefix("openai/")
        tools = [{"type": "function", "function": {"name": "any"}}]
        check = load_litellm().main.responses_api_bridge_check
        return bool(check(short, "openai", tools=tools, api_base=self._base)[0].get("mode") != "responses")

    @property
    def _base(self) -> str | None:
        """The base URL; OpenAI's environment variables apply to its models only."""
        return self._api_base or (usual_openai_base() if self._target[1] == "openai" else None)

    def _stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        if self._own_server:
            return self._direct_stream(request, self._own_server)
        return self._compatible_stream(request) if self._is_compatible else self._general_stream(request)

    def _direct_stream(self, request: ModelRequest, base: str) -> Generator[Chunk | None]:
        body: dict[str, Any] = {
            "model": self.name.removeprefix("openai/"),
            "messages": unsigned(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        return stream(self._http_client, base, self._key, body | self._tuning.of(request) | _options_of(request))

    def _compatible_stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        body: dict[str, Any] = {"messages": unsigned(request.messages)}
        body |= _options_of(request)
        # `extra_body` replaces it.
        placeholder = [{"role": "user", "content": "."}]
        response = self._complete(
            placeholder, request, extra_body=body, client=self._openai_client
        ).completion_stream.response
        with contextlib.closing(response):
            yield from read_answer(response)

    def _general_stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        extra = _options_of(request)
        if self._target[1] in ("cohere", "cohere_chat"):
            read_streams()
        if self._api_base:
            extra["api_base"] = self._api_base
        messages = signed_for(request.messages)
        # A single question is not worth caching.
        if request.tools and takes_cache_marks(*self._target):
            messages = with_cache_marks(messages)
        with self._connections.owning() as call:
            ending = Ending(self._complete(messages, request, **extra))
            for chunk in ending.stream:
                yield chunk.model_dump(exclude_none=True, warnings=False)
            if ending.reason in UNREADABLE_CALLS:
                raise Fault("busy", text=f"it could not read a tool call of its model ({ending.reason})")
            if not ending.reason:
                raise BrokenStream("the stream ended in the middle of the answer")
            yield from _finish_chunks(ending.reason)
            yield None
            call.read_to_end()

    def _complete(self, messages: list[dict[str, Any]], request: ModelRequest, **extra: Any) -> Any:
        litellm = load_litellm()
        return litellm.completion(
            model=self._target[0],
            messages=messages,
            stream=True,
            stream_options={"include_usage": True},
            api_key=self._key,
            timeout=self._timeout,
            max_retries=0,
            num_retries=0,
            drop_params=True,
            # Otherwise any request with tools imports a package that we do not need.
            _skip_mcp_handler=True,
            **self._tuning.of(request),
            **extra,
        )

    @property
    def _key(self) -> str | None:
        """Return the key to send; a server without a configured key gets a placeholder, never the provider's key."""
        if self._api_key:
            return self._api_key
        if self._api_base:
            return None if takes_usual_key(self._api_base, self._target[1]) else "none"
        is_elsewhere = self._target[1] == "openai" and self._base and not os.environ.get("OPENAI_API_KEY")
        return "none" if is_elsewhere else None

    @cached_property
    def _timeout(self) -> Any:
        import httpx

        idle, connect = self._patience.idle, self._patience.connect
        return httpx.Timeout(connect=connect, read=idle, write=idle, pool=connect)

    @cached_property
    def _http_client(self) -> Any:
        return self._connections.client(self._timeout)

    @cached_property
    def _openai_client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self._key, base_url=self._base, http_client=self._http_client, max_retries=0, timeout=self._timeout
        )


def _finish_chunks(reason: str) -> Iterator[Chunk]:
    """Yield a finish chunk if the provider stopped at a limit or a filter; the library may report `stop` or
    `tool_calls` instead.
    """
    from litellm.litellm_core_utils.core_helpers import map_finish_reason

    mapped = map_finish_reason(reason)
    if mapped in ("length", "content_filter"):
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": mapped}]}


def _listed(name: str) -> dict[str, Any] | None:
    table = load_litellm().model_cost
    entry = table.get(name) or table.get(name.partition("/")[2])
    return entry if isinstance(entry, dict) else None


def _options_of(request: ModelRequest) -> dict[str, Any]:
    """Return the fields of a request other than its messages, without those at their defaults."""
    stop = {"stop": list(request.stop)} if request.stop else {}
    if not request.tools:
        return stop
    choice = {} if request.tool_choice == "auto" else {"tool_choice": request.tool_choice}
    return {"tools": list(request.tools), **choice, **stop}
