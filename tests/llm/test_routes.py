"""Each route to a server that speaks OpenAI's protocol ends alike: response, error, retries, what the user reads."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Fault, Turn
from tests.llm.conftest import KEY, ROUTES
from tests.tools.web.site import CERTIFICATE, Site
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, Delta, ModelError, ModelRequest
from workbench.llm.openai_compatible import own_server
from workbench.llm.retry import Patience

HELLO = ModelRequest([{"role": "user", "content": "hello"}])
DIRECT = "openai/fake"
THROUGH_LITELLM = tuple(str(route.values[0]) for route in ROUTES if route.values[0] != DIRECT)
STATUSES = (
    *(400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 418, 422, 425, 429, 451),
    *(500, 501, 502, 503, 504, 505, 520, 521, 524, 529),
)
TEXTS = {
    "window": (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
    "filter": (400, "The response was filtered: content management policy.", "content_filter"),
    "picture": (400, "image_url is not supported", None),
    "pairs": (400, "messages with role 'tool' must follow tool_calls", None),
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "key": (400, f"Incorrect API key provided: {KEY}", None),
    "model": (404, "The model `fake` does not exist", "model_not_found"),
}
CALLS = (Called("execute_bash", {"command": "ls"}), Called("execute_bash", '{"command": "l'))
WHOLE = b'{"choices": [{"index": 0, "message": {"content": "all at once"}, "finish_reason": "stop"}]}'
OVERLOADED = b'data: {"error":{"message":"overloaded","code":529}}\n\n'
SCRIPTS: dict[str, Sequence[Any]] = {
    **{f"status {status}": [Fault(status, "some reason")] * 2 for status in STATUSES},
    **{f"status {status} once": [Fault(status), Turn("then")] for status in (408, 429, 500, 503)},
    **{what: [Fault(*fault)] for what, fault in TEXTS.items()},
    "page": [Fault(200, headers={"content-type": "text/html"})],
    "error page": [Fault(502, headers={"content-type": "text/html"}, raw=b"<html><title>Bad gateway</title></html>")]
    * 2,
    "body without JSON": [Fault(400, raw=b"no such thing")],
    "wait": [Fault(429, headers={"retry-after": "0.2"}), Turn("then")],
    "wait in milliseconds": [Fault(503, headers={"retry-after-ms": "200"}), Turn("then")],
    "long wait": [Fault(429, headers={"retry-after": "900"})],
    "hang up": [Fault(kind="hang up"), Turn("then")],
    "silence": [Fault(kind="silent")],
    "stall": [Turn("some words and more", cut_after=2, then="stall")],
    "cut": [Turn("some words and more", cut_after=2)],
    "cut before a word": [Turn("words", cut_after=0), Turn("then")],
    "text": [Turn("some words", reasoning="a thought")],
    "calls": [Turn("I look.", calls=CALLS)],
    "limit": [Turn("half of", calls=CALLS[1:], finish="length")],
    "withheld": [Turn("", finish="content_filter")],
    "given up": [Turn("half of", finish="error")],
    "no usage": [Turn("some words", usage=None)],
    "odd usage": [Turn("some words", usage={"prompt_tokens": -1, "completion_tokens": "many"})],
    "error in the stream": [Turn(raw=(OVERLOADED,))] * 2,
    "error after a word": [Turn(raw=(b'data: {"choices":[{"delta":{"content":"so far"}}]}\n\n', OVERLOADED))],
    "no choices": [Turn(raw=(b'data: {"choices":null}\n\n',))],
    "no message": [Turn(raw=(b'data: {"choices":[{"index":0,"delta":null,"finish_reason":"stop"}]}\n\n',))],
    "empty choices": [Turn(raw=(b'data: {"choices":[]}\n\n',))],
    "broken piece": [Turn(raw=(b'data: {"choices":[{"delta":{"content":"so\n\n',)), Turn("then")],
}

UNSTREAMED: dict[str, Sequence[Any]] = {
    "answer": [Fault(200, raw=WHOLE)],
    "no answer": [Fault(200, raw=b'{"status": "ok"}')],
}
"""Replies of a server that does not stream. litellm's own client loses them; it is for providers that do."""


