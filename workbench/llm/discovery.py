"""Finds models that the user can use now, from API keys in the environment and from local servers.

Also decides to which URLs a provider's key may be sent.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard
from urllib.parse import urlsplit

import msgspec

from workbench.text import visible

_HOSTS = {
    "openai": "openai.com",
    "anthropic": "anthropic.com",
    "gemini": "googleapis.com",
    "mistral": "mistral.ai",
    "deepseek": "deepseek.com",
    "openrouter": "openrouter.ai",
    "groq": "groq.com",
    "xai": "x.ai",
    "cerebras": "cerebras.ai",
    "moonshot": "moonshot.ai",
    "zai": "z.ai",
    "dashscope": "aliyuncs.com",
    "together_ai": "together.xyz",
    "fireworks_ai": "fireworks.ai",
    "cohere_chat": "cohere.com",
    "perplexity": "perplexity.ai",
}
"""The domains of the providers that have a single one; others, such as Azure, have one for each customer."""


def provider_of(model: str) -> str:
    """Return the provider in a model's name; `openai` if it names none, because it is called as a model of OpenAI."""
    provider, slash, _ = model.partition("/")
    return provider if slash else "openai"


def takes_usual_key(base_url: str, provider: str) -> bool:
    """Return whether the provider's key from the environment may be sent to this URL.

    Always True for a provider that is not in `_HOSTS`.
    """
    own = _HOSTS.get(provider)
    if own is None:
        return True
    try:
        url = urlsplit(base_url)
        host = (url.hostname or "").rstrip(".")
    except ValueError:
        return False
    return url.scheme == "https" and (host == own or host.endswith(f".{own}"))


def is_own_domain(base_url: str, provider: str) -> bool:
    """Return whether the URL is at the provider's own domain; False for a provider that is not in `_HOSTS`."""
    return provider in _HOSTS and takes_usual_key(base_url, provider)


def is_server_url(base_url: str) -> bool:
    """Return whether this is a URL with a host that HTTP requests can be sent to."""
    try:
        url = urlsplit(base_url)
        # Reading the port raises ValueError for an invalid one.
        has_host = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    return has_host and url.scheme in ("http", "https") and not any(sign.isspace() for sign in base_url)


def base_and_query(base_url: str) -> tuple[str, str]:
    """Return a base URL without its query, its fragment and slashes at its end, and the query (`api-version=1`)."""
    base, _, query = base_url.partition("#")[0].partition("?")
    return base.rstrip("/"), query


def endpoint(base_url: str, path: str) -> str:
    """Return the URL of this path below a base URL, with the query of the base URL."""
    base, query = base_and_query(base_url)
    return f"{base}/{path}?{query}" if query else f"{base}/{path}"


def other_host(model: str, base_url: str | None) -> str:
    """Return the host and port of the model's server; empty if it is the provider's own."""
    provider = provider_of(model)
    if not base_url and provider == "openai":
        base_url = usual_openai_base()
    if not base_url or is_own_domain(base_url, provider):
        return ""
    try:
        host = urlsplit(base_url).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return visible(host or base_url, lines=False)


def usual_openai_base() -> str | None:
    """Return the base URL that the environment sets for OpenAI, or None."""
    return os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")


def usual_openai_key() -> str | None:
    """Return the key that the environment sets for OpenAI, or None."""
    return os.environ.get("OPENAI_API_KEY", "").strip() or None


def base_in_environment(provider: str, env: Mapping[str, str] = os.environ) -> str | None:
    """Return the base URL that the environment sets for a provider, or None."""
    prefix = _variable_prefix(provider)
    names = (f"{prefix}_BASE_URL", f"{prefix}_API_BASE")
    return next((env[name] for name in names if env.get(name)), None)


def key_variables(provider: str) -> list[str]:
    """Return the environment variables in which litellm looks for a provider's key."""
    listed = [name for name, model in KEYS.items() if model.partition("/")[0] == provider]
    return list(dict.fromkeys([*listed, f"{_variable_prefix(provider)}_API_KEY", *_MORE_KEYS.get(provider, ())]))


def _variable_prefix(provider: str) -> str:
    return re.sub(r"\W", "_", provider).upper()


