"""Which spans the events of a session become when a run fails, is interrupted or is continued."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from workbench.protocol.events import (
    ActionAbandoned,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    HistoryCondensed,
    ModelAsked,
    ModelResponded,
    Rewound,
    RunEnded,
    UserCommand,
    UserMessage,
)
from workbench.protocol.usage import Usage
from workbench.telemetry.session_spans import SessionSpans
from workbench.telemetry.span import AgentIdentity, CallInput, SpanRecord, conversation_id

START = datetime(2026, 1, 1, tzinfo=UTC)
MODELS = {"": "xai/grok-9", "spare": "openrouter/anthropic/claude"}
AGENT = AgentIdentity("ohw", "c", MODELS.__getitem__)
MESSAGE = UserMessage(text="go")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def proposed(name: str = "a", **more: str) -> ActionProposed:
    return ActionProposed(action_id=name, response_id="r", call_id=f"call-{name}", tool="glob", **more)


def answer(**more: object) -> ModelResponded:
    return ModelResponded(response_id="r", model="grok-9-0101", latency=0.5, **more)


def observed(name: str = "a", **more: object) -> ActionObserved:
    return ActionObserved(action_id=name, observation={"is_error": False}, **more)


def spans_of(*events: Event, open_calls: tuple[ActionProposed, ...] = ()) -> list[SpanRecord]:
    """Return the spans of events that follow each other by a second."""
    spans: list[SpanRecord] = []
    session = SessionSpans(AGENT, {each.action_id: each for each in open_calls}, spans.append, lambda step: AGENT)
    for number, event in enumerate(events):
        session.apply(replace(event, at=at(number)))
    return spans


def outline(spans: list[SpanRecord]) -> list[tuple[str, str]]:
    return [(span.name, span.error) for span in spans]


def test_model_call_that_ends_the_run_is_a_failed_span():
    ended = RunEnded(reason="error", fault="key", model="spare")
    spans = spans_of(MESSAGE, ended)
    assert outline(spans) == [("chat anthropic/claude", "key"), ("invoke_agent ohw", "key")]
    assert (spans[0].start, spans[0].end) == (at(0), at(1))
    assert spans[0].attributes["gen_ai.provider.name"] == "openrouter"


def test_calls_without_a_result_are_abandoned_when_the_run_ends():
    call = proposed()
    spans = spans_of(MESSAGE, answer(), call, ActionStarted(action_id="a"), RunEnded(reason="interrupted"))
    assert outline(spans) == [
        ("chat grok-9", ""),
        ("execute_tool glob", "abandoned"),
        ("step 1", ""),
        ("invoke_agent ohw", ""),
    ]
    assert spans[-1].attributes["ohw.run.end"] == "interrupted"


def test_rewinding_ends_the_run_unless_only_files_go_back():
    (run,) = spans_of(MESSAGE, Rewound(target=1, scope="files"), RunEnded(reason="waiting"))
    assert run.end == at(2)
    assert outline(spans_of(MESSAGE, Rewound(target=1))) == [("invoke_agent ohw", "")]


def test_call_lasts_from_its_start_to_its_result_and_a_step_to_its_last_result():
    decided = ActionDecided(action_id="a", verdict="approved", by="person")
    events = (
        MESSAGE,
        answer(),
        proposed(),
        decided,
        ActionStarted(action_id="a"),
        observed(),
        RunEnded(reason="limit"),
    )
    chat, tool, step, run = spans_of(*events)
    assert (chat.start, chat.end) == (at(0.5), at(1))
    assert (tool.start, tool.end) == (at(4), at(5))
    assert (step.start, step.end) == (at(0.5), at(5))
    assert (run.start, run.end, run.error) == (at(0), at(6), "limit")
    assert [span.parent.span_id for span in (chat, tool, step, run)] == [step.span_id, step.span_id, run.span_id, None]


def test_call_of_the_model_by_a_tool_is_a_child_of_the_tool_call():
    asked = ModelAsked(action_id="a", model="grok-9-0101", usage=Usage(input=3, output=0))
    chat, inner, tool, *_ = spans_of(MESSAGE, answer(), proposed(), asked, observed(), RunEnded(reason="finished"))
    assert (inner.name, inner.parent.span_id) == ("chat grok-9", tool.span_id)
    assert inner.attributes["gen_ai.usage.input_tokens"] == 3
    assert inner.attributes["gen_ai.usage.output_tokens"] == 0
    assert "gen_ai.usage.reasoning.output_tokens" not in inner.attributes
    assert chat.attributes["gen_ai.provider.name"] == "x_ai"


def test_fallback_model_is_the_one_that_was_asked():
    chat, *_ = spans_of(MESSAGE, answer(fallback="spare"), RunEnded(reason="waiting"))
    assert (chat.name, chat.attributes["gen_ai.response.model"]) == ("chat anthropic/claude", "grok-9-0101")


def test_compacting_without_a_run_is_a_trace_of_its_own():
    (chat,) = spans_of(HistoryCondensed(first=1, last=2, summary="s", model="grok-9-0101", latency=2.0))
    assert (chat.name, chat.parent.span_id) == ("chat grok-9", None)
    assert (chat.start, chat.end) == (at(-2), at(0))


def test_what_closes_the_run_of_a_killed_process_becomes_no_span():
    closing = (ActionAbandoned(action_id="a"), observed("b"), RunEnded(reason="interrupted"))
    assert spans_of(*closing, open_calls=(proposed("a"), proposed("b"))) == []


def test_commands_of_the_user_become_no_span():
    assert spans_of(UserCommand(action_id="u", command="ls"), ActionStarted(action_id="u"), observed("u")) == []


def test_answer_to_an_earlier_question_continues_the_run():
    decided = ActionDecided(action_id="a", verdict="rejected", by="person")
    spans = spans_of(decided, observed(ran=False), RunEnded(reason="waiting"), open_calls=(proposed(),))
    assert outline(spans) == [("execute_tool glob", "rejected"), ("invoke_agent ohw", "")]


def test_every_run_is_a_trace_of_its_own():
    runs = spans_of(MESSAGE, RunEnded(reason="waiting"), UserMessage(text="more"), RunEnded(reason="finished"))
    assert len({run.parent.trace_id for run in runs}) == len(runs) == 2


def test_conversation_has_no_word_of_the_first_message():
    name = conversation_id("20260101-rename-the-falcon-1a2b")
    assert name.startswith("20260101-1a2b-")
    assert len(name) == len("20260101-1a2b-") + 12
    assert "-" not in conversation_id("imported-falcon")


def test_inputs_of_sub_agents_side_by_side_are_their_own():
    spans: list[SpanRecord] = []
    run = SessionSpans(AGENT, {}, spans.append, lambda step: AGENT)
    sent = {name: CallInput([{"role": "user", "content": name}]) for name in ("one", "two")}
    run.apply(replace(MESSAGE, at=at(0)))
    for name in sent:
        run.apply(replace(proposed(name), at=at(1)))
    steps = {
        name: DelegateStep(action_id=name, agent=name, session=name, event=replace(answer(), at=at(2)), at=at(2))
        for name in sent
    }
    for name, step in steps.items():
        run.note_request_of(step, sent[name])
    for step in steps.values():
        run.apply(step)
    assert [span.request for span in spans if span.name.startswith("chat")] == [*sent.values()]
