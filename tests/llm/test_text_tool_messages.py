"""Messages around calls as text: content in parts, wrong shapes of content and calls, and what is inside parameters."""

import pytest

from tests.llm.test_text_tool_calls import BASH, TOOLS, and_back, call, to_text, tool
from workbench.llm.text_tools.calls import (
    FunctionCallConversionError,
    FunctionCallValidationError,
    convert_from_multiple_tool_calls_to_single_tool_call_messages,
    convert_tool_call_to_string,
    convert_tools_to_description,
)

FORM = "<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>"
CALL = call("execute_bash", command="ls")
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize(
    ("content", "rest", "count"),
    [
        (parts(f"hello {FORM}", "after"), parts("hello ", "after"), 1),
        (
            parts("hello <function=execute_bash>\n<parameter=command>l", "s</parameter>\n</function>"),
            parts("hello ", ""),
            1,
        ),
        (parts(f"a {FORM}", f"b {FORM}"), parts("a ", "b "), 2),
        ([IMAGE, *parts(f"b\n\n{FORM}")], [IMAGE, *parts("b")], 1),
        (parts("<\\function=x>", FORM), parts("<function=x>", ""), 1),
        (parts("<think>", FORM), parts("<think>", FORM), 0),
        (parts("one", "two"), parts("one", "two"), 0),
    ],
    ids=["first-part", "split", "both-parts", "image", "escaped", "thinking", "no-call"],
)
def test_text_beside_calls_in_parts_is_kept_once(content, rest, count):
    (message,) = and_back([{"role": "assistant", "content": content}])
    assert message["content"] == rest
    assert len(message.get("tool_calls", ())) == count


@pytest.mark.parametrize(
    "content",
    [
        parts("one", "two"),
        parts("one"),
        parts(""),
        parts("a <function=x>", "b </function> <think>"),
        [IMAGE, *parts("x")],
        "x",
        "",
    ],
    ids=["two", "one", "empty", "tags", "image", "text", "empty-text"],
)
def test_messages_in_parts_with_calls_come_back(content):
    messages = [{"role": "assistant", "content": content, "tool_calls": [CALL]}]
    assert and_back(to_text(messages)) == messages
    without = [{"role": "assistant", "content": content}]
    assert and_back(to_text(without)) == without


WRONG_CONTENT = {
    "int": 5,
    "zero": 0,
    "object": {"a": 1},
    "empty-object": {},
    "bytes": b"x",
    "true": True,
    "false": False,
    "tuple": ("a",),
    "strings": ["a"],
    "numbers": [1],
    "none": [None],
    "no-type": [{"text": "x"}],
    "no-text": [{"type": "text"}],
    "text-none": [{"type": "text", "text": None}],
    "text-number": [{"type": "text", "text": 5}],
    "type-number": [{"type": 5, "text": "x"}],
    "second": [{"type": "text", "text": "x"}, {"type": "text"}],
}


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
@pytest.mark.parametrize("content", WRONG_CONTENT)
def test_content_that_is_no_text_or_list_is_refused(role, content):
    message = {"role": role, "content": WRONG_CONTENT[content], **({"tool_call_id": "1"} if role == "tool" else {})}
    with pytest.raises(FunctionCallConversionError, match=r"Content must be|Each part|A part"):
        to_text([message])
    with pytest.raises(FunctionCallConversionError, match=r"Content must be|Each part|A part|role"):
        and_back([message])
    if role == "assistant":
        with pytest.raises(FunctionCallConversionError):
            to_text([{**message, "tool_calls": [CALL]}])


@pytest.mark.parametrize("role", ["system", "user", "assistant"])
@pytest.mark.parametrize("content", [None, "", [], [IMAGE]], ids=["none", "empty", "no-parts", "image"])
def test_content_without_text_is_accepted(role, content):
    assert to_text([{"role": role, "content": content}])[0]["role"] == role
    assert and_back([{"role": role, "content": content}])[0]["role"] == role