LIMIT = 1.0
"""Seconds to wait for all servers, which are asked in parallel."""
_MOST_BYTES = 1_000_000
_MOST_MODELS = 20
_LONGEST_NAME = 120
KEYS = {
    "ANTHROPIC_API_KEY": "anthropic/claude-sonnet-4-5",
    "OPENAI_API_KEY": "openai/gpt-5",
    "GEMINI_API_KEY": "gemini/gemini-2.5-pro",
    "MISTRAL_API_KEY": "mistral/NAME",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
    "OPENROUTER_API_KEY": "openrouter/NAME",
    "GROQ_API_KEY": "groq/NAME",
    "XAI_API_KEY": "xai/NAME",
    "CEREBRAS_API_KEY": "cerebras/NAME",
    "MOONSHOT_API_KEY": "moonshot/NAME",
    "ZAI_API_KEY": "zai/NAME",
    "DASHSCOPE_API_KEY": "dashscope/NAME",
    "TOGETHERAI_API_KEY": "together_ai/NAME",
    "FIREWORKS_API_KEY": "fireworks_ai/NAME",
    "COHERE_API_KEY": "cohere_chat/NAME",
    "PERPLEXITYAI_API_KEY": "perplexity/NAME",
    "AZURE_API_KEY": "azure/NAME",
}
"""The providers' standard key variables, each with the model that is suggested, or PROVIDER/NAME if none is."""
_MORE_KEYS = {"gemini": ("GOOGLE_API_KEY",), "cohere_chat": ("CO_API_KEY",), "perplexity": ("PERPLEXITY_API_KEY",)}


class LocalServer(msgspec.Struct, frozen=True):
    """A kind of local server, and how to ask it for its models."""

    title: str
    port: int
    path: str
    prefix: str
    """The prefix that makes the name of one of its models a value for `--model`."""
    base: str = ""
    """The path of the URL for `--api-base`; empty if that option is not needed."""


SERVERS = (
    LocalServer("Ollama", 11434, "/api/tags", "ollama_chat/"),
    LocalServer("LM Studio", 1234, "/v1/models", "openai/", "/v1"),
    LocalServer("vLLM", 8000, "/v1/models", "openai/", "/v1"),
)


class ModelSource(msgspec.Struct, frozen=True):
    """A provider or server whose models can be used; `models` are values for `--model`, the suggested one first."""

    what: str
    models: tuple[str, ...]
    api_base: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the name of a model is known; it is not if only a key of a provider without suggestion was found."""
        return not self.models[0].endswith("/NAME")

    @property
    def options(self) -> str:
        """The `ohw` flags that select the suggested model."""
        return f"--model {self.models[0]}" + (f" --api-base {self.api_base}" if self.api_base else "")


def sources_of_keys(env: Mapping[str, str] = os.environ) -> list[ModelSource]:
    """Return the providers whose key variable is set."""
    return [ModelSource(f"{name} found", (model,)) for name, model in KEYS.items() if env.get(name, "").strip()]


def sources_of_servers(servers: Sequence[LocalServer] = SERVERS, limit: float = LIMIT) -> list[ModelSource]:
    """Return the local servers that respond with at least one model within the time limit."""
    answers: dict[int, ModelSource] = {}

    def ask(position: int, server: LocalServer) -> None:
        names = _models_of(server, limit)
        if names:
            models = tuple(f"{server.prefix}{name}" for name in names)
            base = f"http://127.0.0.1:{server.port}{server.base}" if server.base else ""
            answers[position] = ModelSource(f"{server.title} at localhost:{server.port}", models, base)

    asked = [threading.Thread(target=ask, args=each, daemon=True) for each in enumerate(servers)]
    for thread in asked:
        thread.start()
    until = time.monotonic() + limit
    for thread in asked:
        thread.join(max(0.0, until - time.monotonic()))
    return [source for _, source in sorted(answers.copy().items())]


def _models_of(server: LocalServer, limit: float) -> list[str]:
    """Return the names of the server's models; none if no server of this kind responds at its port."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=limit)
    try:
        connection.request("GET", server.path, headers={"accept": "application/json"})
        with connection.getresponse() as answer:
            body = json.loads(answer.read(_MOST_BYTES)) if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return []
    finally:
        connection.close()
    return model_names_in(body, _MOST_MODELS)


def model_names_in(body: Any, most: int) -> list[str]:
    """Return the first `most` model names of a list in the format of Ollama or OpenAI; none for another format."""
    rows = (body.get("models") or body.get("data")) if isinstance(body, dict) else None
    if not isinstance(rows, list):
        return []
    named = (row.get("name") or row.get("id") for row in rows if isinstance(row, dict))
    return [name for name in named if _is_name(name)][:most]


def _is_name(name: object) -> TypeGuard[str]:
    """Return whether the value is a short, printable name without spaces."""
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable() and " " not in name
