"""Golden pictures of MCP servers: the screen, and the question of a server's tool."""

import dataclasses

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import assess, begun, finished
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.test_servers_screen import SERVERS, known

__all__ = ["known"]
from workbench.protocol import live
from workbench.protocol.events import AlwaysChoice
from workbench.tui.screens.mcp_servers import ServersScreen


@in_each_look
@pytest.mark.usefixtures("known")
def test_servers(look, directory, picture):
    events = finished()
    client, app = app_with(events, directory, look.theme)
    app.settings = dataclasses.replace(app.settings, mcpServers=SERVERS)

    async def show(pilot):
        await show_events(pilot, client, events)
        app.action_page("servers")
        await wait_until(pilot, lambda: isinstance(app.screen, ServersScreen) and "create_issue" in text_on(app))
        screen = app.screen
        assert isinstance(screen, ServersScreen)
        screen._configs = dataclasses.replace(
            screen._configs, servers=tuple(_placed(each) for each in screen._configs.servers)
        )
        screen._show(0)

    assert picture(app, look, show)


def _placed(server):
    """Return the same server at a constant path."""
    return dataclasses.replace(server, source="~/.config/ohw/settings.toml")


def asked():
    script = begun()
    action = script.propose("create_issue", "LOW", "Open an issue", title="Negative amounts lose their sign")
    assess(
        script,
        action,
        "MEDIUM",
        reasons=("a tool of another program: create_issue of the MCP server tracker",),
        always_choices=(AlwaysChoice(label="create_issue with any arguments", rules=("allow create_issue",)),),
    )
    return [*script.events, live.EngineState(state="deciding")]


@in_each_look
def test_question_of_a_server(look, directory, picture):
    events = asked()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "a tool of another program" in text_on(app))

    assert picture(app, look, show)
