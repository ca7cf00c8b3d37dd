"""The streaming form of each provider, through litellm, against a real server: complete, and cut at many bytes.

An answer is complete only if the provider sent the reason why it ended: no call of a cut answer may run.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fakes import provider_streams
from tests.fakes.google_account import PROJECT, TOKEN, GoogleAccount
from tests.fakes.model_turns import Called, Fault, Turn
from tests.fakes.provider_server import WireServer
from tests.fakes.provider_streams import Encoder
from tests.llm.conftest import KEY
from workbench.llm.client import ProviderModel
from workbench.llm.errors import fault_of, model_error
from workbench.llm.model import Cancel, ModelError, ModelRequest, ModelResponse
from workbench.llm.retry import Patience

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "execute_bash", "parameters": PARAMETERS}}
TEXT = "Hello there: ä ✓, and no more."


@dataclass(frozen=True)
class Route:
    """A model's name, the form its provider streams in, and how many frames follow the one with the reason."""

    model: str
    encoder: Encoder
    path: str = ""
    frames_after: int = 0
    calls: int = 2
    thinks: bool = True
    length: str = "length"
    """The provider's own word for an answer that met its limit; empty where the library loses it."""
    filtered: str = ""
    """The provider's own word for an answer that was withheld."""

    def __str__(self) -> str:
        return f"{self.model}-{self.encoder.__name__}"


ROUTES = (
    Route("openai/fake", provider_streams.openai_chat, "/v1", 2, filtered="content_filter"),
    Route("deepseek/deepseek-chat", provider_streams.openai_chat, "/v1", 2, filtered="content_filter"),
    Route("together_ai/x", provider_streams.openai_chat, "/v1", 2),
    Route("mistral/mistral-x", provider_streams.mistral, "/v1", 1),
    Route("cohere_chat/command-x", provider_streams.cohere, "/v2/chat", thinks=False, length="MAX_TOKENS"),
    Route("anthropic/claude-x", provider_streams.anthropic, "", 1, length="max_tokens", filtered="refusal"),
    Route("gemini/gemini-x", provider_streams.gemini, length="MAX_TOKENS", filtered="SAFETY"),
    Route(
        "gemini/gemini-x",
        provider_streams.gemini_with_a_trailing_count,
        "",
        1,
        length="MAX_TOKENS",
        filtered="RECITATION",
    ),
    Route("vertex_ai/gemini-x", provider_streams.gemini, length="MAX_TOKENS", filtered="SAFETY"),
    Route(
        "vertex_ai/gemini-x",
        provider_streams.gemini_with_a_trailing_count,
        "",
        1,
        length="MAX_TOKENS",
        filtered="RECITATION",
    ),
    Route("vertex_ai/claude-x", provider_streams.anthropic, "", 1, length="max_tokens", filtered="refusal"),
    Route("ollama_chat/qwen-x", provider_streams.ollama_chat),
    Route("ollama/qwen-x", provider_streams.ollama_generate, calls=1, thinks=False, length=""),
    Route("openai/gpt-5-codex", provider_streams.responses, "/v1", thinks=False, length="max_output_tokens"),
    Route(
        "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0",
        provider_streams.bedrock_converse,
        "",
        1,
        length="max_tokens",
        filtered="guardrail_intervened",
    ),
    Route("bedrock/converse/amazon.nova-x", provider_streams.bedrock_converse, "", 1, length="max_tokens"),
    Route("openai/gpt-4-x", provider_streams.openai_chat, "/v1", 2, filtered="content_filter"),
)
ROUTE = pytest.mark.parametrize("route", ROUTES, ids=str)


@pytest.fixture(scope="module")
def google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleAccount]:
    with GoogleAccount(tmp_path_factory.mktemp("google")) as account:
        yield account


@pytest.fixture(autouse=True)
def _accounts(monkeypatch: pytest.MonkeyPatch, google: GoogleAccount) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AWS_PROFILE", "VERTEXAI_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    accounts = {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_REGION_NAME": "us-east-1",
        "GOOGLE_APPLICATION_CREDENTIALS": str(google.path),
        "VERTEXAI_PROJECT": PROJECT,
        "VERTEXAI_LOCATION": "us-central1",
    }
    for name, value in accounts.items():
        monkeypatch.setenv(name, value)


