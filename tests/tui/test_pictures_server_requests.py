"""Golden pictures of MCP servers without tools: their questions, resources behind `@`, prompts behind `/`."""

from types import SimpleNamespace

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import begun, finished
from tests.tui.pictures import app_with, in_each_look, show_events, takes_answers, text_on
from workbench.config.locations import Locations
from workbench.errors import WorkbenchError
from workbench.mcp.config import find_servers
from workbench.mcp.elicitation import elicit
from workbench.mcp.pins import PinStore
from workbench.mcp.requests import SamplePart, SampleRequest
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.live import PromptReady
from workbench.tui.widgets.composer import Composer
from workbench.tui.widgets.prompt import Prompt

SERVERS = {"tracker": {"url": "https://tracker.example/mcp"}, "time": {"command": "uvx"}}
FORM = {
    "type": "object",
    "properties": {
        "milestone": {
            "type": "string",
            "title": "Milestone",
            "description": "Where the issue belongs.",
            "oneOf": [{"const": "a", "title": "1.4, this week"}, {"const": "b", "title": "2.0, next month"}],
        },
        "watchers": {"type": "integer", "title": "Watchers"},
    },
    "required": ["milestone"],
}


class Listener:
    """Shows the first question of a form as the user would see it."""

    def ask(self, text, options, seconds):
        self.asked = {"question": text, "options": list(options)}
        raise WorkbenchError("enough")


def first_of_form():
    listener = Listener()
    params = SimpleNamespace(mode="form", message="Which milestone does this issue have?", requested_schema=FORM)
    with pytest.raises(WorkbenchError, match="enough"):
        elicit("tracker", params, listener, 60)
    return listener.asked


def wished(tool, arguments, **assessed):
    """Return the events of a session whose server asks the user in the middle of one of its calls."""
    script = begun()
    script.begin("create_issue", "MEDIUM", title="Negative amounts lose their sign")
    call, place = f"a{script.actions}", {"agent": "MCP server tracker", "session": ""}
    proposed = ev.ActionProposed(action_id="mcp-1:1", response_id="", call_id="mcp-1:1", tool=tool, arguments=arguments)
    script.add(ev.DelegateStep, action_id=call, event=proposed, **place)
    asked = ev.ActionAssessed(action_id="mcp-1:1", fingerprint="mcp-1", **assessed)
    script.add(ev.DelegateStep, action_id=call, event=asked, **place)
    return [*script.events, live.EngineState(state="acting")]


def form_of_a_server():
    return wished("ask_human", first_of_form(), risk="LOW", needs_decision=False, needs_answer=True)


def sample_for_a_server():
    texts = (SamplePart("user", "Give this issue a title of at most eight words:\n`-3` is read as `3`."),)
    request = SampleRequest(texts, system="You name issues.", max_tokens=60, temperature=0.2)
    reasons = ("the server wants an answer of your model, which costs; it gets the answer",)
    return wished("mcp_sampling", request.fields, risk="MEDIUM", reasons=reasons, needs_decision=True)


@in_each_look
@pytest.mark.parametrize(
    ("state", "words"),
    [(form_of_a_server, "Where the issue belongs."), (sample_for_a_server, "which costs")],
    ids=["form_of_a_server", "sample_for_a_server"],
)
def test_what_a_server_asks(state, words, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        client.bring(live.EngineState(state="acting"))
        await wait_until(pilot, lambda: words in text_on(app))
        await wait_until(pilot, lambda: takes_answers(app) or "Enter Send" in text_on(app))

    assert picture(app, look, show)


async def test_what_a_server_asks_of_the_model_cannot_be_edited(directory):
    client, app = app_with(sample_for_a_server(), directory, "ohw-dark")
    async with app.run_test() as pilot:
        client.bring(live.EngineState(state="acting"))
        await wait_until(pilot, lambda: takes_answers(app))
        await pilot.press("e")
        await wait_until(pilot, lambda: app._notifications)
        assert "sent unchanged, or not at all" in [note.message for note in app._notifications][-1]


@pytest.fixture
def offered(directory, monkeypatch):
    """Record the offers of the servers, as if each had been started once."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(directory.parent))
    where = Locations.from_environment()
    tracker, clock = find_servers(SERVERS, where.settings_file, directory, ()).servers
    prompts = [
        {
            "name": "triage",
            "description": "Sort the open issues by weight.",
            "arguments": [{"name": "milestone", "required": True}],
        },
        {"name": "thank", "description": "A note of thanks to whoever reported."},
    ]
    resources = [
        {"uri": "issue://417", "name": "Negative amounts lose their sign", "description": "Open, of 1.4"},
        {"uri": "issue://402", "name": "Amounts with blanks", "description": "Closed"},
        {"uri": "milestone://1.4", "name": "1.4", "description": "Due on Friday"},
    ]
    PinStore(where).listed(tracker, [], prompts, resources)
    PinStore(where).listed(clock, [], [], [{"uri": "zone://local", "name": "This machine's time zone"}])


@in_each_look
@pytest.mark.parametrize(
    ("written", "words"),
    [("Read @tracker:", "issue://402"), ("/tracker:", "Sort the open issues")],
    ids=["resources", "prompts"],
)
def test_what_servers_offer_to_write(written, words, look, directory, picture, offered):
    events = finished()
    client, app = app_with(events, directory, look.theme, mcpServers=SERVERS)

    async def show(pilot):
        await show_events(pilot, client, events)
        composer = app.screen.query_one(Composer)
        await wait_until(pilot, lambda: composer.offers.prompts)
        await pilot.press(*written)
        await wait_until(pilot, lambda: words in text_on(app))

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize("state", [finished], ids=["prompt_said"])
def test_what_a_prompt_says_is_looked_at_first(state, look, directory, picture, offered):
    events = state()
    client, app = app_with(events, directory, look.theme, mcpServers=SERVERS)

    async def show(pilot):
        await show_events(pilot, client, events)
        prompt = "Look at the open issues of milestone 1.4.\nSort them by weight, the heaviest first,\nand say why."
        client.bring(PromptReady(server="tracker", text=prompt))
        await wait_until(pilot, lambda: app.screen.query_one(Prompt).text == prompt)

    assert picture(app, look, show)
