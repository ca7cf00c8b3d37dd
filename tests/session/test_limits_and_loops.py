"""Limits and nudges of runs: step limits, loops, answers without a call, tools that are switched off."""

import pytest

from tests.session.fake_agent import calls, faults_of, says
from workbench.protocol.events import HistoryCondensed, UserMessage
from workbench.protocol.usage import Usage
from workbench.session.limits import Limits, TokenCount
from workbench.session.state import State
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

SAME = ("look", {})


class SayAction(Action):
    text: str = ""
    command: str = ""


class Say(ToolExecutor[SayAction, Observation]):
    """Returns the text of its call as the result; a text that begins with ! is an error."""

    def __call__(self, action: SayAction) -> Observation:
        return Observation.from_text(action.text or "still running", is_error=action.text.startswith("!"))


def talker(name: str) -> ToolDefinition:
    reads = ToolAnnotations(readOnlyHint=True)
    return ToolDefinition(name=name, description="s", action_type=SayAction, executor=Say(), annotations=reads)


@pytest.fixture
def ready(harness):
    """A harness with `say` and a shell, both of which return their text."""

    def make(*script, **more):
        made = harness(*script, **more)
        made.tools |= {name: talker(name) for name in ("say", "execute_bash")}
        made.reopen()
        made.session.send("go")
        return made

    return make


def nudges(d) -> list[tuple[str, str]]:
    return [(event.reason, event.evidence) for event in d.log() if event.kind == "agent_nudged"]


def end(d) -> tuple[str, str]:
    last = d.log()[-1]
    return last.reason, last.detail


def test_proposal_event_contains_everything_known_about_its_call(harness):
    d = harness(calls(SAME, ("note", {"text": "a"}), text="I look."))
    response = d.agent.script[0]
    d.session.send("go")
    d.run()
    first, second = (event for event in d.log() if event.kind == "action_proposed")
    assert [first.thought, second.thought] == ["I look.", ""]
    assert [first.position, second.position] == [0, 1]
    for proposed, call in zip((first, second), response.tool_calls, strict=True):
        assert (proposed.call_id, proposed.function, proposed.batch) == (call.id, call.name, 2)
        assert proposed.response_id == response.id


def test_loop_is_nudged_first_and_paused_if_it_continues(ready):
    d = ready(*[calls(SAME)] * 8)
    d.run()
    assert nudges(d) == [("stuck", "look gave the same result 4 times")]
    assert end(d) == ("stuck", "look gave the same result 4 times; tell the agent what to do differently")
    assert len(d.agent.requests) == 5
    assert "stuck in a loop: look gave the same result 4 times" in d.agent.requests[4][-1]["content"]
    assert faults_of(d.agent.requests[4]) == []


def test_message_after_a_pause_starts_the_loop_count_again(ready):
    d = ready(*[calls(SAME)] * 8)
    d.run()
    d.session.send("try once more")
    d.run()
    assert len(nudges(d)) == 1, "three more times are no loop yet"
    assert end(d)[0] == "waiting"


def test_agent_that_follows_the_nudge_continues(ready):
    d = ready(*[calls(SAME)] * 4, calls(("say", {"text": "something else"})), calls(("finish", {"message": "done"})))
    d.run()
    assert [reason for reason, _ in nudges(d)] == ["stuck"]
    assert end(d)[0] == "finished"


def test_same_loop_after_another_step_is_not_nudged_again(ready):
    other = calls(("say", {"text": "something else"}))
    d = ready(*[calls(SAME)] * 4, other, *[calls(SAME)] * 6)
    d.run()
    assert len(nudges(d)) == 1
    assert end(d)[0] == "stuck"


def test_endless_loops_are_nudged_three_times_at_most(ready):
    loops = [calls(("say", {"text": str(number)})) for number in range(20) for _ in range(4)]
    d = ready(*loops)
    d.run()
    assert len(nudges(d)) == 3
    assert end(d)[0] == "stuck"


def test_same_error_is_nudged_the_third_time(ready):
    d = ready(*[calls(("say", {"text": "!no such file"}))] * 6)
    d.run()
    assert nudges(d) == [("stuck", "say failed 3 times in the same way")]
    assert len(d.agent.requests) == 4


