"""Changing the model in the middle of a conversation: by name, from the list, from the palette."""

from textual.widgets import OptionList

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.errors import WorkbenchError
from workbench.protocol import events as ev
from workbench.tui.screens.model_choice import ModelChoice
from workbench.tui.screens.palette import PaletteScreen
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
    script.answer("Hello.", usage=ev.Usage(input=62_400, output=5, window=200_000))
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
        assert rows(app) == ["  fast  openai/small", "● deep  anthropic/large  now"]
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
        await pilot.press("t")
        note = app.screen.query_one("#models-note")
        await wait_until(pilot, lambda: note.render().plain.startswith("✗ "))
        assert "none-such" in note.render().plain


async def test_models_with_a_detected_key_are_listed_without_profiles(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    app = workbench_app(FakeClient(Script().start(model="openai/x").user("Hi.").events), set={"model": "openai/x"})
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: "openai" in status_line(app) or "x" in status_line(app))
        await typed(pilot, "/model")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelChoice))
        assert "  anthropic/claude-sonnet-4-5" in rows(app)
