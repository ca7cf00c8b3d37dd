"""Calls over real HTTP to a server that streams like an OpenAI-compatible one."""

import os
import subprocess
import sys

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Request, Turn, bash
from workbench.llm.litellm_setup import QUIET, load_litellm
from workbench.llm.model import ModelError, ModelRequest
from workbench.secrets.secret_names import child_environment

TOOL = {"type": "function", "function": {"name": "execute_bash", "parameters": {"type": "object", "properties": {}}}}


def test_text_and_reasoning_are_streamed_and_joined(serve):
    caller = serve(Turn("Hello there, dear world.", reasoning="I think of an answer."))
    response = caller.ask()
    assert response.text == "Hello there, dear world." == caller.streamed("text")
    assert response.reasoning == "I think of an answer." == caller.streamed("reasoning")
    assert (response.finish_reason, response.incomplete, response.model) == ("stop", False, "fake")
    assert (response.usage.input, response.usage.output) == (100, 20)
    assert response.cost is None
    assert response.first_token is not None
    assert 0 <= response.first_token <= response.latency


def test_messages_and_tools_arrive_unchanged(serve):
    caller = serve(Turn("ok"), Turn("ok"))
    caller.ask("one", (TOOL,))
    caller.ask("two")
    first, second = (request.body for request in caller.server.requests)
    assert first["messages"] == [{"role": "user", "content": "one"}]
    assert first["tools"] == [TOOL]
    assert first["stream"] is True
    assert first["model"] == caller.model.name.partition("/")[2]
    assert second["messages"] == [{"role": "user", "content": "two"}]
    assert "tools" not in second


def test_long_history_arrives_complete_and_in_order(serve):
    caller = serve(Turn("ok"))
    history = [{"role": "user" if number % 2 == 0 else "assistant", "content": str(number)} for number in range(600)]
    caller.model.respond(ModelRequest(history), caller.deltas.append, caller.cancel)
    assert caller.server.requests[0].messages == history


def test_tool_call_is_joined_from_its_chunks(serve):
    caller = serve(bash("echo 'one two three four'", text="I look."))
    response = caller.ask()
    (call,) = response.tool_calls
    assert call.name == "execute_bash"
    assert '"command": "echo \'one two three four\'"' in call.arguments
    assert response.finish_reason == "tool_calls"


def test_parallel_calls_keep_their_order_and_arguments(serve):
    calls = tuple(Called("think", {"thought": f"number {number}"}) for number in range(40))
    response = serve(Turn(calls=calls)).ask()
    assert [call.arguments for call in response.tool_calls] == [f'{{"thought": "number {n}"}}' for n in range(40)]
    assert len({call.id for call in response.tool_calls}) == 40


def test_missing_usage_is_unknown(serve):
    response = serve(Turn("hi", usage=None)).ask()
    assert (response.usage.input, response.usage.output, response.cost) == (None, None, None)


def test_negative_token_counts_are_unknown(serve):
    response = serve(Turn("hi", usage={"prompt_tokens": -3, "completion_tokens": "many"})).ask()
    assert (response.usage.input, response.usage.output) == (None, None)


def test_invalid_bytes_are_replaced(serve):
    chunks = (
        b'data: {"choices":[{"delta":{"content":"a\xff\xfeb \\ud83d"}}]}\n\n',
        b": keep-alive\n\n",
        b'data: {"choices":[{"delta":{"content":"\\ude00 \\ud800 \\u0000."},"finish_reason":"stop"}]}\n\n',
    )
    response = serve(Turn(raw=chunks)).ask()
    assert response.text == "a��b 😀 � �."
    assert response.text.encode("utf-8")


def test_response_without_choices_is_empty_not_an_error(serve):
    response = serve(Turn(raw=(b'data: {"choices":[]}\n\n', b'data: {"choices":null}\n\n'))).ask()
    assert (response.text, response.tool_calls, response.incomplete) == ("", (), False)


