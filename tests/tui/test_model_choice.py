"""Changing the model in the middle of a conversation: by name, from the list, from the palette."""

import threading

import pytest
from textual.widgets import OptionList

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from tests.tui.settings_form import find
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.errors import WorkbenchError
from workbench.llm.provider_models import ModelList
from workbench.protocol import events as ev
from workbench.protocol.usage import Usage
from workbench.tui.app import WorkbenchApp
from workbench.tui.screens.model_choice import ModelChoice
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.screens.settings import SettingsScreen
from workbench.tui.settings import providers
from workbench.tui.settings.providers import Way
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.view.app_session import AppSession

PROFILES = {"fast": {"model": "openai/small"}, "deep": {"model": "anthropic/large"}}


def status_line(app) -> str:
    return app.screen_stack[0].query_one(StatusLine).render().plain


def rows(app) -> list[str]:
    listed = app.screen.query_one(OptionList)
    return [listed.get_option_at_index(at).prompt.plain for at in range(listed.option_count)]


async def typed(pilot, line: str) -> None:
    pilot.app.screen.query_one(Prompt).text = line
    await pilot.press("enter")


async def test_model_chosen_by_name_is_requested_and_shown_once_logged():
    script = Script().start(model="fast").user("Hi.")
    script.answer("Hello.", usage=Usage(input=62_400, output=5, window=200_000))
    client = FakeClient(script.events)
    app = workbench_app(client, set={"model": "fast", "models": PROFILES})
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: "31% of 200k" in status_line(app))
        await typed(pilot, "/model openai/other")
        await wait_until(pilot, lambda: client.commands == [("model", "openai/other")])
        assert "other" not in status_line(app)
        client.bring(ev.SettingsChanged(seq=len(script.events) + 1, model="openai/other"))
        await wait_until(pilot, lambda: "62k tokens │ other" in status_line(app))
        assert [item.text for item in app.state.items if hasattr(item, "detail")][
            -1
        ] == "Model changed to: openai/other"


async def test_list_marks_the_current_model_and_returns_the_chosen_one():
    client = FakeClient(Script().start(model="deep").user("Hi.").events)
    app = workbench_app(client, set={"model": "deep", "models": PROFILES})
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "deep" in status_line(app))
        await typed(pilot, "/model")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
        assert rows(app) == ["Saved · 2 models", "  fast  openai/small", "● deep  anthropic/large  now"]
        await pilot.press("up", "enter")
        await wait_until(pilot, lambda: client.commands == [("model", "fast")])
        assert len(app.screen_stack) == 1


async def test_escape_and_the_current_model_change_nothing():
    client = FakeClient(Script().start(model="openai/[/own]").user("Hi.").events)
    app = workbench_app(client, set={"model": "openai/[/own]", "models": PROFILES})
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "own" in status_line(app))
        for key in ("enter", "escape"):
            await typed(pilot, "/model")
            await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
            assert rows(app)[0] == "● openai/[/own]  now"
            await pilot.press(key)
            await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert client.commands == []


async def test_palette_has_an_entry_for_each_profile():
    client = FakeClient(Script().start().events)
    app = workbench_app(client, set={"models": PROFILES})
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        await pilot.press(*"model", "space", *"deep")
        options = app.screen.query_one(OptionList)
        await wait_until(pilot, lambda: options.option_count and options.highlighted == 0)
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", "deep")])


async def test_naming_a_model_starts_a_session_if_there_is_none(tmp_path):
    client, asked = FakeClient(), []

    def start(name: str) -> AppSession:
        asked.append(name)
        if name == "bad":
            raise WorkbenchError("no key for bad: set the variable BAD_KEY")
        return AppSession(client, tmp_path)

    app = workbench_app(None, set={"model": None, "models": PROFILES}, start=start)
    async with app.run_test(size=(100, 30)) as pilot:
        await typed(pilot, "/model bad")
        await wait_until(pilot, lambda: app._notifications)
        assert [note.message for note in app._notifications] == ["no key for bad: set the variable BAD_KEY"]
        await typed(pilot, "/model fast")
        await wait_until(pilot, lambda: app.session.client is client)
        await wait_until(pilot, lambda: app.screen.query(Prompt))
        await typed(pilot, "hello")
        await wait_until(pilot, lambda: client.commands == [("send", "hello")])
        assert asked == ["bad", "fast"]


