"""Sessions as lists of events for tests of the screen's parts: a small one with everything, and long ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, settings

from workbench.protocol import events as ev
from workbench.protocol import risk
from workbench.view.reducer import apply
from workbench.view.state import SessionState
from workbench.view.transcript.transcript import RecordedState

STEADY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
"""The same examples each time, and as long as a busy machine needs."""

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WORKSPACE = "/home/ada/code/calc"


class Script:
    """Writes events with increasing numbers and times, as a store would."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.actions = 0
        self._response, self._position = "r", 0

    def add(self, kind: Callable[..., ev.Event], **fields: Any) -> ev.Event:
        seq = len(self.events) + 1
        event = kind(seq=seq, at=START + timedelta(seconds=seq), **fields)
        self.events.append(event)
        return event

    def start(self, **fields: Any) -> Script:
        values = {"id": "s1", "workspace": WORKSPACE, "model": "scripted/demo", "mode": "medium", **fields}
        self.add(ev.SessionStarted, **values)
        return self

    def user(self, text: str) -> Script:
        self.add(ev.UserMessage, text=text)
        return self

    def answer(self, text: str = "", **fields: Any) -> Script:
        self._response, self._position = f"r{len(self.events)}", 0
        self.add(ev.ModelResponded, response_id=self._response, model="m", text=text, **{"cost": 0.01, **fields})
        return self

    def propose(self, tool: str, risk: risk.Risk = "LOW", summary: str = "", **arguments: Any) -> str:
        self.actions += 1
        action_id = f"a{self.actions}"
        self._position += 1
        self.add(
            ev.ActionProposed,
            position=self._position - 1,
            action_id=action_id,
            response_id=self._response,
            call_id=action_id,
            tool=tool,
            summary=summary,
            arguments=arguments,
            risk=risk,
        )
        return action_id

    def ask(self, tool: str, risk: risk.Risk = "HIGH", preview: tuple[ev.FileDelta, ...] = (), **arguments: Any) -> str:
        action_id = self.propose(tool, risk, **arguments)
        self.add(ev.ActionAssessed, action_id=action_id, risk=risk, fingerprint="f", preview=preview)
        return action_id

    def begin(self, tool: str, risk: risk.Risk = "LOW", **arguments: Any) -> str:
        """Let an action run: one of LOW by the mode, any other by the user, as in a session in the mode "Ask"."""
        action_id = self.propose(tool, risk, **arguments)
        rule = 'mode "Ask (medium+)"' if risk == "LOW" else ""
        self.add(ev.ActionAssessed, action_id=action_id, risk=risk, needs_decision=not rule, rule=rule)
        by = "mode" if rule else "person"
        self.add(ev.ActionDecided, action_id=action_id, verdict="approved", by=by, rule=rule)
        self.add(ev.ActionStarted, action_id=action_id)
        return action_id

    def end(self, action_id: str, text: str = "", *, seconds: float = 0.02, **fields: Any) -> Script:
        files = fields.pop("files", ())
        observation = {"content": [{"type": "text", "text": text}], "is_error": False, **fields}
        self.add(
            ev.ActionObserved,
            action_id=action_id,
            observation=observation,
            duration=seconds,
            files_changed=files,
        )
        return self

    def run(self, tool: str, text: str = "", risk: risk.Risk = "LOW", **arguments: Any) -> str:
        result = {name[1:]: arguments.pop(name) for name in list(arguments) if name.startswith("_")}
        action_id = self.begin(tool, risk, **arguments)
        self.end(action_id, text, **result)
        return action_id

    def state(self) -> SessionState:
        return fold(self.events)

    def recorded(self) -> RecordedState:
        recorded = RecordedState()
        for event in self.events:
            recorded.add(event)
        return recorded


def fold(events: list[Any]) -> SessionState:
    state = SessionState()
    for event in events:
        apply(state, event)
    return state


BEFORE = "def parse(text):\n    text = text.strip()\n    return int(text.lstrip('-'))\n"
AFTER = BEFORE.replace("    return int", "    sign = -1 if text.startswith('-') else 1\n    return sign * int")


def working_session() -> Script:
    """Return a session in the middle of its work: plan, failure, edit, a running command, and a waiting one."""
    path = f"{WORKSPACE}/src/calc.py"
    script = Script().start().user("Fix the failing test.")
    script.answer("I look at the project first.", reasoning="The test fails.\nSo I read it.")
    tasks = [
        {"id": "1", "title": "Reproduce the failure", "status": "done"},
        {"id": "2", "title": "Fix the parser", "status": "in_progress"},
        {"id": "3", "title": "Add a regression test", "status": "todo"},
    ]
    script.run(
        "task_tracker",
        command="plan",
        task_list=[{**tasks[0], "status": "in_progress"}, {**tasks[1], "status": "todo"}, tasks[2]],
    )
    script.run("execute_bash", "README.md\nsrc\ntests", command="ls -la", _exit_code=0)
    script.run("str_replace_editor", BEFORE, command="view", path=path, view_range=[1, 40])
    failing = "\n".join([f"tests/test_calc.py::test_{n} PASSED" for n in range(38)])
    failing += "\nFAILED tests/test_calc.py::test_negative - assert 5 == -5\n1 failed, 11 passed in 0.61 s"
    script.run("execute_bash", failing, "MEDIUM", command="pytest -q", _exit_code=1, _seconds=0.81)
    script.run("task_tracker", command="plan", task_list=tasks)
    script.answer(
        "The parser **drops the sign** when the number has leading blanks:\n\n```python\nint(text.lstrip('-'))\n```\n\n"
        "1. keep the sign\n2. test it\n"
    )
    delta = ev.FileDelta(path=path, before=BEFORE, after=AFTER)
    script.run(
        "str_replace_editor",
        "edited",
        "MEDIUM",
        command="str_replace",
        path=path,
        old_str="x",
        new_str="y",
        _files=(delta,),
    )
    script.begin("execute_bash", "MEDIUM", command="pytest -q")
    script.ask("execute_bash", command="rm -rf build")
    return script


def long_session(actions: int) -> Iterator[ev.Event]:
    """Yield messages and actions in turn, `actions` of them."""
    script = Script().start().user("Do a lot.")
    for number in range(actions):
        if number % 5 == 0:
            script.answer(f"Step **{number}** begins.\n\nIt goes on.")
        script.run("execute_bash", f"line {number}\nok", command=f"echo {number}", _exit_code=0)
    yield from script.events
