"""The models that a provider offers: from its own list over HTTP or, if it has no list, from litellm's price table.

litellm itself is not imported, because front ends use this module.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Final

from workbench.llm.discovery import KEYS, base_in_environment, endpoint, is_own_domain, model_names_in
from workbench.llm.price_table import entries, entry_of
from workbench.llm.pricing import prices_of, window_of

LIMIT: Final = 5.0
"""Seconds to wait for a provider's list."""
_MOST_BYTES: Final = 5_000_000
_MOST_MODELS: Final = 500
_CHAT: Final = ("chat", "responses")


@dataclass(frozen=True)
class ListedProvider:
    """A provider's name for the user, and the base URL of its list of models; the URL is empty if it has no list."""

    title: str
    base: str = ""


PROVIDERS: Final = {
    "anthropic": ListedProvider("Anthropic", "https://api.anthropic.com/v1"),
    "openai": ListedProvider("OpenAI", "https://api.openai.com/v1"),
    "gemini": ListedProvider("Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
    "openrouter": ListedProvider("OpenRouter", "https://openrouter.ai/api/v1"),
    "mistral": ListedProvider("Mistral", "https://api.mistral.ai/v1"),
    "deepseek": ListedProvider("DeepSeek", "https://api.deepseek.com"),
    "groq": ListedProvider("Groq", "https://api.groq.com/openai/v1"),
    "xai": ListedProvider("xAI", "https://api.x.ai/v1"),
    "cerebras": ListedProvider("Cerebras", "https://api.cerebras.ai/v1"),
    "moonshot": ListedProvider("Moonshot", "https://api.moonshot.ai/v1"),
    "zai": ListedProvider("Z.ai", "https://api.z.ai/api/paas/v4"),
    "dashscope": ListedProvider("DashScope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
    "together_ai": ListedProvider("Together AI"),
    "fireworks_ai": ListedProvider("Fireworks AI", "https://api.fireworks.ai/inference/v1"),
    "cohere_chat": ListedProvider("Cohere"),
    "perplexity": ListedProvider("Perplexity"),
    "azure": ListedProvider("Azure OpenAI"),
    "github_copilot": ListedProvider("GitHub Copilot"),
}
"""The providers listed at the first run, in order."""


def provider_at(base_url: str) -> str:
    """Return litellm's name of the provider whose API has this base URL; empty for any other server."""
    url = endpoint(base_url, "")
    return next((name for name, each in PROVIDERS.items() if each.base and url.startswith(_root_of(each.base))), "")


def _root_of(base: str) -> str:
    """Return the URL without a final `/v1`, which some users omit, and with a final slash."""
    return f"{base.removesuffix('/v1')}/"


def listed_at(base_url: str, model: str) -> dict[str, Any] | None:
    """Return the price table's entry for a model at a provider's URL; None if there is none, or if another server has
    this URL, because its prices are unknown.
    """
    provider = provider_at(base_url)
    entry = entry_of(f"{provider}/{model}", model) if provider else None
    return entry if entry and entry.get("litellm_provider") == provider else None


def default_model(provider: str) -> str:
    """Return the name of the model that is suggested for a provider; empty if there is none."""
    names = (form.partition("/") for form in KEYS.values())
    return next((name for each, _, name in names if each == provider and name != "NAME"), "")


@dataclass(frozen=True)
class ModelList:
    """The names of models, without the provider; the suggested one first."""

    names: tuple[str, ...] = ()
    status: int = 0
    """The HTTP status of the answer; 0 if there was none."""

    @property
    def is_rejected(self) -> bool:
        """Whether the key was rejected."""
        return self.status in (401, 403)


def offered_models(provider: str, api_base: str = "", key: str = "", limit: float = LIMIT) -> ModelList:
    """Return the models that the provider, or the server at `api_base`, lists for this key.

    If it lists none within `limit` seconds, the models in litellm's table are returned, or none for the user's own
    server.
    """
    base = api_base or base_in_environment(provider) or PROVIDERS.get(provider, ListedProvider("")).base
    is_own = bool(base) and not is_own_domain(base, provider)
    live = _live(provider, base, key, limit) if base and (key or is_own) else ModelList()
    if live.names:
        return ModelList(tuple(_suggested_first(provider, live.names)), live.status)
    return ModelList(() if is_own else catalogue(provider), live.status)


@cache
def catalogue(provider: str) -> tuple[str, ...]:
    """Return the names of a provider's chat models that call tools, from litellm's table, without deprecated ones."""
    today = date.today().isoformat()
    prefix = f"{provider}/"
    fit = dict.fromkeys(
        name.removeprefix(prefix)
        for name, entry in entries()
        if entry.get("litellm_provider") == provider
        and entry.get("mode") in _CHAT
        and entry.get("supports_function_calling")
        and str(entry.get("deprecation_date") or "9999") > today
        and not name.startswith("ft:")
    )
    return tuple(_suggested_first(provider, fit))[:_MOST_MODELS]


def facts(model: str) -> str:
    """Return a model's context window and its prices per million input and output tokens, as text: "200k · $3 / $15".

    Empty if the table has neither.
    """
    entry = entry_of(model, model.partition("/")[2]) or {}
    window, costs = window_of(entry), prices_of(entry)
    price = "" if costs is None else f"${costs[0] * 1e6:.4g} / ${costs[1] * 1e6:.4g}"
    return " · ".join(part for part in (_tokens(window) if window else "", price) if part)


def _tokens(count: int) -> str:
    return f"{count / 1e6:.3g}M" if count >= 1_000_000 else f"{count // 1000}k"


def _suggested_first(provider: str, names: tuple[str, ...] | Mapping[str, None]) -> Iterator[str]:
    """Yield the chat models among the names, the suggested one first."""
    first = default_model(provider)
    if first in names:
        yield first
    for name in names:
        entry = entry_of(name, f"{provider}/{name}") or {}
        if name != first and entry.get("mode", "chat") in _CHAT:
            yield name


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect, because the key must not be sent to another server."""


def _live(provider: str, base: str, key: str, limit: float) -> ModelList:
    """Return the models that a server lists, and the HTTP status; no models if the request fails."""
    try:
        request = urllib.request.Request(endpoint(base, "models"), headers=_headers(provider, key))
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=limit) as answer:
            body = json.loads(answer.read(_MOST_BYTES))
            names = model_names_in(body, _MOST_MODELS)
            return ModelList(tuple(name.removeprefix("models/") for name in names), answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return ModelList(status=error.code)
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return ModelList()


def _headers(provider: str, key: str) -> dict[str, str]:
    accept = {"Accept": "application/json", "User-Agent": "ohw"}
    if provider == "anthropic":
        return accept | {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return accept | ({"Authorization": f"Bearer {key}"} if key else {})
