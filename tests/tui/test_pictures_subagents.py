"""Golden pictures of work other than the agent's: sub-agents, the user's commands, others' changes, vim."""

from typing import Any

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import AFTER, BEFORE, CALC, begun, plan
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.session.sub_agents import delegate_step
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_files import DiffFiles

ROOT = CALC.rpartition("/src/")[0]


def shared() -> list[Any]:
    """Return a session with one sub-agent done and another at work, a command of the user, and a change by others."""
    script = begun()
    mine = ev.FileDelta(path=CALC, before=BEFORE, after=AFTER)
    script.run("str_replace_editor", "edited", "MEDIUM", command="str_replace", path=CALC, _files=(mine,))
    theirs = (
        ev.FileDelta(path=f"{ROOT}/README.md", before="# Calc\n", after="# Calc\n\nAmounts, read.\n"),
        ev.FileDelta(path=CALC, before=AFTER, after=AFTER.replace("Cents for", "The cents of")),
    )
    script.add(ev.FilesChanged, files=theirs)
    script.add(ev.UserCommand, action_id="p1", command="git diff --stat")
    script.actions += 1
    script.add(ev.ActionStarted, action_id="p1")
    script.end("p1", " 2 files changed, 5 insertions(+)", exit_code=0)
    plan(script, "done", "done", "done", "in_progress")
    script.answer("I have both of them look at it.")
    reviewer = script.begin("delegate", "MEDIUM", agent="reviewer", inputs="Is the sign right everywhere?")
    tester = script.begin("delegate", "MEDIUM", agent="tester", inputs="Run all the tests, the slow ones too.")
    for number, command in enumerate(("git diff", "grep -rn parse src"), 1):
        of_sub_agent(script, reviewer, "reviewer", number, command, "ok", 0)
    of_sub_agent(script, tester, "tester", 1, "python -m pytest -q tests", "11 passed, 1 failed in 3.02 s", 1)
    script.end(reviewer, "The sign is right everywhere.", seconds=12.4)
    of_sub_agent(script, tester, "tester", 2, "python -m pytest -q --slow")
    return [*script.events, live.EngineState(state="acting")]


def of_sub_agent(script, call, name, number, command, output=None, code=0):
    """Add one step of a sub-agent; without an output it is still running."""
    action = f"a{number}"
    steps = [
        ev.ActionProposed(
            action_id=action,
            response_id=f"{name}{number}",
            call_id=action,
            tool="execute_bash",
            arguments={"command": command},
            risk="LOW",
        ),
        ev.ActionAssessed(action_id=action, risk="LOW", needs_decision=False, rule='mode "Ask (medium+)"'),
        ev.ActionDecided(action_id=action, verdict="approved", by="mode", rule='mode "Ask (medium+)"'),
        ev.ActionStarted(action_id=action),
    ]
    if output is not None:
        observed = {"content": [{"type": "text", "text": output}], "is_error": bool(code), "exit_code": code}
        steps.append(ev.ActionObserved(action_id=action, observation=observed, duration=0.4 * number))
    for event in steps:
        step = delegate_step(call, name, f"{name}-session", event)
        script.add(
            ev.DelegateStep, **{each: getattr(step, each) for each in ("action_id", "agent", "session", "event")}
        )


@in_each_look
def test_sub_agents(look, directory, picture):
    events = shared()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "reviewer" in text_on(app))

    assert picture(app, look, show)


@in_each_look
def test_whose_changes(look, directory, picture):
    events = shared()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await pilot.press("f5")
        await wait_until(pilot, lambda: "hunk 1 of" in text_on(app))
        await pilot.press("right_square_bracket")
        files = DiffFiles(app.screen.query_one(AnnotatedDiff))
        await wait_until(pilot, lambda: files.current == 1)

    assert picture(app, look, show)


@in_each_look
def test_vim_keys(look, directory, picture):
    events = shared()
    client, app = app_with(events, directory, look.theme, terminal={"vim": True})

    async def show(pilot):
        await show_events(pilot, client, events)
        await pilot.press(*"Say it in the README, too.", "escape", *"bb")
        await wait_until(pilot, lambda: "NORMAL" in text_on(app))

    assert picture(app, look, show)
