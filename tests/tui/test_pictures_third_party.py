"""A tool of another package has icon, rating and preview in each front end, without a change in `workbench`."""

import tomllib
from pathlib import Path

import pytest

from tests.plain.test_plain import SHAPE, answer, asked, leave, log
from tests.sandbox import Sandbox, finish
from tests.terminal.terminal import Terminal
from tests.test_own_tools import environment_with
from tests.third_party.send_note import SendNote
from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import assess, begun
from tests.tui.pictures import app_with, in_each_look, show_events, text_on
from tests.tui.sample_session import WORKSPACE, Script, fold
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.codec import encode
from workbench.protocol.event_base import EventBase
from workbench.risk import RatingContext
from workbench.risk import assess as assess_call
from workbench.session.actions.assess import reasons, segments
from workbench.tools import SelfRated, ToolDefinition
from workbench.view.formatting.actions import action_line, tool_sign

PACKAGE = Path(__file__).parents[1] / "third_party"
EVERYONE = {"channel": "everyone", "text": "lunch at noon"}
TEAM = {"channel": "team", "text": "the parser is fixed"}


def turn(arguments: dict[str, str]) -> dict[str, object]:
    return {"tool": "send_note", "risk": "LOW", "arguments": arguments}


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The Python of an environment in which the package is installed."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())
    return environment_with(tmp_path / "environment", project, (PACKAGE / "send_note.py").read_text())


def test_line_by_line_also_after_it_was_uninstalled(sandbox: Sandbox, python: Path):
    args = ["go", "--plain", "--model", sandbox.script(turn(TEAM), turn(EVERYONE), finish()), "--mode", "high"]
    with Terminal([*args, "--workspace", str(sandbox.project)], *SHAPE, sandbox.env, python=python) as terminal:
        asked(terminal, "Yes or no?")
        text = terminal.text()
        assert "Step 1: note to team: the parser is fixed" in text
        assert "Step 1: done: 1 line added, 0 removed" in text
        assert "Risk HIGH" in text
        assert "the tool says: the whole company reads it" in text
        assert "- lunch at noon" in text
        answer(terminal, "no")
        answer(terminal, "not now", "(optional):")
        leave(terminal)
    assert (sandbox.project / ".notes/team.md").read_text() == "- the parser is fixed\n"
    assert not (sandbox.project / ".notes/everyone.md").exists()
    with Terminal(["resume", "--last", "--plain"], *SHAPE, sandbox.env) as terminal:
        leave(terminal)
        assert "Step 1: note to team: the parser is fixed" in terminal.text()
    proposed = [event for event in log(sandbox) if isinstance(event, ev.ActionProposed)]
    assert [event.presentation is None for event in proposed] == [False, False, True]


def noted(script: Script, tool: ToolDefinition, arguments: dict[str, str], before: str | None) -> str:
    """Propose a note as a session does, with the rating and the preview of the tool."""
    name = script.propose("send_note", "LOW", "Tell them", **arguments)
    recorded = ev.ActionProposed.__struct_fields__
    last = script.events[-1]
    script.events[-1] = ev.ActionProposed(
        **{field: getattr(last, field) for field in recorded if field != "presentation"},
        presentation=tool.recorded_presentation(arguments),
    )
    rated = assess_call(tool, arguments, RatingContext(WORKSPACE))
    path = f"{WORKSPACE}/.notes/{arguments['channel']}.md"
    files = (ev.FileDelta(path=path, before=before, after=f"{before or ''}- {arguments['text']}\n"),)
    assess(script, name, rated.risk, preview=files, segments=segments(rated), reasons=reasons(rated, shows_diff=True))
    return name


def session(tool: ToolDefinition) -> list[EventBase]:
    script = begun()
    first = noted(script, tool, TEAM, "- the parser fails\n")
    script.add(ev.ActionDecided, action_id=first, verdict="approved", by="person")
    script.add(ev.ActionStarted, action_id=first)
    change = ev.FileDelta(
        path=f"{WORKSPACE}/.notes/team.md", before="- the parser fails\n", after="- the parser fails\n- it is fixed\n"
    )
    script.end(first, "The note is for team.", words=4, files=(change,))
    noted(script, tool, EVERYONE, None)
    return [*script.events, live.EngineState(state="deciding")]


@in_each_look
@pytest.mark.parametrize("closes", [False, True], ids=["question", "timeline"])
def test_in_the_question_and_on_the_timeline(closes, look, directory, picture):
    events = session(SendNote(WORKSPACE))
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "§ send_note" in text_on(app))
        if closes:
            await pilot.press("escape")
            await wait_until(pilot, lambda: "Esc Not now" not in text_on(app))

    assert picture(app, look, show)


def test_the_presentation_survives_the_log_and_the_name_of_a_built_in_tool_keeps_its_own():
    recorded = SendNote(WORKSPACE).recorded_presentation(TEAM)
    script = Script().start()
    fields = {"response_id": "r", "call_id": "c", "presentation": recorded}
    script.add(ev.ActionProposed, action_id="a1", tool="send_note", arguments=TEAM, **fields)
    script.add(ev.ActionProposed, action_id="a2", tool="execute_bash", arguments={"command": "ls"}, **fields)
    script.add(ev.ActionProposed, action_id="a3", tool="gone", arguments={"city": "Rome"}, response_id="", call_id="")
    state = fold([ev.event_from_json(encode(event)) for event in script.events])
    lines = [(tool_sign(item), action_line(item)) for item in state.actions.values()]
    assert lines == [("§", "to team: the parser is fixed"), ("$", "ls"), ("◆", "gone city=Rome")]


class Modest(SendNote):
    """A tool that declares itself harmless."""

    says = SelfRated("LOW", "it is not read")

    def assess(self, arguments, context):
        return (self.says,)


@pytest.mark.parametrize(
    ("says", "risk"),
    [
        (SelfRated("LOW", "it is not read"), "UNKNOWN"),
        (SelfRated("UNKNOWN", "who knows"), "UNKNOWN"),
        (SelfRated("MEDIUM", "some read it"), "MEDIUM"),
        (SelfRated("NONE", "it is not read"), "HIGH"),
        ("LOW", "HIGH"),
    ],
)
def test_a_tool_only_raises_its_own_rating(monkeypatch, says, risk):
    monkeypatch.setattr(Modest, "says", says)
    assert assess_call(Modest(WORKSPACE), TEAM, RatingContext(WORKSPACE)).risk == risk
