"""What a provider caches of a request: the marks, the same beginning at every step, and the cost of cached tokens."""

import contextlib
import itertools
import json

import pytest

from tests.fakes import provider_streams
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.google_account import PROJECT, GoogleAccount
from tests.fakes.model_turns import Turn
from tests.fakes.provider_server import WireServer
from tests.fakes.request_checks import anthropic_faults
from tests.llm.conftest import KEY
from tests.session.fake_agent import Harness
from workbench.agent.agent import Agent
from workbench.config.settings import read_profile
from workbench.llm.client import ProviderModel
from workbench.llm.model import Cancel, ModelRequest
from workbench.llm.pricing import cost_of
from workbench.llm.retry import Patience
from workbench.llm.route import tuning_of
from workbench.llm.stream import read_usage
from workbench.protocol.events import HistoryCondensed, ModelResponded
from workbench.protocol.usage import Usage

pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
MOST_MARKS = 4
"""Anthropic's limit."""
MARKS = ("cache_control", "cachePoint")
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}
HISTORY = [
    {"role": "system", "content": "the rules"},
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "a file"},
    {"role": "assistant", "content": "Seen."},
    {"role": "user", "content": [{"type": "text", "text": "look"}, PICTURE]},
]

PRICES = {
    "input_cost_per_token": 1.0,
    "output_cost_per_token": 10.0,
    "cache_read_input_token_cost": 0.1,
    "cache_creation_input_token_cost": 1.25,
}


@pytest.fixture
def accounts(monkeypatch, tmp_path):
    with GoogleAccount(tmp_path) as google:
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_REGION_NAME": "us-east-1",
            "GOOGLE_APPLICATION_CREDENTIALS": str(google.path),
            "VERTEXAI_PROJECT": PROJECT,
            "VERTEXAI_LOCATION": "us-central1",
        }.items():
            monkeypatch.setenv(name, value)
        yield


def sent(name, encoder=provider_streams.openai_chat, tools=(TOOL,), path=""):
    """Send the history to a server that streams in the provider's form; return the body of the request."""
    before = json.dumps(HISTORY)
    with WireServer(encoder, Turn("Hello.")) as server:
        patience = Patience(idle=20, tries=1)
        model = ProviderModel(name, api_base=server.base_url + path, api_key=KEY, patience=patience)
        with contextlib.closing(model):
            model.respond(ModelRequest(HISTORY, tools), lambda delta: None, Cancel())
        (request,) = server.requests
    assert json.dumps(HISTORY) == before
    return request.body


def count_marks(value):
    """Return how many marks a part of a body has."""
    if isinstance(value, list):
        return sum(map(count_marks, value))
    if isinstance(value, dict):
        return sum(1 if name in MARKS else count_marks(part) for name, part in value.items())
    return 0


def marked_sections(body):
    return sorted(name for name, part in body.items() for _ in range(count_marks(part)))


ANTHROPIC, CONVERSE = provider_streams.anthropic, provider_streams.bedrock_converse
OWN = ["messages", "messages", "system", "tools"]


@pytest.mark.usefixtures("accounts")
@pytest.mark.parametrize(
    ("name", "encoder", "path", "sections"),
    [
        ("anthropic/claude-x", ANTHROPIC, "", OWN),
        ("vertex_ai/claude-x", ANTHROPIC, "", OWN),
        ("azure_ai/claude-x", ANTHROPIC, "", OWN),
        (
            "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0",
            CONVERSE,
            "",
            ["messages", "messages", "system", "toolConfig"],
        ),
        ("openrouter/anthropic/claude-x", provider_streams.openai_chat, "/v1", ["messages"] * 3),
        ("databricks/databricks-claude-x", provider_streams.openai_chat, "/v1", ["messages"] * 3),
        ("bedrock/converse/amazon.nova-x", CONVERSE, "", []),
        ("anthropic/other-x", ANTHROPIC, "", []),
        ("openrouter/openai/gpt-x", provider_streams.openai_chat, "/v1", []),
        ("deepseek/deepseek-chat", provider_streams.openai_chat, "/v1", []),
        ("dashscope/qwen-x", provider_streams.openai_chat, "/v1", []),
        ("hosted_vllm/claude-x", provider_streams.openai_chat, "/v1", []),
        ("openai/claude-x", provider_streams.openai_chat, "/v1", []),
        ("gemini/gemini-x", provider_streams.gemini, "", []),
    ],
)
def test_marks_are_sent_where_the_provider_takes_them_and_nowhere_else(name, encoder, path, sections):
    assert marked_sections(sent(name, encoder, path=path)) == sections
    assert len(sections) <= MOST_MARKS


