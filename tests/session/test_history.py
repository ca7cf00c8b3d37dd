import json

from hypothesis import given, settings
from msgspec.structs import replace

from tests.session.random_logs import logs
from workbench.protocol.events import (
    ActionAbandoned,
    ActionObserved,
    ActionProposed,
    ModelResponded,
    RawToolCall,
    UserMessage,
)
from workbench.session.limits import MAX_OBSERVE
from workbench.session.state import State
from workbench.session.turn.message_history import messages


@settings(max_examples=200, deadline=None)
@given(logs)
def test_history_accepts_events_in_any_order(log):
    ledger = State()
    for event in log:
        ledger.apply(event)
        assert ledger.phase in ("idle", "thinking", "deciding", "acting")
        assert ledger.is_running or ledger.phase == "idle"


def answered(*calls: tuple[str, str], text: str = "", seen: int | None = None) -> list:
    raw = tuple(RawToolCall(id=name, name="look", arguments=arguments) for name, arguments in calls)
    proposed = [
        ActionProposed(action_id=name, response_id="r", call_id=name, tool="look", position=number, batch=len(calls))
        for number, (name, _) in enumerate(calls)
    ]
    return [ModelResponded(response_id="r", model="m", text=text, tool_calls=raw, seen=seen), *proposed]


def seen_as(action_id: str, text: str) -> ActionObserved:
    return ActionObserved(action_id=action_id, observation={"content": [{"type": "text", "text": text}]})


def numbered(*log) -> list:
    return [replace(event, seq=seq) for seq, event in enumerate(log, 1)]


def test_whole_turn_is_sent_in_order():
    log = numbered(UserMessage(text="go"), *answered(("a", '{"x": 1}'), text="Looking."), seen_as("a", "ok"))
    function = {"name": "look", "arguments": '{"x": 1}'}
    assert messages(log) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]


def test_message_precedes_the_response_that_saw_it_and_follows_one_that_did_not():
    first, second = UserMessage(text="one"), UserMessage(text="two")
    log = numbered(first, second, *answered(("a", "{}"), seen=1), seen_as("a", "ok"))
    assert [m["content"] for m in messages(log)] == ["one", None, "ok", "two"]
    log = numbered(first, second, *answered(("a", "{}"), seen=2), seen_as("a", "ok"))
    assert [m["content"] for m in messages(log)] == ["one", "two", None, "ok"]


def test_long_observation_is_cut_in_the_middle():
    text = "\n".join(f"line {number}" for number in range(20_000))
    log = numbered(UserMessage(text="go"), *answered(("a", "{}")), seen_as("a", text))
    content = messages(log)[-1]["content"]
    assert len(content) < MAX_OBSERVE + 200
    assert content.startswith("line 0\n")
    assert content.endswith("line 19999")
    assert "omitted" in content


def test_unreadable_arguments_are_sent_back_inside_an_object():
    log = numbered(UserMessage(text="go"), *answered(("a", "{'x': 1,}")), seen_as("a", "no"))
    sent = messages(log)[1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(sent) == {"unreadable_arguments": "{'x': 1,}"}


def test_abandoned_action_is_reported_as_unknown():
    log = numbered(UserMessage(text="go"), *answered(("a", "{}")), ActionAbandoned(action_id="a"))
    assert "unknown" in messages(log)[-1]["content"]


def test_results_are_sent_in_the_order_of_their_calls():
    calls = answered(("a", "{}"), ("b", "{}"), ("c", "{}"))
    log = numbered(UserMessage(text="go"), *calls, seen_as("c", "C"), seen_as("a", "A"), seen_as("b", "B"))
    assert [m["content"] for m in messages(log)[2:]] == ["A", "B", "C"]
    log = numbered(UserMessage(text="go"), *calls, seen_as("c", "C"), seen_as("b", "B"))
    assert [m["tool_call_id"] for m in messages(log)[2:]] == ["a", "b", "c"], "one that is lost has its place too"


def test_image_follows_its_batch():
    image = {"type": "image", "data": "QQ==", "mime_type": "image/png"}
    shot = ActionObserved(action_id="a", observation={"content": [image]})
    log = numbered(UserMessage(text="go"), *answered(("a", "{}"), ("b", "{}")), shot, seen_as("b", "ok"))
    messages_built = messages(log)
    assert [m["role"] for m in messages_built] == ["user", "assistant", "tool", "tool", "user"]
    assert messages_built[-1]["content"][1]["image_url"]["url"] == "data:image/png;base64,QQ=="
