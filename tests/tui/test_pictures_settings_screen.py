"""Golden pictures of the Settings screen: at rest, with errors in the file, and with one setting being changed."""

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import finished
from tests.tui.pictures import in_each_look, show_events, text_on
from tests.tui.settings_form import edited, find
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.tui.keys import all_bindings
from workbench.tui.screens.settings import SettingsScreen
from workbench.tui.settings import entries
from workbench.tui.settings.settings_model import SettingsModel

FILE = """# how I work
model = "house"
max_steps = "many"
max_cost = 2.5
[models.house]
model = "openai/qwen3-coder"
api_base = "http://ada:secret@10.0.0.5:8000/v1"
api_key_env = "HOUSE_KEY"
"""
CASES = ["settings", "setting_line", "setting_choices", "setting_profile", "setting_adds"]


@pytest.fixture(autouse=True)
def _these_rows(monkeypatch):
    """Pictures stay the same when tools and keys are added."""
    bindings = {each.id: each for each in all_bindings() if each.id in ("send", "mode", "timeline", "tasks", "diff")}
    monkeypatch.setattr(entries, "all_bindings", lambda: list(bindings.values()))
    monkeypatch.setattr(entries, "BUILTIN_TOOLS", ("execute_bash", "str_replace_editor", "think"))


@in_each_look
@pytest.mark.parametrize("case", CASES)
def test_settings(case, look, directory, picture):
    where = Locations.from_environment({"HOME": str(Path.home())})
    where.config.mkdir(parents=True)
    where.settings_file.write_text(FILE)
    env = {"OHW_MODE": "high"}
    book = SettingsModel(where, load_settings(where, env, lenient=True), env)
    events = finished()
    client = FakeClient([event for event in events if getattr(event, "seq", 0)])
    app = workbench_app(client, directory=directory, settings_model=book)

    async def show(pilot):
        await show_events(pilot, client, events)
        app.action_settings()
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen) and "takes effect" in text_on(app))
        if case == "setting_line":
            await find(pilot, "max_steps")
            await edited(pilot)
            app.screen.query_one(Input).value = "many"
            await wait_until(pilot, lambda: "✗ max_steps must be a whole number" in text_on(app))
        elif case == "setting_choices":
            await find(pilot, "when to ask before")
            await edited(pilot)
            await pilot.press("down")
            await pilot.press("enter")
            await wait_until(pilot, lambda: "Press Enter again" in text_on(app))
        elif case == "setting_adds":
            await find(pilot, "Enter adds one")
            await edited(pilot)
            app.screen.query_one(Input).value = "gpt-5"
            await wait_until(pilot, lambda: "✗ Name the model as provider/model" in text_on(app))
        elif case == "setting_profile":
            await find(pilot, "saved model house")

    assert picture(app, look, show)
