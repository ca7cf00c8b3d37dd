"""Slips of models in calls as text: read where they mean one thing, refused where they may mean two."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.test_text_tool_calls import BASH, EDITOR, FINISH, THOUGHTS, TOOLS, and_back, call, read, to_text
from workbench.llm.text_tools.calls import FunctionCallConversionError
from workbench.llm.text_tools.parser import Table, read_calls, read_words, write_words
from workbench.llm.text_tools.values import parameters_of

TABLE: Table = {tool["function"]["name"]: parameters_of(tool) for tool in TOOLS}
FORM = "<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>"
OPENINGS = {
    "strict": "<function=execute_bash>",
    "quoted": '<function="execute_bash">',
    "single-quoted": "<function='execute_bash'>",
    "attribute": '<function name="execute_bash">',
    "spaces": "<function = execute_bash >",
    "colon": "<function: execute_bash>",
    "upper-case": "<FUNCTION=execute_bash>",
    "invoke": '<invoke name="execute_bash">',
    "open": "<function=execute_bash",
}
PARAMETERS = {
    "strict": "<parameter=command>",
    "quoted": '<parameter="command">',
    "attribute": '<parameter name="command">',
    "spaces": "<parameter = command >",
    "colon": "<parameter: command>",
    "upper-case": "<PARAMETER=command>",
    "newline": "<parameter=command\n>",
    "equals": "<parameter=command=",
}
ENDINGS = {
    "strict": "</parameter>\n</function>",
    "named": "</parameter=command>\n</function=execute_bash>",
    "upper-case": "</PARAMETER>\n</FUNCTION>",
    "invoke": "</parameter>\n</invoke>",
    "stopped": "</parameter>\n",
    "stop-word": "</parameter>\n</function",
    "no-parameter": "\n</function>",
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("parameter", PARAMETERS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_slip_in_a_tag_is_read(opening, parameter, ending):
    text = f"Well.\n\n{OPENINGS[opening]}\n{PARAMETERS[parameter]}ls -la{ENDINGS[ending]}"
    assert read(text) == ("Well.", [("execute_bash", {"command": "ls -la"})])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"<tool_call>\n{FORM}\n</tool_call>", ""),
        (f"<function_calls>\n{FORM}\n</function_calls>", ""),
        (f"So:\n```xml\n{FORM}\n```", "So:"),
        (f"```\n{FORM}\n```\nDone?", "Done?"),
        (f"```\ncode\n```\n{FORM}", "```\ncode\n```"),
        ("<tool_call>\n<function=execute_bash>\n<parameter=command>ls</parameter>\n</tool_call>", ""),
        ("<tool_call>\n<function=execute_bash>\n<parameter=command>ls\n</tool_call>", ""),
        ('Go.\n<tool_call>\n{"name": "execute_bash", "arguments": {"command": "ls"}}\n</tool_call>', "Go."),
        ('<tool_call>{"name": "execute_bash", "parameters": {"command": "ls"}}', ""),
        ('<function=execute_bash>{"command": "ls"}</function>', ""),
        ('<function=execute_bash>\n{"command": "ls"}\n</function>', ""),
    ],
    ids=[
        *("wrapped", "calls", "fence", "fence-after", "code-before", "no-function", "no-ends", "json", "json-open"),
        *("json-body", "json-lines"),
    ],
)
def test_what_wraps_a_call_goes_with_it(text, words):
    assert read(text) == (words, [("execute_bash", {"command": "ls"})])


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("<parameter=command>ls\n<parameter=timeout>5</parameter>\n</function>", {"command": "ls", "timeout": 5}),
        ("<parameter=command>\nls\n<parameter=timeout>5\n</function>", {"command": "ls", "timeout": 5}),
        ("<parameter=command>a <parameter=path> b</parameter>\n</function>", {"command": "a <parameter=path> b"}),
        (
            "<parameter=command>cat\n<parameter=timeout>1</parameter>\nend</parameter>\n</function>",
            {"command": "cat\n<parameter=timeout>1</parameter>\nend"},
        ),
        (
            "<parameter=command>a\n<\\parameter=timeout>5<\\/parameter></parameter>\n</function>",
            {"command": "a\n<parameter=timeout>5</parameter>"},
        ),
    ],
    ids=["next", "both", "of-no-tool", "balanced", "escaped"],
)
def test_a_missing_end_of_a_value_does_not_swallow_the_next_one(text, arguments):
    assert read(f"<function=execute_bash>\n{text}")[1] == [("execute_bash", arguments)]


def test_a_missing_end_does_not_swallow_the_next_call():
    text = f"<function=execute_bash>\n<parameter=command>pwd\n</function>\n{FORM}"
    assert read(text)[1] == [("execute_bash", {"command": "pwd"}), ("execute_bash", {"command": "ls"})]
    text = f"<function=execute_bash>\n<parameter=command>pwd</parameter>\n{FORM}"
    assert read(text)[1] == [("execute_bash", {"command": "pwd"}), ("execute_bash", {"command": "ls"})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<parameter=command>ls<parameter=timeout>5</parameter>\n</function>", "holds the tag of another parameter"),
        ("ls\n</function>", "outside its parameters: `ls`"),
        ("<command>ls</command>\n</function>", "outside its parameters: `<command>ls</command>`"),
        ('{"command": "ls"', "outside its parameters"),
    ],
    ids=["inline", "bare", "other-tags", "broken-json"],
)
def test_what_may_mean_two_things_is_refused_with_what_to_send(text, message):
    with pytest.raises(FunctionCallConversionError, match=message):
        read(f"<function=execute_bash>\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "The tag <function name> begins it, <invoke name=other> too.",
        "<function: other>\n</function>",
        '<tool_call>{"name": "other", "arguments": {}}</tool_call>',
        '<tool_call>{"command": "ls"}</tool_call>',
        '<tool_call>{"name": "execute_bash", "arguments": {"command": "rm -rf /tm',
        '<tool_call>\n{"name": "execute_bash", "arguments": "ls"}\n</tool_call>',
    ],
    ids=["prose", "other-tool", "json-other", "json-no-name", "json-cut", "json-text"],
)
def test_what_names_no_tool_in_a_loose_form_is_text(text):
    assert read(text) == (text, [])


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("opening", [*OPENINGS, "json"])
def test_no_form_of_a_call_counts_inside_thinking(thought, opening):
    call = f"{OPENINGS.get(opening, '')}\n<parameter=command>rm x</parameter>\n</function>"
    if opening == "json":
        call = '<tool_call>{"name": "execute_bash", "arguments": {"command": "rm x"}}</tool_call>'
    text = thought.replace("{}", call)
    assert read(f"I wonder. {text}")[1] == []


tags = [
    "<think>",
    "</think>",
    "</parameter>",
    "</function>",
    "<parameter=timeout>",
    "<tool_call>",
    "</tool_call>",
    "```",
]
pieces = st.lists(
    st.sampled_from(
        [*OPENINGS.values(), *PARAMETERS.values(), *tags, "\n", " ", "ls", '{"command": "ls"}', "<", "\\", '"']
    ),
    max_size=12,
).map("".join)


@given(pieces)
def test_any_text_that_is_written_as_words_reads_as_these_words(text):
    assert read_calls(write_words(text), TABLE) == (text, [])
    assert read_words(write_words(text)) == text


@given(pieces)
def test_thinking_around_any_text_makes_no_call(text):
    words = text.replace("think", "")
    try:
        calls = read_calls(f"<think>{words}", TABLE)[1]
    except FunctionCallConversionError:
        calls = []
    assert calls == []


@given(pieces)
def test_a_truncated_call_is_never_completed(text):
    whole = f"<function=execute_bash>\n<parameter=command>\n{write_words(text)}x\n</parameter>\n</function>"
    end = whole.rindex("</parameter>")
    for stop in range(len("<function=execute_bash>\n<parameter=command>"), end + len("</parameter")):
        try:
            calls = read_calls(whole[:stop], TABLE)[1]
        except FunctionCallConversionError:
            continue
        assert all(call.is_cut for call in calls), whole[:stop]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<function=execute_bash>",
            "<function=execute_bash><parameter=command>",
            FORM,
            "<parameter=timeout>",
            "</parameter>",
        ),
        *(
            "</parameter> ",
            "<think>",
            "</think>",
            "<function=execute_bash>x</think>",
            '<tool_call>{"',
            "<tool_call>{[",
            " ",
            "\n",
        ),
        *(
            "<function=",
            "<function ",
            "<function name=",
            '<parameter="',
            "<parameter=timeout=",
            "```\n",
            "</function>",
            "<\\",
        ),
        *("<function=execute_bash>{", "<tool_call>", "</tool_call>\n", "</function>\n</tool_call>\n", "{"),
    ],
)
@pytest.mark.parametrize(
    "start", ["", "<function=execute_bash>\n<parameter=command>", "<think>"], ids=["bare", "value", "thought"]
)
def test_hostile_text_takes_linear_time(unit, start):
    text = start + unit * (100_000 // len(unit)) + "</think>"
    begin = time.process_time()
    with contextlib.suppress(FunctionCallConversionError):
        read_calls(text, TABLE)
    read_words(write_words(text))
    assert time.process_time() - begin < 1.5


def test_names_of_parameters_with_any_character_come_back():
    names = ["a b", " x ", "<c>", 'q"q', "a=b", "\n", "", "ä", "a:b", "'", "\\", "</parameter>", "x" * 300]
    tool = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    tools = [{"type": "function", "function": {"name": "odd", "description": "", "parameters": tool}}]
    messages = [{"role": "assistant", "content": "", "tool_calls": [call("odd", **{"a b": "1"})]}]
    messages[0]["tool_calls"][0]["function"]["arguments"] = json.dumps(dict.fromkeys(names, "v"))
    back = and_back(to_text(messages, tools), tools)
    assert json.loads(back[0]["tool_calls"][0]["function"]["arguments"]) == dict.fromkeys(names, "v")


def test_each_repair_is_noted():
    assert {tool["function"]["name"] for tool in (BASH, EDITOR, FINISH)} == set(TABLE)
    _, (call,) = read_calls('<function name="execute_bash">\n<parameter=command=ls\n</tool_call>', TABLE)
    assert call.repairs == [
        'the tag <function name="execute_bash"> as <function=execute_bash>',
        "a missing > behind <parameter=command",
        "a missing </parameter> behind `command`",
    ]
    assert read_calls(FORM, TABLE)[1][0].repairs == []
