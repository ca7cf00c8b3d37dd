"""Golden pictures of a race on the Compare screen."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from tests.batch.outcomes import outcome, solved, unsolved
from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import AFTER, BEFORE, TESTS_AFTER, TESTS_BEFORE, finished
from tests.tui.pictures import app_with, at_rest, in_each_look, show_events, text_on
from tests.tui.sample_session import WORKSPACE
from workbench.batch.attempt import AttemptOutcome
from workbench.batch.race import RankedAttempt, ranked
from workbench.protocol.events import FileDelta
from workbench.session.comparison.final_files import FinalDifference
from workbench.view.race import RaceComparison, RacedAttempt
from workbench.view.unfinished_race import UnfinishedRace

OPUS, GPT, LOCAL = "anthropic/claude-opus-4-5", "openai/gpt-5-mini", "ollama/qwen3-coder"


def patched(outcome: AttemptOutcome, lines: int, cost: float, seconds: float) -> AttemptOutcome:
    return replace(outcome, patch="p", patch_lines=lines, cost=cost, total_seconds=seconds, input=81_000, output=2_400)


OUTCOMES = (
    patched(solved("race", GPT, steps=9), 21, 0.04, 71.0),
    patched(solved("race", OPUS, steps=14), 58, 0.91, 203.0),
    patched(unsolved("race", GPT, 2, steps=6), 7, 0.03, 48.0),
    outcome("race", OPUS, 2, ending="question", detail="HIGH: Install pytest-xdist needs an approval", cost=0.32),
    outcome("race", LOCAL, ending="error", detail="there is no server at localhost:11434", cost=0.0, seconds=0.2),
)
FILES = (
    FileDelta(path=f"{WORKSPACE}/src/calc.py", before=BEFORE, after=AFTER),
    FileDelta(path=f"{WORKSPACE}/tests/test_calc.py", before=TESTS_BEFORE, after=TESTS_AFTER),
)


def race() -> RaceComparison:
    attempts = [RankedAttempt(rank, each) for rank, each in enumerate(ranked(OUTCOMES), 1)]
    raced = (RacedAttempt(each, FinalDifference(FILES if each.outcome.patch else ())) for each in attempts)
    return RaceComparison("20261121-negative-amounts-3f2a", WORKSPACE, "python -m pytest -q", tuple(raced))


@in_each_look
def test_ranked(look, directory, picture, monkeypatch):
    monkeypatch.setattr("workbench.tui.screens.race.compare_attempts", lambda *of: race())
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        app.races.show(race().name)
        await wait_until(pilot, lambda: "has changed 2 files" in text_on(app))
        await pilot.press("tab", "tab", "tab")
        await wait_until(pilot, lambda: "needs an approval" in text_on(app))
        await pilot.press("tab", "tab")
        await wait_until(pilot, lambda: "has changed 2 files" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)


@in_each_look
def test_offered(look, directory, picture, monkeypatch):
    started = datetime(2026, 11, 21, 9, 12, tzinfo=UTC)
    unfinished = UnfinishedRace(race().name, "Negative amounts are lost.\nFix it.", started, ended=2, total=5)
    monkeypatch.setattr("workbench.view.unfinished_race.unfinished_race", lambda *of: unfinished)
    client, app = app_with(finished(), directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, finished())
        app.races.handle("")
        await wait_until(pilot, lambda: "y Resume" in text_on(app))
        await at_rest(pilot)

    assert picture(app, look, show)
