"""The first run: the ways to a model, the form for a key, one test call, a model that is saved; or the demo."""

import threading

import pytest
from textual import events
from textual.widgets import Input, OptionList

from tests.fakes.device_server import DeviceServer
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Fault, Turn
from tests.tui.app_driver import armed, wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.config.settings import Settings, load_settings
from workbench.engine.model_test import ModelTestOutcome
from workbench.llm.key_store import KeyStore, key_name
from workbench.llm.provider_models import ModelList
from workbench.tui.screens import first_run
from workbench.tui.screens.first_run import FirstRunScreen, WayList
from workbench.tui.screens.help import HelpScreen
from workbench.tui.screens.main import MainScreen
from workbench.tui.screens.provider_form import ModelInput, ProviderForm
from workbench.tui.settings.apply import apply_settings
from workbench.tui.settings.providers import (
    OTHER,
    Way,
    new_profile,
    profile_changes,
    read_way,
    ways,
    without_key_of,
    wrong_way,
)
from workbench.tui.settings.settings_model import SettingsModel
from workbench.tui.widgets.key_field import KeyField, StorageField
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession

WORKS = Way("scripted/demo", "A scripted one", title="Works", is_ready=True, names=("demo",))
FAILS = Way(
    "scripted/none-such", "One that is not [/X]\x1b[31m there", title="Fails", is_ready=True, names=("none-such",)
)
WANTS_KEY = Way("openai/gpt-5", "paste a key…", title="OpenAI")
KEY = "sk-first-0123456789abcdef"
WRONG = "sk-wrong-fedcba9876543210"


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return Locations.from_environment({"HOME": str(tmp_path)})


def first_app(where, found, **more):
    """Return an app without a model; the sessions that it starts are recorded in the list."""
    started = []
    book = SettingsModel(where, Settings(), {})

    def start(name):
        started.append(name)
        return AppSession(FakeClient(), where.data)

    look = found if callable(found) else lambda: found
    app = workbench_app(None, set={"model": None}, settings_model=book, ways=look, start=start, **more)
    book.subscribe(lambda settings: apply_settings(app, settings))
    return app, started


def at_server(server, **more) -> Way:
    """The way to a model of a server that wants a key."""
    return Way("openai/small", "paste a key…", server.base_url, title="House", **more)


async def ready(pilot, row: str = "Demo") -> FirstRunScreen:
    """Wait until the screen lists the models found and accepts enter; return the screen."""
    app = pilot.app
    await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen) and row in text_on(app))
    await wait_until(pilot, lambda: "Looking for" not in text_on(app))
    await armed(pilot)
    return app.screen


async def chosen(pilot, row: str) -> None:
    """Choose a row, and wait until the form that it opens accepts enter."""
    screen = pilot.app.screen
    number = next(at for at, way in enumerate(screen.query_one(WayList).ways) if way.title.startswith(row))
    rows = screen.query_one("#first-rows", OptionList)
    rows.highlighted = number
    await pilot.press("enter")
    await wait_until(pilot, lambda: screen.has_class("-form") or pilot.app.screen is not screen)
    if pilot.app.screen is screen:
        await armed(pilot)


async def paste(pilot, text: str) -> None:
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


