"""The settings of a profile reach the provider, and its prices and window take precedence over any table."""

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Turn
from workbench.config.settings import read_profile
from workbench.llm.client import ProviderModel
from workbench.llm.factory import open_profile
from workbench.llm.model import Cancel, ModelRequest, ModelResponse
from workbench.llm.pricing import cost_of
from workbench.llm.route import Tuning, tuning_of

ASK = ModelRequest([{"role": "user", "content": "Hi."}])
USED = {"prompt_tokens": 1000, "completion_tokens": 100}


def asked(
    server: ModelServer, name: str = "openai/fake", request: ModelRequest = ASK, **table: object
) -> tuple[ModelResponse, dict]:
    profile = read_profile("p", {"model": name, "api_base": server.base_url, **table})
    model = open_profile(profile, "sk-tuned")
    try:
        response = model.respond(request, lambda delta: None, Cancel())
    finally:
        model.close()
    return response, server.requests[-1].body


def test_configured_parameters_are_sent_with_each_call():
    with ModelServer([Turn("Hello.")]) as server:
        _, body = asked(server, temperature=0, reasoning_effort="low", max_output_tokens=77)
    assert (body["temperature"], body["reasoning_effort"], body["max_tokens"]) == (0, "low", 77)
    assert body["messages"] == ASK.messages


@pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
@pytest.mark.parametrize("name", ["openai/fake", "hosted_vllm/fake"])
def test_request_parameters_are_sent_within_the_profiles_token_limit(name):
    wish = ModelRequest(ASK.messages, stop=("END",), max_tokens=50, temperature=0.25)
    with ModelServer([Turn("Hello."), Turn("Hello.")]) as server:
        _, body = asked(server, name, request=wish, temperature=1, max_output_tokens=77)
        _, less = asked(server, name, request=wish, max_output_tokens=20)
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0.25, 50, ["END"])
    assert (less["temperature"], less["max_tokens"]) == (0.25, 20)


def test_unset_parameters_are_left_to_the_provider():
    with ModelServer([Turn("Hello.")]) as server:
        _, body = asked(server)
    assert not {"temperature", "reasoning_effort", "max_tokens", "max_completion_tokens"} & set(body)


@pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated
def test_litellm_route_sends_the_same_parameters():
    with ModelServer([Turn("Hello.")]) as server:
        _, body = asked(server, "hosted_vllm/fake", temperature=0.5, max_output_tokens=77)
    assert (body["temperature"], body["max_tokens"]) == (0.5, 77)


def test_configured_price_and_window_apply_to_own_servers():
    with ModelServer([Turn("Hello.", usage=USED)]) as server:
        response, _ = asked(server, price={"input": 2, "output": 10}, context_window=9000)
    assert response.cost == pytest.approx(0.003)
    assert response.usage.window == 9000


def test_price_of_zero_set_by_the_user_means_free():
    with ModelServer([Turn("Hello.", usage=USED)]) as server:
        response, _ = asked(server, price={"input": 0, "output": 0})
    assert response.cost == 0
    assert cost_of(response.usage, {"input_cost_per_token": 0, "output_cost_per_token": 0}) is None


def test_configured_values_override_the_price_table():
    tuning = tuning_of(read_profile("p", {"model": "openai/gpt-4o", "price": {"input": 1, "output": 1}}))
    plain, tuned = ProviderModel("openai/gpt-4o").prices, ProviderModel("openai/gpt-4o", tuning=tuning).prices
    assert plain
    assert tuned
    assert tuned["input_cost_per_token"] == pytest.approx(1e-6)
    assert plain["input_cost_per_token"] != tuned["input_cost_per_token"]
    assert tuned["cache_read_input_token_cost"] is None  # the table's discount applies to the table's price
    assert tuned["max_input_tokens"] == plain["max_input_tokens"]
    assert Tuning().over(None) is None
