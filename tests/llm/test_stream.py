"""Joining the pieces of an answer, in the forms that servers really send."""

import pytest

from workbench.llm.stream import Joiner, read_usage


def joined(*deltas: dict[str, object]) -> Joiner:
    joiner = Joiner()
    for delta in deltas:
        joiner.add({"choices": [{"delta": delta}]})
    return joiner


def piece(name: str | None, arguments: object, **more: object) -> dict[str, object]:
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]}


def test_name_repeated_in_every_chunk_is_used_once():
    (call,) = joined(piece("think", '{"th', index=0, id="a"), piece("think", 'ought": "x"}', index=0, id="a")).calls
    assert (call.id, call.name, call.arguments) == ("a", "think", '{"thought": "x"}')


def test_arguments_sent_as_an_object_become_text():
    (call,) = joined(piece("think", {"thought": "ä"}, index=0, id="a")).calls
    assert call.arguments == '{"thought": "\\u00e4"}'


def test_calls_with_the_same_index_are_distinguished_by_id():
    first, second = joined(piece("think", "{}", index=0, id="a"), piece("finish", "{}", index=0, id="b")).calls
    assert (first.name, second.name) == ("think", "finish")


def test_calls_without_an_index_are_in_order():
    first, second = joined(piece("think", '{"a"', id="a"), piece(None, ": 1}"), piece("finish", "{}", id="b")).calls
    assert (first.arguments, second.name) == ('{"a": 1}', "finish")


def test_refusal_is_the_text_of_the_response():
    assert joined({"content": None, "refusal": "I cannot "}, {"refusal": "do that."}).text == "I cannot do that."


def test_chunks_of_a_wrong_type_are_ignored():
    joiner = joined({"content": 3, "tool_calls": "x"}, {"tool_calls": [7, {"function": 1, "index": True}]})
    assert joiner.add({"choices": [{"delta": "x", "finish_reason": 5}], "usage": [], "id": 4}) == []
    assert (joiner.text, joiner.id, joiner.finish_reason) == ("", "", "")


def test_arguments_of_20_mb_are_not_stored_completely():
    pieces = [piece("think" if number == 0 else None, "x" * 1_000_000, index=0) for number in range(20)]
    (call,) = joined(*pieces).calls
    assert 2_000_000 < len(call.arguments) < 4_000_000


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cached_tokens": 7}},
        {"prompt_tokens_details": None, "prompt_cache_hit_tokens": 7},
        {"prompt_tokens_details": {"cached_tokens": None}, "cached_tokens": 7},
    ],
    ids=["OpenAI", "DeepSeek", "Moonshot"],
)
def test_cached_tokens_are_read_in_each_form(usage):
    assert read_usage({"prompt_tokens": 9, **usage}).cached == 7
