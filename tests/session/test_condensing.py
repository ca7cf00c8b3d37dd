"""Condensing the history: when it happens, what it keeps, and what is reported if it fails."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.session.fake_agent import Harness, NamedModel, calls, faults_of, says
from tests.session.test_history import logs
from workbench.agent.summary import summary_of, summary_request
from workbench.llm.model import ContextOverflow, Message, ModelError, ModelResponse
from workbench.llm.signatures import BLOCKS
from workbench.protocol.events import ActionObserved, HistoryCondensed
from workbench.protocol.usage import Usage
from workbench.session.actions.decide import CommandError
from workbench.session.turn.condenser import FIRST_MESSAGES, find_condensable
from workbench.session.turn.message_history import DROPPED, MessageHistory, Tagged, condensed, messages
from workbench.tools.request_condensation.definition import RequestCondensationTool

LOOK = ("look", {})
ASK = ("request_condensation", {})
SUMMARY = says("GOAL\ngo\nFACTS\nall is well", usage=Usage(input=300, output=20), cost=0.25)


@pytest.fixture
def begun(tmp_path):
    """Open sessions that have run a script; their model writes the given summaries."""
    opened: list[Harness] = []

    def open_harness(*script, summaries=(SUMMARY,), **more) -> Harness:
        d = Harness(tmp_path, *script, **{"stop_loops": False, **more})
        opened.append(d)
        d.agent.model = NamedModel("fake/one", *summaries)
        d.tools["request_condensation"] = RequestCondensationTool()
        d.session.send("go and see")
        return d

    yield open_harness
    for d in opened:
        d.close()


def looks(count: int, **more) -> list[ModelResponse]:
    return [calls(LOOK, text=f"look {number}", **more) for number in range(count)]


def condensings(d) -> list[HistoryCondensed]:
    return [event for event in d.log() if isinstance(event, HistoryCondensed)]


def spoken(request: list[dict]) -> str:
    return " ".join(str(message["content"]) for message in request if message["role"] != "tool")


def test_condensation_tool_condenses_before_the_next_call(begun):
    d = begun(*looks(9), calls(ASK), says("I go on."))
    d.run()
    (event,) = condensings(d)
    assert (event.reason, event.summary, event.cost) == ("asked", SUMMARY.text, 0.25)
    assert (event.usage.input, event.usage.output) == (300, 20)
    assert event.model == SUMMARY.model != ""
    before, after = d.agent.requests[-2:]
    assert len(after) < len(before)
    # The first four, and the result that belongs to them.
    assert after[: FIRST_MESSAGES + 1] == before[: FIRST_MESSAGES + 1]
    assert after[-4:-2] == before[-2:]
    assert after[FIRST_MESSAGES + 1]["role"] == "user"
    assert SUMMARY.text in after[FIRST_MESSAGES + 1]["content"]
    assert faults_of(after) == []
    assert "is summarized" in d.results()[-1]


def test_recent_half_is_kept_verbatim(begun):
    d = begun(*looks(20), calls(ASK), says("I go on."))
    d.run()
    before, after = d.agent.requests[-2:]
    assert after[-20:-2] == before[-18:]
    for number in (0, 1, 12, 15, 19):
        assert f"look {number}" in spoken(after)
    for number in (3, 5, 8):
        assert f"look {number} " not in spoken(after) + " "


def test_log_keeps_everything_and_replays_to_the_same_messages(begun):
    d = begun(*looks(9), calls(ASK), says("I go on."))
    d.run()
    assert len([event for event in d.log() if event.kind == "model_responded"]) == 11
    d.reopen()
    d.session.send("and now?")
    d.run()
    assert d.agent.requests[-1][:-2] == d.agent.requests[-2]


def test_condensed_part_is_sent_as_a_record_with_the_requested_sections(begun):
    d = begun(*looks(9), calls(ASK), says("I go on."))
    d.run()
    (request,) = d.agent.model.requests
    rules, record = request.messages
    for section in ("GOAL", "FACTS", "DONE", "OPEN", "FILES", "TESTS"):
        assert f"\n{section}: " in rules["content"]
    assert not request.tools
    assert "AGENT: look 3" in record["content"]
    assert "RESULT: all is well" in record["content"]
    assert "look 8" not in record["content"]


def test_second_condensation_includes_the_first_summary(begun):
    second = says("GOAL\nstill go")
    d = begun(*looks(9), calls(ASK), *looks(9), calls(ASK), says("I go on."), summaries=(SUMMARY, second))
    d.run()
    assert len(condensings(d)) == 2
    assert SUMMARY.text in d.agent.model.requests[1].messages[1]["content"]
    last = spoken(d.agent.requests[-1])
    assert second.text in last
    assert SUMMARY.text not in last
    assert faults_of(d.agent.requests[-1]) == []


def test_short_history_is_not_condensed(begun):
    d = begun(calls(ASK), says("I go on."), summaries=())
    d.run()
    assert condensings(d) == []
    assert d.session.ended == "waiting"


def test_history_above_the_message_limit_is_condensed_below_it(begun):
    d = begun(*looks(60), says("done"), summaries=[SUMMARY] * 50, condense_events=20, max_steps=100)
    d.run()
    assert d.session.ended == "waiting"
    assert {event.reason for event in condensings(d)} == {"events"}
    assert max(map(len, d.agent.requests)) <= 20
    assert all(faults_of(request) == [] for request in d.agent.requests)


def test_filling_context_window_is_condensed(begun):
    full = calls(LOOK, usage=Usage(input=7_990, output=100, window=10_000))
    d = begun(*looks(9, usage=Usage(input=7_000, output=100, window=10_000)), full, says("done"))
    d.run()
    (event,) = condensings(d)
    assert event.reason == "tokens"
    assert len(d.agent.requests[-1]) < len(d.agent.requests[-2])


@pytest.mark.parametrize("more", [{"condense_percent": 0}, {"context_window": 1_000_000}])
def test_settings_define_when_a_window_is_full(begun, more):
    d = begun(*looks(9, usage=Usage(input=9_900, output=90, window=10_000)), says("done"), summaries=(), **more)
    d.run()
    assert condensings(d) == []


def test_oversized_request_is_condensed_once_and_sent_again(begun):
    d = begun(*looks(9), ContextOverflow("too long"), says("It fits."))
    d.run()
    (event,) = condensings(d)
    assert event.reason == "overflow"
    assert d.session.ended == "waiting"
    assert len(d.agent.requests[-1]) < len(d.agent.requests[-2])


def test_request_still_too_large_pauses_and_may_be_condensed_again(begun):
    too_long = ContextOverflow("too long")
    d = begun(*looks(20), too_long, too_long, too_long, says("It fits."), summaries=[SUMMARY] * 2)
    d.run()
    assert len(condensings(d)) == 1
    end = d.log()[-1]
    assert (end.reason, "larger window" in end.detail) == ("error", True)
    d.session.send("try again")
    d.run()
    assert len(condensings(d)) == 2
    assert d.session.ended == "waiting"


def test_single_message_that_does_not_fit_is_reported(begun):
    d = begun(ContextOverflow("the request is larger than the window"), summaries=())
    d.run()
    end = d.log()[-1]
    assert (end.reason, end.detail) == ("error", "the request is larger than the window")


def test_record_that_does_not_fit_is_shortened(begun):
    d = begun(*looks(9), calls(ASK), says("ok"), summaries=(ContextOverflow("x"), ContextOverflow("x"), SUMMARY))
    d.run()
    assert len(condensings(d)) == 1
    assert len(d.agent.model.requests) == 3


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        (ModelError("refused the key"), "refused the key"),
        (says(" "), "wrote no summary"),
        (says("GOAL: half", incomplete=True), "wrote no summary"),
    ],
)
def test_failed_summary_ends_the_run_and_loses_nothing(begun, summary, message):
    d = begun(*looks(9), calls(ASK), says("I go on."), summaries=(summary, SUMMARY))
    d.run()
    end = d.log()[-1]
    assert (end.reason, message in end.detail) == ("error", True)
    assert condensings(d) == []
    d.session.send("once more")
    d.run()
    assert len(condensings(d)) == 1
    assert d.session.ended == "waiting"


def test_interrupt_reaches_the_summary_call(begun):
    began = threading.Event()

    def hangs(request, on_delta, cancel):
        began.set()
        assert cancel.wait(60)
        return says("", incomplete=True)

    d = begun(*looks(9), calls(ASK), says("I go on."), summaries=(hangs,))
    thread = threading.Thread(target=d.run)
    thread.start()
    assert began.wait(60)
    d.session.interrupt()
    thread.join(60)
    assert not thread.is_alive()
    assert (d.session.ended, d.session.phase) == ("interrupted", "idle")
    assert condensings(d) == []


def test_open_question_prevents_condensing(begun):
    d = begun(*looks(9), calls(ASK, ("note", {"text": "a"}, "HIGH"), LOOK), says("I go on."))
    d.run()
    assert d.session.phase == "deciding"
    assert condensings(d) == []
    d.answer("approved")
    assert d.notes == ["a"]
    assert len(condensings(d)) == 1
    assert faults_of(d.agent.requests[-1]) == []


def test_message_sent_during_condensing_is_not_condensed(begun):
    def summary(request, on_delta, cancel):
        d.session.send("and mind the gap")
        return SUMMARY

    d = begun(*looks(9), calls(ASK), says("I do."), summaries=(summary,))
    d.run()
    assert d.agent.requests[-1][-1] == {"role": "user", "content": "and mind the gap"}
    assert d.session.ended == "waiting"


def test_summary_is_well_formed_and_bounded():
    assert summary_of(says(" one \ud800 ")) == "one �"
    assert len(summary_of(says("x" * 100_000))) < 21_000


def test_pictures_and_unusual_messages_are_named_in_the_record():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aa"}}
    request = summary_request([{"role": "user", "content": [{"type": "text", "text": "see"}, picture]}], 1_000)
    assert "USER: see\nUSER: (an image)" in request.messages[1]["content"]


@settings(max_examples=400, deadline=None)
@given(logs, st.integers(0, 30), st.integers(0, 30), st.integers(0, 25))
def test_no_condensation_separates_a_call_from_its_result(log, first, last, at):
    log.insert(at, HistoryCondensed(first=first, last=last, summary="sum"))
    log = [replace(event, seq=seq) for seq, event in enumerate(log, 1)]
    assert faults_of(messages(log)) == []


@settings(max_examples=400, deadline=None)
@given(st.lists(logs, min_size=2, max_size=4))
def test_condensed_part_is_whole_batches_and_the_rest_stays_verbatim(parts):
    log = [event for part in parts for event in part]
    log = [replace(event, seq=seq) for seq, event in enumerate(log, 1)]
    history = MessageHistory()
    for event in log:
        history.apply(event)
    before = list(history.request())
    middle = find_condensable(history.tagged)
    if middle is None:
        return
    begin = next(at for at, message in enumerate(before) if message is middle.messages[0])
    end = begin + len(middle.messages)
    history.apply(HistoryCondensed(seq=len(log) + 1, first=middle.first, last=middle.last, summary="sum"))
    after = history.request()
    assert begin >= FIRST_MESSAGES
    assert after[:begin] == before[:begin]
    assert after[begin + 1 :] == before[end:]
    assert "sum" in after[begin]["content"]
    assert before[end:] or before[-1]["role"] != "user"
    assert faults_of(after) == []


def thinking_history(runs: list[tuple[int, list[bool]]]) -> Tagged:
    """Runs of a user's messages and responses with a call each; True is a response with thinking."""
    history = Tagged([], [])

    def add(message: Message) -> None:
        history.messages.append(message)
        history.seqs.append(len(history.seqs) + 1)

    for count, responses in runs:
        for number in range(count):
            add({"role": "user", "content": f"go {number}"})
        for thinks in responses:
            call_id = f"c{len(history.seqs)}"
            call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
            blocks = {BLOCKS: [{"type": "thinking", "thinking": "hm", "signature": "s"}]} if thinks else {}
            add({"role": "assistant", "content": None, "tool_calls": [call], **blocks})
            add({"role": "tool", "tool_call_id": call_id, "content": "seen"})
    return history


