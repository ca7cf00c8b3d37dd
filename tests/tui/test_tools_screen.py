"""/tools lists the agent's tools and their state in the session; /init asks for the notes on the directory."""

import tomllib

import pytest
from textual.widgets import OptionList

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.agent.instructions import notes_request
from workbench.config.locations import Locations
from workbench.config.settings import load_settings
from workbench.tui.screens.tools import ToolsScreen
from workbench.tui.settings.settings_model import SettingsModel
from workbench.view.tools import about_tool, by_origin, counted_tools, on_request, tool_line, tool_rows, why_no_switch
from workbench.view.wrapping import line_width

LISTED = [
    {"name": "grep", "on": True, "why": "by default", "from": "built-in", "annotations": {"readOnlyHint": True}},
    {"name": "issues_close", "on": True, "from": "MCP server issues", "annotations": {"destructiveHint": True}},
    {"name": "browser", "on": False, "why": "by default", "from": "built-in"},
    {"name": "late", "on": True, "from": "built-in"},
    {"name": "rare", "on": True, "from": "built-in", "description": "Seldom \x1b[31m needed"},
]


def test_each_tool_is_below_its_origin_with_its_state_in_this_session():
    rows = tool_rows(LISTED, ("grep", "rare", "find_tools"), {"rare"})
    groups = {origin: [row.name for row in found] for origin, found in by_origin(rows)}
    assert groups == {"built-in": ["grep", "browser", "late", "rare"], "MCP server issues": ["issues_close"]}
    signs = {row.name: row.standing[:2] for row in rows}
    assert signs["grep"] == ("●", "")
    assert signs["browser"] == ("○", "off")
    assert signs["late"] == ("○", "from the next session on")
    assert signs["rare"] == ("◌", "shown to the model when find_tools finds it")
    assert signs["issues_close"][0] == "●"
    assert [row.kind for row in rows] == ["read-only", "", "", "", "can delete files"]
    for row in rows:
        line = "".join(piece.text for piece in tool_line(row, 70))
        assert line_width(tool_line(row, 70)) <= 70
        assert "\x1b" not in line + str(about_tool(row))


def test_kinds_of_sub_agents_follow_the_built_in_tools_and_are_counted_apart():
    kind = {"name": "reviewer", "on": True, "why": "built-in · read-only", "from": "Sub-agents"}
    rows = tool_rows([*LISTED, kind], ("grep", "rare", "find_tools"), {"rare"})
    assert [origin for origin, _ in by_origin(rows)] == ["built-in", "Sub-agents", "MCP server issues"]
    (row,) = [row for row in rows if row.name == "reviewer"]
    assert row.standing == ("●", "", "ok")
    assert "Sub-agents · built-in · read-only" in "".join(piece.text for line in about_tool(row) for piece in line)
    assert counted_tools(rows) == "2 of 5 on · 1 of 1 sub-agents"
    assert not row.has_switch
    assert "the tool delegate" in why_no_switch(row)


def test_server_without_tools_is_not_counted_as_a_tool():
    server = {"name": "MCP server notes", "on": False, "why": "switched off", "from": "MCP server notes"}
    rows = tool_rows([*LISTED, server], ("grep", "rare", "find_tools"), {"rare"})
    assert counted_tools(rows) == "2 of 5 on"
    why = {row.name: why_no_switch(row) for row in rows if not row.has_switch}
    assert why["MCP server notes"] == "/mcp shows this server and why it is off"
    assert "issues_close = false" in why["issues_close"]


async def test_tools_of_a_directory_are_listed_and_described(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    client = FakeClient(Script().start(tools=("execute_bash", "grep")).events)
    app = workbench_app(client, directory=tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.tools)
        await pilot.press(*"/tools", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen) and "of 1" in text_on(app))
        await wait_until(pilot, lambda: "● execute_bash" in text_on(app) and "○ browser" in text_on(app))
        assert "from the next session on" in text_on(app)
        rows = app.screen.query_one(OptionList)
        assert rows.highlighted == 1
        await wait_until(pilot, lambda: "built-in · by default · can delete files" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)


def test_tools_not_found_by_find_tools_are_marked_as_not_shown():
    names = ("grep", "find_tools", *(f"server_{number}" for number in range(60)))
    hidden = set(on_request(names, ["server_59"]))
    assert "server_58" in hidden
    assert not hidden & {"grep", "server_0", "server_59"}


async def test_init_sends_a_message_that_asks_for_the_notes(tmp_path):
    client = FakeClient(Script().start(workspace=str(tmp_path)).events)
    app = workbench_app(client, directory=tmp_path)
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.state.session_id)
        await pilot.press(*"/init", "space", *"short", "enter")
        await wait_until(pilot, lambda: client.commands)
        assert client.commands == [("send", notes_request(tmp_path, "short"))]


def test_existing_notes_are_updated_and_notes_for_other_agents_adopted(tmp_path):
    assert notes_request(tmp_path).startswith("Write AGENTS.md in the top directory")
    (tmp_path / "AGENTS.md").write_text("old")
    (tmp_path / "CLAUDE.md").write_text("other")
    asked = notes_request(tmp_path, "name the ports")
    assert asked.startswith("Refresh AGENTS.md:")
    assert "Take over what CLAUDE.md says." in asked
    assert asked.endswith("name the ports")


SWITCHES = {
    "a built-in tool": ("browser", {}, {"tools": {"browser": True}}),
    "one with parameters, which stay": (
        "grep",
        {"grep": {"most": 5}},
        {"tools": {"grep": {"most": 5, "on": False}}},
    ),
    "a tool of an MCP server": ("issues_close", {}, {}),
}


@pytest.mark.parametrize(("name", "tools", "written"), SWITCHES.values(), ids=SWITCHES)
async def test_space_switches_a_tool_for_new_sessions(tmp_path, name, tools, written):
    where = Locations.from_environment({"HOME": str(tmp_path)})
    where.config.mkdir(parents=True)
    where.settings_file.write_text("".join(f"[tools.{each}]\nmost = 5\n" for each in tools))
    model = SettingsModel(where, load_settings(where, {}), {})

    def find_tools():
        parts = load_settings(where, {}).tools
        listed = [each | {"on": is_on(parts.get(each["name"], each["on"]))} for each in LISTED]
        return tool_rows(listed, (), ())

    def is_on(part):
        return part.get("on", True) if isinstance(part, dict) else part

    app = workbench_app(FakeClient(Script().start().events))
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(ToolsScreen(find_tools, model.switch_tool))
        await wait_until(pilot, lambda: "Tools · 4 of 5 on" in text_on(app))
        rows = app.screen.query_one(OptionList)
        names = [rows.get_option_at_index(at).prompt.plain.split()[1:2] for at in range(rows.option_count)]
        rows.highlighted = names.index([name])
        await pilot.press("space")
        await pilot.pause()
        count = {"browser": 5, "grep": 3, "issues_close": 4}[name]
        await wait_until(pilot, lambda: f"Tools · {count} of 5 on" in text_on(app))
        await wait_until(pilot, lambda: tomllib.loads(where.settings_file.read_text()).items() >= written.items())
        assert rows.get_option_at_index(rows.highlighted).prompt.plain.split()[1] == name
        assert bool(app._notifications) == (not written)
