"""Golden pictures of the first run: providers found, none, a model name to enter, results of a test call."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.pictures import in_each_look, text_on
from workbench.engine.model_test import ModelTestOutcome
from workbench.tui.screens.first_run import FirstRunScreen
from workbench.tui.settings.providers import Way

FOUND = [
    Way("openai/gpt-5-mini", "Saved model fast", profile="fast"),
    Way("ollama_chat/qwen3-coder:30b", "Ollama at 127.0.0.1:11434"),
    Way("openai/devstral-small", "LM Studio at 127.0.0.1:1234", "http://127.0.0.1:1234/v1"),
    Way("anthropic/claude-sonnet-4-5", "A key in ANTHROPIC_API_KEY"),
    Way("mistral/NAME", "A key in MISTRAL_API_KEY"),
]
WORKED = 'ollama_chat/qwen3-coder:30b works: it said "Ready." after 1.2 s; 23 tokens in, 2 out, cost ?'
REFUSED = "the provider rejected the API key of anthropic/claude-sonnet-4-5: check ANTHROPIC_API_KEY"


def with_outcome(screen, number, outcome):
    screen._model_tests.outcomes[FOUND[number]] = outcome
    screen.query_one("#first-rows").highlighted = number
    screen._show_outcome(FOUND[number])


CASES = {
    "found": (FOUND, lambda screen: None, "MISTRAL"),
    "nothing": ([], lambda screen: None, "Nothing found"),
    "named": (FOUND, lambda screen: screen._write("mistral/"), "Esc back"),
    "works": (FOUND, lambda screen: with_outcome(screen, 1, ModelTestOutcome(True, WORKED)), "Enter starts"),
    "fails": (FOUND, lambda screen: with_outcome(screen, 3, ModelTestOutcome(False, REFUSED)), "anyway"),
}


@in_each_look
@pytest.mark.parametrize("case", CASES)
def test_first_run(case, look, directory, picture):
    ways, then, words = CASES[case]
    app = workbench_app(None, directory=directory, set={"model": None}, ways=lambda: ways)

    async def show(pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await wait_until(pilot, lambda: ("MISTRAL" if ways else "Nothing found") in text_on(app))
        then(app.screen)
        await wait_until(pilot, lambda: words in text_on(app))

    assert picture(app, look, show)
