"""Golden pictures of hooks: what they do on the timeline, and a question about an action that one has changed."""

import pytest

from tests.tui.picture_sessions import answered
from tests.tui.pictures import app_with, in_each_look, show_events
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.hook_run import HookRan

SOURCE = "/home/ada/code/calc/.claude/settings.json"


def ran(script: Script, event: str, name: str, **fields: object) -> None:
    script.add(HookRan, event=event, name=name, source=SOURCE, **{"exit": 0, "duration": 0.012, **fields})


def begun() -> Script:
    script = Script().start(model="anthropic/claude-sonnet-4-5")
    ran(script, "session_start", "conventions.sh", context="Use make check.")
    script.user("-3 is read as 3. Find out why, and fix it.")
    answered(script, "I remove the build, and run the tests.", 12_000)
    return script


def timeline():
    script = begun()
    denied = script.propose("execute_bash", "LOW", "remove the build", command="rm -rf build")
    ran(script, "before_action", "no-rm.py", action_id=denied, exit=2, decision="deny", explanation="use trash")
    script.add(ev.ActionAssessed, action_id=denied, risk="MEDIUM", rule='hook "no-rm.py"', needs_decision=False)
    script.add(ev.ActionDecided, action_id=denied, verdict="rejected", by="rule", rule='hook "no-rm.py"')
    script.add(ev.ActionObserved, action_id=denied, observation={}, ran=False)
    ran(script, "after_action", "format.sh", exit=None, failure="it was ended after its timeout of 10 s")
    ran(script, "run_end", "summary.sh", message="2 files formatted")
    answered(script, "I leave the build as it is.", 13_000)
    script.add(ev.RunEnded, reason="waiting")
    script.events.append(live.EngineState(state="idle"))
    return script.events


def changed():
    script = begun()
    action_id = script.propose("execute_bash", "MEDIUM", "run the tests", command="make test")
    edited = {"command": "nice make test"}
    ran(script, "before_action", "nice.sh", action_id=action_id, decision="change", arguments=edited)
    script.add(
        ev.ActionAssessed,
        action_id=action_id,
        risk="MEDIUM",
        rule='mode "Ask (medium+)"',
        reasons=('hook "nice.sh" changed what the agent proposed', "runs a build"),
        edited=edited,
        fingerprint="f",
        working_dir="/home/ada/code/calc",
        no_always='hook "nice.sh" changed what the agent proposed',
    )
    script.events.append(live.EngineState(state="deciding"))
    return script.events


@in_each_look
@pytest.mark.parametrize("state", [timeline, changed], ids=["timeline", "changed"])
def test_hooks(state, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)

    assert picture(app, look, show)
