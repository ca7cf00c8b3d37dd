"""Classifies the errors of model calls, and describes each in one line that says what to do."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.device_sign_in import PROVIDER
from workbench.llm.model import ContextOverflow, ModelError
from workbench.text import first_line

_DEEPEST: Final = 8
_LONGEST: Final = 20_000
_MOST_STARTS: Final = 20
"""The maximum number of brackets in a text that are tried as the start of a JSON body."""
_BYTES: Final = lazy_pattern(r"""\bb(?P<quote>['"])(?:\\.|(?!(?P=quote)).)*(?P=quote)""", re.DOTALL)
_TITLE: Final = lazy_pattern(r"<(?P<tag>title|h1)\b[^>]*>(?P<text>[^<]+)</(?P=tag)>", re.IGNORECASE)
_PAGE: Final = lazy_pattern(r"\s*<(?:!doctype|html|head|\?xml)\b", re.IGNORECASE)
_TAG: Final = lazy_pattern(r"<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_KEYS: Final = ("error", "errors", "detail", "message", "msg", "error_message", "Message", "reason", "title")
"""Keys under which providers put the message or the object that holds it, the likelier ones first."""


def sentence_in(body: object, depth: int = 0) -> str:
    """Return the message in an error's body, followed by its code if that is a string; empty if there is none."""
    if depth > _DEEPEST:
        return ""
    if isinstance(body, str):
        return sentence_in_text(body, depth) or body.strip() if depth else sentence_in_text(body)
    if isinstance(body, list):
        return next(filter(None, (sentence_in(each, depth + 1) for each in body)), "")
    if not isinstance(body, Mapping):
        return ""
    sentence = next(filter(None, (sentence_in(body.get(key), depth + 1) for key in _KEYS)), "")
    code = body.get("code")
    is_own = isinstance(body.get("message"), str) and not body.get("error")
    return f"{sentence} ({code})" if sentence and is_own and isinstance(code, str) else sentence


def sentence_in_text(text: str, depth: int = 0) -> str:
    """Return the message of the first JSON body in the text that has one, or else the text of a web page; empty if
    there is neither.
    """
    text = without_bytes(text[:_LONGEST])
    for body in _bodies(text):
        if sentence := sentence_in(body, depth + 1):
            return sentence
    return text_of_page(text) if _PAGE.match(text) else ""


def without_bytes(text: str) -> str:
    """Return the text with each `b'…'` (the repr of bytes) replaced with the decoded bytes."""
    return _BYTES.sub(lambda match: _decoded(match.group()), text)


def text_of_page(page: str) -> str:
    """Return the title of a web page or, if it has none, its text without tags."""
    title = _TITLE.search(page)
    return " ".join((title["text"] if title else _TAG.sub(" ", page)).split())


def _decoded(literal: str) -> str:
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return literal
    return value.decode(errors="replace") if isinstance(value, bytes) else literal


def _bodies(text: str) -> Iterator[object]:
    """Yield at most one body: the JSON value, or the repr of a dictionary or list, at the first bracket in the text or,
    if that cannot be parsed, at one of the next opening braces.
    """
    first = re.search(r"[\[{]", text)
    start = first.start() if first else -1
    for _ in range(_MOST_STARTS):
        if start < 0:
            return
        if (body := _body_at(text[start:])) is not None:
            yield body
            return
        start = text.find("{", start + 1)


def _body_at(text: str) -> object:
    """Return the JSON value or Python literal at the start of the text, or None."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text)[0]
    except (ValueError, RecursionError):
        end = text.rfind("}" if text[0] == "{" else "]")
    try:
        return ast.literal_eval(text[: end + 1])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


_PREFIX = lazy_pattern(r"(?:litellm\.\w+: |Vertex_ai\w*Exception |\b\w{1,80}(?:Exception|Error)(?: -|:) )+")


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exception and its causes, each once."""
    visited: set[int] = set()
    while error is not None and id(error) not in visited:
        visited.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status that a server sent; None if there was no response, even if a library invented a status."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) if response is not None else None
    if isinstance(status, int) and getattr(response, "headers", None):
        return status
    return None


def headers_of(error: BaseException) -> Mapping[str, Any]:
    """Return the headers of the HTTP response that an error has; empty if it has none."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def message_of(causes: Sequence[BaseException], plain: Container[str]) -> str:
    """Return the provider's message in one of the exceptions or, if there is none, the text of the last exception whose
    class is named in `plain` (else of the first exception).
    """
    for link in reversed(causes):
        if sentence := sentence_in(getattr(link, "body", None)) or sentence_in_text(str(link)):
            return sentence
    error = ([link for link in causes if type(link).__name__ in plain] or causes[:1])[-1]
    text = without_bytes(_PREFIX.sub("", str(error)[:_LONGEST].partition(" Original exception: ")[0]))
    return (sentence_in_text(text) or text).strip() or type(error).__name__


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """Return how many seconds to wait before a retry; None if the headers do not say."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        return _until(str(headers["retry-after"]))


def _until(date: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


Kind: TypeAlias = Literal[
    "key",
    "refused",
    "unreachable",
    "stalled",
    "endless",
    "lost",
    "rate",
    "quota",
    "busy",
    "context",
    "pairing",
    "picture",
    "unknown",
    "provider",
    "address",
    "alien",
    "redirected",
    "filtered",
    "missing",
    "other",
]
RETRIED: frozenset[Kind] = frozenset({"rate", "busy", "lost"})
SLOW: frozenset[str] = frozenset({"unreachable", "stalled"})
"""Kinds of failures that are noticed only after a long wait."""
_FALLBACK: dict[Kind, str] = {
    "busy": "is overloaded",
    "rate": "is limited in its rate",
    "quota": "has no credit left",
    "filtered": "refused the request (content filter)",
    "refused": "cannot be reached",
    "unreachable": "cannot be reached",
    "lost": "cannot be reached",
    "stalled": "stopped answering",
}
"""The kinds of failures after which a fallback model may be called, each as a predicate about the failed model."""
_OVERLOADED = frozenset({None, 503, 529})
_BUSY = frozenset({408, 409, 425, *range(500, 600)})
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
    "CloseError": "lost",
    "DecodingError": "lost",
    "BrokenStream": "lost",
    "ProxyError": "unreachable",
    "UnsupportedProtocol": "address",
    "InvalidURL": "address",
    "TooManyRedirects": "alien",
    "LeadsElsewhere": "redirected",
    "NotAnEndpoint": "alien",
    "Endless": "endless",
    "ModuleNotFoundError": "missing",
    # A key with characters that no header may contain.
    "LocalProtocolError": "other",
    "UnicodeEncodeError": "other",
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
_CONTEXT = lazy_pattern(
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
"""Provider messages about a request that exceeds the context window."""
_FILTERED = lazy_pattern(
    r"content.?filter|content management policy|content.?policy|responsible ?ai|data_?inspection|inappropriate content"
    r"|considered high risk|敏感内容",
    re.IGNORECASE,
)
_PAIRING = lazy_pattern(
    r"tool_use|tool_result|tool_call_id|tool_calls.{1,3}must be|role.{1,3}tool.{1,3}must|function response parts"
    r"|function calls? (?:and responses|turn)|after role"
    r"|.thinking. block|thought_signature",
    re.IGNORECASE,
)
_PICTURE = lazy_pattern(r"\bimages?\b|image_url|\bvision\b|content must be a string", re.IGNORECASE)
_NO_EYES = lazy_pattern(r"support image input", re.IGNORECASE)
_NO_KEY = lazy_pattern(r"api_key|missing credentials|API key (?:is )?(?:missing|not set)", re.IGNORECASE)
_BAD_KEY = lazy_pattern(r"API key not valid|(?:invalid|incorrect) (?:x-)?api.?key", re.IGNORECASE)
_QUOTA = lazy_pattern(r"insufficient_quota|exceeded your current quota|credit balance|billing", re.IGNORECASE)
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
    """Return the HTTP status as a suffix of a sentence; empty if there is none."""
    return f" (HTTP {status})" if status else ""


@dataclass
class Fault(Exception):
    """A failed call; `text` is the provider's own message, `retry_after` is in seconds."""

    kind: Kind
    status: int | None = None
    text: str = ""
    retry_after: float | None = None
    has_begun: bool = False
    """Whether a part of the response, even if only of a tool call, had arrived before."""

    def __str__(self) -> str:
        return f"{self.kind} {self.status or ''} {self.text}"

    @property
    def short(self) -> str:
        """A short reason for the countdown of a retry."""
        words: dict[Kind, str] = {"rate": "rate limited", "lost": "connection lost"}
        return words.get(self.kind, f"provider busy{code_words(self.status)}")


def fault_of(error: BaseException) -> Fault:
    """Classify an exception from a provider's library; keys in the fault's text are not masked yet."""
    causes = list(chain(error))
    status = next((value for value in map(status_of, reversed(causes)) if value), None)
    text = message_of(causes, plain=_NAMED)
    headers = next((value for value in map(headers_of, reversed(causes)) if value), {})
    return Fault(_kind(causes, status, text), status, text, retry_after(headers))


def fault_from_text(text: str, status: int | None) -> Fault:
    """Classify an error that a provider sent within a stream."""
    kind = _kind([], status, text)
    return Fault("busy" if kind == "other" and status is None else kind, status, text)


def _kind(causes: list[BaseException], status: int | None, text: str) -> Kind:
    names = [type(link).__name__ for link in causes]
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


_UNNAMED = lazy_pattern(r"\W")
_PACKAGES = {"google": "google-auth[requests]"}
"""What to install for a missing module, where the name of the package differs from that of the module."""


def _how_to_install(text: str) -> str:
    """Return the command that installs the missing module, as the end of a sentence; empty if none is named."""
    module = re.search(r"No module named '(\w+)", text)
    return f": run pip install '{_PACKAGES.get(module[1], module[1])}' in the environment of ohw" if module else ""


def model_error(fault: Fault, model: str, api_base: str | None) -> ModelError:
    """Return the exception for a fault; its message tells the user what happened and what to do."""
    where = public_url(api_base) or f"the provider of {model}"
    detail = f": {first_line(fault.text, 300)}" if fault.text else ""
    if fault.kind == "context":
        return ContextOverflow(
            f"the conversation no longer fits {model}'s context window{detail}: /compact, /model or /new"
        )
    lines: dict[Kind, str] = {
        "key": _about_key(fault, model, api_base, where),
        "refused": f"nothing is listening at {where}: start the server or fix the URL",
        "unreachable": f"cannot reach {where}{detail}: check the network and the URL",
        "stalled": f"{where} stopped answering: send the message again, or choose another model",
        "endless": f"{where} sent an answer without end; it was cut: send the message again or choose another model",
        "lost": f"the connection to {where} broke: send the message again",
        "rate": f"rate limited by {where}: try again{_after(fault.retry_after)}",
        "quota": f"the account at {where} has no credit left{detail}",
        "busy": f"{where} is failing{code_words(fault.status)}{detail}: send the message again later",
        "unknown": f"{where} does not know the model {model}{detail}: check its name{_or_base(api_base)}",
        "address": f"{where} is not the URL of a server: write http:// or https://, the host, and the path (often /v1)",
        "alien": f"{where} is not an OpenAI-compatible endpoint: check the URL (it often ends in /v1)",
        "redirected": f"{where} redirects the conversation to another URL{detail}: it was not sent there; if you "
        "trust that address, set it as `api_base`",
        "filtered": f"{where} does not take this conversation (content filter){detail}: put the last message in other "
        "words, or choose another model",
        "missing": f"{model} needs a package that is not installed{detail}{_how_to_install(fault.text)}",
        "provider": f"no provider is known for the model {model!r}: write it as PROVIDER/NAME, for example "
        f"openai/gpt-5 or ollama_chat/qwen3; for a compatible server openai/NAME with --api-base{_meant(fault)}",
    }
    line = lines.get(fault.kind, f"the call to {model} failed{code_words(fault.status)}{detail}")
    return ModelError(line, kind=fault.kind, fallback_reason=_fallback_reason(fault))


def _meant(fault: Fault) -> str:
    """Return a question for the name that is probably meant, which is the fault's text, unless it is a library's."""
    return f"; did you mean {fault.text!r}?" if fault.text and " " not in fault.text else ""


def _fallback_reason(fault: Fault) -> str:
    """Return why a fallback model may be called; empty if none may, for example after a part of the response."""
    if fault.has_begun:
        return ""
    if fault.kind == "busy" and fault.status not in _OVERLOADED:
        return f"is failing{code_words(fault.status)}"
    return _FALLBACK.get(fault.kind, "")


def _about_key(fault: Fault, model: str, api_base: str | None, where: str) -> str:
    if model.partition("/")[0] == PROVIDER:
        return f"not signed in to GitHub Copilot, or its token was refused: /model {model} signs you in"
    variable = key_variable(model)
    if fault.status and api_base:
        return (
            f"{where} rejected the API key{code_words(fault.status)}: paste a key for this server with /setup, or set "
            f"`api_key_env` ({variable} is only sent to the provider itself)"
        )
    advice = f"{where} rejected the API key{code_words(fault.status)}" if fault.status else f"no key for {model}"
    return f"{advice}: paste one with /setup, or set {variable} or `api_key_env`"


def key_variable(model: str) -> str:
    """Return the standard environment variable for the key of the model's provider."""
    provider, slash, _ = model.partition("/")
    return f"{_UNNAMED.sub('_', provider).upper()}_API_KEY" if slash else "OPENAI_API_KEY"


def public_url(api_base: str | None) -> str:
    """Return the URL without its user name, password, query and fragment; empty if there is none."""
    if not api_base:
        return ""
    try:
        parts = urlsplit(api_base)
        host = parts.netloc.rpartition("@")[2]
        # Raises ValueError if the text after the colon is no port but the start of a password that contains a slash.
        _ = parts.port
    except ValueError:
        return first_line(api_base.rpartition("@")[2], 200)
    return first_line(parts._replace(netloc=host, query="", fragment="").geturl(), 200)


def _after(seconds: float | None) -> str:
    return f" in {seconds:.0f} s" if seconds else " in a minute"


def _or_base(api_base: str | None) -> str:
    return " and the URL (it often ends in /v1)" if api_base else ""