def test_what_is_ready_comes_first_and_no_key_is_shown(where, monkeypatch):
    monkeypatch.setattr("workbench.llm.discovery.SERVERS", ())
    for name in ("OPENAI_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    KeyStore(where).save("groq", KEY, "file")
    offered = list(ways(Settings(models={"fast": {"model": "openai/small"}})))
    assert [(way.title, way.what) for way in offered if way.is_ready] == [
        ("fast", "openai/small"),
        ("Anthropic", "ANTHROPIC_API_KEY found"),
        ("Groq", "key in a private file"),
    ]
    assert [way.is_ready for way in offered] == sorted((way.is_ready for way in offered), reverse=True)
    assert "OpenAI" in [way.title for way in offered]
    assert "sk-of-the-test" not in repr(offered)
    assert KEY not in repr(offered)


def test_saved_model_has_a_unique_name():
    assert profile_changes(Way("a/b", profile="fast"), {"fast": {}}) == ("fast", {("model",): "fast"})
    way = Way("openai/q w:8", api_base="http://h/v1")
    saved = {("models", "q-w:8-2", "model"): "openai/q w:8", ("models", "q-w:8-2", "api_base"): "http://h/v1"}
    assert new_profile(way, {"q-w:8"}) == ("q-w:8-2", saved)
    assert profile_changes(way, {"q-w:8": {}}) == ("q-w:8-2", {("model",): "q-w:8-2"} | saved)


def test_saved_model_is_used_again_and_a_new_key_replaces_the_one_it_names():
    table = {"model": "openai/x", "api_base": "http://h/v1", "api_key_env": "MINE"}
    way = Way("openai/x", api_base="http://h/v1")
    assert profile_changes(way, {"mine": table}) == ("mine", {("model",): "mine"})
    name, changes = profile_changes(Way("openai/y", "", "http://h/v1", "mine", has_new_key=True), {"mine": table})
    assert name == "mine"
    assert changes == {
        ("model",): "mine",
        ("models", "mine", "api_key_env"): None,
        ("models", "mine", "model"): "openai/y",
    }


def test_impossible_model_is_reported_before_a_call():
    assert wrong_way(read_way(" openai/x  http://h:8/v1 ")) == ""
    for text in ("gpt-5", "/x", "openai/", "mistral/NAME"):
        assert "Name the model as provider/model" in wrong_way(read_way(text))
    assert "URL" in wrong_way(read_way("openai/x localhost:8000"))


async def test_working_model_is_saved_and_the_session_starts_with_the_typed_text(where):
    app, started = first_app(where, [FAILS, WORKS], message="look at this")
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot, "A scripted one")
        await chosen(pilot, "Works")
        assert not where.settings_file.exists()
        await pilot.press("enter")
        await wait_until(pilot, lambda: started == ["demo"] and isinstance(app.screen, MainScreen))
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == "look at this")
    assert load_settings(where, {}).model == "demo"
    assert load_settings(where, {}).profile("demo").model == "scripted/demo"


async def test_failing_model_gives_the_reason_and_can_be_retried_or_used_anyway(where, monkeypatch):
    app, started = first_app(where, [FAILS])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, "One that is not [/X]")
        assert "\x1b" not in text_on(app)
        await chosen(pilot, "Fails")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✗ " in text_on(app) and "anyway" in text_on(app))
        await armed(pilot)
        await pilot.press("x")
        await wait_until(pilot, lambda: "Enter Test and start" in text_on(app))
        await pilot.press("backspace")
        await wait_until(pilot, lambda: "Enter Start anyway" in text_on(app))
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: "● Testing" in text_on(app))
        await wait_until(pilot, lambda: "✗ " in text_on(app))
        assert started == []
        where.config.parent.mkdir(parents=True, exist_ok=True)
        where.config.write_text("a file in the way")
        notices: list[str] = []
        monkeypatch.setattr(app, "notify", lambda message, **more: notices.append(message))
        await armed(pilot)
        await pilot.press("x", "backspace", "enter")
        await wait_until(pilot, lambda: started == ["none-such"])
        assert any("it is not saved" in message for message in notices)
        assert app.settings.profile("none-such").model == "scripted/none-such"


class WorkingTest:
    """A test call that works."""

    def result(self) -> ModelTestOutcome:
        return ModelTestOutcome(True, "OK")

    def stop(self) -> None:
        """There is nothing to stop."""


@pytest.mark.parametrize(("row", "name"), [("GitHub Copilot", "gpt-5"), ("Other", "github_copilot/gpt-5")])
async def test_copilot_is_chosen_after_a_sign_in_with_a_code(where, monkeypatch, row, name):
    tested = []
    monkeypatch.setattr(
        "workbench.tui.screens.first_run.ModelTest", lambda *model: tested.append(model) or WorkingTest()
    )
    monkeypatch.setenv("GITHUB_COPILOT_TOKEN_DIR", str(where.config / "copilot"))
    app, started = first_app(where, [way for way in ways(Settings()) if way.provider == "github_copilot"])
    with DeviceServer(*["authorization_pending"] * 10_000) as server:
        for variable, value in server.env.items():
            monkeypatch.setenv(variable, value)
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot)
            screen = app.screen
            if row == "GitHub Copilot":
                await pilot.press("1")  # More providers…
                assert "sign in with a code" in text_on(app)
            await chosen(pilot, row)
            field = screen.query_one(ModelInput)
            screen.set_focus(field)
            field.value = name
            await pilot.press("enter")
            await wait_until(pilot, lambda: "ABCD-1234" in text_on(app) and len(server.polls) > 2)
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is screen)
            assert tested == started == []
            await armed(pilot)
            await pilot.press("x", "backspace", "enter")
            await wait_until(pilot, lambda: server.codes == 2)
            server.script.clear()
            await wait_until(pilot, lambda: started == ["gpt-5"])
    assert tested == [("github_copilot/gpt-5", "", "")]
    assert load_settings(where, {}).profile("gpt-5").model == "github_copilot/gpt-5"


