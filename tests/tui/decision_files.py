"""Sessions with decisions of every kind, in a directory of a test's own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.tui.sample_session import START
from tests.tui.session_files import keep, touched
from workbench.protocol import events as ev

MODE = 'mode "Ask (medium+)"'


def act(name: str, tool: str, risk: Any, by: Any, rule: str, asked_by: str = "", /, **arguments: Any) -> list[Any]:
    """Return the events of one action up to its decision; a name that ends in "!" is denied, one in "~" edited."""
    fields: dict[str, Any] = {"verdict": "rejected" if name.endswith("!") else "approved"}
    if name.endswith("~"):
        fields = {"verdict": "edited", "edited": {**arguments, "command": "git push --dry-run"}}
    return [
        ev.ActionProposed(action_id=name, response_id="r", call_id=name, tool=tool, arguments=arguments, risk="LOW"),
        ev.ActionAssessed(action_id=name, risk=risk, rule=asked_by or rule, reasons=("changes files",)),
        ev.ActionDecided(action_id=name, by=by, rule=rule, **fields),
    ]


def decisions(workspace: str = "/home/ada/code/calc") -> list[Any]:
    """Return decisions by the user, by rules and by the mode."""
    edit = {"path": f"{workspace}/src/calc.py", "command": "str_replace", "old_str": "y", "new_str": "x"}
    return [
        *act("a", "execute_bash", "LOW", "mode", MODE, command="ls -la src"),
        *act("b", "execute_bash", "MEDIUM", "rule", "allow $ pytest *", command="pytest -q tests/test_calc.py"),
        *act("c!", "execute_bash", "HIGH", "person", "", MODE, command="rm -rf build"),
        *act("d~", "execute_bash", "HIGH", "person", "", MODE, command="git push"),
        *act("e!", "execute_bash", "HIGH", "rule", "deny $ curl *", command="curl x.example"),
        *act("f", "str_replace_editor", "MEDIUM", "person", "allow edit src/**", MODE, **edit),
        *act("g", "grep", "LOW", "rule", "read-only tool", pattern="def "),
    ]


def keep_decided(name: str, *, at: datetime = START, **fields: Any) -> None:
    """Store a session with such decisions."""
    keep(name, f"The task of {name}", *decisions(), at=at, **fields)


def keep_all_kinds() -> None:
    """Store two sessions, one of a sub-agent, and one that is damaged."""
    keep_decided("s1")
    step = [
        ev.DelegateStep(action_id="h", agent="tester", session="s1-tester", event=event)
        for event in act("h", "execute_bash", "MEDIUM", "mode", MODE, command="make check")
    ]
    notes = "/home/ada/code/notes"
    keep("s2", "Notes", *decisions(notes), *step, at=START - timedelta(days=2), workspace=notes)
    keep_decided("s1-tester", at=START - timedelta(days=3), parent="s2")
    damaged = keep("s9", "x")
    damaged.write_bytes(b"torn" * 2_000)
    touched(damaged, START - timedelta(days=400))
