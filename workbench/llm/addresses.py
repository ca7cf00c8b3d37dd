"""Where the key of a provider's usual variable may go: to the provider, not to any address named; used by `client`."""

from __future__ import annotations

from urllib.parse import urlsplit

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
