"""Rules and other agents: none starts one or allows what one merely describes."""

from __future__ import annotations

import pytest

from workbench.acp_client.tools import AgentCommandTool, StartAgentTool
from workbench.risk import RatingContext, assess
from workbench.rules.offers import offers
from workbench.rules.rule import Rule, RuleError
from workbench.rules.rule_files import checked
from workbench.rules.rule_matching import fits
from workbench.rules.subject import Subject, subject_of
from workbench.tools.effects import StartsAgent
from workbench.tools.tool import described

CONTAINED = StartsAgent(is_contained=True)


def started(monkeypatch: pytest.MonkeyPatch) -> Subject:
    """Return the subject of a start inside the sandbox, which is MEDIUM."""
    tool, arguments = described(StartAgentTool), {"agent": "helper", "command": "helper-acp"}
    monkeypatch.setattr(tool, "assess", lambda *_: (CONTAINED,))
    return subject_of("start_agent", arguments, assess(tool, arguments, RatingContext("/w")), "/w")


def test_start_of_an_agent_is_never_allowed_always(monkeypatch):
    subject = started(monkeypatch)
    choices, why = offers(subject, "MEDIUM", "medium")
    assert choices == ()
    assert "any agent" in why
    assert not fits(Rule("allow", "start_agent"), subject)
    assert fits(Rule("deny", "start_agent"), subject)


def test_rule_that_allows_the_start_of_agents_is_refused():
    with pytest.raises(RuleError, match="can run anything"):
        checked(Rule("allow", "start_agent"))
    assert checked(Rule("deny", "start_agent")).verdict == "deny"


def test_command_that_an_agent_outside_the_sandbox_describes_is_denied_but_not_allowed_by_rules():
    tool, arguments = described(AgentCommandTool), {"command": "touch made"}
    subject = subject_of(tool.name, arguments, assess(tool, arguments, RatingContext("/w")), "/w")
    assert not fits(Rule("allow", "execute_bash", "touch made"), subject)
    assert fits(Rule("deny", "execute_bash", "touch *"), subject)
