"""Any text of models, tools and files: each widget and screen shows it as plain text, and none ends the app."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev
from workbench.text import well_formed

MARKUP = "[red]x[/]"
PIECES = [
    "[/foo]",
    "[@click=app.quit]",
    "[$error",
    "[b]",
    "]",
    "\\",
    "\x1b[31m",
    "\x07",
    "\u202e",
    "\u200d",
    "\n",
    "```",
    "|",
]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=8).map("".join).map(well_formed)
FEW = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def session_of(texts: list[str]) -> Script:
    """Return a session with each text wherever outside text can appear; the last action waits."""
    script = Script().start()
    for number, each in enumerate(texts):
        text = MARKUP + each
        script.user(text).answer(text, reasoning=text)
        path = f"{WORKSPACE}/{text.replace('/', '')}"
        delta = ev.FileDelta(path=path, before=text, after=f"{text}\n{number}")
        script.run("execute_bash", text, summary=text, command=text, _exit_code=1)
        script.run("str_replace_editor", text, command="create", path=path, file_text=text, _files=(delta,))
        script.run(
            "task_tracker", command="plan", task_list=[{"id": "1", "title": text, "notes": text, "status": "todo"}]
        )
        script.run(text, text, **{"argument": text})
        script.run("ask_human", text, question=text, options=[text])
        script.add(ev.SettingsChanged, rule=f"allow $ {text}")
        script.add(ev.RunEnded, reason="error", detail=text)
    return script


def screen_text(app) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def walk(script: Script) -> None:
    """Open the main screen and all screens from it; `MARKUP` must be readable on each."""
    waiting = script.ask("execute_bash", summary=MARKUP, command=f"echo {MARKUP}{script.events[1].text}")
    client = FakeClient()
    app = workbench_app(client)
    async with app.run_test(size=(140, 45)) as pilot:
        client.bring(*script.events)
        await wait_until(pilot, lambda: type(app.screen).__name__ == "ApprovalScreen" and MARKUP in screen_text(app))
        await pilot.press("escape")
        main = app.screen_stack[0]
        await wait_until(pilot, lambda: app.screen is main and MARKUP in screen_text(app))
        for action_id in [name for name in app.state.actions if name != waiting][-6:]:
            main.post_message(_chosen(action_id))
            await wait_until(pilot, lambda: app.screen is not main and MARKUP in screen_text(app))
            await pilot.press("q")
            await wait_until(pilot, lambda: app.screen is main)
        for action, name in (("diff", "DiffViewerScreen"), ("app.page('rules')", "RulesScreen")):
            await main.run_action(action)
            await wait_until(pilot, lambda name=name: type(app.screen).__name__ == name and MARKUP in screen_text(app))
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is main)


def _chosen(action_id: str):
    from workbench.tui.messages import ActionChosen

    return ActionChosen(action_id)


@pytest.mark.starts
@FEW
@given(st.lists(TEXTS, min_size=3, max_size=3))
def test_no_text_ends_the_app_or_becomes_markup(texts):
    asyncio.run(walk(session_of(texts)))
    assert texts
