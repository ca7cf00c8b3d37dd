"""Golden pictures of conversation and timeline in use: a search, folded parts, a filter, others' changes."""

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import BEFORE, CALC, answered, begun
from tests.tui.pictures import app_with, in_each_look, show_events
from tests.tui.sample_session import START
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.widgets.activity import Activity
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.conversation_messages import AgentText

README = f"{CALC.rpartition('/src/')[0]}/README.md"


def events():
    script = begun()
    mine = ev.FileDelta(path=CALC, before=BEFORE, after=BEFORE.replace("* 100", "* 1_00"))
    script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", path=CALC, _files=(mine,))
    theirs = ev.FileDelta(path=README, before="# Calc\n", after="# Calc\n\nAmounts, read.\n")
    script.add(ev.FilesChanged, files=(theirs,))
    answered(script, "Now the tests once more.", 9_900)
    script.begin("execute_bash", "HIGH", command="python -m pytest -q && rm -rf .pytest_cache")
    output = live.ToolOutput(action_id=f"a{script.actions}", text="collected 12 items\n\ntests/test_calc.py .......")
    return [*script.events, output, live.EngineState(state="acting")]


async def searching(pilot):
    app = pilot.app
    await pilot.press("ctrl+f", *"parse")
    search_status = lambda: str(app.screen.query_one("#search-found").render())
    await wait_until(pilot, lambda: "8/8" in search_status())
    await pilot.press("up", "up")
    await wait_until(pilot, lambda: "6/8" in search_status())


async def folding(pilot):
    app = pilot.app
    await pilot.press("ctrl+home")
    agent_text = app.screen.query(AgentText).first()
    agent_text.focus()
    await pilot.press("space", "z")
    await wait_until(pilot, lambda: all(card.content_size.height == 1 for card in app.screen.query(ActionCard)))


async def filtering(pilot):
    await pilot.press("f2", "slash", *"file:calc")


async def looking_back(pilot):
    """Scroll back in the conversation while the agent continues."""
    app = pilot.app
    await pilot.press("ctrl+up", "ctrl+up", "f2", "home")
    await wait_until(pilot, lambda: not app.screen.query_one(Conversation).follows)
    last, words = app.state.last_seq, "All twelve pass. I look at what else reads amounts."
    answer = ev.ModelResponded(seq=last + 1, at=START, response_id="r99", model="m", text=words)
    proposed = ev.ActionProposed(
        seq=last + 2, action_id="a99", response_id="r99", call_id="a99", tool="grep", arguments={"pattern": "parse"}
    )
    app.screen.client.bring(answer, proposed)
    await wait_until(pilot, lambda: "2 new" in app.screen.query_one(Activity).render().plain)


WAYS = [searching, folding, filtering, looking_back]


@in_each_look
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_main_screen_in_use(way, look, directory, picture):
    session = events()
    client, app = app_with(session, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, session)
        await way(pilot)

    assert picture(app, look, show)
