"""Requests over httpx to OpenAI-compatible servers of the user's own: local models, gateways, proxies.

They do not need litellm, whose import takes seconds. OpenAI's own models are called through litellm wherever they are
served, because it knows which parameters each of them accepts.

Source of the format: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Generator, Mapping
from typing import Any

import workbench
from workbench.lazy_pattern import lazy_pattern
from workbench.llm.discovery import usual_openai_base
from workbench.llm.errors import Fault
from workbench.llm.exchange import Chunk
from workbench.llm.sse import checked, read_chunks, whole_answer

_OPENAI_MODEL = lazy_pattern(r"(?:.*/)?(?:gpt-\d|o\d|chatgpt|codex|computer-use)|responses/", re.IGNORECASE)


def own_server(model: str, api_base: str | None) -> str | None:
    """Return the base URL of the OpenAI-compatible server that serves the model; None if the call needs litellm."""
    provider, _, name = model.partition("/")
    if provider != "openai" or not name or _OPENAI_MODEL.match(name):
        return None
    return api_base or usual_openai_base()


class Rejected(Exception):
    """An HTTP status other than 2xx; `body` is the parsed error, or its text if that is not JSON."""

    def __init__(self, response: Any) -> None:
        text = response.read().decode("utf-8", "replace")
        super().__init__(text)
        self.response = response
        self.body = _error_in(text)


def stream(client: Any, base: str, key: str | None, body: Mapping[str, Any]) -> Generator[Chunk | None]:
    """Post a chat completion with an httpx client and yield its chunks as `read_answer` does.

    Without a key of the profile, the key in OPENAI_API_KEY is sent. Raises Rejected, and whatever httpx raises.
    """
    # A non-finite number is not JSON: the request fails here, not at the server.
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    request = client.build_request(
        "POST", f"{base.rstrip('/')}/chat/completions", content=content, headers=_headers(key)
    )
    response = client.send(request, stream=True)
    with contextlib.closing(response):
        if not response.is_success:
            raise Rejected(response)
        yield from read_answer(response)


def read_answer(response: Any) -> Generator[Chunk | None]:
    """Yield the chunks of a response, streamed or whole; then None, before the rest is read so that the connection can
    be reused. Raises Fault for anything but a response, and BrokenStream for an incomplete one.
    """
    kind = response.headers.get("content-type", "")
    if "html" in kind:
        raise Fault("alien")
    # The server does not stream.
    if "json" in kind:
        yield whole_answer(response.read())
        return
    pieces = response.iter_bytes()
    for chunk in read_chunks(pieces):
        yield checked(chunk)
    yield None
    for _ in pieces:
        pass


def _headers(key: str | None) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {key or os.environ.get('OPENAI_API_KEY') or 'none'}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "User-Agent": f"ohw/{workbench.__version__}",
    }


def _error_in(text: str) -> object:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return body.get("error", body) if isinstance(body, dict) else body
