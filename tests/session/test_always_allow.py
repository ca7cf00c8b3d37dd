"""Rules in a session: what "always" saves and does, rules that deny and ask, and files that are changed meanwhile."""

import pytest

from tests.session.fake_agent import calls, says
from workbench.rules.rule_files import read_rules
from workbench.rules.rule_set import RuleSet
from workbench.session.actions.decide import AlwaysRule
from workbench.session.session import CommandError

NOTE = ("note", {"text": "one"}, "MEDIUM")
RULE = "allow note"


def waiting(harness, **more):
    d = harness(calls(NOTE), calls(NOTE), says("done"), **more)
    d.session.send("go")
    d.run()
    return d


def always(d, rule: str = RULE, scope: str = "session") -> None:
    d.answer(always=AlwaysRule(rule, scope))


def decisions(d) -> list[tuple[str, str, str]]:
    return [(event.verdict, event.by, event.rule) for event in d.log() if event.kind == "action_decided"]


def test_always_approves_the_action_and_the_next_same_one_runs_by_the_rule(harness):
    d = waiting(harness)
    assert d.session.question.assessed.always == RULE
    always(d)
    assert decisions(d) == [("approved", "person", RULE), ("approved", "rule", RULE)]
    assert d.notes == ["one", "one"]


def test_session_rule_is_in_the_log_and_applies_after_reopening(harness):
    d = harness(calls(NOTE), says("ok"), calls(NOTE), says("ok"), calls(NOTE), says("ok"))
    d.session.send("go")
    d.run()
    always(d)
    d.reopen()
    d.session.send("again")
    d.run()
    assert d.session.phase == "idle"
    assert decisions(d)[-1] == ("approved", "rule", RULE)
    d.session.set(dropped_rule=RULE)
    d.session.send("once more")
    d.run()
    assert d.session.phase == "deciding"


@pytest.mark.parametrize(("scope", "elsewhere"), [("folder", False), ("person", True)])
def test_rule_for_project_or_user_is_saved_in_the_users_file(harness, tmp_path, scope, elsewhere):
    path = tmp_path / "config/rules.toml"
    d = waiting(harness, rules=RuleSet(path, tmp_path))
    always(d, scope=scope)
    (rule,) = read_rules(path, "person").rules
    assert (rule.text, rule.folder) == (RULE, "" if elsewhere else str(tmp_path))
    assert decisions(d)[-1] == ("approved", "rule", RULE)
    assert d.session._log.state.rules == ()


@pytest.mark.parametrize("rule", ["allow note in a", "allow $ rm *", "", "nonsense"])
def test_only_the_rule_that_was_shown_is_saved(harness, rule):
    d = waiting(harness)
    with pytest.raises(CommandError, match="not the rule that was shown"):
        always(d, rule=rule)
    assert d.session.phase == "deciding"
    assert d.session._log.state.rules == ()


def test_rule_that_cannot_be_saved_approves_nothing(harness, tmp_path):
    (tmp_path / "config").write_text("no folder")
    d = waiting(harness, rules=RuleSet(tmp_path / "config/rules.toml", tmp_path))
    with pytest.raises(CommandError, match="Not a directory"):
        always(d, scope="person")
    assert d.session.phase == "deciding"
    assert d.notes == []


def test_always_is_not_offered_for_high_risk_or_in_ask_every_time_mode(harness):
    high = harness(calls(("note", {"text": "one"}, "HIGH")))
    high.session.send("go")
    high.run()
    assert high.session.question.assessed.always == ""


def test_deny_rule_applies_in_never_ask_mode_and_tells_the_model_why(harness, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[deny]]\ntool = "note"\nreason = "Notes are kept elsewhere."\n')
    d = harness(calls(NOTE), says("ok"), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    assert d.notes == []
    assert decisions(d) == [("rejected", "rule", "deny note")]
    assert "Notes are kept elsewhere." in d.results()[0]


def test_rule_written_during_a_session_applies_from_then_on(harness, tmp_path):
    path = tmp_path / "rules.toml"
    d = harness(calls(NOTE), says("ok"), calls(NOTE), says("ok"), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    path.write_text('[[ask]]\ntool = "note"\n')
    d.session.send("again")
    d.run()
    assert d.session.phase == "deciding"
    assert d.session.question.assessed.rule == "ask note"


def test_rules_file_with_errors_makes_every_change_ask(harness, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[deny]]\ntol = "note"\n')
    d = harness(calls(NOTE, ("look", {})), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    assert d.session.phase == "deciding"
    assert "a rule file has errors" in d.session.question.assessed.rule
