"""Help: each guide page is a topic, and every key of the focused widget is listed, on every kind of screen."""

import re
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widgets import Input, Markdown

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.picture_sessions import finished
from tests.tui.pictures import text_on
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.tui.key_names import key_groups, key_name
from workbench.tui.screens.help import GUIDES, SUMMARIES, HelpScreen, guide_summaries, topics
from workbench.tui.settings.settings_model import SettingsModel

NAMED = ["start", "approving", "reviewing", "models", "tools", "keys", "settings", "sessions", "safety", "extending"]
PANELS = {"f2": ("timeline", "timeline"), "f3": ("tasks", "plan"), "f4": ("changes", "changes")}


def bindings_of(node):
    """Return the bindings that its classes declare, whether or not the screen knows of them."""
    bindings = [each for kind in type(node).__mro__ for each in vars(kind).get("BINDINGS", ())]
    return [Binding(*each) if isinstance(each, tuple) else each for each in bindings]


def unlisted(screen):
    """Return the keys of the focused widget that work but are not in the help."""
    keys_listed = {key for group in key_groups(screen) for keys, _ in group.rows for key in keys.split()}
    working = {active.binding.key for active in screen.active_bindings.values() if active.enabled}
    missing = []
    for binding in bindings_of(screen.focused):
        keys = [key.strip() for key in binding.key.split(",") if key.strip() in working]
        if binding.id and binding.description and keys and not any(key_name(key) in keys_listed for key in keys):
            missing.append(binding.id)
    return missing


def test_every_guide_is_a_topic_of_the_help():
    assert set(topics()) == {path.stem for path in GUIDES.glob("*.md")}
    assert set(NAMED) <= set(topics())
    assert next(iter(topics())) == "start"
    for name, title in topics().items():
        text = (GUIDES / f"{name}.md").read_text()
        assert re.match(rf"# {re.escape(title)}\n", text)
        assert 3 <= len(title) <= 14


def test_every_guide_has_one_line_that_fits_beside_its_title():
    assert set(SUMMARIES) == {path.stem for path in GUIDES.glob("*.md")}
    for name, summary in SUMMARIES.items():
        assert 20 <= len(summary) <= 75, name
        assert summary[0].isupper()
        assert summary[-1] not in ".:"
    assert guide_summaries()["Settings"] == SUMMARIES["settings"]
    assert len(set(SUMMARIES.values())) == len(SUMMARIES)


@pytest.mark.parametrize(("columns", "has_topics"), [(60, True), (59, False)])
async def test_narrow_help_has_no_column_of_topics(columns, has_topics):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(columns, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.changes)
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen) and "In the prompt" in text_on(app))
        assert ("Approving" in text_on(app)) is has_topics
        await pilot.press("down")
        await wait_until(pilot, lambda: app.screen.query_one(Markdown).source.startswith("# Start"))


async def test_every_guide_opens_at_its_beginning_and_escape_returns():
    app = workbench_app(FakeClient([event for event in finished() if getattr(event, "seq", 0)]))
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.screen
        await wait_until(pilot, lambda: app.state.changes)
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        markdown, scroll = app.screen.query_one(Markdown), app.screen.query_one("#help-text")
        for name, title in topics().items():
            await pilot.press("down")
            await wait_until(pilot, lambda name=name: markdown.source == (GUIDES / f"{name}.md").read_text())
            await wait_until(pilot, lambda title=title: str(markdown.query("MarkdownBlock").first().render()) == title)
            assert scroll.scroll_offset.y == 0
            assert len(markdown.query("MarkdownBlock")) >= 3
        await pilot.press("escape")
        assert await wait_until(pilot, lambda: app.screen is main)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_every_key_of_each_panel_is_listed(size):
    app = workbench_app(FakeClient([event for event in finished() if getattr(event, "seq", 0)]))
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.state.changes)
        for key, (panel, name) in PANELS.items():
            await pilot.press(key)
            await wait_until(pilot, lambda panel=panel: app.focused is not None and app.focused.id == panel)
            assert unlisted(app.screen) == []
            await pilot.press("question_mark")
            await wait_until(pilot, lambda: app.screen.id == "help-screen")
            assert isinstance(app.screen, HelpScreen)
            first = app.screen.groups[0]
            assert first.title == f"In the {name}"
            assert ("Enter", "Open") in first.rows
            assert app.screen.groups[-1].title == "Everywhere"
            await pilot.press("escape")
            await wait_until(pilot, lambda: len(app.screen_stack) == 1)


SCREENS = ["settings", "sessions", "palette", "model", "change_theme", "page('rules')", "diff"]


@pytest.mark.parametrize("action", SCREENS)
async def test_help_lists_each_screens_keys_and_escape_returns(action, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    book = SettingsModel(Locations.from_environment({"HOME": str(tmp_path)}), Settings(), {})
    client = FakeClient([event for event in finished() if getattr(event, "seq", 0)])
    app = workbench_app(
        client, settings_model=book, directory=Path(tmp_path), set={"models": {"fast": {"model": "openai/x"}}}
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.state.changes)
        main = app.screen
        app.call_later((app if hasattr(app, f"action_{action.partition('(')[0]}") else main).run_action, action)
        await wait_until(pilot, lambda: app.screen is not main and app.screen.focused is not None)
        over = app.screen
        assert unlisted(over) == []
        await pilot.press("f1" if isinstance(over.focused, Input) else "question_mark")
        await wait_until(pilot, lambda: app.screen.id == "help-screen")
        assert isinstance(app.screen, HelpScreen)
        assert any("Esc" in keys.split() for group in app.screen.groups for keys, _ in group.rows)
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is over)
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.screen is main)


SEARCHES = {
    "a key": ("shift+tab", "Next mode", "Ctrl+Home"),
    "words of an effect": ("narrower panels", "Alt+Right", "Ctrl+Home"),
    "words of a guide only": ("temperature reasoning_effort", "Any model that litellm supports", "Ctrl+Home"),
    "nothing": ("zzqx", "No match", "Ctrl+Home"),
}


@pytest.mark.parametrize(("words", "is_shown", "is_hidden"), SEARCHES.values(), ids=SEARCHES)
async def test_search_field_narrows_keys_and_guides_and_escape_clears_it_first(words, is_shown, is_hidden):
    app = workbench_app(FakeClient(finished()))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.changes)
        await pilot.press("f1")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen) and is_hidden in text_on(app))
        line = app.screen.query_one(Input)
        assert line.has_focus
        line.insert_text_at_cursor(words)
        await wait_until(pilot, lambda: is_hidden not in text_on(app))
        await wait_until(pilot, lambda: is_shown in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: is_hidden in text_on(app))
        await pilot.press("escape")
        assert await wait_until(pilot, lambda: not isinstance(app.screen, HelpScreen))
