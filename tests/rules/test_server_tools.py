"""Rules on tools of servers: to allow one, a rule names its server."""

import pytest

from tests.rules.offered import narrowest
from workbench.mcp.tool import MCPToolDefinition
from workbench.risk import RatingContext, assess
from workbench.risk.assessment import Assessment
from workbench.rules.rule import Rule, parse_rule
from workbench.rules.rule_files import add_rule, read_rules
from workbench.rules.rule_set import RuleSet, deciding
from workbench.rules.subject import Subject, subject_of

WORKSPACE = "/home/u/proj"
ARGUMENTS = {"title": "x"}


def subject(server: str, name: str = "create_issue", called: str = "", arguments: dict | None = None) -> Subject:
    """Return a call of a server's tool as the rules see it."""
    arguments = ARGUMENTS if arguments is None else arguments
    tool = MCPToolDefinition(called or name, {"name": name, "inputSchema": {"type": "object"}}, server)
    rated = assess(tool, arguments, RatingContext(WORKSPACE))
    return subject_of(tool.name, arguments, rated, WORKSPACE, "/home/u")


def verdict(rule: str, subject: Subject) -> str:
    decided = deciding([parse_rule(rule)], subject)
    return decided.verdict if decided else "none"


@pytest.mark.parametrize("rule", ["allow create_issue", "allow in src/**", "allow create_issue in src/**"])
def test_rule_without_a_server_allows_no_server_tool(rule):
    assert verdict(rule, subject("github")) == "none"
    assert verdict(rule, subject("github", arguments={"path": "src/a"})) == "none"


def test_rule_allows_only_the_tool_of_the_named_server():
    assert verdict("allow github/create_issue", subject("github")) == "allow"
    assert verdict("allow github/create_issue", subject("evil")) == "none"
    assert verdict("allow github/create_issue", subject("github", "delete_issue")) == "none"
    assert verdict("allow github/create_issue", subject("github", called="github_create_issue")) == "allow"
    assert verdict("allow github/create_issue in src/**", subject("github", arguments={"path": "src/a"})) == "allow"


@pytest.mark.parametrize("rule", ["create_issue", "github/create_issue", "github/*", "create_*", "*"])
def test_ask_and_deny_rules_need_no_server(rule):
    assert verdict(f"deny {rule}", subject("github")) == "deny"
    assert verdict(f"ask {rule}", subject("github")) == "ask"


def test_rule_saved_by_always_names_the_server():
    rule = narrowest(subject("github"), "MEDIUM")
    assert rule == Rule("allow", "github/create_issue")
    assert parse_rule(rule.text) == rule
    assert verdict(rule.text, subject("github")) == "allow"
    assert verdict(rule.text, subject("other")) == "none"


@pytest.mark.parametrize("name", ["a b", "x*", "a/b", "\u202ex"])
def test_always_is_not_offered_for_a_tool_with_an_odd_name(name):
    assert narrowest(subject("github", name, "called"), "MEDIUM") is None


def test_built_in_tool_is_allowed_by_its_name():
    ours = subject_of("web_read", {}, Assessment("MEDIUM"), WORKSPACE, "/home/u")
    assert verdict("allow web_read", ours) == "allow"


def test_rule_with_a_server_is_saved_read_and_found_by_its_tool(tmp_path):
    file = tmp_path / "rules.toml"
    rule = Rule(
        "allow", "github/create_issue", match=("github/create_issue",), not_match=("evil/create_issue", "create_issue")
    )
    add_rule(file, rule)
    assert read_rules(file, "person").rules == (rule,)
    book = RuleSet(file)
    assert book.unknown_tools(["create_issue"]) == ()
    assert book.unknown_tools(["github_create_issue"]) == ()
    assert "there is no tool named" in book.unknown_tools(["other"])[0]
