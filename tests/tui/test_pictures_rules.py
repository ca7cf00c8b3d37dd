"""Golden pictures of the Rules screen."""

import pytest
from textual.widgets import Input

from tests.tui.app_driver import wait_until
from tests.tui.decision_files import MODE, act, keep_all_kinds
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.session_files import keep
from workbench.rules.rule import parse_rule
from workbench.tui.screens.rules import RulesScreen

RULES = """[[allow]]
command = "npm test *"

[[ask]]
path = "src/calc.py"

[[deny]]
command = "git push *"
"""


@in_each_look
def test_rules(look, directory, picture, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory.parent))
    (directory.parent / "ohw").mkdir()
    (directory.parent / "ohw/rules.toml").write_text(RULES)
    events = finished()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        app.state.rules = (parse_rule("allow str_replace_editor in src/calc.py").text,)
        app.action_page("rules")
        await wait_until(pilot, lambda: isinstance(app.screen, RulesScreen) and "fits" in text_on(app))
        entry = app.screen.query_one("#rules-new", Input)
        entry.focus()
        entry.value = "allow $ python -m pytest *"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "would have decided" in text_on(app))

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("rule", ["allow $ pytest *", "deny $ git push *"], ids=["lab_allow", "lab_deny"])
def test_a_rule_tried_on_all_sessions(rule, look, directory, picture, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(directory.parent / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory.parent))
    keep_all_kinds()
    (directory.parent / "ohw").mkdir()
    (directory.parent / "ohw/rules.toml").write_text(RULES)
    commands = [f"pytest -q tests/test_{at}.py" for at in range(4)]
    more = [act(f"{command}!", "execute_bash", "MEDIUM", "person", "", MODE, command=command) for command in commands]
    keep("s3", "More", *(event for events in more for event in events), workspace="/home/ada/code/shop")
    events = finished()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        app.action_page("rules")
        await wait_until(pilot, lambda: isinstance(app.screen, RulesScreen) and "fits" in text_on(app))
        entry = app.screen.query_one("#rules-new", Input)
        entry.focus()
        entry.value = rule
        await pilot.press("enter")
        await wait_until(pilot, lambda: "In all sessions (3 sessions, 19 decisions):" in text_on(app) or not look.width)

    assert picture(app, look, show)
