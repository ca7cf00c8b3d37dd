"""Golden pictures of the sandbox: the question about leaving it, its page, and the first line."""

from types import SimpleNamespace

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import assess, begun, finished
from tests.tui.pictures import app_with, in_each_look, show_events, takes_answers, text_on
from tests.tui.sample_session import WORKSPACE
from workbench.processes import landlock
from workbench.protocol import live
from workbench.risk import RatingContext
from workbench.risk import assess as rate
from workbench.sandbox.partial_sandbox import gaps
from workbench.session.actions.assess import reasons, segments
from workbench.tools import BashTool
from workbench.tui.screens.pager import PagerScreen


def command_that_leaves():
    """Return the events of a session whose agent asks to run a command outside."""
    script = begun()
    arguments = {
        "command": "docker compose up -d database",
        "outside_sandbox": True,
        "why": "The Docker socket cannot be reached from inside.",
    }
    tool = BashTool(WORKSPACE, sandbox=SimpleNamespace(holds=True, directory=None))
    local = rate(tool, arguments, RatingContext(WORKSPACE, WORKSPACE))
    name = script.propose("execute_bash", "MEDIUM", "Start the database of the tests", **arguments)
    assess(script, name, local.risk, segments=segments(local), reasons=reasons(local, shows_diff=False))
    return [*script.events, live.EngineState(state="deciding")]


@in_each_look
def test_command_that_asks_to_run_outside(look, directory, picture):
    events = command_that_leaves()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "runs outside the sandbox" in text_on(app))
        await wait_until(pilot, lambda: takes_answers(app))

    assert picture(app, look, show)


NO_BUBBLEWRAP = "bubblewrap is not installed"
GRANTED = {
    "sandbox_granted": ("/home/me/notes", "/srv/data"),
    "sandbox_refused": ("/home/me/old cannot be written: there is no such directory",),
}
GAPS = "; ".join(gaps(landlock.SINCE_SCOPES))


@in_each_look
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"sandbox": "workspace-write"}, "Proven at the start"),
        ({"sandbox": "off", "sandbox_reason": NO_BUBBLEWRAP}, "There is no sandbox"),
        ({"sandbox": "partial", "sandbox_reason": NO_BUBBLEWRAP, "sandbox_limit": GAPS}, "The sandbox is partial"),
        ({"sandbox": "workspace-write", **GRANTED}, "By your rules"),
    ],
    ids=["page", "page_without", "page_of_partial", "page_with_directories"],
)
def test_page_of_the_sandbox(state, words, look, directory, picture):
    state = live.EngineState(state="idle", **state)
    events = [*finished()[:-1], live.EngineState(state="idle")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(state)
        await wait_until(pilot, lambda: app.state.sandbox == state.sandbox)
        await pilot.press(*"/sandbox", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, PagerScreen) and words in text_on(app))

    assert picture(app, look, show)


@in_each_look
@pytest.mark.parametrize(
    ("sandbox", "words"),
    [("workspace-write", "sandbox"), ("off", "no sandbox"), ("partial", "partial sandbox")],
    ids=["first_line", "first_line_without", "first_line_of_partial"],
)
def test_first_line_says_whether_there_is_one(sandbox, words, look, directory, picture):
    reason = NO_BUBBLEWRAP if sandbox != "workspace-write" else ""
    state = live.EngineState(state="idle", sandbox=sandbox, sandbox_reason=reason)
    events = [*begun().events, live.EngineState(state="idle")]
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        client.bring(state)
        await wait_until(pilot, lambda: app.state.sandbox == sandbox and words in text_on(app))

    assert picture(app, look, show)