def test_marks_end_the_tools_the_instructions_the_last_request_and_this_one():
    body = sent("anthropic/claude-x", ANTHROPIC, tools=(TOOL, TOOL))
    assert [list(tool) for tool in body["tools"]][1][-1] == "cache_control"
    assert "cache_control" not in body["tools"][0]
    assert body["system"][-1]["cache_control"] == {"type": "ephemeral"}
    blocks = [block for message in body["messages"] for block in message["content"] if "cache_control" in block]
    assert [block["type"] for block in blocks] == ["tool_result", "image"]
    assert TOOL.keys() == {"type", "function"}


def test_single_question_without_tools_is_not_marked():
    assert count_marks(sent("anthropic/claude-x", ANTHROPIC, tools=())) == 0


@pytest.fixture
def run_session(tmp_path):
    """Run a session with a model at an Anthropic-style server, and return the server and the log."""

    def run(thinks, steps, **limits):
        with AnthropicServer(thinks=thinks, tool="look") as server:
            patience = Patience(idle=20, tries=1)
            model = ProviderModel("anthropic/claude-x", api_base=server.base_url, api_key=KEY, patience=patience)
            d = Harness(tmp_path, max_steps=steps, stop_loops=False, **limits)
            d.agent = Agent(model, d.tools, tmp_path)
            d.reopen()
            d.session.send("go")
            d.run()
            d.session.send("go on")
            d.run()
            log = d.log()
            d.close()
            model.close()
        return server, log

    return run


def without_marks(value):
    if isinstance(value, list):
        return [without_marks(part) for part in value]
    if isinstance(value, dict):
        return {name: without_marks(part) for name, part in value.items() if name not in MARKS}
    return value


def blocks_of(body):
    """Return the tools, the instructions and the blocks of all messages as JSON, in the order of the cache."""
    body = without_marks(body)
    blocks = [json.dumps([message["role"], block]) for message in body["messages"] for block in message["content"]]
    return [json.dumps(body["tools"]), json.dumps(body["system"]), *blocks]


@pytest.mark.parametrize("thinks", ["", "first", "between"])
def test_each_request_begins_with_the_one_before_and_marks_its_end(run_session, thinks):
    server, _ = run_session(thinks, 4)
    bodies = [request.body for request in server.requests]
    assert len(bodies) == 8
    for before, after in itertools.pairwise(bodies):
        earlier, later = blocks_of(before), blocks_of(after)
        assert later[: len(earlier)] == earlier
        marked = ["cache_control" in block for message in after["messages"] for block in message["content"]]
        assert marked[len(earlier) - 3], "the end of the last request"
        assert marked[-1]
        assert count_marks(after) == MOST_MARKS


@pytest.mark.parametrize("thinks", ["first", "between"])
def test_condensed_history_sends_each_answer_with_its_thinking_unchanged(run_session, thinks):
    server, log = run_session(thinks, 12, condense_events=10)
    assert [event for event in log if isinstance(event, HistoryCondensed)]
    asked = [request for request in server.requests if "tools" in request.body]
    summaries = 0
    for request in asked:
        assert anthropic_faults(without_marks(request.messages)) == []
        answers = [without_marks(message["content"]) for message in request.messages if message["role"] == "assistant"]
        assert all(answer in server.answers for answer in answers)
        summaries += "compacted the history" in json.dumps(request.messages)
        if answers:
            assert answers[-1][0]["type"] == "thinking"
    assert summaries