def is_accepted(messages: list[Message]) -> bool:
    """The provider's rule: calls behind the last message of the user begin with thinking if the run has any."""
    after = messages[max(index for index, message in enumerate(messages) if message["role"] == "user") + 1 :]
    return not any(message.get(BLOCKS) for message in after) or bool(after[0].get(BLOCKS))


@pytest.mark.parametrize("every", [1, 2, 3, 5, 100], ids=["all", "second", "third", "fifth", "first"])
def test_no_bare_call_follows_the_summary_of_a_run_with_thinking(every):
    history = thinking_history([(1, [number % every == 0 for number in range(12)])])
    part = find_condensable(history)
    assert part is not None
    after = condensed(history, part.first, part.last, "sum").messages
    summary = next(index for index, message in enumerate(after) if "sum" in str(message["content"]))
    assert all(message.get(BLOCKS) for message in after[summary + 1 : summary + 2])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 2), st.lists(st.booleans(), max_size=9)), min_size=1, max_size=4))
def test_condensed_history_begins_runs_of_thinking_with_thinking(runs):
    runs = [(count, [bool(responses and any(responses)), *responses[1:]]) for count, responses in runs]
    history = thinking_history(runs)
    part = find_condensable(history)
    if part is None:
        return
    after = condensed(history, part.first, part.last, "sum").messages
    assert is_accepted(after)
    summary = next(index for index, message in enumerate(after) if "sum" in str(message["content"]))
    behind = after[summary + 1 :]
    in_run = behind[: next((at for at, message in enumerate(behind) if message["role"] == "user"), len(behind))]
    assert not any(message.get(BLOCKS) for message in in_run) or in_run[0].get(BLOCKS)


