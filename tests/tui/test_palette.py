"""The palette: all commands, found by a few letters, and each entry does what its title says."""

import pytest
from textual.actions import parse
from textual.widgets import Input, OptionList

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.config.modes import MODES
from workbench.errors import WorkbenchError
from workbench.tui.palette_entries import PaletteEntry, PastSession, entries_of, fitting
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.screens.palette import PaletteScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.app_session import AppSession
from workbench.view.commands import COMMANDS

PROFILES = {"fast": {"model": "openai/small"}, "deep": {"model": "anthropic/large"}}


def session(**more):
    client = FakeClient(Script().start().user("Hi.").events)
    return client, workbench_app(client, **more)


async def opened(pilot, *keys):
    app = pilot.app
    await pilot.press("ctrl+p")
    await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen) and app.screen.query(OptionList))
    await pilot.press(*keys)


def rows(app):
    listed = app.screen.query_one(OptionList)
    return [listed.get_option_at_index(at).prompt.plain.strip() for at in range(listed.option_count)]


def entries(app):
    return entries_of(app, app.screen, app.settings, app.screen.submitter.server_prompts.available)


async def test_every_entry_names_an_existing_action():
    _, app = session(set={"models": PROFILES})
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        palette = entries(app)
        for entry in palette:
            target, name, _ = parse(entry.action)
            owner = {"app": app, "": entry.node or app.screen}[target]
            assert hasattr(owner, f"action_{name}"), entry
        labels = [entry.label for entry in palette]
        assert [f"/{command.name}" for command in COMMANDS] == labels[: len(COMMANDS)]
        assert {"fast", "deep", "Plan", "ohw-dusk", "nord", "Maximize a panel"} <= set(labels)


async def test_every_entry_can_be_run(tmp_path):
    client, app = session(set={"models": PROFILES}, demo=lambda: AppSession(FakeClient(), tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        main = app.screen
        for entry in entries(app):
            if entry.action in ("app.quit", "app.session", "app.demo(True)", "edit_outside"):
                continue  # they leave this session, or the screen
            await app.run_action(entry.action, entry.node or main)
            while app.screen is not main:
                await pilot.press("escape")
                await pilot.pause()
        expected = [("model", "fast"), ("model", "deep"), ("mode", "plan"), ("compact",)]
        await wait_until(pilot, lambda: all(command in client.commands for command in expected))
        assert not any("never" in command for command in client.commands), "this mode is confirmed first"
        assert app.is_running


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
async def test_every_row_ends_with_the_kind_of_its_entry(size):
    _, app = session(set={"models": PROFILES})
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: app.screen.has_sessions)
        kinds = {row.split()[-1] for row in rows(app)}
        assert kinds == {"command", "key", "mode", "model", "theme"}


@pytest.mark.parametrize("name", MODES)
async def test_mode_is_found_by_its_name_and_by_its_id(name):
    _, app = session()
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        for query in (MODES[name].label, name):
            assert f"mode({name!r})" in [entry.action for entry in fitting(query, entries(app), 200)]


async def test_entry_shows_the_key_that_does_the_same():
    _, app = session(set={"keys": {"diff": "ctrl+y"}})
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, *"/diff"[1:])
        await wait_until(pilot, lambda: rows(app)[0].startswith("/diff"))
        assert rows(app)[0].split()[-2:] == ["Ctrl+Y", "command"]


async def test_file_entry_mentions_it_in_the_prompt(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/quaint.py").write_text("")
    _, app = session(directory=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, *"quaint")
        await wait_until(pilot, lambda: any(row.startswith("src/quaint.py") for row in rows(app)))
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.screen.query_one(Prompt).text == "@src/quaint.py "


async def test_session_entry_replaces_the_current_session(tmp_path):
    other = FakeClient(Script().start().user("The other one.").events)
    asked = []

    def resume(name):
        asked.append(name)
        if name == "gone":
            raise WorkbenchError("there is no session gone")
        return AppSession(other, tmp_path)

    past = [PastSession("gone", "Deleted since", ""), PastSession("s2", "Mend [/the] roof", "2026-01-01 · roof")]
    client, app = session(sessions=lambda: past, resume=resume)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await opened(pilot, *"deleted")
        await wait_until(pilot, lambda: rows(app) and rows(app)[0].startswith("Deleted since"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: [note.message for note in app._notifications] == ["there is no session gone"])
        assert app.session.client is client
        assert not client.closed
        await opened(pilot, *"roof")
        await wait_until(pilot, lambda: rows(app) and rows(app)[0].startswith("Mend [/the] roof"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.session.client is other and app.state.items)
        assert client.closed
        await wait_until(pilot, lambda: app.screen.query(Prompt))
        await pilot.press("o", "k", "enter")
        await wait_until(pilot, lambda: other.commands == [("send", "ok")])


async def test_palette_over_another_screen_offers_that_screens_keys():
    _, app = session()
    async with app.run_test(size=(120, 40)) as pilot:
        await app.push_screen(DiffViewerScreen((), "/"))
        await opened(pilot)
        offered = rows(app)
        assert not [row for row in offered if row.startswith("/")]
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, DiffViewerScreen))


async def test_mouse_and_arrows_choose_and_escape_changes_nothing():
    client, app = session()
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await opened(pilot, "down", "down", "up", "up", "up")
        listed = app.screen.query_one(OptionList)
        assert listed.highlighted == listed.option_count - 1
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert client.commands == []
        await opened(pilot, *"compact")
        await wait_until(pilot, lambda: rows(app)[0].startswith("/compact"))
        await pilot.click("#palette-list", offset=(3, 0))
        await wait_until(pilot, lambda: len(app.screen_stack) == 1 and client.commands)
        await opened(pilot, *"compact undo")
        await wait_until(pilot, lambda: rows(app)[0].startswith("/compact undo"))
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands == [("compact",), ("compact", "undo")])


@pytest.mark.parametrize(
    ("query", "first"),
    [("th", "/theme"), ("dusk", "ohw-dusk"), ("model deep", "deep"), ("changed", "/diff"), ("zzz", "")],
)
def test_best_match_comes_first(query, first):
    offered = [
        PaletteEntry("command", "/theme", "other colours", ""),
        PaletteEntry("command", "/diff", "what changed", ""),
        PaletteEntry("model", "deep", "anthropic/large", ""),
        PaletteEntry("theme", "ohw-dusk", "", ""),
    ]
    assert [entry.label for entry in fitting(query, offered, 1)] == ([first] if first else [])


async def test_missing_match_is_reported_and_enter_does_nothing():
    _, app = session()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, *"qqqqq", "enter")
        assert isinstance(app.screen, PaletteScreen)
        assert "No match" in str(app.screen.query_one("#keys").render())
        assert app.screen.query_one(Input).value == "qqqqq"


async def test_chosen_palette_entries_come_first_the_next_time():
    _, app = session()
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.items)
        for words in ("problems", "decisions"):
            await pilot.press("ctrl+p", *words)
            await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
            await wait_until(pilot, lambda words=words: app.screen.query_one(Input).value == words)
            await pilot.press("enter")
            await wait_until(pilot, lambda: not isinstance(app.screen, PaletteScreen))
            await pilot.press("escape")
            await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("ctrl+p")
        await wait_until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        listed = app.screen.query_one(OptionList)
        await wait_until(pilot, lambda: listed.option_count)
        first = [listed.get_option_at_index(at).prompt.plain.split()[0] for at in range(3)]
        assert first == ["/decisions", "/problems", "/help"]
