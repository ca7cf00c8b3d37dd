"""The Settings screen: filter, change, refuse, undo; changes take effect at once where possible."""

import pytest
from textual.widgets import Input, OptionList

from tests.tui.app_driver import armed, type_while_it_stands_still, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from tests.tui.settings_form import edited, find, settings_in
from workbench.config.modes import MODES
from workbench.config.settings import load_settings
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.settings import SettingEdit, SettingList, SettingsScreen
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.prompt import Prompt

FILE = '# mine\nmodel = "scripted/demo"\nmax_steps = 40  # enough\n'


@pytest.fixture
def where(tmp_path):
    return settings_in(tmp_path, FILE)


def app_on(where):
    client = FakeClient(Script().start().user("Hi.").events)
    book = SettingsModel(where, load_settings(where, {}), {})
    app = workbench_app(client, settings_model=book, set={"model": "scripted/demo"})
    app.settings = book.settings
    book.subscribe(lambda settings: apply_settings(app, settings))
    return client, app


async def opened(pilot, words: str = "") -> None:
    pilot.app.action_settings()
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
    await wait_until(pilot, lambda: pilot.app.screen.query_one(SettingList).current is not None)
    if words:
        await find(pilot, words)


def is_back(app):
    return lambda: isinstance(app.screen, SettingsScreen)


SEARCHES = {
    "a name": ("max_steps", "max_steps"),
    "a title, not an earlier description": ("theme", "theme"),
    "a description": ("unrecoverable deletions", "mode"),
    "nothing": ("no such words", None),
}


@pytest.mark.parametrize(("words", "name"), SEARCHES.values(), ids=SEARCHES)
async def test_settings_command_with_words_selects_the_first_setting_that_it_names(where, words, name):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        app.screen.query_one(Prompt).text = f"/settings {words}"
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        shown = app.screen.query_one(SettingList)
        await wait_until(pilot, lambda: shown.current is not None or "No match" in text_on(app))
        assert (shown.current and shown.current.entry.name) == name
        assert app.screen.query_one(Input).value == words
        assert app.screen.focused is shown


async def test_number_is_checked_while_typed_and_saved_with_the_comments(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await find(pilot, "max_steps")
        assert app.screen.query_one(SettingList).current.entry.name == "max_steps"
        await edited(pilot)
        line = app.screen.query_one(Input)
        assert line.value == "40"
        line.value = "0"
        await wait_until(pilot, lambda: "✗ max_steps must be a whole number from 1" in text_on(app))
        await pilot.press("enter")
        assert isinstance(app.screen, SettingEdit)
        line.value = "60"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✓ saved; takes effect in the next session" in text_on(app))
        assert where.settings_file.read_text() == FILE.replace("40", "60")
        await pilot.press("u")
        await wait_until(pilot, lambda: "✓ removed from your file" in text_on(app))
        assert "max_steps" not in where.settings_file.read_text()
        await pilot.press("escape")  # first, every row is shown again
        await wait_until(pilot, lambda: "Asking" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))


async def test_theme_key_and_mode_take_effect_at_once(where):
    client, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "color theme")
        await edited(pilot)
        rows = app.screen.query_one(OptionList)
        rows.highlighted = next(
            at for at in range(rows.option_count) if "nord" in rows.get_option_at_index(at).prompt.plain
        )
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.theme == "nord" and is_back(app)())
        await find(pilot, "keys.tasks")
        await edited(pilot)
        app.screen.query_one(Input).value = "f12"
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.keymap.get("tasks") == "f12" and is_back(app)())
        await find(pilot, "when to ask before")
        await edited(pilot)
        rows = app.screen.query_one(OptionList)
        rows.highlighted = list(MODES).index("high")
        await pilot.press("enter")
        await wait_until(pilot, lambda: ("mode", "high") in client.commands and is_back(app)())
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("f12")
        await wait_until(pilot, lambda: app.focused is not None and app.focused.id == "tasks")
    assert load_settings(where, {}).mode == "high"


async def test_never_ask_mode_needs_a_second_press_and_escape_cancels(where, monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)
    client, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "when to ask before")
        await edited(pilot)
        app.screen.query_one(OptionList).highlighted = list(MODES).index("never")
        await pilot.press("enter", "enter")  # the second press comes too early to count
        await wait_until(pilot, lambda: "Actions will run without asking" in text_on(app))
        assert isinstance(app.screen, SettingEdit)
        await pilot.press("escape")
        await wait_until(pilot, is_back(app))
    assert where.settings_file.read_text() == FILE
    assert client.commands == []


async def test_keys_typed_during_a_stall_confirm_no_mode(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "when to ask before")
        await edited(pilot)
        app.screen.query_one(OptionList).highlighted = list(MODES).index("never")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Actions will run without asking" in text_on(app))
        type_while_it_stands_still(app, "enter", "enter")
        await pilot.pause(0.1)
        assert isinstance(app.screen, SettingEdit)
        assert where.settings_file.read_text() == FILE
        await armed(pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: load_settings(where, {}).mode == "never")


async def test_key_is_never_asked_for_and_an_unwritable_file_is_reported(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "api_key itself never")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Keys are not stored in settings" in text_on(app))
        assert isinstance(app.screen, SettingsScreen)
        where.settings_file.write_text("mode = ")
        await find(pilot, "max_steps")
        await edited(pilot)
        app.screen.query_one(Input).value = "9"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "cannot be changed" in text_on(app))
    assert where.settings_file.read_text() == "mode = "


async def test_profile_is_added_renamed_and_removed_by_keys(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "Enter adds one")
        await edited(pilot)
        line = app.screen.query_one(Input)
        line.value = "small"
        await wait_until(pilot, lambda: "✗ Name the model as provider/model" in text_on(app))
        line.value = "openai/small"
        await pilot.press("enter")
        await wait_until(pilot, lambda: is_back(app)() and "Saved model small" in text_on(app))
        assert app.settings.profile("small").model == "openai/small"
        await find(pilot, "saved model small name")
        await edited(pilot)
        app.screen.query_one(Input).value = "quick"
        await pilot.press("enter")
        await wait_until(pilot, lambda: is_back(app)() and "Saved model quick" in text_on(app))
        await find(pilot, "saved model quick name")
        await pilot.press("u")
        await wait_until(pilot, lambda: "Delete saved model quick?" in text_on(app))
        assert "quick" in load_settings(where, {}).models
        await armed(pilot)
        await pilot.press("u")
        await wait_until(pilot, lambda: not app.settings.models)
    assert where.settings_file.read_text().startswith(FILE)


async def test_the_hints_follow_the_focus(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: "u Reset to default   Esc Close" in text_on(app))
        await pilot.press("slash", *"bell")
        await wait_until(pilot, lambda: "Enter Go to the list   Esc Clear" in text_on(app))
        assert "Reset to default" not in text_on(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "u Reset to default   Esc Clear" in text_on(app))


async def test_the_row_that_adds_a_model_is_not_marked_as_changed(where):
    _, app = app_on(where)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(pilot, "add a model")
        await wait_until(pilot, lambda: "Add a model" in text_on(app))
        assert "+ Add a model" in text_on(app)
