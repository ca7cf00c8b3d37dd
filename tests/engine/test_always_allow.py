""" "Always" through the real engine: the rule is saved, and what it covers runs without a question."""

from __future__ import annotations

import pytest

from tests.engine.test_engine import launch, log, receive_until, refusal
from tests.sandbox import Sandbox, bash, finish
from workbench.client.engine_connection import EngineConnection
from workbench.protocol.commands import AllowAlways, SendMessage
from workbench.protocol.events import ActionAssessed, ActionDecided, RunEnded, SettingsChanged
from workbench.rules.rule_files import read_rules

CASES = {
    "this command": ("touch made", "touch made", ["allow $ touch made"]),
    "any arguments": ("touch made", "touch other", ["allow $ touch *"]),
    "several rules": ("touch a > b.txt", "touch c > b.txt", ["allow $ touch *", "allow edits in b.txt"]),
}


@pytest.mark.parametrize("scope", ["session", "person"])
@pytest.mark.parametrize("case", CASES)
def test_what_the_chosen_rules_cover_runs_without_a_question(local_sandbox: Sandbox, case: str, scope: str):
    first, second, rules = CASES[case]
    model = local_sandbox.script(bash(first, risk="LOW"), bash(second, risk="LOW"), finish("All done."))
    connection = EngineConnection.open(launch(local_sandbox, model))
    connection.send_command(SendMessage(text="make it"))
    asked = receive_until(connection, lambda message: isinstance(message, ActionAssessed))
    question = next(message for message in asked if isinstance(message, ActionAssessed))
    assert question.needs_decision
    assert question.always == question.always_choices[0].text
    assert tuple(rules) in [choice.rules for choice in question.always_choices]

    answer = {"action_id": question.action_id, "fingerprint": question.fingerprint, "scope": scope}
    for wrong in ("allow $ rm *", "\n".join([*rules, "allow $ rm *"])):
        connection.send_command(AllowAlways(**answer, rule=wrong))
        assert "not the rule that was shown" in refusal(connection).reason
    connection.send_command(AllowAlways(**answer, rule="\n".join(rules)))
    receive_until(connection, lambda message: isinstance(message, RunEnded))
    connection.close()

    decisions = [(event.by, event.rule) for event in log(local_sandbox) if isinstance(event, ActionDecided)]
    assert decisions[:2] == [("person", ", ".join(rules)), ("rule", rules[0])]
    saved = [rule.text for rule in read_rules(local_sandbox.locations.rules_file, "person").rules]
    added = [event.rule for event in log(local_sandbox) if isinstance(event, SettingsChanged)]
    assert (saved, added) == (([], rules) if scope == "session" else (rules, []))
