"""Golden pictures of the agent's question: the card with options, without, and postponed."""

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import in_each_look
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.usage import Usage
from workbench.tui.screens.agent_question import AnswerScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


def asked(*options: str) -> Script:
    script = Script().start(model="anthropic/claude-sonnet-4-5").user("Let the report sort its rows.")
    script.answer(
        "The rows have a date and an amount; I look at the report first.", usage=Usage(input=8_300, output=90)
    )
    script.run("execute_bash", "README.md\nsrc\ntests", command="ls", _exit_code=0)
    question = "By which column shall the report sort its rows when none is given?"
    action_id = script.propose("ask_human", question=question, options=list(options))
    script.add(
        ev.ActionAssessed, action_id=action_id, risk="LOW", fingerprint="f", needs_decision=False, needs_answer=True
    )
    return script


def with_options() -> Script:
    return asked("date, newest first", "amount, largest first", "as they are in the file")


def without_options() -> Script:
    return asked()


def postpone() -> Script:
    return with_options()


STATES = [with_options, without_options, postpone]


@in_each_look
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_question(state, look, picture):
    client = FakeClient(state().events)
    app = workbench_app(client)

    async def show(pilot):
        client.bring(live.EngineState(state="deciding"))
        await wait_until(pilot, lambda: app.state.work == "deciding" and isinstance(app.screen, AnswerScreen))
        await wait_until(pilot, lambda: "Enter Send" in str(app.screen.query_one("#keys").render()))
        if state is postpone:
            await pilot.press("escape")
            await wait_until(pilot, lambda: not isinstance(app.screen, AnswerScreen))

    assert picture(app, look, show)
