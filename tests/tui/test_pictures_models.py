"""Golden pictures of the model: changed in mid-run, a budget, a wait, a condensed history."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import answered, begun
from tests.tui.pictures import at_rest, in_each_look, show_events, text_on
from workbench.llm.provider_models import ModelList
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.usage import Usage
from workbench.tui.screens.model_choice import ModelChoice
from workbench.tui.settings import providers
from workbench.tui.settings.providers import Way

SUMMARY = """GOAL
`-3` is read as `3`: find out why, fix it, add tests.
FACTS
`parse` in src/calc.py finds the sign and never uses it.
DONE
Two tests in tests/test_calc.py; they fail as they should.
OPEN
Give the sign back to the amount.
FILES
src/calc.py, tests/test_calc.py
TESTS
python -m pytest -q: 1 failed, 11 passed"""
LOCAL = ("qwen3-coder-30b", "devstral-24b")
PROFILES = {
    "fast": {"model": "openai/gpt-5-mini"},
    "deep": {"model": "anthropic/claude-opus-4-1"},
    "house": {"model": "openai/qwen3-coder", "api_base": "http://10.0.0.5:8000/v1"},
}
WAYS = [
    Way("anthropic/NAME", "ANTHROPIC_API_KEY found", title="Anthropic", is_ready=True),
    Way("openai/NAME", "paste a key…", title="OpenAI"),
    Way("ollama_chat/qwen3-coder-30b", "", "http://localhost:11434", title="Ollama", is_ready=True, names=LOCAL),
]
LISTED = {"anthropic": ModelList(("claude-sonnet-4-5", "claude-opus-4-1", "claude-haiku-4-5"), 200)}


def model_changed():
    script = begun()
    script.add(ev.SettingsChanged, model="fast")
    answered(script, "I go on from here.", 9_900)
    script.begin("execute_bash", command="python -m pytest -q")
    return [*script.events, live.EngineState(state="acting")]


def choosing_a_model():
    return [*begun().events, live.EngineState(state="idle")]


def budget_pause():
    script = begun()
    detail = "paused after $0.06 (max_cost $0.05). Send a message to continue"
    script.add(ev.RunEnded, reason="limit", detail=detail)
    return [*script.events, live.EngineState(state="idle")]


def waiting_for_the_provider():
    message = "rate limited; try 2 of 5 in 17s"
    return [*begun().events, live.EngineState(state="thinking", detail=message)]


def fallback_model():
    script = begun()
    busy = {"fallback": "house", "fallback_reason": "deep is overloaded"}
    script.answer("I go on with the parser.", cost=0.0, **busy)
    script.run("execute_bash", "12 passed", command="python -m pytest -q", _exit_code=0)
    return [
        *script.events,
        live.EngineState(state="thinking", detail="deep is overloaded; asking house", model="house"),
    ]


def condensed():
    script = begun()
    usage = Usage(input=8_200, output=240, window=200_000)
    more = {"summary": SUMMARY, "reason": "tokens", "usage": usage, "cost": 0.0282}
    script.add(ev.HistoryCondensed, first=9, last=31, **more)
    answered(script, "The amount gets its sign back now.", 4_100)
    return [*script.events, live.EngineState(state="thinking")]


def no_more(app):
    return type(app.screen), ""


def choice(app):
    app.call_later(app.action_model)
    return ModelChoice, "qwen3-coder-30b"


STATES = [
    (model_changed, no_more),
    (choosing_a_model, choice),
    (budget_pause, no_more),
    (waiting_for_the_provider, no_more),
    (fallback_model, no_more),
    (condensed, no_more),
]


@in_each_look
@pytest.mark.parametrize(("state", "over"), STATES, ids=[state.__name__ for state, _ in STATES])
def test_models(state, over, look, directory, monkeypatch, picture):
    events = state()
    client = FakeClient([event for event in events if getattr(event, "seq", 0)])
    nothing = ModelList()  # as if the server of the house did not answer
    monkeypatch.setattr(providers, "models_of", lambda way, key: LISTED.get(way.provider, nothing))
    app = workbench_app(client, directory=directory, set={"models": PROFILES}, ways=lambda: WAYS)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(events[-1])  # with its text about a wait
        await wait_until(pilot, lambda: app.state.work_detail == events[-1].detail)
        await at_rest(pilot)
        kind, words = over(app)
        await wait_until(pilot, lambda: isinstance(app.screen, kind) and words in text_on(app))

    assert picture(app, look, show)
