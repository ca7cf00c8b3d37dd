"""Which servers get a key: the variable of a provider is sent to that provider and to no other server."""

import contextlib

import pytest

from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn
from workbench.config.settings import Profile
from workbench.llm.discovery import takes_usual_key
from workbench.llm.factory import open_profile
from workbench.llm.model import Cancel, ModelError, ModelRequest

SECRET = "sk-of-the-provider-0123456789"
pytestmark = pytest.mark.filterwarnings("ignore")  # litellm's own objects use what pydantic calls deprecated


@pytest.fixture(autouse=True)
def _keys_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def ask(profile: Profile, key: str | None = None) -> None:
    with contextlib.closing(open_profile(profile, key)) as model:
        model.respond(ModelRequest([{"role": "user", "content": "go"}]), lambda delta: None, Cancel())


@pytest.mark.parametrize("model", ["openai/mine", "bare-name", "mistral/mine"])
def test_own_server_does_not_get_the_key_of_the_environment(model):
    with ModelServer([Turn("ready")]) as server:
        ask(Profile("mine", model, server.base_url))
        (request,) = server.requests
    assert SECRET not in str(dict(request.headers)) + str(request.body)


def test_own_server_with_anthropics_api_does_not_get_the_key_either():
    with AnthropicServer() as server:
        ask(Profile("mine", "anthropic/claude-x", server.base_url))
        (request,) = server.requests
    assert SECRET not in str(dict(request.headers)) + str(request.body)


def test_key_configured_in_a_profile_is_sent():
    with ModelServer([Turn("ready")]) as server:
        ask(Profile("mine", "openai/mine", server.base_url), "sk-named")
        (request,) = server.requests
    assert "Bearer sk-named" in request.headers.values()


def test_base_url_from_the_environment_gets_the_key_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    with ModelServer([Turn("ready")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        ask(Profile("openai/theirs", "openai/theirs"))
        (request,) = server.requests
    assert f"Bearer {SECRET}" in request.headers.values()


def test_server_that_requires_a_key_leads_to_advice_on_setting_one():
    with (
        ModelServer([Fault(401, "no key")]) as server,
        pytest.raises(ModelError, match="only sent to the provider itself") as error,
    ):
        ask(Profile("mine", "openai/mine", server.base_url))
    assert "api_key_env" in str(error.value)


@pytest.mark.parametrize(
    ("address", "provider", "does"),
    [
        ("https://api.openai.com/v1", "openai", True),
        ("https://openai.com.evil.example/v1", "openai", False),
        ("https://notopenai.com/v1", "openai", False),
        ("http://api.openai.com/v1", "openai", False),
        ("https://api.openai.com@evil.example/v1", "openai", False),
        ("https://[/v1", "openai", False),
        ("http://localhost:11434", "ollama_chat", True),
        ("https://mine.openai.azure.com", "azure", True),
    ],
)
def test_provider_urls_are_recognized(address, provider, does):
    assert takes_usual_key(address, provider) is does
