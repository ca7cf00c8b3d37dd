"""What waits for the user is decided by the user: no mode, rule, setting or restart decides it (promise S9)."""

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
def test_no_change_of_mode_decides_it(harness, modes):
    d = waiting(harness)
    for mode in modes:
        d.session.set(mode=mode)
        assert still_waits(d)
    d.session.set(mode="medium")
    d.answer()
    assert (d.notes, decided_by(d)) == (["one"], ["person"])


def test_a_mode_set_before_the_session_is_opened_again_does_not_decide_it(harness):
    d = waiting(harness)
    d.session.set(mode="never")
    d.reopen()
    assert still_waits(d)
    d.session.set(mode="never")  # as `ohw resume --mode never` does
    assert still_waits(d)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_a_rule_that_is_written_elsewhere_decides_nothing_that_waits(harness, tmp_path, verdict):
    path = tmp_path / "rules.toml"
    d = waiting(harness, calls(MEDIUM), says("ok"), rules=RuleSet(path, tmp_path))
    path.write_text(f'[[{verdict}]]\ntool = "note"\n')
    assert still_waits(d)
    d.session.set(mode="high")
    assert still_waits(d)
    d.reopen()
    assert still_waits(d)


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_a_rule_of_the_session_decides_nothing_that_waits(harness, verdict):
    d = waiting(harness, calls(MEDIUM), says("ok"))
    d.session.set(rule=f"{verdict} note")
    assert still_waits(d)


def test_what_changed_under_a_question_is_asked_again_whatever_the_mode_is_by_then(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    d = waiting(harness, calls(NOTE, ("write", {"path": str(file), "text": "new"}, "HIGH")), says("ok"))
    first, _ = d.waiting()
    d.session.set(mode="never")
    file.write_text("mine")
    d.decide(first)
    d.run()  # something ran: the other question is looked at again, under the new mode
    assert file.read_text() == "mine"
    (again,) = d.waiting()
    assert again.assessed.preview[0].before == "mine"
    assert any("no mode or rule set since" in reason for reason in again.assessed.reasons)
    d.decide(again)
    d.run()
    assert file.read_text() == "new"


def test_a_question_that_was_taken_back_for_a_while_is_asked_and_not_decided_when_it_comes_back(
    harness, tmp_path: Path
):
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
def test_what_is_denied_by_now_waits_on_but_cannot_be_approved(harness, denial):
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


def test_arguments_that_a_rule_denies_cannot_be_put_into_a_question(harness, tmp_path):
    target = tmp_path / "secret.txt"
    d = waiting(harness, calls(("write", {"path": str(tmp_path / "a.txt"), "text": "x"}, "HIGH")), says("ok"))
    d.session.set(rule="deny write in secret.txt")
    question = d.session.question
    with pytest.raises(CommandError, match="denies it now"):
        d.decide(question, "edited", edited={"path": str(target), "text": "x"})
    d.answer()
    assert (tmp_path / "a.txt").exists()
    assert not target.exists()
