"""Golden pictures of the Rules screen."""

from textual.widgets import Input

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
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
        app.action_rules()
        await wait_until(pilot, lambda: isinstance(app.screen, RulesScreen) and "fits" in text_on(app))
        entry = app.screen.query_one("#rules-new", Input)
        entry.focus()
        entry.value = "allow $ python -m pytest *"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "would have decided" in text_on(app))

    assert picture(app, look, show)
