"""A provider with its own interface: litellm translates, and all guarantees of the workbench still hold."""

import contextlib
import json
from collections.abc import Iterator

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_turns import Fault
from tests.llm.conftest import KEY, Caller, wait_until
from workbench.llm.call import takes_cache_marks
from workbench.llm.client import ProviderModel
from workbench.llm.model import ContextOverflow, ModelError, ModelRequest, ModelUsage
from workbench.llm.pricing import cost_of
from workbench.llm.retry import Patience

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
TOOL = {"type": "function", "function": {"name": "execute_bash", "parameters": {"type": "object", "properties": {}}}}


@contextlib.contextmanager
def serving(cut: str = "", fault: Fault | None = None, thinks: bool = False) -> Iterator[Caller]:
    with AnthropicServer(cut, fault, thinks) as server:
        patience = Patience(idle=20, tries=2, first_wait=0.01)
        model = ProviderModel("anthropic/claude-x", api_base=server.base_url, api_key=KEY, patience=patience)
        with contextlib.closing(model):
            yield Caller(server, model)  # type: ignore[arg-type]


def test_text_streams_and_the_call_is_complete():
    with serving() as caller:
        response = caller.ask("go", (TOOL,))
    assert response.text == "Hello there" == caller.streamed("text")
    (call,) = response.tool_calls
    assert (call.id, call.name, call.arguments) == ("toolu_1", "execute_bash", '{"command": "ls"}')
    assert (response.finish_reason, response.incomplete) == ("tool_calls", False)
    assert (response.usage.input, response.usage.output) == (37, 33)
    assert (response.usage.cached, response.usage.written) == (7, 5)


def test_request_uses_anthropics_own_format():
    call = {"id": "c1", "type": "function", "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}}
    history = [
        {"role": "system", "content": "the rules"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a file"},
        {"role": "user", "content": "and now?"},
    ]
    with serving() as caller:
        caller.model.respond(ModelRequest(history, (TOOL,)), caller.deltas.append, caller.cancel)
        (request,) = caller.server.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.body["system"][0]["text"] == "the rules"
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1]["content"][0]["input"] == {"command": "ls"}
    result, question = request.messages[2]["content"]
    assert (result["tool_use_id"], result["content"], question["text"]) == ("c1", "a file", "and now?")
    assert request.body["tools"][0]["name"] == "execute_bash"


@pytest.mark.parametrize("cut", ["in text", "in call"])
def test_interrupted_stream_is_incomplete_and_its_call_is_dropped(cut):
    with serving(cut) as caller:
        response = caller.ask("go", (TOOL,))
    assert (response.text, response.tool_calls) == ("Hello there", ())
    assert (response.incomplete, response.finish_reason) == (True, "cut")


def test_cancel_during_silence_closes_the_connection():
    with serving("silent") as caller:
        join = caller.ask_aside()
        assert wait_until(lambda: "there" in caller.streamed("text"))
        caller.cancel.set()
        assert join().finish_reason == "interrupted"
        assert caller.server.gone.wait(60)


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (Fault(401, f"invalid x-api-key {KEY}", "authentication_error"), "rejected the API key.*ANTHROPIC_API_KEY"),
        (Fault(400, f"bad thing {KEY}", "invalid_request_error"), r"failed \(HTTP 400\): bad thing …$"),
        (Fault(404, "model: claude-x", "not_found_error"), "does not know the model anthropic/claude-x"),
        (Fault(400, "Your credit balance is too low", "invalid_request_error"), "no credit left"),
        (Fault(529, "Overloaded", "overloaded_error"), r"is failing \(HTTP 529\): Overloaded"),
    ],
)
def test_errors_show_the_providers_own_message(fault, line):
    with serving(fault=fault) as caller, pytest.raises(ModelError, match=line) as caught:
        caller.ask()
    message = str(caught.value)
    assert KEY not in message
    assert "litellm" not in message
    assert "{" not in message
    assert len(caller.server.requests) == (2 if fault.status == 529 else 1)


def test_full_context_window_is_recognized():
    fault = Fault(400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error")
    with serving(fault=fault) as caller, pytest.raises(ContextOverflow, match="210000 tokens"):
        caller.ask()


THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "signed-1"}
HIDDEN = {"type": "redacted_thinking", "data": "secret-2"}


def test_signed_thinking_is_joined_and_truncated_thinking_is_dropped():
    with serving(thinks=True) as caller:
        response = caller.ask("go", (TOOL,))
    assert response.thinking == (THOUGHT, HIDDEN)
    assert response.reasoning == "Let me see." == caller.streamed("reasoning")
    with serving("in text", thinks=True) as caller:
        assert caller.ask("go", (TOOL,)).thinking == ()


def test_cache_marks_follow_instructions_last_request_and_this_one():
    call = {"id": "c1", "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
    history = [
        {"role": "system", "content": "the rules"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a file"},
        {"role": "assistant", "content": "Seen."},
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
    ]
    before = json.dumps(history)
    with serving() as caller:
        caller.model.respond(ModelRequest(history, (TOOL,)), caller.deltas.append, caller.cancel)
        caller.model.respond(ModelRequest(history), caller.deltas.append, caller.cancel)
        first, plain = caller.server.requests
    mark = {"type": "ephemeral"}
    assert first.body["system"][0]["cache_control"] == mark
    blocks = [block for message in first.messages for block in message["content"] if "cache_control" in block]
    assert [(block["type"], block["cache_control"]) for block in blocks] == [("tool_result", mark), ("image", mark)]
    assert "cache_control" not in json.dumps(plain.body), "a question without tools is asked once"
    assert json.dumps(history) == before


@pytest.mark.parametrize(
    ("name", "provider", "does"),
    [
        ("anthropic/claude-x", "anthropic", True),
        ("bedrock/anthropic.claude-x", "bedrock", True),
        ("bedrock/amazon.nova", "bedrock", False),
        ("gemini/gemini-x", "gemini", False),
    ],
)
def test_only_models_that_need_cache_marks_get_them(name, provider, does):
    assert takes_cache_marks(name, provider) == does


def test_tokens_written_to_the_cache_have_their_own_price():
    prices = {
        "input_cost_per_token": 1.0,
        "output_cost_per_token": 10.0,
        "cache_read_input_token_cost": 0.1,
        "cache_creation_input_token_cost": 1.25,
    }
    assert cost_of(ModelUsage(input=100, output=1, cached=40, written=20), prices) == pytest.approx(40 + 4 + 25 + 10)
    assert cost_of(ModelUsage(input=100, output=1, written=20), {**prices, "cache_creation_input_token_cost": 0}) == 110
