"""The names of models that are refused without litellm: exactly those that litellm cannot assign to a provider."""

from __future__ import annotations

import pytest

from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import ModelError
from workbench.llm.price_table import entries
from workbench.llm.provider_names import check_model_name, nearest_model, provider_names


def is_refused(name: str, api_base: str | None = None) -> bool:
    """Whether the model cannot be set."""
    try:
        check_model_name(name, api_base)
    except ModelError:
        return True
    return False


def test_names_are_those_of_litellm():
    from litellm.llms.openai_like.json_loader import JSONProviderRegistry

    litellm = load_litellm()
    assert provider_names() == {*(each.value for each in litellm.provider_list), *JSONProviderRegistry.list_providers()}


def test_no_model_that_litellm_can_call_is_refused():
    litellm = load_litellm()
    signed_in = ("github_copilot/", "chatgpt/")  # litellm would start a sign-in
    others = ["claude-sonnet-9", "gpt-image-9", "ft:gpt-4o:mine", "openai/new-model", "us.anthropic.claude-x"]
    ids = {"q841o8w", "31dxrj3", "qvv0xeq"}  # deployments of examples, which litellm takes for models of Baseten
    for name in {*litellm.model_cost, *litellm.model_list_set, *others} - ids:
        if is_refused(name):
            assert not name.startswith(signed_in)
            with pytest.raises(litellm.BadRequestError):
                litellm.get_llm_provider(name)


def test_no_chat_model_of_the_table_is_accepted_that_litellm_cannot_call():
    litellm = load_litellm()
    chat = [name for name, entry in entries() if entry.get("mode") == "chat" and not name.startswith("github_copilot/")]
    accepted = [name for name in chat if not is_refused(name)]
    assert all(litellm.get_llm_provider(name)[1] for name in accepted), "it raises an error for others"
    assert len(accepted) > 1000


@pytest.mark.parametrize(
    "name", ["nope/x", "foo-small", "nope", "openai/", "/x", "meta-llama/Llama-3", "deepseek-chat", "doubao-embedding"]
)
def test_model_without_a_provider_is_refused(name):
    assert is_refused(name)
    assert not is_refused(name, "http://localhost:8000/v1"), "the server decides"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("anthropc/claude-x", "anthropic/claude-x"),
        ("opnai/gpt-5", "openai/gpt-5"),
        ("deepseek-chatt", "deepseek/deepseek-chat"),
        ("deepseek-chat", "deepseek/deepseek-chat"),
        ("gpt-5x", "openai/gpt-5"),
        ("mistral-large-latest", "mistral/mistral-large-latest"),
        ("smal", "small"),
        ("nope/x", ""),
    ],
)
def test_nearest_model_is_suggested(name, meant):
    assert nearest_model(name, ["small"]) == meant
    with pytest.raises(ModelError) as refusal:
        check_model_name(name, saved=["small"])
    assert str(refusal.value).endswith(f"; did you mean {meant!r}?") is bool(meant)
    assert "write it as PROVIDER/NAME" in str(refusal.value)
