"""A tool that fails twice in the same way gets a line of advice with its result, and only then."""

import pytest

from tests.session.fake_agent import calls, faults_of, says
from tests.session.test_limits_and_loops import talker
from workbench.llm.model import ToolCall

GOOD = ("say", {"text": "fine"})
WRONG = ("say", {"txt": "x"})
FAILS = ("say", {"text": "!no such file"})


@pytest.fixture
def run(harness):
    """Run a script with the tool `say` to its end; the results, a line each block."""

    def play(*script, **more):
        d = harness(*script, says("end"), **more)
        d.tools["say"] = talker("say")
        d.reopen()
        d.session.send("go")
        d.run()
        return d

    return play


def results(d) -> list[str]:
    seen = (event.observation["content"] for event in d.log() if event.kind == "action_observed")
    return [" ".join(block["text"] for block in blocks) for blocks in seen]


def advised(d) -> list[bool]:
    return ["[Advice: " in text for text in results(d)]


def test_second_failure_of_the_same_kind_gets_advice_that_the_model_reads(run):
    d = run(calls(WRONG), calls(WRONG))
    assert advised(d) == [False, True]
    assert "not in the schema: `txt`" in results(d)[1]
    assert results(d)[1] in d.agent.requests[-1][-1]["content"].replace("\n", " ")
    assert faults_of(d.agent.requests[-1]) == []


def test_advice_within_one_response_and_for_failures_of_the_tool_itself(run):
    d = run(calls(FAILS, FAILS, GOOD))
    assert advised(d) == [False, True, False]
    assert "the same call will fail again" in results(d)[1]


def test_success_in_between_or_another_error_gets_no_advice(run):
    d = run(calls(FAILS), calls(GOOD), calls(FAILS), calls(("say", {"text": "!another"})))
    assert advised(d) == [False] * 4


def test_unknown_tool_requested_twice_gets_the_nearest_name(run):
    d = run(calls(("sai", {})), calls(("sai", {})))
    assert advised(d) == [False, True]
    assert "`say` is the nearest" in results(d)[1]


def test_arguments_that_are_not_an_object_get_an_example(run):
    d = run(calls(("note", "{'text'}")), calls(("note", "{'text'}")))
    assert advised(d) == [False, True]
    assert '{"text": "…"}' in results(d)[1]


def test_truncated_or_refused_call_gets_no_advice(run):
    cut = says("", tool_calls=(ToolCall("a", "note", '{"text": "x"}'),), finish_reason="length")
    d = run(cut, cut)
    assert advised(d) == [False, False]


def test_advice_does_not_hide_a_loop(run):
    d = run(*[calls(FAILS)] * 6)
    assert advised(d)[:3] == [False, True, True]
    assert [event.evidence for event in d.log() if event.kind == "agent_nudged"] == [
        "say failed 3 times in the same way"
    ]


def test_failures_are_remembered_across_a_restart(run):
    d = run(calls(FAILS))
    d.agent.script = [calls(FAILS)]
    d.reopen()
    d.session.send("again")
    d.run()
    assert advised(d) == [False, True]