def test_user_can_condense_at_once_between_two_runs(begun):
    d = begun(*looks(9), says("Done so far."), says("Further."))
    d.run()
    d.session.condense()
    assert d.session.phase == "thinking"
    d.run()
    assert d.kinds()[-2:] == ["condensing_asked", "history_condensed"]
    assert (d.session.phase, d.session.ended) == ("idle", "waiting")
    asked = len(d.agent.requests)
    d.session.send("on")
    d.run()
    assert len(d.agent.requests) == asked + 1  # the agent was not called for the condensation
    assert SUMMARY.text in spoken(d.agent.requests[-1])
    assert faults_of(d.agent.requests[-1]) == []


def test_condensation_requested_during_a_question_waits_for_the_next_call(begun):
    d = begun(*looks(9), calls(("note", {"text": "a"}, "HIGH")), says("I go on."))
    d.run()
    assert d.session.phase == "deciding"
    d.session.condense()
    assert condensings(d) == []
    d.answer("approved")
    assert [event.reason for event in condensings(d)] == ["person"]
    assert SUMMARY.text in spoken(d.agent.requests[-1])


def test_request_to_condense_a_short_history_is_declined_with_a_notice(begun):
    d = begun(says("Hello."))
    d.run()
    before = d.kinds()
    with pytest.raises(CommandError, match="nothing to compact yet"):
        d.session.condense()
    assert d.kinds() == before