@contextlib.contextmanager
def asking(route: Route, server: WireServer, tries: int = 1) -> Iterator[ProviderModel]:
    patience = Patience(idle=20, tries=tries, first_wait=0.01)
    model = ProviderModel(route.model, api_base=server.base_url + route.path, api_key=KEY, patience=patience)
    with contextlib.closing(model):
        yield model


def ask(model: ProviderModel) -> ModelResponse:
    request = ModelRequest([{"role": "user", "content": "go"}], (TOOL,))
    return model.respond(request, lambda delta: None, Cancel())


def answer(route: Route, turn: Turn) -> ModelResponse:
    with WireServer(route.encoder, turn) as server, asking(route, server) as model:
        return ask(model)


def calls(route: Route) -> tuple[Called, ...]:
    return tuple(Called("execute_bash", {"command": f"ls {number}"}) for number in range(route.calls))


@ROUTE
def test_text_and_reasoning_arrive_complete(route):
    response = answer(route, Turn(TEXT, reasoning="Let me think." if route.thinks else ""))
    assert response.text == TEXT
    assert response.reasoning == ("Let me think." if route.thinks else "")
    assert (response.finish_reason, response.incomplete, response.tool_calls) == ("stop", False, ())
    assert (response.usage.input, response.usage.output) == (provider_streams.INPUT, provider_streams.OUTPUT)


@ROUTE
def test_calls_arrive_complete(route):
    text = "" if route.encoder is provider_streams.ollama_generate else TEXT
    response = answer(route, Turn(text, calls=calls(route)))
    assert [(call.name, call.arguments) for call in response.tool_calls] == [
        ("execute_bash", f'{{"command": "ls {number}"}}') for number in range(route.calls)
    ]
    assert len({call.id for call in response.tool_calls} - {""}) == route.calls
    assert (response.text, response.finish_reason, response.incomplete) == (text, "tool_calls", False)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.length], ids=str)
def test_response_at_its_limit_is_marked(route):
    assert answer(route, Turn(TEXT, finish=route.length)).finish_reason == "length"


@pytest.mark.parametrize("route", [route for route in ROUTES if route.filtered], ids=str)
def test_withheld_response_is_marked(route):
    response = answer(route, Turn("Half of", finish=route.filtered))
    assert (response.finish_reason, response.incomplete) == ("content_filter", False)


