"""Tools of servers in sub-agents: a kind limits them like other tools, also those that are listed later."""

import pytest

from tests.mcp.mcp_session import mcp_harness
from tests.session.fake_agent import calls, says

ALWAYS = {"finish", "think", "task_tracker", "request_condensation"}


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (["mcp__fake__echo"], {"echo"}),
        (["fake/echo", "grep"], {"echo", "grep"}),
        (["echo"], {"echo"}),
        (["mcp__other"], set()),
        (["grep"], {"grep"}),
    ],
    ids=["claude", "rule", "name", "other", "none"],
)
@pytest.mark.parametrize("approved", [True, False], ids=["approved", "new"])
def test_kind_has_only_the_server_tools_that_it_names(tmp_path, monkeypatch, tools, expected, approved):
    answers = (calls(("delegate", {"agent": "asker", "inputs": "Ask."})), says("Asked."), says("Done."))
    kinds = {"asker": {"tools": tools}}
    with mcp_harness(tmp_path, monkeypatch, *answers, approved=approved, agents=kinds) as session:
        session.say("go")
        parent, child, _ = ({tool["function"]["name"] for tool in request.tools} for request in session.model.requests)
    assert {"echo", "peek"} <= parent
    assert child == expected | ALWAYS


@pytest.mark.parametrize("approved", [True, False], ids=["approved", "new"])
def test_kind_that_only_reads_has_server_tools_only_if_their_hint_counts(tmp_path, monkeypatch, approved):
    answers = (calls(("delegate", {"agent": "asker", "inputs": "Ask."})), says("Asked."), says("Done."))
    kinds = {"asker": {"tools": ["mcp__fake"], "read_only": True}}
    with mcp_harness(tmp_path, monkeypatch, *answers, approved=approved, agents=kinds) as session:
        session.say("go")
        child = {tool["function"]["name"] for tool in session.model.requests[1].tools}
    assert "echo" not in child
    assert ("peek" in child) is approved