async def test_compact_requests_condensing_and_shows_the_result():
    script = Script().start().user("Hi.")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await typed(pilot, "/compact")
        await wait_until(pilot, lambda: client.commands == [("compact",)])
        client.bring(ev.CondensingAsked(seq=len(script.events) + 1))
        await wait_until(pilot, lambda: app.state.last_seq == len(script.events) + 1)
        assert app.state.items[-1].text == "Compaction was requested"


async def test_compact_undo_is_requested_and_shown():
    script = Script().start().user("Hi.")
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await typed(pilot, "/compact undo")
        await wait_until(pilot, lambda: client.commands == [("compact", "undo")])
        client.bring(ev.CondensingUndone(seq=len(script.events) + 1, condensed=9, first=3, last=8))
        await wait_until(pilot, lambda: app.state.last_seq == len(script.events) + 1)
        message = "Compaction of events 3 to 8 undone"
        assert app.state.items[-1].text == message


async def test_test_call_of_the_selected_model_shows_its_result(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    client = FakeClient(Script().start(model="scripted/none-such").user("Hi.").events)
    app = workbench_app(client, set={"model": "scripted/none-such"})
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: "none-such" in status_line(app))
        await typed(pilot, "/model")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
        await pilot.press("ctrl+t")
        note = app.screen.query_one("#models-note")
        await wait_until(pilot, lambda: note.render().plain.startswith("✗ "))
        assert "none-such" in note.render().plain


URL = "http://localhost:8000/v1"
SERVER = Way("openai/qwen3", "localhost:8000", URL, title="vLLM", is_ready=True, names=("qwen3",))
ANTHROPIC = Way("anthropic/NAME", "ANTHROPIC_API_KEY found", title="Anthropic", is_ready=True)
OPENAI = Way("openai/NAME", "paste a key…", title="OpenAI")


@pytest.fixture
def listed(monkeypatch):
    """The answers of providers by name; each is called in a thread."""
    answers = {"anthropic": ModelList(("claude-sonnet-4-5", "claude-haiku-4-5", "[/evil]\x1b[31m"), 200)}
    monkeypatch.setattr(providers, "models_of", lambda way, key: answers[way.provider])
    return answers


def offering(client: FakeClient, *ways: Way, **more) -> WorkbenchApp:
    return workbench_app(client, set={"model": "fast", "models": PROFILES}, ways=lambda: ways, **more)


def conversation() -> FakeClient:
    return FakeClient(Script().start(model="fast").user("Hi.").events)


async def opened(pilot) -> None:
    await wait_until(pilot, lambda: pilot.app.state.items)
    await typed(pilot, "/model")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ModelChoice))


async def test_models_of_providers_with_a_key_and_of_servers_are_listed_below_the_saved_ones(listed):
    app = offering(conversation(), ANTHROPIC, OPENAI, SERVER)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: len(rows(app)) == 9)
        assert [row.split("  ")[0] if row[0] != " " else row.split()[0] for row in rows(app)] == [
            *("Saved · 2 models", "● fast", "deep", "Anthropic · 3 models"),
            *("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5", "anthropic/[/evil]\\e[31m"),
            *("vLLM · 1 model", "openai/qwen3"),
        ]
        assert "200k · $3 / $15" in rows(app)[4]
        assert app.screen.query_one(OptionList).highlighted == 1


