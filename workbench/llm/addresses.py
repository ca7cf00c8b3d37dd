"""Where the key of a provider's usual variable may go, and which addresses are not the provider's own."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

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
"""The providers with an address of their own; others (Azure, local servers) have one for each customer."""


def takes_usual_key(address: str, provider: str) -> bool:
    """Whether a key that stands in the environment for this provider may be sent to that address."""
    own = _HOSTS.get(provider)
    if own is None:
        return True
    try:
        url = urlsplit(address)
        host = (url.hostname or "").rstrip(".")
    except ValueError:
        return False
    return url.scheme == "https" and (host == own or host.endswith(f".{own}"))


def other_address(model: str, address: str | None) -> str:
    """Host and port where the model is asked, when that is not its provider's own address; else empty."""
    provider, slash, _ = model.partition("/")
    if not address and (provider == "openai" or not slash):
        address = usual_openai_address()
    if not address or (provider in _HOSTS and takes_usual_key(address, provider)):
        return ""
    try:
        host = urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        host = ""
    return visible(host or address, lines=False)


def usual_openai_address() -> str | None:
    """The address that the environment names for OpenAI's models."""
    return os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