FUNCTION = {"name": "execute_bash", "arguments": '{"command": "ls"}'}
WRONG_CALLS = {
    "no-id": {"type": "function", "function": FUNCTION},
    "id-none": {"id": None, "type": "function", "function": FUNCTION},
    "id-number": {"id": 5, "type": "function", "function": FUNCTION},
    "id-list": {"id": [1], "type": "function", "function": FUNCTION},
    "no-type": {"id": "1", "function": FUNCTION},
    "other-type": {"id": "1", "type": "custom", "function": FUNCTION},
    "no-function": {"id": "1", "type": "function"},
    "function-none": {"id": "1", "type": "function", "function": None},
    "function-text": {"id": "1", "type": "function", "function": "ls"},
    "no-name": {"id": "1", "type": "function", "function": {"arguments": "{}"}},
    "name-none": {"id": "1", "type": "function", "function": {"name": None, "arguments": "{}"}},
    "arguments-object": {"id": "1", "type": "function", "function": {"name": "x", "arguments": {"a": 1}}},
    "arguments-number": {"id": "1", "type": "function", "function": {"name": "x", "arguments": 5}},
    "arguments-list": {"id": "1", "type": "function", "function": {"name": "x", "arguments": "[1]"}},
    "none": None,
    "text": "x",
    "number": 5,
    "list": [],
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_call_without_its_shape_is_refused_by_each_converter(name):
    wrong = WRONG_CALLS[name]
    message = {"role": "assistant", "content": "", "tool_calls": [wrong]}
    with pytest.raises(FunctionCallConversionError):
        convert_tool_call_to_string(wrong)
    with pytest.raises(FunctionCallConversionError):
        to_text([message])
    if name != "arguments-list":
        with pytest.raises(FunctionCallConversionError):
            convert_from_multiple_tool_calls_to_single_tool_call_messages(
                [{**message, "tool_calls": [wrong, CALL]}], True
            )


@pytest.mark.parametrize(
    "message",
    [
        "x",
        None,
        5,
        {"content": "x"},
        {"role": None, "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": 5},
        {"role": "assistant", "content": "", "tool_calls": {"id": "1"}},
        {"role": "tool", "content": "x", "tool_call_id": [1]},
    ],
    ids=["text", "none", "number", "no-role", "role-none", "calls-number", "calls-object", "id-list"],
)
def test_a_message_without_its_shape_is_refused(message):
    with pytest.raises(FunctionCallConversionError):
        to_text([message])
    with pytest.raises(FunctionCallConversionError):
        convert_from_multiple_tool_calls_to_single_tool_call_messages([message])


def test_an_open_schema_takes_other_parameters_and_a_closed_one_refuses_them():
    takes_more = tool("open", {"a": {"type": "string"}})
    takes_more["function"]["parameters"]["additionalProperties"] = {"type": "integer"}
    messages = [{"role": "assistant", "content": "", "tool_calls": [call("open", a="1", b=2, c="3", d=None)]}]
    assert and_back(to_text(messages, [takes_more]), [takes_more]) == messages
    with pytest.raises(FunctionCallValidationError, match="no parameter `b`"):
        and_back(to_text(messages, [takes_more]), [tool("open", {"a": {"type": "string"}})])


STATUS = {"type": "string", "enum": ["todo", "done"], "description": "How far it is."}
ITEM = {"type": "object", "properties": {"title": {"type": "string"}, "status": STATUS}, "required": ["title"]}


@pytest.mark.parametrize(
    ("schema", "rows"),
    [
        (
            {"type": "array", "items": ITEM},
            [
                "      each item (object)",
                "        - title (string, required)",
                "        - status (string, optional): How far it is.",
                "          Allowed values: [`todo`, `done`]",
            ],
        ),
        ({"type": "array", "items": {"$ref": "#/$defs/Item"}}, ["        - title (string, required)"]),
        ({"anyOf": [{"type": "array", "items": ITEM}, {"type": "null"}]}, ["        - title (string, required)"]),
        ({"type": "array", "items": {"type": "integer"}}, ["      each item (integer)"]),
        ({"type": "array", "prefixItems": [{"type": "string"}, True]}, ["      item 1 (string)", "      item 2 (any)"]),
        (ITEM, ["      - title (string, required)", "        Allowed values: [`todo`, `done`]"]),
        ({"type": "object", "additionalProperties": {"type": "number"}}, ["      - any other name (number)"]),
        ({"type": "array", "items": {"enum": [1, "x", None]}}, ["        Allowed values: [`1`, `x`, `null`]"]),
    ],
    ids=["items", "reference", "nullable", "integers", "tuple", "object", "map", "enum"],
)
def test_what_is_inside_a_parameter_is_described(schema, rows):
    made = tool("plan", {"tasks": schema})
    made["function"]["parameters"]["$defs"] = {"Item": ITEM}
    lines = convert_tools_to_description([made]).splitlines()
    assert [row for row in rows if row not in lines] == []


def test_a_large_or_endless_parameter_is_cut():
    many = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(1000)}}
    endless = {"$ref": "#/$defs/Node"}
    made = tool("t", {"many": many, "endless": endless})
    made["function"]["parameters"]["$defs"] = {"Node": {"type": "object", "properties": {"a": endless, "b": endless}}}
    lines = convert_tools_to_description([made]).splitlines()
    assert lines.count("      …") == 1
    assert 50 < len(lines) < 90


def test_a_tool_without_its_shape_is_refused():
    for wrong in ({}, {"function": None}, {"function": {"description": "x"}}):
        with pytest.raises(FunctionCallConversionError, match="A tool needs"):
            convert_tools_to_description([BASH, wrong])
    assert convert_tools_to_description(TOOLS)
