"""Golden pictures of the first run: detected models, no models, the form of a provider, and its errors."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look, text_on
from tests.tui.sample_session import Script
from tests.tui.test_rejected_key import at_rest, rejection, session_app, the_form
from workbench.config.locations import Locations
from workbench.llm.provider_models import ModelList
from workbench.tui.screens import first_run
from workbench.tui.screens.first_run import FirstRunScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.settings.providers import Way
from workbench.tui.widgets.key_field import KeyField, StorageField

READY = [
    Way("openai/gpt-5-mini", "openai/gpt-5-mini", profile="fast", title="fast", is_ready=True),
    Way("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY found", title="Anthropic", is_ready=True),
    Way(
        "ollama_chat/qwen3-coder:30b",
        "localhost:11434 · 3 models",
        title="Ollama",
        is_ready=True,
        names=("qwen3-coder:30b", "llama3.3", "gemma3"),
    ),
]
WANTING = [
    Way("openai/gpt-5-mini", "paste a key…", title="OpenAI"),
    Way("gemini/gemini-2.5-pro", "paste a key…", title="Google Gemini"),
    Way("openrouter/NAME", "paste a key…", title="OpenRouter"),
    Way("mistral/NAME", "paste a key…", title="Mistral"),
]
NAMES = ("gpt-5-mini", "gpt-5", "gpt-5-nano", "gpt-5-codex", "gpt-4.1", "gpt-4.1-mini", "o3", "o4-mini")
REJECTED = "✗ 401: this key was rejected. Paste another one, or Tab to change it."
FAILED = "✗ api.anthropic.com could not be reached (timed out): check your connection"


def form(screen, row):
    screen._choose(next(at for at, way in enumerate(screen._list.ways) if way.title.startswith(row)))
    return screen._form


def with_key(screen):
    form(screen, "OpenAI").query_one(KeyField).paste("sk-of-a-picture-a1b2c3fA9")


def with_models(screen):
    with_key(screen)
    screen.set_focus(screen.query_one("#form-model"))


CASES = {
    "found": (READY + WANTING, lambda screen: None, "OpenRouter"),
    "nothing": (WANTING, lambda screen: None, "No API keys"),
    "key": (READY + WANTING, with_models, "gpt-5-codex"),
    "rejected": (READY + WANTING, lambda screen: (with_key(screen), screen._form.reject_key(REJECTED)), "✗ 401"),
    "fails": (
        READY + WANTING,
        lambda screen: form(screen, "Anthropic").show_failure(FAILED),
        "anyway",
    ),
    "other": (WANTING, lambda screen: form(screen, "Other"), "URL"),
}


@in_each_look
@pytest.mark.usefixtures("memory_keyring")
@pytest.mark.parametrize("case", CASES)
def test_first_run(case, look, directory, picture, monkeypatch):
    ways, then, words = CASES[case]
    monkeypatch.setattr(first_run, "models_of", lambda way, key: ModelList(NAMES))
    app = workbench_app(None, directory=directory, set={"model": None}, ways=lambda: ways)

    async def show(pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await wait_until(pilot, lambda: "paste a key" in text_on(app) and "Looking for" not in text_on(app))
        await wait_until(pilot, lambda: app.screen.query_one(StorageField).can_focus)
        then(app.screen)
        await wait_until(pilot, lambda: words in text_on(app))
        await wait_until(
            pilot, lambda: not app.screen.has_class("-form") or "8 models" in text_on(app) or case == "other"
        )

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("ends", ["form_in_session", "form_put_off"])
@pytest.mark.usefixtures("memory_keyring")
def test_rejected_key_in_a_session(ends, look, directory, picture, monkeypatch):
    monkeypatch.setattr(first_run, "models_of", lambda way, key: ModelList(NAMES))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    script = Script().start(model="openai/gpt-5-mini").user("Fix the failing test.")
    client = FakeClient(script.events)
    locations = Locations.from_environment({"HOME": str(directory.parents[1])})
    app = session_app(locations, client, {}, model="openai/gpt-5-mini")

    async def show(pilot):
        app.theme = look.theme
        await at_rest(pilot, client)
        client.bring(
            *rejection(script, detail="openai rejected the API key (HTTP 401): set the right one in OPENAI_API_KEY")
        )
        await the_form(pilot)
        await wait_until(pilot, lambda: "8 models" in text_on(app))
        if ends == "form_put_off":
            await pilot.press("escape", "escape")
            await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))

    assert picture(app, look, show)
