"""Only the user decides open questions: no mode, rule, setting or restart does (promise S9)."""

from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, says
from workbench.rules.rule_set import RuleSet
from workbench.session.session import CommandError

NOTE = ("note", {"text": "one"}, "HIGH")
MEDIUM = ("note", {"text": "one"}, "MEDIUM")


def waiting(harness, *script, **more) -> Harness:
    d = harness(*(script or (calls(NOTE), says("ok"))), **more)
    d.session.send("go")
    d.run()
    assert d.session.phase == "deciding"
    return d


def decided_by(d: Harness) -> list[str]:
    return [event.by for event in d.log() if event.kind == "action_decided"]


def still_waits(d: Harness) -> bool:
    """Run the session until it waits; return whether nothing ran and nothing was decided."""
    d.run()
    return (d.session.phase, d.notes, decided_by(d)) == ("deciding", [], [])


@pytest.mark.parametrize(
    "modes", [("never",), ("plan",), ("ask",), ("high", "never", "plan", "ask", "medium"), ("plan", "never")]
)
def test_mode_change_decides_no_question(harness, modes):
    d = waiting(harness)
    for mode in modes:
        d.session.set(mode=mode)
        assert still_waits(d)
    d.session.set(mode="medium")
    d.answer()
    assert (d.notes, decided_by(d)) == (["one"], ["person"])


def test_mode_set_before_reopening_decides_no_question(harness):
    d = waiting(harness)
    d.session.set(mode="never")
    d.reopen()
    assert still_waits(d)
    d.session.set(mode="never")  # as `ohw resume --mode never` does
    assert still_waits(d)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_rule_written_elsewhere_decides_no_open_question(harness, tmp_path, verdict):
    path = tmp_path / "rules.toml"
    d = waiting(harness, calls(MEDIUM), says("ok"), rules=RuleSet(path, tmp_path))
    path.write_text(f'[[{verdict}]]\ntool = "note"\n')
    assert still_waits(d)
    d.session.set(mode="high")
    assert still_waits(d)
    d.reopen()
    assert still_waits(d)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_session_rule_decides_no_open_question(harness, verdict):
    d = waiting(harness, calls(MEDIUM), says("ok"))
    d.session.set(rule=f"{verdict} note")
    assert still_waits(d)


def test_change_under_an_open_question_is_asked_again_in_any_mode(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    d = waiting(harness, calls(NOTE, ("write", {"path": str(file), "text": "new"}, "HIGH")), says("ok"))
    first, _ = d.waiting()
    d.session.set(mode="never")
    file.write_text("mine")
    d.decide(first)
    d.run()  # something ran, so the other question is assessed again, under the new mode
    assert file.read_text() == "mine"
    (again,) = d.waiting()
    assert again.assessed.preview[0].before == "mine"
    assert any("no mode or rule set since" in reason for reason in again.assessed.reasons)
    d.decide(again)
    d.run()
    assert file.read_text() == "new"


def test_question_withdrawn_for_a_while_is_asked_again_and_not_decided(harness, tmp_path: Path):
    """Its tool is gone and comes back, while the mode changes to one that would let it run."""
    d = waiting(harness, calls(("write", {"path": str(tmp_path / "a.txt"), "text": "x"}, "HIGH"), NOTE), says("ok"))
    first, second = d.waiting()
    note = d.tools.pop("note")
    d.decide(first)
    d.session.step()
    assert d.waiting() == []
    d.tools["note"] = note
    d.session.set(mode="never")
    d.run()
    assert (d.notes, d.session.phase) == ([], "deciding")
    assert [action.proposed.action_id for action in d.waiting()] == [second.proposed.action_id]


@pytest.mark.parametrize("denial", ["mode", "rule"])
def test_denied_question_stays_open_but_cannot_be_approved(harness, denial):
    d = waiting(harness)
    if denial == "mode":
        d.session.set(mode="plan")
    else:
        d.session.set(rule="deny note")
    question = d.session.question
    with pytest.raises(CommandError, match="denies it now"):
        d.decide(question)
    with pytest.raises(CommandError, match="denies it now"):
        d.decide(question, "edited", edited={"text": "two", "security_risk": "LOW", "summary": "s"})
    assert still_waits(d)
    d.answer("rejected")
    assert (d.notes, decided_by(d), d.session.phase) == ([], ["person"], "idle")


def test_arguments_that_a_rule_denies_cannot_be_entered_in_a_question(harness, tmp_path):
    target = tmp_path / "secret.txt"
    d = waiting(harness, calls(("write", {"path": str(tmp_path / "a.txt"), "text": "x"}, "HIGH")), says("ok"))
    d.session.set(rule="deny write in secret.txt")
    question = d.session.question
    with pytest.raises(CommandError, match="denies it now"):
        d.decide(question, "edited", edited={"path": str(target), "text": "x"})
    d.answer()
    assert (tmp_path / "a.txt").exists()
    assert not target.exists()
