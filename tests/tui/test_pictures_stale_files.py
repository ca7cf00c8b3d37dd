"""Golden pictures of a file changed since the agent saw it, and of a partly accepted change."""

import pytest
from msgspec.structs import replace

from tests.tui.picture_sessions import AFTER, BEFORE, CALC, answered
from tests.tui.pictures import app_with, in_each_look, show_events
from tests.tui.sample_session import Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.stale_file import StaleFile
from workbench.session.actions.stale_files import stale_reasons

WANTED = AFTER.replace('"""Reads amounts as people write them."""', '"""Reads amounts as people write them: -3.50."""')
THEIRS = BEFORE.replace(
    "    return sum(parse(line) for line in lines if line.strip())\n",
    "    amounts = [parse(line) for line in lines if line.strip()]\n    return sum(amounts)\n",
)
MERGED = WANTED.replace(BEFORE[BEFORE.index("    return sum") :], THEIRS[THEIRS.index("    amounts") :])


def begun() -> Script:
    script = Script().start(model="anthropic/claude-sonnet-4-5").user("-3 is read as 3. Find out why, and fix it.")
    answered(script, "The sign is read and then forgotten. I put it back.", 12_000)
    return script


def stale_file():
    script = begun()
    action_id = script.propose("str_replace_editor", "MEDIUM", "keep the sign", command="str_replace", path=CALC)
    stale = StaleFile(path=CALC, seen=BEFORE, theirs=THEIRS, wanted=WANTED, conflicts=0, by="other")
    script.add(
        ev.ActionAssessed,
        action_id=action_id,
        risk="MEDIUM",
        rule='mode "Ask (medium+)"',
        reasons=stale_reasons([stale]),
        preview=(ev.FileDelta(path=CALC, before=THEIRS, after=MERGED),),
        stale=(stale,),
        fingerprint="f",
        working_dir="/home/ada/code/calc",
    )
    script.events.append(live.EngineState(state="deciding"))
    return script.events


def in_part():
    script = begun()
    delta = ev.FileDelta(path=CALC, before=BEFORE, after=WANTED)
    action_id = script.ask("str_replace_editor", "MEDIUM", (delta,), command="str_replace", path=CALC)
    written = (ev.FileText(path=CALC, text=AFTER),)
    script.add(ev.ActionDecided, action_id=action_id, verdict="edited", by="person", hunks=(1,), written=written)
    script.add(ev.ActionStarted, action_id=action_id)
    script.end(action_id, "told", files=(replace(delta, after=AFTER),))
    answered(script, "I leave the first line as it is.", 13_000)
    script.add(ev.RunEnded, reason="waiting")
    script.events.append(live.EngineState(state="idle"))
    return script.events


@in_each_look
@pytest.mark.parametrize("state", [stale_file, in_part], ids=lambda state: state.__name__)
def test_files_that_are_not_as_proposed(state, look, directory, picture):
    events = state()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)

    assert picture(app, look, show)
