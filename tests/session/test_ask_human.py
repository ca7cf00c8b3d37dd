"""The agent's questions to the user: every mode asks them, and only an answer settles them, never an approval."""

from __future__ import annotations

import pytest

from tests.session.fake_agent import Harness, calls, faults_of, says
from workbench.session.session import CommandError
from workbench.tools.ask_human.definition import AskHumanTool

ASK = ("ask_human", {"question": "Which colour?", "options": ["red", "blue"]})
NOTE = ("note", {"text": "one"}, "LOW")


@pytest.fixture
def asking(harness):
    def make(*script, **more) -> Harness:
        made = harness(*script, **more)
        tool = AskHumanTool()
        made.tools[tool.name] = tool
        made.session.send("go")
        made.run()
        return made

    return make


def answer(d: Harness, text: str) -> None:
    d.session.answer(d.session.question.proposed.action_id, text)
    d.run()


def results(d: Harness) -> list[str]:
    """The results in the last request."""
    assert faults_of(d.agent.requests[-1]) == []
    return [message["content"] for message in d.agent.requests[-1] if message["role"] == "tool"]


@pytest.mark.parametrize("mode", ["ask", "medium", "high", "never", "plan"])
def test_question_waits_in_every_mode_and_its_answer_is_the_result(asking, mode):
    d = asking(calls(ASK), says("ok"), mode=mode)
    assert d.session.phase == "deciding"
    assert d.session.question.asks_user
    assert d.kinds()[-1] == "action_assessed"
    assert not d.log()[-1].needs_decision
    answer(d, "  blue ")
    assert results(d) == ["blue"]
    order = [kind for kind in d.kinds() if kind.startswith("action")]
    assert order == ["action_proposed", "action_assessed", "action_decided", "action_started", "action_observed"]
    assert [(e.by, e.rule) for e in d.log() if e.kind == "action_decided"] == [("rule", "read-only tool")]
    assert (d.session.phase, d.session.ended) == ("idle", "waiting")


def test_answer_may_be_any_text(asking):
    d = asking(calls(ASK), says("ok"))
    answer(d, "neither: 3 shades of grey\nand \ud800 white")
    assert results(d) == ["neither: 3 shades of grey\nand \ufffd white"]


def test_message_is_no_answer_and_is_queued_behind_the_question(asking):
    d = asking(calls(ASK), says("ok"))
    d.session.send("red")
    d.run()
    assert d.session.phase == "deciding"
    assert (d.live[-1].state, d.live[-1].queued) == ("deciding", 1)
    answer(d, "blue")
    assert results(d) == ["blue"]
    assert d.agent.requests[-1][-1] == {"role": "user", "content": "red"}


def test_only_an_answer_closes_the_question(asking):
    d = asking(calls(ASK))
    waiting = d.session.question
    action_id, fingerprint = waiting.proposed.action_id, waiting.assessed.fingerprint
    for verdict in ("approved", "rejected"):
        with pytest.raises(CommandError, match="takes an answer"):
            d.session.decide(action_id, verdict, fingerprint=fingerprint)
    with pytest.raises(CommandError, match="no longer needs"):
        d.session.answer("other", "blue")
    with pytest.raises(CommandError, match="no text"):
        d.session.answer(action_id, " \n ")
    assert d.session.phase == "deciding"
    answer(d, "blue")
    with pytest.raises(CommandError, match="no longer needs"):
        d.session.answer(action_id, "red")
    assert d.results() == ["blue"]


def test_answer_approves_no_action(asking):
    d = asking(calls(("note", {"text": "one"}, "HIGH")))
    with pytest.raises(CommandError, match="needs a decision"):
        d.session.answer(d.session.question.proposed.action_id, "yes")
    assert d.session.phase == "deciding"
    assert d.notes == []


def test_questions_of_one_batch_are_asked_one_after_the_other(asking):
    d = asking(calls(ASK, NOTE, ("ask_human", {"question": "Sure?"}), NOTE), says("ok"), mode="never")
    assert d.notes == []
    answer(d, "red")
    assert d.notes == ["one"]
    assert d.session.question.proposed.arguments["question"] == "Sure?"
    answer(d, "yes")
    assert d.notes == ["one", "one"]
    assert results(d) == ["red", "noted one", "yes", "noted one"]


def test_mode_change_leaves_the_question_open(asking):
    d = asking(calls(ASK), says("ok"))
    for mode in ("never", "plan", "ask"):
        d.session.set(mode=mode)
        d.run()
        assert d.session.phase == "deciding"
    assert d.kinds().count("action_assessed") == 1
    answer(d, "red")
    assert results(d) == ["red"]


def test_interrupt_ends_the_question(asking):
    d = asking(calls(ASK, NOTE), says("ok"), mode="never")
    action_id = d.session.question.proposed.action_id
    d.session.interrupt()
    assert (d.session.phase, d.session.ended) == ("idle", "interrupted")
    with pytest.raises(CommandError, match="no longer needs"):
        d.session.answer(action_id, "red")
    d.session.send("go on")
    d.run()
    assert [text.startswith("This call was not run") for text in results(d)] == [True, True]
    assert d.notes == []


def test_question_is_asked_again_after_a_kill_and_answered_then(asking):
    d = asking(calls(NOTE, ASK), says("ok"), mode="never")
    before = d.kinds()
    d.reopen()
    assert d.kinds() == before
    assert d.session.phase == "deciding"
    answer(d, "blue")
    assert results(d) == ["noted one", "blue"]
    assert d.notes == ["one"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"question": " "}, "question"),
        ({}, "`question` is missing"),
        ({"question": "?", "options": list("abcdefg")}, "at most 6"),
        ({"question": "?", "options": ["a", ""]}, "options[1]"),
    ],
)
def test_invalid_question_is_an_error_for_the_model(asking, arguments, why):
    d = asking(calls(("ask_human", arguments)), says("ok"))
    assert d.session.phase == "idle"
    assert why in results(d)[0]


def test_options_written_as_text_are_parsed_as_a_list(asking):
    d = asking(calls(("ask_human", {"question": "?", "options": '["a", "b"]'})), says("ok"))
    assert d.session.question.asks_user
    answer(d, "b")
    (result,) = results(d)
    assert result.startswith("[Your call was read with `options`")
    assert result.endswith("]\nb")
