"""A repaired call is shown, approved, run and stored as it was read, and the model is notified."""

import json

from tests.session.fake_agent import Harness, calls, says
from workbench.protocol.events import ActionProposed


def proposed(harness):
    return [event for event in harness.log() if isinstance(event, ActionProposed)]


def test_the_repaired_arguments_are_shown_run_and_told(tmp_path):
    raw = '{"security_rsik": "HIGH", "text": "two\nlines"}'
    harness = Harness(tmp_path, calls(("note", raw)), says("done"))
    harness.session.send("go")
    harness.run()
    question = harness.session.question
    assert question.proposed.arguments == {"text": "two\nlines"}
    assert question.proposed.risk == "HIGH"
    harness.answer()
    assert (tmp_path / "notes.txt").read_text() == "two\nlines\n"
    (event,) = proposed(harness)
    harness.close()
    assert len(event.repairs) == 2
    call, result = harness.agent.requests[-1][-2:]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"text": "two\nlines"}
    assert result["content"].startswith("[Your call was read with its arguments as JSON: ")
    assert "`security_rsik` as `security_risk`" in result["content"]
    assert result["content"].endswith("]\nnoted two\nlines")


def test_a_call_without_repairs_has_no_note(tmp_path):
    harness = Harness(tmp_path, calls(("look", {})), says("done"))
    harness.session.send("go")
    harness.run()
    assert [event.repairs for event in proposed(harness)] == [()]
    harness.close()
    assert harness.agent.requests[-1][-1]["content"] == "all is well"


def test_a_repaired_call_survives_a_restart(tmp_path):
    harness = Harness(tmp_path, calls(("note", '{"text": "x"}</tool_call>')), says("done"))
    harness.session.send("go")
    harness.run()
    harness.reopen()
    harness.answer()
    harness.close()
    assert "read with its arguments as JSON" in harness.agent.requests[-1][-1]["content"]
    assert (tmp_path / "notes.txt").read_text() == "x\n"


def test_a_repair_is_told_too_if_the_user_rejects_the_call(tmp_path):
    harness = Harness(tmp_path, calls(("note", '{"text": "x"}</tool_call>')), says("done"), mode="always")
    harness.session.send("go")
    harness.run()
    harness.answer("rejected")
    harness.close()
    content = harness.agent.requests[-1][-1]["content"]
    assert content.startswith("[Your call was read with ")
    assert "The user rejected this action" in content