async def test_filter_narrows_the_list_and_enter_uses_the_model(listed):
    client = conversation()
    app = offering(client, ANTHROPIC)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: len(rows(app)) == 7)
        await pilot.press(*"anth", "space", *"haiku")
        await wait_until(pilot, lambda: len(rows(app)) == 2)
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", "anthropic/claude-haiku-4-5")])


async def test_model_that_no_list_contains_is_used_as_it_is_typed(listed):
    client = conversation()
    app = offering(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press(*"openai", "slash", *"gpt")
        await wait_until(pilot, lambda: rows(app) == ["  openai/gpt  as typed"])
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", "openai/gpt")])


async def test_model_at_a_server_is_saved_with_its_url_before_it_is_used(listed, tmp_path):
    client, where = conversation(), Locations.from_environment({"HOME": str(tmp_path)})
    model = SettingsModel(where, load_settings(where, {}), {})
    app = offering(client, SERVER, settings_model=model)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: any("qwen3" in row for row in rows(app)))
        await pilot.press(*"qwen", "enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", "qwen3")])
        assert model.settings.profile("qwen3").api_base == URL


async def test_cursor_skips_headings_and_stays_when_more_models_arrive(listed, monkeypatch):
    arrives = threading.Event()
    monkeypatch.setattr(providers, "models_of", lambda way, key: arrives.wait(20) and listed[way.provider])
    app = offering(conversation(), ANTHROPIC)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("down")
        assert rows(app)[app.screen.query_one(OptionList).highlighted].split()[0] == "deep"
        arrives.set()
        await wait_until(pilot, lambda: len(rows(app)) == 7)
        await pilot.press("down", "up", "up", "up")
        assert rows(app)[app.screen.query_one(OptionList).highlighted].split()[1] == "fast"


async def test_models_with_a_detected_key_are_listed_without_profiles(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    app = workbench_app(FakeClient(Script().start(model="openai/x").user("Hi.").events), set={"model": "openai/x"})
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: "openai" in status_line(app) or "x" in status_line(app))
        await typed(pilot, "/model")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
        assert "  anthropic/claude-sonnet-4-5" in rows(app)


def completions(app) -> list[str]:
    return [choice.label for choice in app.screen.query_one(Composer)._completer.choices]


ROUTES = {
    "of a provider": ("anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5"),
    "at a server, which is saved first": ("openai/qwen3", "qwen3"),
    "saved": ("deep", "deep"),
}


@pytest.mark.parametrize(("name", "used"), ROUTES.values(), ids=ROUTES)
async def test_completion_of_a_model_lists_and_uses_what_the_picker_offers(listed, tmp_path, name, used):
    client, where = conversation(), Locations.from_environment({"HOME": str(tmp_path)})
    model = SettingsModel(where, load_settings(where, {}), {})
    app = offering(client, ANTHROPIC, OPENAI, SERVER, settings_model=model)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press(*"/model", "space")
        await wait_until(pilot, lambda: len(completions(app)) == 6)
        assert completions(app)[:4] == ["fast", "deep", "anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5"]
        app.screen.query_one(Prompt).text = f"/model {name}"
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", used)])
        assert (model.settings.profile("qwen3").api_base == URL) == (used == "qwen3")


async def test_completion_keeps_what_is_typed_and_selected_while_models_are_listed(listed, monkeypatch):
    arrives = threading.Event()
    monkeypatch.setattr(providers, "models_of", lambda way, key: arrives.wait(20) and listed[way.provider])
    app = offering(conversation(), ANTHROPIC)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await pilot.press(*"/model", "space", *"e", "down")
        assert completions(app) == ["deep"]
        arrives.set()
        await wait_until(pilot, lambda: len(completions(app)) > 1)
        completer = app.screen.query_one(Composer)._completer
        assert completer.chosen.label == "deep"
        assert app.screen.query_one(Prompt).text == "/model e"