def outcome(name: str, script: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return everything about a call that a user, or the session, can notice; URL and name are left out."""
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(variable, raising=False)
    deltas: list[Delta] = []
    patience = Patience(connect=5, idle=1.5, tries=2, first_wait=0.01)
    with ModelServer(script) as server:
        model = ProviderModel(name, api_base=server.base_url, api_key=KEY, patience=patience)
        with contextlib.closing(model):
            try:
                response = model.respond(HELLO, deltas.append, Cancel())
            except ModelError as error:
                result: dict[str, Any] = {
                    "error": str(error),
                    "kind": error.kind,
                    "why another": error.fallback_reason,
                    "class": type(error).__name__,
                }
            else:
                result = {
                    field: getattr(response, field)
                    for field in ("text", "reasoning", "finish_reason", "incomplete", "cost")
                }
                result["usage"] = (response.usage.input, response.usage.output)
                result["calls"] = [(call.name, call.arguments) for call in response.tool_calls]
        result["requests"] = len(server.requests)
        result["lines"] = list(dict.fromkeys(delta.text for delta in deltas if delta.kind == "status"))
        result["streamed"] = "".join(delta.text for delta in deltas if delta.kind == "text")
        variable = "HOSTED_VLLM_API_KEY" if name.startswith("hosted") else "OPENAI_API_KEY"
        text = json.dumps(result, sort_keys=True).replace(server.base_url, "URL").replace(name, "NAME")
    return dict(json.loads(text.replace(variable, "VARIABLE")))


@pytest.mark.filterwarnings("ignore")  # litellm leaves sockets open, and uses what pydantic calls deprecated
@pytest.mark.parametrize("what", SCRIPTS)
def test_every_route_ends_alike(what, monkeypatch):
    direct = outcome(DIRECT, SCRIPTS[what], monkeypatch)
    assert KEY not in str(direct)
    for name in THROUGH_LITELLM:
        assert outcome(name, SCRIPTS[what], monkeypatch) == direct, name


@pytest.mark.parametrize("what", UNSTREAMED)
def test_both_routes_of_one_name_read_a_reply_that_is_not_streamed(what, monkeypatch):
    direct, sdk = (outcome(name, UNSTREAMED[what], monkeypatch) for name in (DIRECT, "openai/gpt-4-fake"))
    assert direct == sdk
    assert direct["streamed"] == ("all at once" if what == "answer" else "")


def test_routes_are_what_their_names_say():
    assert own_server(DIRECT, "http://x/v1")
    assert not any(own_server(name, "http://x/v1") for name in THROUGH_LITELLM)


STREAM = b'data: {"choices":[{"index":0,"delta":{"content":"here"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
PATH = "/v1/chat/completions"


def ask(name: str, base: str) -> str:
    model = ProviderModel(name, api_base=base, api_key=KEY, patience=Patience(connect=5, tries=1))
    with contextlib.closing(model):
        return model.respond(HELLO, lambda delta: None, Cancel()).text


@pytest.fixture
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
        monkeypatch.delenv(variable, raising=False)
        monkeypatch.delenv(variable.upper(), raising=False)


@pytest.mark.usefixtures("_no_proxy")
def test_certificate_authority_of_the_environment_is_trusted_and_no_other(model_name, monkeypatch):
    with Site({PATH: lambda visit: visit.answer(STREAM, "text/event-stream")}, tls=True) as site:
        base = f"https://localhost:{site.port}/v1"
        with pytest.raises(ModelError, match=f"cannot reach {base}.*certificate"):
            ask(model_name, base)
        assert site.visits == []
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert ask(model_name, base) == "here"


@pytest.mark.usefixtures("_no_proxy")
def test_proxy_of_the_environment_is_used_except_for_hosts_without_one(model_name, monkeypatch):
    target = "http://model.invalid/v1"
    with Site({f"{target}/chat/completions": lambda visit: visit.answer(STREAM, "text/event-stream")}) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert ask(model_name, target) == "here"
        assert [visit.path for visit in proxy.visits] == [f"{target}/chat/completions"]
        monkeypatch.setenv("NO_PROXY", "model.invalid")
        with pytest.raises(ModelError, match=re.escape(f"cannot reach {target}")):
            ask(model_name, target)
        assert len(proxy.visits) == 1