def test_failed_requested_condensation_is_reported_and_a_message_continues(begun):
    d = begun(*looks(9), says("Done so far."), says("Further."), summaries=(says(""),))
    d.run()
    d.session.condense()
    d.run()
    assert d.kinds()[-1] == "run_ended"
    assert "no summary" in d.log()[-1].detail
    assert d.session.phase == "idle"


def test_restart_drops_a_pending_condensation_request(begun):
    d = begun(*looks(9), says("Done so far."))
    d.run()
    d.session.condense()
    d.session.recover()
    assert d.session.phase == "idle"
    assert d.kinds()[-2:] == ["condensing_asked", "run_ended"]


def test_undone_condensation_sends_the_whole_history_again(begun):
    d = begun(*looks(9), says("Done so far."), says("Further."), says("And on."))
    d.run()
    whole = list(d.agent.requests[-1])
    d.session.condense()
    d.run()
    (event,) = condensings(d)
    d.session.condense(undo=True)
    assert d.kinds()[-1] == "condensing_undone"
    undone = d.log()[-1]
    assert (undone.condensed, undone.first, undone.last) == (event.seq, event.first, event.last)
    d.session.send("on")
    d.run()
    again = d.agent.requests[-1]
    assert again[: len(whole)] == whole
    assert SUMMARY.text not in spoken(again)
    assert faults_of(again) == []
    with pytest.raises(CommandError, match="no compaction to undo"):
        d.session.condense(undo=True)


