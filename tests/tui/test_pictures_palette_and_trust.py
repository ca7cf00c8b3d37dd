"""Golden pictures of the palette, the settings, trust and the first run."""

from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from workbench.config.locations import Locations
from workbench.tui import palette_entries as entries
from workbench.tui.palette_entries import PastSession
from workbench.tui.screens.confirmations import NeverAskScreen
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.screens.trust import TrustScreen
from workbench.tui.session_switcher import SessionSources
from workbench.view.app_session import AppSession
from workbench.view.approval.trust import trust_question
from workbench.view.commands import COMMANDS

PAST = [
    PastSession("20260101-mend-1", "Fix the roof of the shed", "03 Jan · shed"),
    PastSession("20260101-mode-2", "Which modes of transport are there?", "02 Jan · notes"),
]


def with_profiles(directory, theme):
    events = finished()
    client, app = app_with(events, directory, theme)
    app.settings = type(app.settings)(theme=theme, models={"modest": {"model": "openai/gpt-5-mini"}})
    app.switcher.sources = SessionSources(sessions=lambda: PAST)
    return events, client, app


@pytest.fixture
def _these_commands(monkeypatch):
    """Pictures stay the same when commands and keys are added."""
    names = ("help", "mode", "model", "compact", "tasks", "diff", "rules", "stop", "theme", "demo", "quit")
    commands = tuple(command for command in COMMANDS if command.name in names)
    bindings = entries._bindings
    keys = ("Maximize a panel", "Timeline", "Changes", "Wider panels", "Start of the conversation")
    monkeypatch.setattr(entries, "COMMANDS", commands)
    monkeypatch.setattr(entries, "_bindings", lambda screen: (e for e in bindings(screen) if e.label in keys))


@in_each_look
@pytest.mark.usefixtures("_these_commands")
@pytest.mark.parametrize("typed", ["", "mod"], ids=["palette", "palette_typed"])
def test_palette(typed, look, directory, picture):
    events, client, app = with_profiles(directory, look.theme)
    (directory / "models.py").write_text("")

    async def show(pilot):
        await show_events(pilot, client, events)
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen) and app.screen.has_sessions)
        await pilot.press(*typed)
        await wait_until(pilot, lambda: not typed or "models.py" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_never_ask(look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await app.run_action("mode('never')", app.screen)
        await wait_until(pilot, lambda: isinstance(app.screen, NeverAskScreen) and app.screen.quiet.is_armed)
        await wait_until(pilot, lambda: "y Don't ask" in text_on(app))

    assert picture(app, look, show)


TOOLS_AND_RULES = (".ohw/tools/deploy.py", ".ohw/rules.toml")
SUB_AGENTS = (".agents/agents/tester.md", ".ohw/agents/writer.md")


OF_CONTAINER = (".devcontainer/devcontainer.json", ".devcontainer/Dockerfile")


@in_each_look
@pytest.mark.parametrize(
    "files", [TOOLS_AND_RULES, SUB_AGENTS, OF_CONTAINER], ids=["trust", "trust_sub_agents", "trust_container"]
)
def test_trust(files, look, directory, picture, monkeypatch):
    for name in files:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("")
    monkeypatch.chdir(directory)
    place = Path("~/code/calc")
    events = finished()
    client, app = app_with(events, directory, look.theme)
    of_container = tuple(directory / name for name in files if name in OF_CONTAINER)
    question = trust_question(Locations.from_environment(), directory, (), set(), of_container)
    question.directory, question.files = place, tuple(place / path.relative_to(directory) for path in question.files)
    question.of_container = tuple(place / path.relative_to(directory) for path in question.of_container)
    app.session = AppSession(client, directory, trust=question)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: isinstance(app.screen, TrustScreen) and app.screen.quiet.is_armed)

    assert picture(app, look, show)
