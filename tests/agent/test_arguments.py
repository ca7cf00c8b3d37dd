"""Arguments of calls are parsed strictly: anything but exactly one JSON object is refused, so no action is created."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.agent.responses import MAX_ARGUMENTS, UnreadableArguments, read_arguments


def test_object_is_parsed():
    assert read_arguments(' {"a": 1, "b": [true, null, "x"]} ') == {"a": 1, "b": [True, None, "x"]}


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_empty_text_means_no_arguments(text):
    assert read_arguments(text) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{'command': 'ls'}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": "line\nbreak"}', "not valid JSON"),
        ('{"command": "rm -rf ', "cut off"),
        ('{"a": 1} {"b": 2}', "not valid JSON"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "too long"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"x": {"b": 1, "b": 2}}', "twice"),
        ("[1, 2]", "a list"),
        ('"{}"', "a string"),
        ("true", "true or false"),
        ("null", "null"),
        ("7", "a number"),
        ('{"a":' * 10_000 + "1" + "}" * 10_000, "deep"),
        ('{"a":' + "[" * 60 + "]" * 60 + "}", "deep"),
        ('{"a": "' + "x" * 20_000_000 + '"}', "too large"),
    ],
    ids=range(19),
)
def test_anything_else_is_refused_with_a_reason(text, message):
    with pytest.raises(UnreadableArguments, match=message) as caught:
        read_arguments(text)
    assert len(str(caught.value)) < 400


def test_lone_surrogates_and_nul_are_replaced():
    assert read_arguments('{"a": "x\\ud800y\\u0000", "\\udfff": ["\\ud83d"]}') == {"a": "x�y�", "�": ["�"]}


def test_file_close_to_the_size_limit_is_accepted():
    assert len(read_arguments(json.dumps({"a": "x" * (MAX_ARGUMENTS - 20)}))["a"]) == MAX_ARGUMENTS - 20


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(texts, json_values, max_size=4))
def test_any_object_survives_a_round_trip(value):
    assert read_arguments(json.dumps(value)) == value
    assert read_arguments(json.dumps(value, ensure_ascii=False)) == value


@settings(max_examples=80, deadline=None)
@given(st.text())
def test_no_text_raises_another_exception(text):
    message = ""
    try:
        read = read_arguments(text)
    except UnreadableArguments as error:
        read, message = {}, str(error)
    assert message or isinstance(read, dict)