@pytest.mark.parametrize("storage", ["keyring", "file"])
async def test_pasted_key_is_masked_tested_and_saved(where, memory_keyring, storage):
    with ModelServer([Turn("Ready.")], key=KEY, names=["small", "big"]) as server:
        app, started = first_app(where, [at_server(server)])
        async with app.run_test(size=(120, 40)) as pilot:
            await ready(pilot, "House")
            await chosen(pilot, "House")
            await wait_until(pilot, lambda: "system keyring" in text_on(app))
            await paste(pilot, f"  {KEY}\n")
            await wait_until(pilot, lambda: "2 models" in text_on(app))
            assert "•cdef" in text_on(app)
            assert KEY[:-4] not in text_on(app)
            if storage == "file":
                await pilot.press("tab", "space")
            await pilot.press("enter")
            await wait_until(pilot, lambda: started == ["small"])
        assert [request.headers["Authorization"] for request in server.requests] == [f"Bearer {KEY}"]
        stored = KeyStore(where).find(key_name("openai/small", server.base_url))
    assert stored.storage == storage
    assert bool(memory_keyring.secrets) == (storage == "keyring")
    assert KEY not in where.settings_file.read_text()


async def test_rejected_key_is_replaced_by_the_next(where):
    with ModelServer([Turn("Ready.")], key=KEY) as server:
        app, started = first_app(where, [at_server(server)])
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot, "House")
            await chosen(pilot, "House")
            await pilot.press(*WRONG, "enter")
            note = "✗ 401: this key was rejected. Paste another one, or Tab to change it."
            await wait_until(pilot, lambda: note in text_on(app))
            assert app.screen.focused is app.screen.query_one(KeyField)
            assert list(KeyStore(where).all()) == []
            await pilot.press(*KEY)
            assert app.screen.query_one(KeyField).key == KEY
            assert await wait_until(pilot, lambda: "401" not in text_on(app)), "the new key was not tested yet"
            await pilot.press("enter")
            await wait_until(pilot, lambda: started == ["small"])


async def test_key_that_cannot_be_saved_starts_nothing(where, memory_keyring):
    with ModelServer([Turn("Ready.")], key=KEY) as server:
        app, started = first_app(where, [at_server(server)])
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot, "House")
            await chosen(pilot, "House")
            await wait_until(pilot, lambda: "system keyring" in text_on(app))
            memory_keyring.is_locked = True
            await paste(pilot, KEY)
            await pilot.press("enter")
            await wait_until(pilot, lambda: "✗ The key is not saved" in text_on(app))
            assert started == []
            await pilot.press("tab", "space", "enter")
            await wait_until(pilot, lambda: started == ["small"])


async def test_models_are_listed_completed_and_chosen_with_the_arrows(where):
    names = ["alpha-1", "beta-2", "beta-3", "embed"]
    with ModelServer([Fault(500)], names=names) as server:
        app, _ = first_app(where, [at_server(server, is_ready=True)])
        async with app.run_test(size=(100, 40)) as pilot:
            await ready(pilot, "House")
            await chosen(pilot, "House")
            await wait_until(pilot, lambda: "4 models" in text_on(app))
            field = app.screen.query_one(ModelInput)
            assert field.has_focus
            field.value = ""
            await pilot.press(*"bet")
            await wait_until(pilot, lambda: "beta-3" in text_on(app) and "alpha-1" not in text_on(app))
            await pilot.press("down", "down")
            assert field.value == "beta-3"
            await pilot.press("up")
            assert field.value == "beta-2"
            assert app.screen.query_one(ProviderForm).way.model == "openai/beta-2"
            field.value = "al"
            await wait_until(pilot, lambda: field._suggestion == "alpha-1")
            await pilot.press("end", "right")
            assert field.value == "alpha-1"