def test_two_alternating_actions_are_nudged_after_six(ready):
    d = ready(*[calls(("say", {"text": "!a"})), calls(("say", {"text": "!b"}))] * 5)
    d.run()
    assert "alternated 6 times" in nudges(d)[0][1]
    assert len(d.agent.requests) == 7


def test_polls_of_a_running_command_never_count(ready):
    poll = calls(("execute_bash", {"command": ""}))
    d = ready(calls(("execute_bash", {"command": "make", "text": "started"})), *[poll] * 12, says("it is done"))
    d.run()
    assert nudges(d) == []
    assert end(d) == ("waiting", "")


def test_same_command_with_changing_polls_is_no_loop(ready):
    make = ("execute_bash", {"command": "make", "text": "started"})
    turns = [turn for n in range(6) for turn in (calls(make), calls(("execute_bash", {"command": "", "text": str(n)})))]
    d = ready(*turns, says("done"))
    d.run()
    assert nudges(d) == []


def test_same_command_with_identical_polls_is_a_loop(ready):
    make = ("execute_bash", {"command": "make", "text": "started"})
    turns = [turn for _ in range(6) for turn in (calls(make), calls(("execute_bash", {"command": "", "text": "no"})))]
    d = ready(*turns)
    d.run()
    assert nudges(d)[0][1] == "execute_bash (make) gave the same result 4 times"


def test_loop_is_detected_across_a_restart(ready):
    d = ready(*[calls(SAME)] * 5)
    for _ in range(4 * 3):  # answer, decision and result
        d.session.step()
        d.reopen()
        if d.session.phase == "idle":
            break
    assert d.session.phase == "idle", "a restart ends the run"
    d.session.set(mode="never")
    d.session.send("on")
    d.run()
    assert len(nudges(d)) == 1


def test_loop_check_can_be_disabled(ready):
    d = ready(*[calls(SAME)] * 9, says("done"), stop_loops=False)
    d.run()
    assert nudges(d) == []
    assert len(d.agent.requests) == 10


def test_calls_without_tools_are_refused_and_the_model_is_notified(ready, caplog):
    d = ready(calls(("note", {"text": "one"})), says("Then in words: no."))
    d.agent.tool_choice = "none"
    d.run()
    assert d.notes == []
    assert d.results() == [
        "note was not run: tools are switched off (tool_choice is none). Answer as text.",
    ]
    assert "called 1 tool though tools are switched off" in caplog.text
    assert "tool_choice is none" in d.agent.requests[1][-1]["content"]
    assert end(d)[0] == "waiting"


def test_text_instead_of_a_required_call_is_asked_once_and_then_accepted(ready):
    d = ready(says("I could look."), says("No tool fits."), says("never asked"))
    d.agent.tool_choice = "required"
    d.run()
    assert [reason for reason, _ in nudges(d)] == ["no_call"]
    assert "called no tool" in d.agent.requests[1][-1]["content"]
    assert len(d.agent.requests) == 2
    assert end(d) == ("waiting", "")


def test_each_text_after_a_call_is_asked_again_if_calls_are_required(ready):
    d = ready(says("one"), calls(SAME), says("two"), calls(("finish", {"message": "done"})))
    d.agent.tool_choice = "required"
    d.run()
    assert [reason for reason, _ in nudges(d)] == ["no_call", "no_call"]
    assert end(d)[0] == "finished"


def test_empty_responses_between_texts_end_the_run_soon(ready):
    d = ready(says("one"), says(""), says(""), says("never asked"))
    d.agent.tool_choice = "required"
    d.run()
    assert [reason for reason, _ in nudges(d)] == ["no_call", "empty"]
    assert end(d)[0] == "error"
    assert len(d.agent.requests) == 3


def used(given: int | None, made: int | None, **more):
    return calls(("say", {"text": str(more)}), usage=Usage(input=given, output=made))


def test_token_limit_pauses_a_run_and_a_message_continues(ready):
    d = ready(used(600, 100, a=1), used(700, 100, b=1), used(900, 100, c=1), says("done"), token_limit=1_000)
    d.run()
    notice = "paused after 1,500 tokens (token_limit 1,000). Send a message to continue"
    assert end(d) == ("limit", notice)
    d.session.send("go on")
    d.run()
    assert end(d) == ("limit", notice.replace("1,500", "1,000"))
    assert len(d.agent.requests) == 3


