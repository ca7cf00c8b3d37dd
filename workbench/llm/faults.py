"""What can go wrong in a model call; used by `client`, `sse` and `retry`.

Exceptions are told apart by their class names and status, so that no provider library is imported here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from workbench.llm.provider_errors import chain, headers_of, message_of, retry_after, status_of

Kind: TypeAlias = Literal[
    "key",
    "refused",
    "unreachable",
    "stalled",
    "lost",
    "rate",
    "quota",
    "busy",
    "context",
    "pairing",
    "picture",
    "unknown",
    "provider",
    "alien",
    "redirected",
    "filtered",
    "missing",
    "other",
]
RETRIED: frozenset[Kind] = frozenset({"rate", "busy", "lost"})
_BUSY = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529})
_NAMED: dict[str, Kind] = {
    "ConnectTimeout": "unreachable",
    "gaierror": "unreachable",
    "SSLError": "unreachable",
    "SSLCertVerificationError": "unreachable",
    "ConnectionRefusedError": "refused",
    "ConnectError": "refused",
    "ReadTimeout": "stalled",
    "WriteTimeout": "stalled",
    "PoolTimeout": "stalled",
    "RemoteProtocolError": "lost",
    "ReadError": "lost",
    "WriteError": "lost",
    "BrokenStream": "lost",
    "LeadsElsewhere": "redirected",
    "ModuleNotFoundError": "missing",
}
_BY_CLASS: dict[str, Kind] = {
    "ContextWindowExceededError": "context",
    "ContentPolicyViolationError": "filtered",
    "AuthenticationError": "key",
    "PermissionDeniedError": "key",
    "Timeout": "stalled",
    "APITimeoutError": "stalled",
    "APIConnectionError": "lost",
    "ServiceUnavailableError": "busy",
    "InternalServerError": "busy",
    "MidStreamFallbackError": "busy",
}
_BY_STATUS: dict[int, Kind] = {401: "key", 402: "quota", 403: "key", 404: "unknown", 413: "context", 429: "rate"}
_CONTEXT = re.compile(
    "|".join(
        (
            # OpenAI and most others; Anthropic; Bedrock; Ollama; SGLang; Mistral; MiniMax
            r"context.{0,3}length|context window|context limit|maximum context|too many (?:input )?tokens",
            r"(?:prompt|input)(?: is)? too (?:long|large)|exceeds? the (?:maximum|context|model)",
            r"maximum prompt length",  # xAI
            r"max(?:imum)?[ _]model[ _]len",  # vLLM
            r"model token limit",  # Moonshot
            r"exceeds? max(?:imum)? length|tokens in request more than|超长",  # Zhipu, Baidu
            r"range of input length|input length \d+ exceeds",  # DashScope, Volcengine
            r"prompt token count|max_prompt_tokens",  # Copilot
            r"inputs. tokens|inputs. must have less than|max_new_tokens. must be",  # TGI, Together
            r"(?:input|prompt) token count|model only supports up to",  # Vertex
            r"context size|exceed_context|context the overflows|tokens to keep from the initial",  # llama.cpp, LM
            r"reduce the length of (?:the|your)",  # Groq, Cerebras
            r"number of input tokens|(?:input|prompt|requested) tokens?\b.{0,60}\bexceed",  # watsonx, StepFun
            r"tokens_limit_reached|request body too large for",  # GitHub Models
        )
    ),
    re.IGNORECASE,
)
"""What providers say of a request that is larger than the model's window; each has words of its own."""
_FILTERED = re.compile(
    r"content.?filter|content management policy|content.?policy|responsible ?ai|data_?inspection|inappropriate content"
    r"|considered high risk|敏感内容",
    re.IGNORECASE,
)
_PAIRING = re.compile(
    r"tool_use|tool_result|tool_call_id|tool_calls.{1,3}must be|role.{1,3}tool.{1,3}must|function response parts"
    r"|function calls? (?:and responses|turn)|after role"
    r"|.thinking. block|thought_signature",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"\bimages?\b|image_url|\bvision\b|content must be a string", re.IGNORECASE)
_NO_EYES = re.compile(r"support image input", re.IGNORECASE)
_NO_KEY = re.compile(r"api_key|missing credentials|API key (?:is )?(?:missing|not set)", re.IGNORECASE)
_BAD_KEY = re.compile(r"API key not valid|(?:invalid|incorrect) (?:x-)?api.?key", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
_BY_WORDS: tuple[tuple[tuple[int | None, ...], re.Pattern[str], Kind], ...] = (
    ((400, 413, 422, 500, None), _CONTEXT, "context"),
    ((400, 403, 422, 451), _FILTERED, "filtered"),
    ((400, 403, 429, None), _QUOTA, "quota"),
    ((400, None), _BAD_KEY, "key"),
    ((400, 415, 422), _PICTURE, "picture"),
    ((404,), _NO_EYES, "picture"),
    ((400, 422), _PAIRING, "pairing"),
)


def code_words(status: int | None) -> str:
    """The HTTP status as it stands behind a sentence; empty where there is none."""
    return f" (HTTP {status})" if status else ""


@dataclass
class Fault(Exception):
    """One failed call; `text` is the provider's own line without secrets, `retry_after` in seconds."""

    kind: Kind
    status: int | None = None
    text: str = ""
    retry_after: float | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.status or ''} {self.text}"

    @property
    def short(self) -> str:
        """A few words for the countdown of a retry."""
        words: dict[Kind, str] = {"rate": "the provider limits the rate", "lost": "the connection broke"}
        return words.get(self.kind, f"the provider is busy{code_words(self.status)}")


def fault_of(error: BaseException) -> Fault:
    """What an exception out of a provider's library means; its text may still hold a key."""
    links = list(chain(error))
    status = next((found for found in map(status_of, reversed(links)) if found), None)
    text = message_of(links, plain=_NAMED)
    headers = next((found for found in map(headers_of, reversed(links)) if found), {})
    return Fault(_kind(links, status, text), status, text, retry_after(headers))


def fault_from_text(text: str, status: int | None) -> Fault:
    """An error that a provider tells in the middle of a stream."""
    kind = _kind([], status, text)
    return Fault("busy" if kind == "other" and status is None else kind, status, text)


def _kind(links: list[BaseException], status: int | None, text: str) -> Kind:
    names = [type(link).__name__ for link in links]
    for name, kind in _NAMED.items():
        if name in names:
            return kind
    if "LLM Provider NOT provided" in text or "LLMProvider" in text:
        return "provider"
    if status in (400, 413, 422, 500, None) and "ContextWindowExceededError" in names:
        return "context"
    for statuses, words, kind in _BY_WORDS:
        if status in statuses and words.search(text):
            return kind
    return _by_status(names, status, text)


def _by_status(names: list[str], status: int | None, text: str) -> Kind:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status in _BUSY:
        return "busy"
    if status is None and _NO_KEY.search(text):
        return "key"
    return next((_BY_CLASS[name] for name in names if name in _BY_CLASS), "other")