def places(frames: list[bytes], after: int) -> Iterator[tuple[int, bool]]:
    """Yield the positions of cuts (at a frame's border, beside it, in between), and whether the reason was sent by
    then.
    """
    ends = list(itertools.accumulate(map(len, frames)))
    end_of_reason = ends[-1 - after]
    borders = {place + beside for place in ends for beside in (-9, 0, 7)}
    even = range(0, ends[-1], max(1, ends[-1] // 20))
    for place in sorted(borders | set(even)):
        if 0 <= place < ends[-1] and not end_of_reason - 3 < place < end_of_reason:
            yield place, place >= end_of_reason


@ROUTE
@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
def test_stream_cut_at_any_byte_is_incomplete_and_has_no_calls(route, resets):
    text = "" if route.encoder is provider_streams.ollama_generate else TEXT
    turn = Turn(text, calls=calls(route), piece=16)
    server = WireServer(route.encoder, turn, resets=resets)
    with server, asking(route, server) as model:
        # The connection itself reports a reset, wherever it comes: a third of the places is enough.
        for cut, is_whole in [*places(list(route.encoder(turn)), route.frames_after)][:: 3 if resets else 1]:
            server.cut = cut
            try:
                response = ask(model)
            except ModelError:
                assert not is_whole or resets, cut
                continue
            if response.incomplete:
                assert (response.finish_reason, response.tool_calls) == ("cut", ()), cut
                assert text.startswith(response.text), cut
            else:
                assert is_whole, cut
                assert len(response.tool_calls) == route.calls, cut


@ROUTE
def test_text_cut_in_the_middle_is_kept_and_marked(route):
    turn = Turn("word " * 40, piece=10)
    frames = list(route.encoder(turn))
    server = WireServer(route.encoder, turn, cut=len(b"".join(frames[: len(frames) // 2])))
    with server, asking(route, server) as model:
        response = ask(model)
    assert (response.incomplete, response.finish_reason) == (True, "cut")
    assert turn.text.startswith(response.text)
    assert response.text


@pytest.mark.parametrize("route", [route for route in ROUTES if route.model.startswith("vertex_ai/")], ids=str)
def test_vertex_gets_a_token_of_the_account_not_the_key(route):
    with WireServer(route.encoder, Turn(TEXT)) as server, asking(route, server) as model:
        ask(model)
    (request,) = server.requests
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert f"/projects/{PROJECT}/locations/us-central1/publishers/" in request.path
    assert KEY not in str(request)


@pytest.mark.parametrize(
    ("module", "package"), [("google", "google-auth[requests]"), ("google.auth", "google-auth[requests]"), ("x", "x")]
)
def test_missing_package_of_a_provider_is_named_with_its_install_command(module, package):
    fault = fault_of(ModuleNotFoundError(f"No module named '{module}'"))
    message = str(model_error(fault, "vertex_ai/gemini-x", None))
    assert message.endswith(
        f"is not installed: No module named '{module}': run pip install '{package}' in the environment of ohw"
    )


BLOCKED = b'data: {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini-x"}\n\n'


def test_question_blocked_by_gemini_is_withheld_not_incomplete():
    route = Route("gemini/gemini-x", lambda turn: iter([BLOCKED]))
    response = answer(route, Turn())
    assert (response.finish_reason, response.incomplete) == ("content_filter", False)


def test_finish_reason_inside_arguments_is_ignored():
    turn = Turn("", calls=(Called("execute_bash", {"command": "x", "finishReason": "STOP"}), Called("finish", {})))
    frames = list(provider_streams.gemini(turn))
    server = WireServer(provider_streams.gemini, turn, cut=len(frames[0]))
    with server, asking(ROUTES[5], server) as model, pytest.raises(ModelError, match="broke"):
        ask(model)


def test_gemini_json_over_several_lines_is_read_completely():
    def pretty(turn: Turn) -> Iterator[bytes]:
        for frame in provider_streams.gemini(turn):
            yield frame.replace(b'{"candidates"', b'{\n"candidates"').replace(b'"modelVersion"', b'\n "modelVersion"')

    response = answer(Route("gemini/gemini-x", pretty), Turn(TEXT, calls=calls(ROUTES[5])))
    assert (response.text, len(response.tool_calls), response.incomplete) == (TEXT, 2, False)


SENTENCE = 'It’s no "good" Käse, don\'t'
BODIES = {
    "indented": {"type": "error", "error": {"type": "invalid_request_error", "message": SENTENCE}},
    "a list": [{"error": {"code": 400, "message": SENTENCE, "status": "INVALID_ARGUMENT"}}],
    "a message": {"message": SENTENCE},
    "details": {"detail": [{"loc": ["body", "x"], "msg": SENTENCE, "type": "m"}]},
    "errors": {"errors": [{"message": SENTENCE}]},
    "a string": {"error": SENTENCE},
    "JSON in JSON": {"error": {"message": json.dumps({"error": {"message": SENTENCE}})}},
    "text": SENTENCE,
    "a page": f"<html>\r\n<head><title>{SENTENCE}</title></head>\r\n<body><h1>no</h1></body></html>",
}


@ROUTE
@pytest.mark.parametrize("form", BODIES)
def test_error_shows_the_providers_message_not_its_body(route, form):
    body = BODIES[form]
    raw = body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)
    with WireServer(route.encoder, Fault(400, raw=raw.encode())) as server, asking(route, server) as model:
        with pytest.raises(ModelError) as caught:
            ask(model)
        assert str(caught.value).endswith(f"(HTTP 400): {SENTENCE}")
