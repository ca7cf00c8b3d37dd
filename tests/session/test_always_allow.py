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


def test_always_decides_the_action_and_lets_the_next_same_one_run_by_rule(harness):
    d = waiting(harness)
    assert d.session.question.assessed.always == RULE
    always(d)
    assert decisions(d) == [("approved", "person", RULE), ("approved", "rule", RULE)]
    assert d.notes == ["one", "one"]


def test_a_rule_of_the_session_is_in_its_log_and_counts_after_it_is_opened_again(harness):
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
def test_a_rule_for_the_folder_or_the_person_goes_into_their_file(harness, tmp_path, scope, elsewhere):
    path = tmp_path / "config/rules.toml"
    d = waiting(harness, rules=RuleSet(path, tmp_path))
    always(d, scope=scope)
    (rule,) = read_rules(path, "person").rules
    assert (rule.text, rule.folder) == (RULE, "" if elsewhere else str(tmp_path))
    assert decisions(d)[-1] == ("approved", "rule", RULE)
    assert d.session._log.state.rules == ()


@pytest.mark.parametrize("rule", ["allow note in a", "allow $ rm *", "", "nonsense"])
def test_no_other_rule_than_the_one_that_was_shown_is_saved(harness, rule):
    d = waiting(harness)
    with pytest.raises(CommandError, match="not the rule that was shown"):
        always(d, rule=rule)
    assert d.session.phase == "deciding"
    assert d.session._log.state.rules == ()


def test_a_rule_that_cannot_be_saved_approves_nothing(harness, tmp_path):
    (tmp_path / "config").write_text("no folder")
    d = waiting(harness, rules=RuleSet(tmp_path / "config/rules.toml", tmp_path))
    with pytest.raises(CommandError, match="Not a directory"):
        always(d, scope="person")
    assert d.session.phase == "deciding"
    assert d.notes == []


def test_always_is_not_offered_for_what_is_high_nor_where_everything_is_asked(harness):
    high = harness(calls(("note", {"text": "one"}, "HIGH")))
    high.session.send("go")
    high.run()
    assert high.session.question.assessed.always == ""


def test_a_rule_that_denies_holds_in_the_mode_that_never_asks_and_tells_the_model_why(harness, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[deny]]\ntool = "note"\nreason = "Notes are kept elsewhere."\n')
    d = harness(calls(NOTE), says("ok"), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    assert d.notes == []
    assert decisions(d) == [("rejected", "rule", "deny note")]
    assert "Notes are kept elsewhere." in d.results()[0]


def test_a_rule_written_while_a_session_is_open_counts_from_then_on(harness, tmp_path):
    path = tmp_path / "rules.toml"
    d = harness(calls(NOTE), says("ok"), calls(NOTE), says("ok"), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    path.write_text('[[ask]]\ntool = "note"\n')
    d.session.send("again")
    d.run()
    assert d.session.phase == "deciding"
    assert d.session.question.assessed.rule == "ask note"


def test_a_file_with_mistakes_makes_everything_that_changes_something_asked_about(harness, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text('[[deny]]\ntol = "note"\n')
    d = harness(calls(NOTE, ("look", {})), mode="never", rules=RuleSet(path, tmp_path))
    d.session.send("go")
    d.run()
    assert d.session.phase == "deciding"
    assert "a rule file has errors" in d.session.question.assessed.rule
