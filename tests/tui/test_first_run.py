"""The first run: found providers, one test call, a profile that is saved; or the demo; never a dead end."""

import threading

import pytest
from textual.widgets import Input, OptionList

from tests.tui.app_driver import armed, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.config.settings import Settings, load_settings
from workbench.tui.screens.first_run import FirstRunScreen
from workbench.tui.screens.help import HelpScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.providers import Way, profile_changes, read_way, ways, wrong_way
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession

WORKS = Way("scripted/demo", "A scripted one")
FAILS = Way("scripted/none-such", "One that is not [/X]\x1b[31m there")
OF_A_PROVIDER = Way("mistral/NAME", "A key in MISTRAL_API_KEY")


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return Locations.from_environment({"HOME": str(tmp_path)})


def first_app(where, found, **more):
    """Return an app without a model; what it starts is recorded in the list."""
    started = []
    book = SettingsModel(where, Settings(), {})

    def start(name):
        started.append(name)
        return AppSession(FakeClient(), where.data)

    look = found if callable(found) else lambda: found
    app = workbench_app(None, set={"model": None}, settings_model=book, ways=look, start=start, **more)
    book.subscribe(lambda settings: apply_settings(app, settings))
    return app, started


async def ready(pilot, row: str = "Another model") -> FirstRunScreen:
    """Wait until the screen lists what was found and accepts enter; return it."""
    app = pilot.app
    await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen) and row in text_on(app))
    await armed(pilot)
    return app.screen


async def chosen(pilot, screen, row: str) -> None:
    rows = screen.query_one(OptionList)
    labels = [rows.get_option_at_index(at).prompt.plain for at in range(rows.option_count)]
    rows.highlighted = next(at for at, label in enumerate(labels) if label.startswith(row))
    await armed(pilot)
    await pilot.press("enter")


def test_profiles_servers_and_keys_are_models_to_start_with(monkeypatch):
    monkeypatch.setattr("workbench.llm.discovery.SERVERS", ())
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    settings = Settings(models={"fast": {"model": "openai/small"}})
    offered = list(ways(settings))
    assert offered[0] == Way("openai/small", "Saved model fast", profile="fast")
    assert "A key in ANTHROPIC_API_KEY" in [way.what for way in offered]
    assert "sk-of-the-test" not in repr(offered)


def test_saved_model_has_a_unique_name():
    assert profile_changes(Way("a/b", profile="fast"), {"fast"}) == ("fast", {("model",): "fast"})
    name, changes = profile_changes(Way("openai/q w:8", api_base="http://h/v1"), {"q-w:8"})
    assert name == "q-w:8-2"
    assert changes == {
        ("model",): "q-w:8-2",
        ("models", "q-w:8-2", "model"): "openai/q w:8",
        ("models", "q-w:8-2", "api_base"): "http://h/v1",
    }


def test_impossible_model_is_reported_before_a_call():
    assert wrong_way(read_way(" openai/x  http://h:8/v1 ")) == ""
    for text in ("gpt-5", "/x", "openai/", "mistral/NAME"):
        assert "PROVIDER/NAME" in wrong_way(read_way(text))
    assert "URL" in wrong_way(read_way("openai/x localhost:8000"))


async def test_working_model_is_saved_and_the_session_starts_with_the_typed_text(where):
    app, started = first_app(where, [FAILS, WORKS], message="look at this")
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await ready(pilot, "A scripted one")
        await chosen(pilot, screen, "scripted/demo")
        await wait_until(pilot, lambda: "✓ scripted/demo" in text_on(app))
        assert not where.settings_file.exists()
        assert "Enter starts with it and saves it to your settings" in text_on(app)
        await chosen(pilot, screen, "scripted/demo")
        await wait_until(pilot, lambda: started == ["demo"] and isinstance(app.screen, MainScreen))
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "look at this")
    assert load_settings(where, {}).model == "demo"
    assert load_settings(where, {}).profile("demo").model == "scripted/demo"


async def test_failing_model_gives_the_reason_and_can_be_retried_or_used_anyway(where, monkeypatch):
    app, started = first_app(where, [FAILS])
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot, "One that is not [/X]")
        assert "\x1b" not in text_on(app)
        await chosen(pilot, screen, "scripted/none-such")
        await wait_until(pilot, lambda: "✗ " in text_on(app) and "anyway" in text_on(app))
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: ": testing one call" in text_on(app))
        await wait_until(pilot, lambda: "✗ " in text_on(app))
        assert started == []
        where.config.parent.mkdir(parents=True, exist_ok=True)
        where.config.write_text("a file in the way")
        notices: list[str] = []
        monkeypatch.setattr(app, "notify", lambda message, **more: notices.append(message))
        await chosen(pilot, screen, "scripted/none-such")
        await wait_until(pilot, lambda: started == ["none-such"])
        assert any("it is not kept" in message for message in notices)
        assert app.settings.profile("none-such").model == "scripted/none-such"


async def test_provider_with_a_key_and_any_other_model_are_named_in_a_line(where):
    app, started = first_app(where, [OF_A_PROVIDER])
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot, "MISTRAL_API_KEY")
        await chosen(pilot, screen, "mistral/")
        line = screen.query_one(Input)
        await wait_until(pilot, lambda: line.has_focus and line.value == "mistral/")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✗ write it as PROVIDER/NAME" in text_on(app))
        line.value = "scripted/demo"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✓ scripted/demo" in text_on(app))
        await armed(pilot)
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: started == ["demo"])


async def test_without_models_the_screen_says_what_to_do_and_offers_the_demo(where):
    demo = FakeClient()
    ways_tried = []
    app, started = first_app(
        where, lambda: list(ways_tried), demo=lambda: AppSession(demo, where.data, "find the fault")
    )
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot, "Nothing found")
        ways_tried.append(WORKS)
        await chosen(pilot, screen, "Look again")
        await wait_until(pilot, lambda: "A scripted one" in text_on(app))
        await chosen(pilot, screen, "The demo")
        await wait_until(pilot, lambda: demo.commands == [("send", "find the fault")])
    assert started == []


async def test_escape_leads_to_the_welcome_text_and_setup_back_again(where):
    app, _ = first_app(where, [WORKS])
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot, "A scripted one")
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await wait_until(pilot, lambda: "Not now" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is screen)
        await chosen(pilot, screen, "Another model")
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await wait_until(pilot, lambda: "/setup" in text_on(app))
        await pilot.press(*"/setup", "enter")
        assert await ready(pilot, "A scripted one")


async def test_letters_go_to_the_prompt_and_an_enter_after_them_calls_nothing(where, monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)  # the letters are never long ago
    held = threading.Event()
    app, started = first_app(where, lambda: (held.wait(30) and [WORKS]) or [WORKS])
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await pilot.press(*"go on", "enter")
        held.set()
        await wait_until(pilot, lambda: "A scripted one" in text_on(app))
        assert "testing one call" not in text_on(app)
        assert app.screen_stack[0].query_one(Prompt).text == "go on"
    assert started == []


async def test_shell_command_needs_no_model_and_a_message_waits_for_one(where):
    client = FakeClient(Script().start(model="none", workspace=str(where.data)).events)
    app, _ = first_app(where, [], shell=lambda: AppSession(client, where.data))
    async with app.run_test() as pilot:
        await ready(pilot)
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("!", *"ls", "enter")
        await wait_until(pilot, lambda: client.commands == [("run", "ls")] and "no model │" in text_on(app))
        await pilot.press(*"hello", "enter")
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "hello")
        assert client.commands == [("run", "ls")]
        app.screen.query_one(Prompt).text = "/model a/b"
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands[1:] == [("model", "a/b")])