def paid(cost, text):
    return calls(("say", {"text": text}), cost=cost)


def test_cost_limit_pauses_a_run_and_a_message_continues(ready):
    d = ready(paid(0.2, "a"), paid(0.31, "b"), paid(0.9, "c"), says("done", cost=0.1), max_cost=0.5)
    d.run()
    assert end(d) == ("limit", "paused after $0.51 (max_cost $0.50). Send a message to continue")
    assert len(d.agent.requests) == 2
    d.session.send("go on")
    d.run()
    assert end(d) == ("limit", "paused after $0.90 (max_cost $0.50). Send a message to continue")
    assert faults_of(d.agent.requests[-1]) == []


def test_unknown_price_pauses_once_per_session(ready):
    d = ready(paid(None, "a"), paid(None, "b"), says("done"), says("more"), max_cost=0.5)
    d.run()
    assert end(d) == (
        "limit",
        "paused: no price known for fake/one, so max_cost cannot be enforced. Send a message to continue",
    )
    assert len(d.agent.requests) == 1
    d.session.send("go on without")
    d.run()
    assert end(d)[0] == "waiting"
    d.reopen()
    d.session.send("and more")
    d.run()
    assert end(d)[0] == "waiting"


@pytest.mark.parametrize(("model", "named"), [("fake/two", "fake/two"), ("", "the model of a summary")])
def test_summary_of_unknown_price_cannot_be_held_to_the_limit_either(model, named):
    count = TokenCount()
    count.apply(UserMessage(text="go"))
    count.apply(HistoryCondensed(first=2, last=9, summary="all", model=model, cost=None))
    end = Limits(max_cost=0.5).reached(State(), count)
    assert end.detail.startswith(f"paused: no price known for {named}, so max_cost cannot be enforced")


def test_without_a_cost_limit_no_price_is_needed(ready):
    d = ready(paid(None, "a"), says("done"))
    d.run()
    assert end(d)[0] == "waiting"


def test_tokens_not_reported_are_estimated(ready):
    d = ready(*[calls(("say", {"text": f"{n}" * 400})) for n in range(9)], token_limit=500)
    d.run()
    reason, detail = end(d)
    assert reason == "limit"
    assert "paused after about " in detail
    assert 1 < len(d.agent.requests) < 9


def test_step_limit_names_its_setting_and_how_to_continue(ready):
    d = ready(*[calls(SAME)] * 3, max_steps=2)
    d.run()
    assert end(d) == ("limit", "paused after 2 model calls (max_steps). Send a message to continue")


def test_result_sent_to_the_model_is_limited(ready):
    d = ready(calls(("say", {"text": "begin" + "x" * 5_000 + "end"})), says("ok"), max_observe=300)
    d.run()
    seen = d.agent.requests[1][-1]["content"]
    assert len(seen) == 300
    assert seen.startswith("begin")
    assert seen.endswith("end")
    assert "characters omitted" in seen
    assert len(d.results()[0]) == 5_008, "the log keeps everything"


@pytest.mark.parametrize("limit", [1, 10, 41, 42, 43, 44, 200, 5_007])
def test_a_limited_result_has_exactly_the_characters_of_the_limit(ready, limit):
    text = "begin" + "é\n" * 2_500 + "end"
    d = ready(calls(("say", {"text": text})), says("ok"), max_observe=limit)
    d.run()
    sent = d.agent.requests[1][-1]["content"]
    assert len(sent) == limit
    assert text.startswith(sent.partition("\n[…")[0])


@pytest.mark.parametrize("limit", [0, 5_008, 10_000])
def test_a_result_within_the_limit_is_sent_whole(ready, limit):
    text = "begin" + "x" * 5_000 + "end"
    d = ready(calls(("say", {"text": text})), says("ok"), max_observe=limit)
    d.run()
    assert d.agent.requests[1][-1]["content"] == text


def test_exit_ends_the_run_and_an_open_question(harness):
    d = harness(calls(("note", {"text": "one"}, "HIGH")), says("never asked"))
    d.session.send("go")
    d.run()
    d.session.send(" /exit ")
    assert d.session.phase == "idle"
    assert end(d)[0] == "interrupted"
    assert d.notes == []
    assert len(d.agent.requests) == 1
    assert not d.session.step()
