"""Models of every provider, streaming, with native tool calls; opened by `factory`.

An OpenAI-compatible server of the user's own is called directly (`openai_compatible`), all others through litellm
(`litellm_route`). Whichever route a request takes, its retries, errors and response are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import cached_property
from typing import Any

from workbench.llm.call import Answering, masked
from workbench.llm.device_sign_in import needs_sign_in
from workbench.llm.discovery import is_server_url
from workbench.llm.errors import Fault, chain, fault_of, model_error
from workbench.llm.exchange import Chunk, Connections, Exchange, Silence
from workbench.llm.litellm_route import LitellmRoute
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest, ModelResponse
from workbench.llm.openai_compatible import DirectRoute, own_server
from workbench.llm.retry import Cancelled, Patience, with_retries
from workbench.llm.route import Route, Target, Tuning
from workbench.llm.stream import Joiner


class ProviderModel:
    """One model of one provider; make one call at a time, because canceling a call closes all its connections."""

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
        self._target = Target(name, api_base, api_key, patience or Patience(), tuning or Tuning())
        self._connections = Connections()

    def respond(self, request: ModelRequest, on_delta: Callable[[Delta], None], cancel: Cancel) -> ModelResponse:
        """Call the model, with retries. Raises ModelError; a canceled call returns an incomplete response."""
        patience = self._target.patience
        call = Answering(self, request, on_delta, cancel)
        try:
            return with_retries(call.run, on_delta, cancel, request.tries or patience.tries, patience.first_wait)
        except Cancelled:
            return call.response(Joiner(), "interrupted")
        except Fault as fault:
            raise self.error(fault) from fault

    def open_early(self) -> None:
        """Open the connection in the background if that saves time; errors are reported by the first request only."""
        self._route.open_early()

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def exchange(self, request: ModelRequest, cancel: Cancel) -> Exchange:
        """Start a request."""
        return Exchange(lambda: self._stream(request), cancel, self._connections.shut)

    def fault(self, error: BaseException) -> Fault:
        """Return the fault that an error of an exchange is; the API key is masked in the fault's text."""
        if isinstance(error, Silence):
            return Fault("stalled")
        # A library wraps the Fault that a check of its stream raised.
        fault = next((link for link in chain(error) if isinstance(link, Fault)), None) or fault_of(error)
        return replace(fault, text=masked(fault.text, self._target.api_key))

    def error(self, fault: Fault) -> ModelError:
        """Return the exception to raise for a fault; its message is for the user."""
        has_no_base = fault.kind == "provider" or self._lacks_sign_in
        return model_error(fault, self.name, None if has_no_base else self._route.base)

    @property
    def _lacks_sign_in(self) -> bool:
        return not self._target.api_base and not self._target.api_key and needs_sign_in(self.name)

    def _stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        # First, because litellm looks for the token even to find the provider of the model.
        if self._lacks_sign_in:
            raise Fault("key")
        base = self._route.base
        if base and not is_server_url(base):
            raise Fault("address")
        return self._route.stream(request)

    @property
    def longest_silence(self) -> float:
        """Seconds without any part of a response after which the request is abandoned."""
        return self._target.patience.silence

    @cached_property
    def prices(self) -> dict[str, Any] | None:
        """The price table's entry for this model, overridden by the prices and the window in the settings."""
        try:
            listed = self._route.listed
        except Fault:
            # The call itself reports an unknown provider.
            listed = None
        return self._target.tuning.over(listed)

    @cached_property
    def _route(self) -> Route:
        own = own_server(self.name, self._target.api_base)
        if own:
            return DirectRoute(self._target, own, self._connections)
        return LitellmRoute(self._target, self._connections)