LONG = "out " * 500


def results_in(request: list[dict]) -> list[str]:
    return [message["content"] for message in request if message["role"] == "tool"]


def observed(d, at: int) -> str:
    return [event for event in d.log() if isinstance(event, ActionObserved)][at].action_id


@pytest.fixture
def shown_twice(begun):
    note = ("note", {"text": LONG})
    d = begun(calls(note), calls(note), says("Seen."), *looks(8), says("Again."), says("More."), says("End."))
    d.run()
    return d


def test_dropped_output_is_sent_no_more_but_its_call_is(shown_twice):
    d = shown_twice
    before = list(d.agent.requests[-1])
    d.session.condense(drop=observed(d, 0))
    dropped = d.log()[-1]
    assert (dropped.kind, dropped.characters) == ("output_dropped", len(f"noted {LONG}") - len(DROPPED))
    d.session.send("on")
    d.run()
    request = d.agent.requests[-1]
    assert results_in(request)[:2] == [DROPPED, results_in(before)[1]]
    assert results_in(before)[0] != DROPPED, "a request that was sent keeps its messages"
    assert faults_of(request) == []


def test_output_is_dropped_once_and_only_if_it_was_sent(shown_twice):
    d = shown_twice
    d.session.condense(drop=observed(d, 0))
    for action_id in (observed(d, 0), "nosuch"):
        with pytest.raises(CommandError, match="not in the context any more"):
            d.session.condense(drop=action_id)


def test_dropped_output_stays_dropped_when_a_condensation_is_undone(shown_twice):
    d = shown_twice
    d.session.condense(drop=observed(d, 0))
    d.session.send("on")
    d.run()
    d.session.condense()
    d.run()
    assert len(condensings(d)) == 1
    d.session.condense(undo=True)
    d.session.send("and on")
    d.run()
    assert results_in(d.agent.requests[-1])[0] == DROPPED
    assert faults_of(d.agent.requests[-1]) == []


def test_messages_after_a_condensation_survive_its_undo(begun):
    d = begun(*looks(9), says("Done so far."), says("Further."), says("And on."))
    d.run()
    whole = list(d.agent.requests[-1])
    d.session.condense()
    d.run()
    d.session.send("said meanwhile")
    d.run()
    d.reopen()  # only the log has it
    d.agent.model = NamedModel("fake/one")
    d.session.condense(undo=True)
    d.reopen()
    d.session.send("on")
    d.run()
    again = d.agent.requests[-1]
    assert again[: len(whole)] == whole
    assert "said meanwhile" in spoken(again)
    assert "Further." in spoken(again)
    assert faults_of(again) == []


def test_undone_condensation_is_repeated_for_a_full_window_but_not_for_a_limit(begun):
    d = begun(
        *looks(9), says("Done."), *looks(3), says("More."), ContextOverflow("x"), says("Last."), condense_events=16
    )
    d.run()
    assert [event.reason for event in condensings(d)] == ["events"]
    d.session.condense(undo=True)
    d.agent.model.summaries.append(SUMMARY)
    d.session.send("on")
    d.run()
    assert len(condensings(d)) == 1
    d.session.send("and on")
    d.run()
    assert [event.reason for event in condensings(d)] == ["events", "overflow"]
    assert d.session.ended == "waiting"


def test_undo_without_a_condensation_is_refused(begun):
    d = begun(*looks(9), says("Done so far."))
    d.run()
    with pytest.raises(CommandError, match="no compaction to undo"):
        d.session.condense(undo=True)
