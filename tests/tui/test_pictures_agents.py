"""Golden pictures of a sub-agent that is another program: its questions, and its calls on the timeline."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import AFTER, BEFORE, CALC, begun
from tests.tui.pictures import app_with, in_each_look, show_events, takes_answers, text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.acp_client.calls import REPORT, UNCHECKED
from workbench.acp_client.link import AgentLink
from workbench.acp_client.program import config_of
from workbench.acp_client.run import AgentRun
from workbench.acp_client.tools import tools_of
from workbench.agent.agent_kinds import AgentKind, AgentProgram
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.risk import RatingContext, assess
from workbench.session.actions.assess import reasons, segments
from workbench.session.sub_agents import delegate_step
from workbench.tools.context import ToolContext
from workbench.tools.effects import START_AGENT
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.str_replace_editor import NAME as EDITOR

NAME = "claude-code"
STARTED = {
    "agent": NAME,
    "command": "npx -y @zed-industries/claude-code-acp",
    "variables": ["ANTHROPIC_API_KEY"],
}
MODE = 'mode "Ask (medium+)"'


HELD: Any = SimpleNamespace(holds=True, containment="inside the sandbox", granted=())
"""What a tool sees of a sandbox that holds."""


class OtherAgent:
    """The steps of another agent in a session that has delegated to it."""

    def __init__(self) -> None:
        self.script: Script = begun()
        self.call = self.script.begin("delegate", "LOW", agent=NAME, inputs="Give the sign back, and test it.")
        kind = AgentKind(NAME, "settings", program=AgentProgram("npx", ("-y", "@zed-industries/claude-code-acp")))
        run = AgentRun(AgentLink(config_of(kind, WORKSPACE)))
        self.tools = {tool.name: tool for tool in tools_of(run, ToolContext(WORKSPACE, None, sandbox=HELD))}
        self._count = 0

    def add(self, *events: ev.Event) -> None:
        for event in events:
            step = delegate_step(self.call, NAME, "child", event)
            fields = {each: getattr(step, each) for each in ("action_id", "agent", "session", "event")}
            self.script.add(ev.DelegateStep, **fields)

    def proposed(self, name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        """Propose an action, and return its ID and its rating."""
        tool = self.tools[name]
        self._count += 1
        action = f"a{self._count}"
        self.add(
            ev.ActionProposed(
                action_id=action,
                response_id="r",
                call_id=action,
                tool=tool.name,
                arguments=arguments,
                presentation=tool.recorded_presentation(arguments),
            )
        )
        return action, assess(tool, arguments, RatingContext(WORKSPACE))

    def did(self, tool: str, arguments: dict[str, Any], output: str) -> None:
        """Add an action that has run."""
        name, _ = self.proposed(tool, arguments)
        self.add(
            ev.ActionAssessed(action_id=name, risk="LOW", needs_decision=False, rule=MODE),
            ev.ActionDecided(action_id=name, verdict="approved", by="mode", rule=MODE),
            ev.ActionStarted(action_id=name),
            ev.ActionObserved(
                action_id=name,
                observation={"content": [{"type": "text", "text": output}], "is_error": False},
                duration=0.4,
            ),
        )

    def asks(self, tool: str, arguments: dict[str, Any], **more: Any) -> None:
        """Add an action that waits for the user."""
        name, rated = self.proposed(tool, arguments)
        self.add(
            ev.ActionAssessed(
                action_id=name,
                risk=rated.risk,
                reasons=reasons(rated, shows_diff="preview" in more),
                segments=segments(rated),
                rule=MODE,
                fingerprint="f",
                working_dir=WORKSPACE,
                **more,
            )
        )

    @property
    def events(self) -> list[Any]:
        return [*self.script.events, live.EngineState(state="acting")]


def at_work() -> OtherAgent:
    agent = OtherAgent()
    agent.did(START_AGENT, STARTED, "Claude Code 2.1")
    agent.did(REPORT, {"title": "Read src/calc.py"}, "20 lines")
    agent.did(REPORT, {"title": "Search", "command": "rg -n parse src"}, "3 matches")
    agent.did(SHELL, {"command": "python -m pytest -q"}, "claude-code reports: 1 failed, 11 passed in 0.61 s")
    return agent


def command() -> list[Any]:
    agent = at_work()
    agent.asks(SHELL, {"command": "rm -rf build && python -m pip install -e ."})
    return agent.events


def edit() -> list[Any]:
    agent = at_work()
    arguments = {"command": "str_replace", "path": CALC, "old_str": BEFORE, "new_str": AFTER}
    agent.asks(EDITOR, arguments, preview=(ev.FileDelta(path=CALC, before=BEFORE, after=AFTER),))
    return agent.events


def own_words() -> list[Any]:
    agent = at_work()
    arguments = {"title": "Open a pull request", "input": json.dumps({"server": "github", "draft": True}, indent=1)}
    agent.asks(UNCHECKED, arguments, no_always="only the agent's own words say what it would do")
    return agent.events


def start() -> list[Any]:
    agent = OtherAgent()
    agent.asks(
        START_AGENT,
        STARTED,
        no_always="a rule would allow the program of any agent, also of one that a project defines",
    )
    return agent.events


QUESTIONS = {each.__name__: each for each in (start, command, edit, own_words)}


@in_each_look
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_question(question, look, directory, picture):
    events = question()
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        client.bring(events[-1])
        await wait_until(pilot, lambda: "claude-code" in text_on(app))
        await wait_until(pilot, lambda: takes_answers(app))

    assert picture(app, look, show)


@in_each_look
def test_timeline(look, directory: Path, picture):
    events = at_work().events
    client, app = app_with(events, directory, look.theme)

    async def show(pilot):
        await show_events(pilot, client, events)
        await wait_until(pilot, lambda: "Search" in text_on(app))

    assert picture(app, look, show)
