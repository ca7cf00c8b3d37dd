"""A provider with its own interface: litellm translates, and all guarantees of the workbench still hold."""

import contextlib
from collections.abc import Iterator

import pytest

from tests.fakes.anthropic_server import HIDDEN, THOUGHT, AnthropicServer
from tests.fakes.model_turns import Fault
from tests.llm.conftest import KEY, Caller, wait_until
from workbench.llm.client import ProviderModel
from workbench.llm.model import ContextOverflow, ModelError, ModelRequest
from workbench.llm.retry import Patience

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
TOOL = {"type": "function", "function": {"name": "execute_bash", "parameters": {"type": "object", "properties": {}}}}


@contextlib.contextmanager
def serving(cut: str = "", fault: Fault | None = None, thinks: str = "") -> Iterator[Caller]:
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


def test_signed_thinking_is_joined_and_truncated_thinking_is_dropped():
    with serving(thinks="first") as caller:
        response = caller.ask("go", (TOOL,))
    assert response.thinking == (THOUGHT, HIDDEN)
    assert response.reasoning == "Let me see." == caller.streamed("reasoning")
    with serving("in text", thinks="first") as caller:
        assert caller.ask("go", (TOOL,)).thinking == ()