@pytest.mark.parametrize("typed", [(KEY,), (WRONG, KEY)], ids=["right", "wrong first"])
async def test_key_that_is_typed_lists_the_models_and_starts(where, memory_keyring, typed):
    with ModelServer([Turn("Ready.")], key=KEY, names=["small"]) as server:
        app, started = first_app(where, [])
        async with app.run_test(size=(100, 40)) as pilot:
            await ready(pilot)
            await chosen(pilot, "Other")
            app.screen.query_one("#form-address", Input).value = server.base_url
            await pilot.press("tab")
            for key in typed:
                await wait_until(pilot, lambda: isinstance(app.screen.focused, KeyField))
                await pilot.press("ctrl+u", *key, "enter")
                if key == WRONG:
                    await wait_until(pilot, lambda: "✗ 401: this key was rejected" in text_on(app))
            assert await wait_until(pilot, lambda: started == ["small"])


async def test_any_other_model_is_named_with_or_without_a_url(where):
    app, started = first_app(where, [])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await chosen(pilot, "Other")
        form = app.screen.query_one(ProviderForm)
        address = app.screen.query_one("#form-address", Input)
        assert address.has_focus
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✗ Name the model as provider/model" in text_on(app))
        address.value = "http://127.0.0.1:1/v1"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "✗ Name one of the server's models" in text_on(app))
        app.screen.query_one(ModelInput).value = "Qwen/Qwen3"
        assert (form.way.model, form.way.api_base) == ("openai/Qwen/Qwen3", "http://127.0.0.1:1/v1")
        address.value = ""
        app.screen.query_one(ModelInput).value = "scripted/demo"
        await pilot.press("enter")
        assert await wait_until(pilot, lambda: started == ["demo"])


async def test_without_models_the_screen_says_what_to_do_and_offers_the_demo(where):
    demo = FakeClient()
    ways_tried = []
    app, started = first_app(
        where, lambda: list(ways_tried), demo=lambda: AppSession(demo, where.data, "find the fault")
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, "No API keys")
        ways_tried.append(WORKS)
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "A scripted one" in text_on(app))
        await armed(pilot)
        await pilot.press("3")
        await wait_until(pilot, lambda: demo.commands == [("send", "find the fault")])
    assert started == []


@pytest.mark.parametrize("field", ["#form-model", "#form-address"], ids=["model", "url"])
@pytest.mark.parametrize("how", ["pasted", "typed"])
async def test_key_in_another_field_is_moved_to_its_own_and_never_shown(where, field, how, monkeypatch):
    monkeypatch.setattr("workbench.llm.provider_models.PROVIDERS", {})
    app, _ = first_app(where, [])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await chosen(pilot, "Other")
        entered = app.screen.query_one(field, Input)
        app.screen.set_focus(entered)
        entered.value = "old"
        if how == "pasted":
            await paste(pilot, KEY)
        else:
            entered.value = ""
            await pilot.press(*KEY)
        await wait_until(pilot, lambda: app.screen.query_one(ProviderForm).key)
        await wait_until(pilot, lambda: "That looked like an API key" in text_on(app))
        assert KEY.startswith(app.screen.query_one(ProviderForm).key)
        assert entered.value == ("old" if how == "pasted" else "")
        await pilot.pause()
        assert KEY[:12] not in text_on(app)
        assert isinstance(app.focused, KeyField)


async def test_all_providers_are_in_sight_on_a_small_screen(where, monkeypatch):
    monkeypatch.setattr("workbench.llm.discovery.sources_of_servers", list)
    app, _ = first_app(where, lambda: list(ways(Settings())))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, "More providers…")
        await pilot.press("5")
        await wait_until(pilot, lambda: "GitHub Copilot" in text_on(app))
        shown = text_on(app)
        for title in ("Welcome", "Anthropic", "Azure OpenAI", "Other (OpenAI-compatible)", "Demo", "Enter Choose"):
            assert title in shown
        assert app.screen.query_one(WayList).max_scroll_y == 0


async def test_further_providers_follow_on_request(where):
    mistral = Way("mistral/NAME", "paste a key…", title="Mistral")
    app, _ = first_app(where, [WANTS_KEY, mistral])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, "OpenAI")
        assert "Mistral" not in text_on(app)
        await pilot.press("2")
        await wait_until(pilot, lambda: "Mistral" in text_on(app))
        await pilot.press("2")
        await wait_until(pilot, lambda: app.screen.query_one(ProviderForm).border_title == "Mistral")
        assert app.screen.query_one(KeyField).has_focus
        screen = app.screen
        await pilot.press("escape")
        assert await wait_until(pilot, lambda: not screen.has_class("-form"))
        await pilot.press("escape")
        assert await wait_until(pilot, lambda: "Mistral" not in text_on(app))
        assert app.screen is screen
        await pilot.press("escape")
        assert await wait_until(pilot, lambda: app.screen is not screen)


