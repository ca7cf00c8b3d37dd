"""A user's own OpenAI-compatible server is called without litellm, with the same request that litellm would send."""

import subprocess
import sys

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Turn
from workbench.config.settings import read_profile
from workbench.llm.client import ProviderModel
from workbench.llm.factory import open_profile
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, ModelRequest
from workbench.llm.openai_compatible import own_server
from workbench.llm.price_table import entries
from workbench.llm.pricing import cost_of
from workbench.protocol.usage import Usage

BASE = "http://127.0.0.1:9/v1"
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
HISTORY = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "See: é 日本 😀"}]},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "look"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "seen"},
]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["openai/qwen3", "openai/org/model-7b", "openai/gpt-oss-20b", "openai/llama-3.1:8b"])
def test_model_on_an_own_server_is_called_directly(name):
    assert own_server(name, BASE) == BASE
    assert own_server(name, None) is None


@pytest.mark.parametrize("name", ["qwen3", "qwen3:8b", "my model"])
def test_name_without_provider_at_a_local_server_is_called_directly(name):
    assert own_server(name, BASE) == BASE
    assert own_server(name, None) is None
    assert own_server(name, "https://api.groq.com/openai/v1") is None, "litellm knows the provider by its URL"


AT_PROVIDERS = {
    ("openai/deepseek-chat", "https://api.deepseek.com"): "deepseek/deepseek-chat",
    ("openai/deepseek-chat", "https://api.deepseek.com/v1/"): "deepseek/deepseek-chat",
    ("openai/openai/gpt-oss-20b", "https://api.groq.com/openai/v1"): "groq/openai/gpt-oss-20b",
    ("openai/deepseek-chat", "https://api.deepseek.com.evil.example/v1"): None,
    ("openai/deepseek-chat", "http://api.deepseek.com/v1"): None,
    ("openai/glm-4.6", "https://api.z.ai/api/coding/paas/v4"): None,
    ("openai/nobody-knows-it", "https://api.deepseek.com"): None,
    ("openai/deepseek-chat", BASE): None,
    ("openai/gpt-5", "https://api.openai.com/v1"): "openai/gpt-5",
    ("openai/gpt-5", BASE): None,
}


@pytest.mark.parametrize(("model", "base"), AT_PROVIDERS)
def test_price_is_known_where_the_server_is_the_providers_own(model, base):
    entry = AT_PROVIDERS[model, base]
    table = load_litellm().model_cost
    expected = None if entry is None else table.get(entry) or table[entry.partition("/")[2]]
    assert ProviderModel(model, api_base=base).prices == expected
    assert entry is None or cost_of(Usage(input=1000, output=1000), expected)


def test_table_read_without_litellm_is_the_one_litellm_has():
    table = load_litellm().model_cost
    models = {name: entry for name, entry in entries() if "litellm_provider" in entry}
    assert len(models) > 1000
    assert {name: table.get(name) for name in models} == models


def test_own_server_may_be_set_by_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", BASE)
    assert own_server("openai/qwen3", None) == BASE


OPENAIS = ("gpt-5", "gpt-4o-mini", "openai/gpt-5.1", "o3", "codex-mini", "chatgpt-4o-latest", "responses/x", "")
OTHERS = ("anthropic/claude-x", "hosted_vllm/x", "ollama_chat/x", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", "")


@pytest.mark.parametrize("name", [*(f"openai/{name}" for name in OPENAIS), *OTHERS])
def test_openai_models_and_other_providers_use_litellm(name):
    assert own_server(name, BASE) is None


@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 0, "max_output_tokens": 77}, {"reasoning_effort": "low"}],
    ids=["plain", "limits", "effort"],
)
@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest(HISTORY, (TOOL,)),
        ModelRequest(HISTORY, (TOOL,), tool_choice="required", stop=("END",)),
        ModelRequest(HISTORY[:2], max_tokens=50, temperature=0.5),
    ],
    ids=["tools", "choice", "limits"],
)
def test_request_body_equals_the_one_litellm_sends(settings, request_, monkeypatch):
    load_litellm()
    direct, through_litellm = (body_of(settings, request_, monkeypatch, is_direct) for is_direct in (True, False))
    assert direct == through_litellm


def body_of(settings: dict[str, object], request: ModelRequest, monkeypatch: pytest.MonkeyPatch, is_direct: bool):
    with ModelServer([Turn("Hello.")]) as server, monkeypatch.context() as patch:
        if not is_direct:
            patch.setattr("workbench.llm.client.own_server", lambda name, base: None)
        profile = read_profile("p", {"model": "openai/fake", "api_base": server.base_url, **settings})
        model = open_profile(profile, "sk-the-key-of-this-server")
        assert model.respond(request, lambda delta: None, Cancel()).text == "Hello."
        model.close()
        (sent,) = server.requests
        return sent.path, sent.headers["Authorization"], sent.body


def test_direct_call_imports_neither_litellm_nor_the_sdk():
    with ModelServer([Turn("Hello.", usage={"prompt_tokens": 3, "completion_tokens": 2})]) as server:
        code = (
            "import sys\n"
            "from workbench.llm.factory import open_model\n"
            "from workbench.llm.model import Cancel, ModelRequest\n"
            f"model = open_model('openai/fake', api_base={server.base_url!r})\n"
            "print(model.respond(ModelRequest([{'role': 'user', 'content': 'Hi.'}]), print, Cancel()).text)\n"
            "assert not {'litellm', 'openai'} & set(sys.modules)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=110, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Hello.\n")