def test_cached_tokens_are_priced_as_read_or_written_in_a_session(run_session, monkeypatch):
    monkeypatch.setattr(ProviderModel, "prices", PRICES)
    _, log = run_session("", 1)
    answers = [event for event in log if isinstance(event, ModelResponded)]
    assert [(answer.usage.input, answer.usage.cached, answer.usage.written) for answer in answers] == [(37, 7, 5)] * 2
    assert [answer.cost for answer in answers] == [pytest.approx(25 + 0.7 + 6.25 + 330)] * 2


LONG = {
    **PRICES,
    "input_cost_per_token_above_1k_tokens": 2.0,
    "cache_read_input_token_cost_above_1k_tokens": 0.2,
    "output_cost_per_token_above_1k_tokens": 0,
    "input_cost_per_token_above_2k_tokens": 3.0,
    "input_cost_per_token_above_1k_tokens_batches": 9.0,
}


@pytest.mark.parametrize(
    ("usage", "prices", "cost"),
    [
        (Usage(input=100, output=1, cached=40, written=20), PRICES, 40 + 4 + 25 + 10),
        (Usage(input=100, output=1, cached=40), PRICES, 60 + 4 + 10),
        (Usage(input=100, output=1, written=20), {**PRICES, "cache_creation_input_token_cost": 0}, 110),
        (Usage(input=100, output=1, cached=40), {**PRICES, "cache_read_input_token_cost": None}, 110),
        (Usage(input=100, output=1, cached=90, written=90), PRICES, 9 + 12.5 + 10),
        (Usage(input=100, output=1, cached=900, written=90), PRICES, 10 + 10),
        (Usage(input=1000, output=1, cached=100), LONG, 900 + 10 + 10),
        (Usage(input=1001, output=1, cached=101), LONG, 1800 + 20.2 + 10),
        (Usage(input=2001, output=1, cached=1), LONG, 6000 + 0.2 + 10),
        (Usage(input=2000, output=1), {**LONG, "price_is_set": True}, 2010),
    ],
)
def test_cost_counts_cached_and_written_tokens_at_their_prices(usage, prices, cost):
    assert cost_of(usage, prices) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("more", "read", "written"),
    [({}, None, None), ({"cached": 0.2}, 2e-7, None), ({"cached": 0.2, "written": 2.5}, 2e-7, 2.5e-6)],
)
def test_prices_of_the_user_replace_the_cache_prices_of_the_table(more, read, written):
    price = {"input": 2, "output": 10, **more}
    tuning = tuning_of(read_profile("p", {"model": "anthropic/claude-sonnet-4-5", "price": price}))
    prices = ProviderModel("anthropic/claude-sonnet-4-5", tuning=tuning).prices
    assert prices is not None
    assert prices["cache_read_input_token_cost"] == (None if read is None else pytest.approx(read))
    assert prices["cache_creation_input_token_cost"] == (None if written is None else pytest.approx(written))


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"cache_read_input_tokens": 3, "cache_creation_input_tokens": 5}, (None, 5)),
        ({"prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 5}}, (3, 5)),
        ({"prompt_tokens_details": {"cached_tokens": 3, "cache_creation_tokens": 5}}, (3, 5)),
        ({"cache_creation_input_tokens": 0, "prompt_tokens_details": {"cache_write_tokens": 5}}, (None, 5)),
        ({"prompt_tokens_details": {"cached_tokens": True, "cache_write_tokens": -1}}, (None, None)),
        ({"prompt_cache_hit_tokens": 3}, (3, None)),
    ],
)
def test_counts_of_the_cache_are_read_in_every_providers_fields(usage, counts):
    read = read_usage({"prompt_tokens": 9, "completion_tokens": 1, **usage})
    assert (read.cached, read.written) == counts
