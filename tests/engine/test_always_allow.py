""" "Always" through the real engine: the rule is saved, and the next identical command runs without a question."""

from __future__ import annotations

import pytest

from tests.engine.test_engine import launch, log, receive_until, refusal
from tests.sandbox import Sandbox, bash, finish
from workbench.client.engine_client import EngineConnection
from workbench.protocol.commands import AllowAlways, SendMessage
from workbench.protocol.events import ActionAssessed, ActionDecided, RunEnded, SettingsChanged
from workbench.rules.rule_files import read_rules


@pytest.mark.parametrize("scope", ["session", "person"])
def test_next_identical_command_runs_by_the_rule(local_sandbox: Sandbox, scope: str):
    model = local_sandbox.script(bash("touch made", risk="LOW"), bash("touch made", risk="LOW"), finish("All done."))
    connection = EngineConnection.open(launch(local_sandbox, model))
    connection.send_command(SendMessage(text="make it"))
    asked = receive_until(connection, lambda message: isinstance(message, ActionAssessed))
    question = next(message for message in asked if isinstance(message, ActionAssessed))
    assert question.needs_decision
    assert question.always == "allow $ touch made"

    answer = {"action_id": question.action_id, "fingerprint": question.fingerprint, "scope": scope}
    connection.send_command(AllowAlways(**answer, rule="allow $ touch *"))
    assert "not the rule that was shown" in refusal(connection).reason
    connection.send_command(AllowAlways(**answer, rule=question.always))
    receive_until(connection, lambda message: isinstance(message, RunEnded))
    connection.close()

    decisions = [(event.by, event.rule) for event in log(local_sandbox) if isinstance(event, ActionDecided)]
    assert decisions[:2] == [("person", "allow $ touch made"), ("rule", "allow $ touch made")]
    rules = [rule.text for rule in read_rules(local_sandbox.locations.rules_file, "person").rules]
    rules_changed = [event.rule for event in log(local_sandbox) if isinstance(event, SettingsChanged)]
    assert (rules, rules_changed) == (
        ([], ["allow $ touch made"]) if scope == "session" else (["allow $ touch made"], [])
    )
