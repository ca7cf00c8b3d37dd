"""Sessions whose sub-agent is another program: a scripted agent in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tests.fakes.acp_agent
from tests.sandbox import wait_for
from tests.session.test_subagents import Place
from workbench.protocol.events import ActionObserved, DelegateStep

NAME = "helper"


class OutsidePlace(Place):
    """A session that delegates to the agent `helper`, which plays a script."""

    @property
    def heard_file(self) -> Path:
        return self.directory.parent / "heard.jsonl"

    @property
    def heard(self) -> dict[str, Any]:
        return {**super().heard, "has_user": True}

    def play(
        self,
        *turns: list[dict[str, Any]],
        mode: str = "high",
        agent: str = tests.fakes.acp_agent.__file__,
        **settings: Any,
    ) -> None:
        """Start the session; without a sandbox, so its first question is whether the program may start."""
        script = self.directory.parent / "turns.json"
        script.write_text(json.dumps(turns))
        self.run_program(sys.executable, agent, str(script), mode=mode, **settings)

    def run_program(self, command: str, *args: str, mode: str = "high", **settings: Any) -> None:
        """Start the session, whose sub-agent is this program."""
        table = {"command": command, "args": list(args), **settings.pop("table", {})}
        self.start({NAME: []}, mode=mode, agents={NAME: table}, **{"sandbox": "off", **settings})

    def go_ahead(self) -> None:
        """Let the agent play what it does meanwhile, and wait until it has."""
        self.directory.parent.joinpath("go").touch()
        wait_for(lambda: self.said("meanwhile"), "what the agent does meanwhile")

    def approve_start(self) -> None:
        """Approve that the program starts."""
        assert self.question().event.action_id.split(":")[1].startswith("start_agent")
        self.decide(self.question(), "approved")

    def question(self) -> DelegateStep:
        """Return the open question, once there is one."""
        return wait_for(lambda: (self.waiting() or [None])[0], "a question of the sub-agent")

    def question_about(self, tool: str) -> DelegateStep:
        """Return the open question about an action of that tool, once there is one."""

        def asked() -> DelegateStep | None:
            names = {each.action_id for each in self.steps("action_proposed", tool)}
            return next((each for each in self.waiting() if each.event.action_id in names), None)

        return wait_for(asked, f"a question about {tool}")

    def next_question(self, before: DelegateStep) -> DelegateStep:
        """Return the next question after one that was answered."""
        steps = wait_for(
            lambda: [each for each in self.waiting() if each.event.action_id != before.event.action_id], "a question"
        )
        return steps[0]

    def answer(self, step: DelegateStep, verdict: str, **fields: Any) -> None:
        """Decide on a question."""
        print_ = step.event.fingerprint
        assert self.opened.delegates.command(
            step.event.action_id, lambda session, name: session.decide(name, verdict, fingerprint=print_, **fields)
        )

    def decide_host(self, step: DelegateStep, verdict: str) -> None:
        """Decide on a host."""
        print_ = step.event.fingerprint
        assert self.opened.host_questions.command(
            step.event.action_id, lambda question, name: question.decide(name, verdict, fingerprint=print_)
        )

    def has_recorded(self, text: str) -> bool:
        """Return whether the log has an event with the text."""
        return any(text in str(event) for event in tuple(self.events))

    def said(self, key: str) -> list[Any]:
        """Return what the agent got, of one kind."""
        lines = self.heard_file.read_text().splitlines() if self.heard_file.exists() else []
        return [line[key] for line in map(json.loads, lines) if key in line]

    @property
    def result(self) -> tuple[str, bool]:
        """The result of the call that delegated, and whether it is an error."""
        self.join()
        observed = next(event for event in self.log() if isinstance(event, ActionObserved))
        return observed.observation["content"][0]["text"], observed.observation["is_error"]

    def steps(self, kind: str, tool: str = "") -> list[Any]:
        """Return the steps of the sub-agent on the timeline, of one kind, and of actions of one tool."""
        steps = [event.event for event in self.events if isinstance(event, DelegateStep)]
        names = {each.action_id for each in steps if each.kind == "action_proposed" and each.tool.startswith(tool)}
        return [each for each in steps if each.kind == kind and getattr(each, "action_id", "") in names]