def test_response_may_depend_on_the_request(serve):
    def echo(request: Request) -> Turn:
        return Turn(request.messages[-1]["content"].upper())

    assert serve(echo).ask("loud").text == "LOUD"


def test_name_without_provider_with_a_base_url_means_a_compatible_server(serve):
    caller = serve(Turn("hi"), name="qwen-local")
    assert caller.ask().text == "hi"
    assert caller.server.requests[0].body["model"] == "qwen-local"


@pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
def test_other_providers_are_called_through_litellm(serve):
    caller = serve(bash("ls", text="Listing."), Turn("done"), name="hosted_vllm/some-model")
    response = caller.ask("list it", (TOOL,))
    assert response.text == "Listing."
    assert response.tool_calls[0].name == "execute_bash"
    assert caller.ask().text == "done"
    assert caller.server.requests[0].messages[-1]["content"] == "list it"


def test_connection_is_reused_for_the_next_call(serve):
    ports: list[str] = []
    caller = serve(Turn("one"), Turn("two"), Turn("three"))
    for _ in range(3):
        caller.ask()
        ports.append(caller.server.requests[-1].client)
    assert len(set(ports)) < 3


def test_importing_the_layer_does_not_import_litellm():
    code = (
        "import sys, workbench.llm.factory, workbench.llm.client, workbench.llm.litellm_setup, workbench.agent.agent\n"
        "print([name for name in ('litellm', 'openai', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=True)
    assert done.stdout.strip() == "[]"


def test_early_import_prints_nothing_and_is_skipped_for_scripts():
    code = (
        "import sys\n"
        "from workbench.config.settings import Profile\n"
        "from workbench.llm.litellm_setup import import_early\n"
        "assert import_early(Profile('', 'scripted/demo')) is None and import_early(Profile('', '')) is None\n"
        "assert import_early(Profile('', 'openai/x', 'http://127.0.0.1:9/v1')) is None\n"
        "import_early(Profile('', 'openai/x')).join()\n"
        "assert 'litellm' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("name", "server", "usage"),
    [
        ("hosted_vllm/fake", ModelServer([Turn("Hello.")]), "20"),
        ("hosted_vllm/fake", ModelServer([Turn("Hello.", usage=None)]), "None"),
        ("openai/gpt-4-fake", ModelServer([Turn("Hello.")]), "20"),
        ("anthropic/claude-x", AnthropicServer(), "33"),
    ],
    ids=["usage", "no usage", "sdk", "anthropic"],
)
def test_first_call_through_litellm_loads_neither_its_proxy_nor_a_tokenizer(name, server, usage):
    with server:
        code = (
            "import sys, warnings\n"
            "warnings.simplefilter('ignore')\n"
            "from workbench.llm.factory import open_model\n"
            "from workbench.llm.model import Cancel, ModelRequest\n"
            f"model = open_model({name!r}, api_base={server.base_url!r}, api_key='sk-none')\n"
            f"request = ModelRequest([{{'role': 'user', 'content': 'Hi.'}}], [{TOOL}])\n"
            "print(model.respond(request, lambda delta: None, Cancel()).usage.output)\n"
            "assert 'litellm' in sys.modules\n"
            "print([name for name in sys.modules if name.startswith(('litellm.proxy._types', 'tiktoken_ext.'))])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stdout) == (0, f"{usage}\n[]\n"), done.stderr


def test_tokenizer_of_litellm_is_loaded_when_something_uses_it():
    encoding = load_litellm().main.encoding
    assert encoding.decode(encoding.encode("Hello there")) == "Hello there"


def test_call_after_close_opens_no_connection(serve):
    caller = serve(Turn("never sent"))
    caller.model.close()
    with pytest.raises(ModelError):
        caller.ask()
    assert caller.server.requests == []


@pytest.mark.parametrize("name", QUIET)
def test_variables_for_litellm_reach_no_program_of_the_user(name):
    load_litellm()
    assert name in os.environ
    assert name not in child_environment()
    assert child_environment({name: "the user's"}) == {name: "the user's"}
