"""What an exception out of a provider's library holds: status, headers, the provider's own words; used by `faults`."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

_PREFIX = re.compile(r"(?:litellm\.\w+: |\w+(?:Exception|Error)(?: -|:) )+")
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and what it came from, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def status_of(error: BaseException) -> int | None:
    """The HTTP status a server really sent; libraries invent one for faults that never reached a server."""
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None) if response is not None else None
    if isinstance(status, int) and getattr(response, "headers", None):
        return status
    return None


def headers_of(error: BaseException) -> Mapping[str, Any]:
    """The headers of the answer, where one came."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def message_of(links: Sequence[BaseException], plain: Container[str]) -> str:
    """The provider's own sentence where its body holds one, else what the library says, first in a `plain` one."""
    for link in reversed(links):
        if said := _sentence(getattr(link, "body", None)):
            return said
        if said := _sentence(_quoted(str(link))):
            return said
    error = ([link for link in links if type(link).__name__ in plain] or links[:1])[-1]
    return _PREFIX.sub("", str(error).partition(" Original exception: ")[0]) or type(error).__name__


def _sentence(body: object) -> str:
    """The message of an error's body, with its code where that is a word."""
    inner = (
        next((body[name] for name in ("error", "detail") if body.get(name)), body) if isinstance(body, dict) else None
    )
    if isinstance(inner, str):  # Ollama, TGI
        return inner
    if not isinstance(inner, dict) or not isinstance(inner.get("message"), str):
        return ""
    return f"{inner['message']} ({inner['code']})" if isinstance(inner.get("code"), str) else str(inner["message"])


def _quoted(text: str) -> object:
    """The body that a library put into its own message, as JSON."""
    found = _OBJECT.search(text)
    try:
        return json.loads(found.group()) if found else None
    except (ValueError, RecursionError):
        return None


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """The seconds after which the provider wants to be asked again."""
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
