"""The test call of the first run: in a process of its own, its outcome in one line without the key."""

import threading

import psutil
import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn
from tests.sandbox import wait_for
from workbench.engine.model_test import ModelTest
from workbench.llm.discovery import ModelSource, sources_of_keys

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _a_home_of_its_own(tmp_path, monkeypatch):
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "OHW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OHW_API_KEY", KEY)


def test_responding_model_passes_the_test():
    with ModelServer([Turn("ready")]) as server:
        source = ModelSource("vLLM", ("openai/qwen", "openai/other"), server.base_url)
        outcome = ModelTest.of(source).result()
        (request,) = server.requests
    assert outcome.works
    assert outcome.line.startswith('openai/qwen OK ("ready") in ')
    assert {name.lower(): value for name, value in request.headers.items()}["authorization"] == f"Bearer {KEY}"
    assert "\n" not in outcome.line


def test_refused_key_is_reported_but_not_shown():
    with ModelServer([Fault(401, f"Incorrect API key provided: {KEY}")]) as server:
        outcome = ModelTest("openai/qwen", server.base_url).result()
    assert not outcome.works
    assert "key" in outcome.line
    assert KEY not in outcome.line
    assert "\n" not in outcome.line


def test_silent_server_times_out():
    with ModelServer([Fault(kind="silent")]) as server:
        outcome = ModelTest("openai/qwen", server.base_url, patience=0.5).result()
    assert (outcome.works, outcome.line) == (False, "openai/qwen gave no answer within 0.5 s")


def test_call_can_be_stopped_before_an_answer():
    outcomes, mine = [], psutil.Process()
    with ModelServer([Fault(kind="silent")]) as server:
        trial = ModelTest("openai/qwen", server.base_url)
        before = len(mine.children())
        waiting = threading.Thread(target=lambda: outcomes.append(trial.result()))
        waiting.start()
        wait_for(lambda: len(mine.children()) > before, "the call")
        trial.stop()
        waiting.join(60)
    assert [(one.works, one.line) for one in outcomes] == [(False, "the test was stopped")]
    assert ModelTest.result(trial) == outcomes[0]
    assert len(mine.children()) == before


def test_provider_with_unknown_models_is_found_by_its_key():
    sources = sources_of_keys({"OPENAI_API_KEY": KEY, "MISTRAL_API_KEY": KEY})
    assert [(each.models[0], each.is_named) for each in sources] == [("openai/gpt-5", True), ("mistral/NAME", False)]
