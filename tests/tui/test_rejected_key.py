"""A session whose API key is rejected: the form for another key, and the model that is opened again with it."""

from contextlib import asynccontextmanager

import pytest

from tests.fakes.model_server import ModelServer
from tests.tui.app_driver import armed, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from tests.tui.test_first_run import paste
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.llm.key_store import KeyStore, key_name
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.first_run import FirstRunScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.provider_form import ModelInput
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.key_field import KeyField
from workbench.tui.widgets.prompt import Prompt

KEY = "sk-first-0123456789abcdef"
WRONG = "sk-wrong-fedcba9876543210"
REJECTED = "http://127.0.0.1:1/v1 rejected the API key (HTTP 401): paste a key for this server with /setup"


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return Locations.from_environment({"HOME": str(tmp_path)})


def begun(model: str = "house") -> Script:
    return Script().start(model=model).user("Hi.")


def rejection(script: Script, *, fault: str = "key", model: str = "", detail: str = REJECTED) -> list:
    """Return the events that the engine sends when the model's key is rejected."""
    script.add(ev.RunEnded, reason="error", detail=detail, fault=fault, model=model)
    return [script.events[-1], live.EngineState(state="idle")]


def session_app(where, client, models, **settings):
    where.settings_file.parent.mkdir(parents=True, exist_ok=True)
    tables = (
        f"[models.{name}]\n" + "".join(f'{field} = "{value}"\n' for field, value in table.items())
        for name, table in models.items()
    )
    where.settings_file.write_text("\n".join(tables))
    model = SettingsModel(where, load_settings(where, {}), {})
    app = workbench_app(client, settings_model=model, ways=list, set={"models": models, **settings})
    model.subscribe(lambda changed: apply_settings(app, changed))
    return app


async def at_rest(pilot, client) -> None:
    client.bring(live.EngineState(state="thinking"))
    await wait_until(pilot, lambda: pilot.app.state.items and pilot.app.state.work == "thinking")


async def the_form(pilot) -> FirstRunScreen:
    app = pilot.app
    await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen) and app.screen.has_class("-form"))
    await armed(pilot)
    await wait_until(pilot, lambda: isinstance(app.focused, KeyField))
    return app.screen


@pytest.mark.parametrize("is_saved", [True, False], ids=["saved-model", "by-its-name"])
async def test_form_opens_on_the_provider_and_the_model_is_reopened_with_another_key(where, is_saved):
    with ModelServer(key=KEY, repeat_last=True, names=["small"]) as server:
        name, models = "openai/small", {}
        if is_saved:
            name, models = "house", {"house": {"model": "openai/small", "api_base": server.base_url}}
        script = begun(name)
        client = FakeClient(script.events)
        app = session_app(where, client, models, **({} if is_saved else {"api_base": server.base_url, "model": name}))
        async with app.run_test(size=(100, 30)) as pilot:
            await at_rest(pilot, client)
            client.bring(*rejection(script))
            screen = await the_form(pilot)
            assert "✗ 401: this key was rejected" in text_on(app)
            assert screen._form.way.model == "openai/small"
            assert screen._form.way.api_base == server.base_url
            await paste(pilot, WRONG)
            await pilot.press("enter")
            await wait_until(pilot, lambda: len(server.rejected) >= 1 and "✗ 401" in text_on(app))
            await paste(pilot, KEY)
            await pilot.press("enter")
            await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
            await wait_until(pilot, lambda: client.commands == [("reopen_model",)])
            assert "Enter Retry" in text_on(app)
            await pilot.press("enter")
            await wait_until(pilot, lambda: client.commands[-1][0] == "send")
        assert KeyStore(where).read(key_name("openai/small", server.base_url)) == KEY
        assert load_settings(where, {}).model is None


async def test_saved_model_loses_the_source_of_the_rejected_key(where, monkeypatch):
    monkeypatch.setenv("HOUSE_KEY", WRONG)
    with ModelServer(key=KEY, repeat_last=True) as server:
        models = {"house": {"model": "openai/small", "api_base": server.base_url, "api_key_env": "HOUSE_KEY"}}
        script = begun()
        client = FakeClient(script.events)
        app = session_app(where, client, models)
        async with app.run_test(size=(100, 30)) as pilot:
            await at_rest(pilot, client)
            client.bring(*rejection(script))
            await the_form(pilot)
            await paste(pilot, KEY)
            await pilot.press("enter")
            await wait_until(pilot, lambda: client.commands == [("reopen_model",)])
        assert load_settings(where, {}).models == {"house": {"model": "openai/small", "api_base": server.base_url}}


