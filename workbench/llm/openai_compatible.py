"""Requests over httpx to OpenAI-compatible servers of the user's own: local models, gateways, proxies.

They do not need litellm, whose import takes seconds. OpenAI's own models are called through litellm wherever they are
served, because it knows which parameters each of them accepts.

Source of the format: https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import msgspec

import workbench
from workbench.lazy_pattern import lazy_pattern
from workbench.llm.discovery import base_and_query, endpoint, usual_openai_base, usual_openai_key
from workbench.llm.exchange import Chunk, Connections, NotAnEndpoint
from workbench.llm.model import ModelRequest
from workbench.llm.price_table import entry_of
from workbench.llm.provider_models import listed_at
from workbench.llm.route import Target, options_of
from workbench.llm.signatures import unsigned
from workbench.llm.sse import read_chunks, whole_answer
from workbench.llm.stream import checked
from workbench.llm.stream_decoder import MARK

_OPENAI_MODEL = lazy_pattern(r"(?:.*/)?(?:gpt-\d|o\d|chatgpt|codex|computer-use)|responses/", re.IGNORECASE)
OPENING = "open-connection"
"""The name of the thread that opens a connection early."""
_EVENT = (b"data:", b"event:", b"id:", b"retry:", b":")
"""How a stream of server-sent events can begin."""
_EARLY = 5.0
"""Seconds within which a connection is opened early, or given up."""
_LONGEST_WAIT = 2.0
"""Seconds that the first request waits for it. Two connections would take longer to open than one, and a server with a
single thread would wait for the next request on the first of them.
"""


def own_server(model: str, api_base: str | None) -> str | None:
    """Return the base URL of the OpenAI-compatible server that serves the model; None if the call needs litellm.

    litellm interprets a name without a provider if its table has the name, or if the URL is a provider's (always
    `https`).
    """
    provider, slash, name = model.partition("/") if "/" in model else ("", "", model)
    base = api_base or usual_openai_base()
    if not base or not name or _OPENAI_MODEL.match(name):
        return None
    if slash:
        return base if provider == "openai" else None
    return base if base.startswith("http:") and entry_of(name) is None else None


class DirectRoute:
    """Calls an OpenAI-compatible server over httpx."""

    def __init__(self, target: Target, base: str, connections: Connections) -> None:
        self.base = base
        self._target = target
        self._connections = connections
        self._opening: threading.Thread | None = None

    @property
    def listed(self) -> dict[str, Any] | None:
        """The price table's entry for the model; None unless the server is a provider's own."""
        return listed_at(self.base, self._model)

    @property
    def _model(self) -> str:
        return self._target.name.removeprefix("openai/")

    def stream(self, request: ModelRequest) -> Generator[Chunk | None]:
        """Send a request and yield the chunks of its response."""
        if self._opening is not None:
            self._opening.join(_LONGEST_WAIT)
            self._opening = None
        body: dict[str, Any] = {
            "model": self._model,
            "messages": unsigned(request.messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        body |= self._target.tuning.of(request) | options_of(request)
        return _posted(self._client, self.base, self._target.key_for("openai", self.base), body)

    def open_early(self) -> None:
        """Open the connection in the background, so that the first request need not wait for it."""
        self._opening = threading.Thread(target=self._open, name=OPENING, daemon=True)
        self._opening.start()

    def _open(self) -> None:
        # What is wrong with the server is reported by the first request, so nothing is reported here. No key, password
        # or query is sent, because the response does not matter.
        with contextlib.suppress(Exception):
            import httpx

            url = httpx.URL(base_and_query(self.base)[0]).copy_with(userinfo=b"")
            self._client.request("HEAD", url, headers=_AGENT, follow_redirects=False, timeout=_EARLY)

    @property
    def _client(self) -> Any:
        return self._connections.client(self._target.patience.timeout)


_AGENT = {"User-Agent": f"ohw/{workbench.__version__}"}


class Rejected(Exception):
    """An HTTP status other than 2xx; `body` is the parsed error, or its text if that is not JSON."""

    def __init__(self, response: Any) -> None:
        text = response.read().decode("utf-8", "replace")
        super().__init__(text)
        self.response = response
        self.body = _error_in(text)


def _posted(client: Any, base: str, key: str | None, body: Mapping[str, Any]) -> Generator[Chunk | None]:
    """Post a chat completion with an httpx client and yield its chunks as `read_answer` does.

    Without a key of the profile, the key in OPENAI_API_KEY is sent. Raises Rejected, and whatever httpx raises.
    """
    url = endpoint(base, "chat/completions")
    request = client.build_request("POST", url, content=_encoded(body), headers=_headers(key))
    response = client.send(request, stream=True)
    with contextlib.closing(response):
        if not response.is_success:
            raise Rejected(response)
        yield from read_answer(response)


def _encoded(body: Mapping[str, Any]) -> bytes:
    """Return the body of a request as JSON. Raises ValueError for a non-finite number in a parameter or a schema.

    The messages grow with the session and hold only texts, so msgspec encodes them; it would write such a number as
    null, which the server would reject.
    """
    parameters = {name: value for name, value in body.items() if name != "messages"}
    rest = json.dumps(parameters, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return b'{"messages":' + msgspec.json.encode(body["messages"], enc_hook=_plain) + b"," + rest[1:]


def _plain(value: object) -> str:
    """Return a value of a subclass of `str` as a `str`, which msgspec requires."""
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def read_answer(response: Any) -> Generator[Chunk | None]:
    """Yield the chunks of a response, streamed or whole; then None, before the rest is read so that the connection can
    be reused. Raises NotAnEndpoint or Fault for anything but a response, and BrokenStream for an incomplete one.
    """
    kind = response.headers.get("content-type", "").lower()
    if "html" in kind:
        raise NotAnEndpoint(kind)
    start, pieces = _begun(response.iter_bytes())
    # The server does not stream. Its content is more reliable than the type that it names.
    if start.startswith(b"{") or ("json" in kind and not start.startswith(_EVENT)):
        yield whole_answer(b"".join(pieces))
        return
    for chunk in read_chunks(pieces):
        yield checked(chunk)
    yield None
    for _ in pieces:
        pass


def _begun(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first bytes of a body, without whitespace and a byte order mark before them, and all of its pieces."""
    data = start = b""
    for piece in pieces:
        data += piece
        start = data.removeprefix(MARK.encode()).lstrip()
        if len(start) >= len(max(_EVENT, key=len)):
            break
    return start, itertools.chain([data], pieces)


def _headers(key: str | None) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {key or usual_openai_key() or 'none'}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **_AGENT,
    }


def _error_in(text: str) -> object:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return body.get("error", body) if isinstance(body, dict) else body
