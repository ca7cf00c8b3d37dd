"""The user's own status line: what a template shows, and what is reported about an invalid one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import Script
from workbench.config.locations import Locations
from workbench.config.settings import load_settings, read_terminal
from workbench.errors import UsageError
from workbench.tui.widgets.status_line import StatusLine, filled_template
from workbench.view.state import SessionState

STATE = SessionState(model="acme/large", mode="medium", input_tokens=50_000, window=200_000, cost=0.5)


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{directory} ({branch})", "/srv/shop (main*)"),
        ("{model} {context} {cost} {mode}", "large 25% of 200k $0.50 Ask (medium+)"),
        ("[b]mine[/b]", "[b]mine[/b]"),
    ],
)
def test_fields_are_filled_and_other_text_is_literal(template, line):
    assert filled_template(template, STATE, Path("/srv/shop"), "main*", 80).plain == line


@pytest.mark.parametrize("template", ["{model}", "x" * 200])
@pytest.mark.parametrize("width", [20, 80])
def test_not_saved_is_always_shown(template, width):
    state = SessionState(model="acme/large", unsaved=True)
    line = filled_template(template, state, Path("/srv/shop"), "", width)
    assert line.plain.endswith("✗ not saved")
    assert line.cell_length <= width


@pytest.mark.parametrize(
    ("template", "message"),
    [("{modle}", "no field {modle}.*model"), ("{model", "braces"), ("a\nb", "one line"), ("{}", "no field")],
)
def test_an_invalid_template_is_reported(template, message):
    with pytest.raises(UsageError, match=message):
        read_terminal({"status_line": template})


def test_an_invalid_field_is_reported_with_its_line_and_the_default_used(sandbox):
    locations = Locations.from_environment(sandbox.env)
    locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    locations.settings_file.write_text('[terminal]\nbell = false\nstatus_line = "{modle}"\n')
    settings = load_settings(locations, {}, lenient=True)
    assert [line for line in settings.problems if ":3: " in line and "{modle}" in line]
    assert read_terminal(settings.terminal).status_line == ""


async def test_the_screen_shows_the_template():
    app = workbench_app(FakeClient(Script().start().events), set={"terminal": {"status_line": "mine: {mode}"}})
    async with app.run_test(size=(80, 24)) as pilot:
        status = app.screen.query_one(StatusLine)
        await wait_until(pilot, lambda: app.state.session_id)
        assert status.render().plain == "mine: Ask (medium+)"