async def test_key_of_a_fallback_model_is_replaced_without_a_switch(where):
    with ModelServer(key=KEY, repeat_last=True) as server:
        script = begun("anthropic/claude")
        client = FakeClient(script.events)
        app = session_app(where, client, {"house": {"model": "openai/small", "api_base": server.base_url}})
        async with app.run_test(size=(100, 30)) as pilot:
            await at_rest(pilot, client)
            client.bring(*rejection(script, model="house"))
            screen = await the_form(pilot)
            assert screen._form.border_title == "house"
            await paste(pilot, KEY)
            await pilot.press("enter")
            await wait_until(pilot, lambda: client.commands == [("reopen_model",)])


async def test_another_model_in_the_form_is_switched_to(where):
    with ModelServer(key=KEY, repeat_last=True) as server:
        script = begun("openai/small")
        client = FakeClient(script.events)
        app = session_app(where, client, {}, model="openai/small", api_base=server.base_url)
        async with app.run_test(size=(100, 30)) as pilot:
            await at_rest(pilot, client)
            client.bring(*rejection(script))
            screen = await the_form(pilot)
            screen.query_one(ModelInput).value = "large"
            await paste(pilot, KEY)
            await pilot.press("enter")
            await wait_until(pilot, lambda: len(client.commands) == 2)
            assert client.commands == [("reopen_model",), ("model", "openai/large")]


@pytest.mark.parametrize("fault", ["quota", "unknown", ""])
async def test_other_failures_open_no_form(where, fault):
    script = begun()
    client = FakeClient(script.events)
    app = session_app(where, client, {"house": {"model": "openai/small"}})
    async with app.run_test(size=(100, 30)) as pilot:
        await at_rest(pilot, client)
        client.bring(*rejection(script, fault=fault))
        await wait_until(pilot, lambda: "Enter Retry" in text_on(app))
        assert isinstance(app.screen, MainScreen)
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands[-1:] and client.commands[-1][0] == "send")


async def test_form_stays_closed_while_something_is_typed_and_opens_on_enter(where):
    script = begun()
    client = FakeClient(script.events)
    app = session_app(where, client, {"house": {"model": "openai/small"}})
    async with app.run_test(size=(100, 30)) as pilot:
        await at_rest(pilot, client)
        await pilot.press(*"and")
        client.bring(*rejection(script))
        await wait_until(pilot, lambda: app.state.can_retry and "Enter Send" in text_on(app))
        await pilot.press(*" so")
        prompt = app.screen.query_one(Prompt)
        assert prompt.text == "and so"
        prompt.text = ""
        await wait_until(pilot, lambda: "Enter Replace key" in text_on(app))
        await pilot.press("enter")
        await the_form(pilot)
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        assert "Enter Replace key" in text_on(app)
        assert client.commands == []


@asynccontextmanager
async def opening_form(where, monkeypatch):
    """Yield a pilot when the form has appeared but does not accept keys yet."""
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)
    script = begun()
    client = FakeClient(script.events)
    app = session_app(where, client, {"house": {"model": "openai/small"}})
    async with app.run_test(size=(100, 30)) as pilot:
        await at_rest(pilot, client)
        client.bring(*rejection(script))
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen) and app.screen.has_class("-form"))
        yield pilot


@pytest.mark.parametrize("how", ["letter", "paste"])
async def test_what_is_typed_as_the_form_opens_goes_to_the_prompt(where, how, monkeypatch):
    async with opening_form(where, monkeypatch) as pilot:
        app = pilot.app
        await (pilot.press("h") if how == "letter" else paste(pilot, "h"))
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await pilot.press("i")
        assert app.screen.query_one(Prompt).text == "hi"


async def test_key_that_is_pasted_as_the_form_opens_is_in_its_field(where, monkeypatch):
    async with opening_form(where, monkeypatch) as pilot:
        app = pilot.app
        await paste(pilot, f"{KEY}\n")
        await wait_until(pilot, lambda: KEY[-4:] in text_on(app))
        assert app.screen._form.key == KEY


async def test_rejection_in_the_history_waits_for_enter(where):
    script = begun()
    rejection(script)
    client = FakeClient(script.events)
    app = session_app(where, client, {"house": {"model": "openai/small"}})
    async with app.run_test(size=(100, 30)) as pilot:
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: "Enter Replace key" in text_on(app))
        assert isinstance(app.screen, MainScreen)
        await pilot.press("enter")
        await the_form(pilot)