async def test_server_with_several_models_lets_the_user_choose(where, monkeypatch):
    monkeypatch.setattr(first_run, "models_of", lambda way, key: ModelList(("one", "two"), 200))
    app, started = first_app(where, [])
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await chosen(pilot, "Other")
        app.screen.query_one("#form-address", Input).value = "http://127.0.0.1:1/v1"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Choose one of 2 models with ↑↓" in text_on(app))
        assert app.screen.query_one("#form-names").display
        await pilot.press("down", "down")
        assert app.screen.query_one(ProviderForm).way.model == "openai/two"
        assert started == []


def test_model_whose_key_was_rejected_is_not_ready():
    rejected = Way("openai/a", "openai/a", "http://house/v1", "mine", is_ready=True)
    same, other = Way("openai/b", "openai/b", "http://house/v1", "also", is_ready=True), WORKS
    ways = without_key_of(rejected, [rejected, same, other])
    assert [(way.is_ready, way.what) for way in ways] == [
        *[(False, "this key was rejected")] * 2,
        (other.is_ready, other.what),
    ]


async def test_cursor_stays_on_its_row_when_the_models_that_were_looked_for_come(where):
    goes_on = threading.Event()

    def find():
        goes_on.wait()
        return [WORKS, WANTS_KEY]

    app, _ = first_app(where, find)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen) and "Demo" in text_on(app))
        await pilot.press("end", "up")
        goes_on.set()
        await ready(pilot, "OpenAI")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen.has_class("-form"))
        assert app.screen.query_one(ProviderForm).way.title == OTHER.title


async def test_cursor_that_was_not_moved_is_on_the_first_model(where):
    app, _ = first_app(where, [WORKS, WANTS_KEY])
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot, "OpenAI")
        assert screen.query_one(WayList).ways[screen.query_one("#first-rows", OptionList).highlighted] == WORKS


async def test_escape_leads_to_the_welcome_text_and_setup_back_again(where):
    app, _ = first_app(where, [WORKS])
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot, "A scripted one")
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await wait_until(pilot, lambda: "not now" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is screen)
        await chosen(pilot, "Other")
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, MainScreen))
        await wait_until(pilot, lambda: "/setup" in text_on(app))
        await pilot.press(*"/setup", "enter")
        assert await ready(pilot, "A scripted one")


KEYS_OF_FIELDS = {
    "list": (),
    "key": ("1",),
    "storage": ("1", "tab"),
    "model": ("1", "tab", "tab"),
    "address": ("2",),
}


@pytest.mark.parametrize("field", KEYS_OF_FIELDS)
async def test_no_key_or_paste_reaches_the_prompt_behind(where, memory_keyring, field, monkeypatch):
    monkeypatch.setattr("workbench.llm.provider_models.PROVIDERS", {})
    app, started = first_app(where, [WANTS_KEY])
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, "OpenAI")
        await wait_until(pilot, lambda: app.screen.query_one(StorageField).can_focus)
        await pilot.press(*KEYS_OF_FIELDS[field])
        before = app.screen.focused
        await pilot.press(*"go on ?é/@!", "tab", "shift+tab")
        await paste(pilot, "pasted words")
        await pilot.pause()
        assert isinstance(app.screen, FirstRunScreen)
        assert before is not None
        assert app.screen_stack[0].query_one(Prompt).text == ""
    assert started == []


async def test_enter_that_was_typed_ahead_calls_nothing(where, monkeypatch):
    monkeypatch.setattr("workbench.view.approval.quiet_time.QUIET", 3_600.0)  # so the letters always count as recent
    held = threading.Event()
    app, started = first_app(where, lambda: (held.wait(30) and [WORKS]) or [WORKS])
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await pilot.press(*"go on", "enter")
        held.set()
        await wait_until(pilot, lambda: "A scripted one" in text_on(app))
        await pilot.press("enter", "1", "enter")
        assert "Testing" not in text_on(app)
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
