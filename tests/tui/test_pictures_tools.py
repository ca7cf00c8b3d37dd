"""Golden pictures of the Tools screen: built-in ones, those of a server and of a document, on, off and on demand."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from workbench.tui.screens.tools import ToolsScreen
from workbench.view.tools import tool_rows

PARAMETERS = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "One command, or a script of several lines."},
        "timeout": {"type": "number", "description": "Seconds until it comes back."},
    },
    "required": ["command"],
}
READS = {"readOnlyHint": True, "idempotentHint": True}
LISTED = [
    {
        "name": "execute_bash",
        "description": "Run a command in a bash shell that stays open.\nDirectory and variables last between calls.",
        "on": True,
        "why": "by default",
        "from": "built-in",
        "annotations": {"destructiveHint": True, "openWorldHint": True},
        "inputSchema": PARAMETERS,
    },
    {"name": "grep", "description": "Find lines in files.", "on": True, "from": "built-in", "annotations": READS},
    {"name": "browser", "description": "Drive a browser.", "on": False, "why": "by default", "from": "built-in"},
    {
        "name": "reviewer",
        "description": "Reviews changes or files; only reads.\n\nYou review code.",
        "on": True,
        "why": "built-in · read-only · tools: execute_bash, str_replace_editor, glob, grep",
        "from": "Sub-agents",
    },
    {
        "name": "tester",
        "description": "Runs the tests and reports what fails.\n\nRun them twice.",
        "on": True,
        "why": "tools: terminal · model: fast",
        "from": "Sub-agents",
        "source": "/code/shop/.agents/agents/tester.md",
    },
    {"name": "issues_create", "description": "Open an issue.", "on": True, "from": "MCP server issues"},
    {"name": "issues_find", "on": True, "from": "MCP server issues", "annotations": READS},
    {"name": "MCP server notes", "on": False, "why": "switched off", "from": "MCP server notes"},
]


def show_tools(client, app, events, *keys, until="optional"):
    """Return a function that opens the list of tools, presses the keys and waits for a text."""
    rows = tool_rows(LISTED, ("execute_bash", "grep", "issues_create", "issues_find"), {"issues_find"})

    async def show(pilot):
        await show_events(pilot, client, events)
        app.push_screen(ToolsScreen(lambda: rows))
        await wait_until(pilot, lambda: isinstance(app.screen, ToolsScreen) and "optional" in text_on(app))
        await pilot.press(*keys)
        await wait_until(pilot, lambda: until in text_on(app))

    return show


@in_each_look
def test_sub_agents_among_the_tools(look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)
    show = show_tools(client, app, events, *["down"] * 4, until="Run them twice.")
    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("state", [LISTED], ids=["tools"])
def test_tools(state, look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)
    assert picture(app, look, show_tools(client, app, events))