async def test_models_of_the_server_that_the_session_uses_are_listed_with_its_key(monkeypatch, tmp_path):
    asked = []

    def models_of(way, key):
        asked.append((way.api_base, key))
        return ModelList(("second",), 200)

    monkeypatch.setattr(providers, "models_of", models_of)
    monkeypatch.setenv("OWN_KEY", "sk-own")
    table = {"model": "openai/first", "api_base": URL, "api_key_env": "OWN_KEY"}
    where = Locations.from_environment({"HOME": str(tmp_path)})
    where.config.mkdir(parents=True)
    lines = "".join(f'{name} = "{value}"\n' for name, value in table.items())
    where.settings_file.write_text(f"[models.own]\n{lines}")
    model = SettingsModel(where, load_settings(where, {}), {})
    client = FakeClient(Script().start(model="own").user("Hi.").events)
    app = workbench_app(client, set={"model": "own", "models": {"own": table}}, ways=lambda: (), settings_model=model)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: "own" in status_line(app))
        await pilot.press(*"/model", "space")
        await wait_until(pilot, lambda: completions(app) == ["own", "openai/second"])
        assert asked == [(URL, "sk-own")]
        await typed(pilot, "/model openai/second")
        assert await wait_until(pilot, lambda: client.commands == [("model", "second")])
        saved = model.settings.profile("second")
        assert (saved.model, saved.api_base, saved.api_key_env) == ("openai/second", URL, "OWN_KEY")


async def test_models_of_a_saved_server_that_the_session_does_not_use_are_listed_and_used_with_its_key(
    monkeypatch, tmp_path
):
    key_file = tmp_path / "key"
    key_file.write_text("sk-file\n")
    table = {"model": "openai/first", "api_base": URL, "api_key_file": str(key_file)}
    where = Locations.from_environment({"HOME": str(tmp_path)})
    where.config.mkdir(parents=True)
    lines = "".join(f'{name} = "{value}"\n' for name, value in table.items())
    where.settings_file.write_text(f"[models.own]\n{lines}")
    asked = []

    def models_of(way, key):
        asked.append((way.api_base, key))
        return ModelList(("first", "second"), 200)

    monkeypatch.setattr(providers, "models_of", models_of)
    model = SettingsModel(where, load_settings(where, {}), {})
    client = FakeClient(Script().start(model="anthropic/large").user("Hi.").events)
    app = workbench_app(client, set={"models": {"own": table}}, ways=lambda: (), settings_model=model)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        await opened(pilot)
        await wait_until(pilot, lambda: any("openai/second" in row for row in rows(app)))
        assert asked == [(URL, "sk-file")]
        await pilot.press(*"second", "enter")
        assert await wait_until(pilot, lambda: client.commands == [("model", "second")])
        saved = model.settings.profile("second")
        assert (saved.model, saved.api_base, saved.api_key_file) == ("openai/second", URL, str(key_file))


@pytest.mark.parametrize(
    ("name", "saved_as"), [("claude-haiku", "anthropic/claude-haiku-4-5"), ("qwen3", "qwen3"), ("nope/x", None)]
)
async def test_model_of_new_sessions_is_chosen_from_the_same_list_in_the_settings(listed, tmp_path, name, saved_as):
    where = Locations.from_environment({"HOME": str(tmp_path)})
    model = SettingsModel(where, load_settings(where, {}), {})
    app = offering(conversation(), ANTHROPIC, SERVER, settings_model=model)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        app.action_settings("model")
        await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen))
        settings = app.screen
        await find(pilot, "The model of new sessions")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
        await wait_until(pilot, lambda: all(any(each in row for row in rows(app)) for each in ("haiku", "qwen3")))
        await pilot.press(*name, "enter")
        await wait_until(pilot, lambda: app.screen is settings)
        says = f"no provider is known for the model '{name}'" if saved_as is None else "✓ saved"
        about = settings.query_one("#settings-about")
        assert await wait_until(pilot, lambda: says in about.render().plain)
        assert model.settings.model == saved_as
