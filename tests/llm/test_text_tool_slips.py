"""Mistakes of models in calls as text: accepted if they have one meaning, refused if they may have two."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.test_text_tool_calls import BASH, EDITOR, FINISH, THOUGHTS, TOOLS, and_back, call, read, to_text
from workbench.llm.text_tools.calls import FunctionCallConversionError, FunctionCallValidationError
from workbench.llm.text_tools.parser import read_calls, read_words, write_call, write_words
from workbench.llm.text_tools.values import Table, parameters_of
from workbench.tools.older_names import OLDER_NAMES

TABLE: Table = {tool["function"]["name"]: parameters_of(tool) for tool in TOOLS}
FORM = "<function=execute_bash>\n<parameter=command>ls</parameter>\n</function>"
OPENINGS = {
    "strict": "<function=execute_bash>",
    "quoted": '<function="execute_bash">',
    "single-quoted": "<function='execute_bash'>",
    "attribute": '<function name="execute_bash">',
    "spaces": "<function = execute_bash >",
    "blanks": "< function = execute_bash >",
    "blank-attribute": "< function name = execute_bash >",
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
    "blanks": "< parameter = command >",
    "colon": "<parameter: command>",
    "upper-case": "<PARAMETER=command>",
    "newline": "<parameter=command\n>",
    "equals": "<parameter=command=",
}
ENDINGS = {
    "strict": "</parameter>\n</function>",
    "named": "</parameter=command>\n</function=execute_bash>",
    "upper-case": "</PARAMETER>\n</FUNCTION>",
    "blanks": "</ parameter >\n</ function >",
    "blanks-before": "< /parameter>\n< / function>",
    "invoke": "</parameter>\n</invoke>",
    "stopped": "</parameter>\n",
    "stop-word": "</parameter>\n</function",
    "no-parameter": "\n</function>",
}


@pytest.mark.parametrize("opening", OPENINGS)
def test_a_slip_in_a_tag_is_read(opening):
    start = f"Well.\n\n{OPENINGS[opening]}\n"
    texts = [f"{start}{parameter}ls -la{ending}" for parameter in PARAMETERS.values() for ending in ENDINGS.values()]
    assert len(texts) > 40
    assert [text for text in texts if read(text) != ("Well.", [("execute_bash", {"command": "ls -la"})])] == []


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
        ('<tool_call>[{"name": "execute_bash", "arguments": {"command": "ls"}}]</tool_call>', ""),
        ('<function=execute_bash>{"command": "ls"}</function>', ""),
        ('<function=execute_bash>\n{"command": "ls"}\n</function>', ""),
    ],
    ids=[
        *(
            "wrapped",
            "calls",
            "fence",
            "fence-after",
            "code-before",
            "no-function",
            "no-ends",
            "json",
            "json-open",
            "json-list",
        ),
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
        ("<parameter=command>ls<parameter=timeout>5</parameter>\n</function>", "contains the tag of another parameter"),
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


def test_several_calls_in_one_json_list_are_refused_and_not_dropped():
    one = '{"name": "execute_bash", "arguments": {"command": "ls"}}'
    with pytest.raises(FunctionCallConversionError, match="one <tool_call> for each"):
        read(f"<tool_call>[{one}, {one}]</tool_call>")


@pytest.mark.parametrize(
    "thought", ["< think >{}< /think >", "< think>{}", "{}</ think >", "< Reasoning >{}< / reasoning>"]
)
@pytest.mark.parametrize("opening", OPENINGS)
def test_no_call_counts_inside_thinking_whose_tags_have_blanks(thought, opening):
    call = f"{OPENINGS[opening]}\n<parameter=command>rm x</parameter>\n</function>"
    assert read(f"I wonder. {thought.replace('{}', call)}")[1] == []


@pytest.mark.parametrize(
    "value",
    ["< parameter = timeout >", "a</ parameter >\n</ function >", "< /parameter>\n< function=finish>", "a < b > c"],
)
def test_tags_with_blanks_in_a_value_come_back_as_they_were(value):
    text = write_call("execute_bash", {"command": value}, TABLE["execute_bash"])
    assert read(text)[1] == [("execute_bash", {"command": value})]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_no_form_of_a_call_counts_inside_thinking(thought):
    calls = [f"{opening}\n<parameter=command>rm x</parameter>\n</function>" for opening in OPENINGS.values()]
    calls += ['<tool_call>{"name": "execute_bash", "arguments": {"command": "rm x"}}</tool_call>']
    texts = [f"I wonder. {thought.replace('{}', call)}" for call in calls]
    assert [text for text in texts if read(text)[1]] == []


EXAMPLES = [
    "```\nTo list files:\n{}\n```",
    "~~~text\n{}\nlists files\n~~~",
    "```\nFirst\n{}\nthen\n{}\n```\nSo?",
    "Write `{}` for this.",
    "```\nls\n```\n```xml\nOr\n<tool_call>\n{}\n</tool_call>\n```",
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_call_that_is_quoted_as_an_example_is_text(example):
    text = example.replace("{}", FORM)
    assert read(text) == (text, [])
    other = FORM.replace("ls", "pwd")
    assert read(f"{text}\n{other}") == (text, [("execute_bash", {"command": "pwd"})])


@pytest.mark.parametrize(
    "text",
    [
        f"```\nls\n```\n{FORM}",
        f"```\nTo list files:\n{FORM}",
        f"```\n<tool_call>\n{FORM}\n</tool_call>\n```",
        f"The mark `<!--` begins a comment.\n{FORM}",
        f"A <details> element folds.\n{FORM}",
        f"a --> b\n{FORM}",
    ],
)
def test_a_call_beside_code_blocks_and_marks_of_comments_counts(text):
    assert read(text)[1] == [("execute_bash", {"command": "ls"})]


@pytest.mark.parametrize(
    "text",
    [
        '<|channel|>commentary to=functions.execute_bash <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        '<|channel|>commentary to=functions.execute_bash json<|message|>{"command": "ls"}',
        '<|start|>assistant to=functions.execute_bash<|channel|>commentary<|message|>{"command": "ls"}<|call|>',
        f"<|channel|>final<|message|>{FORM}",
        f"<|channel|>commentary<|message|>{FORM}<|end|>",
    ],
)
def test_a_call_in_the_channels_of_gpt_oss_is_read_outside_analysis(text):
    thought = f"<|channel|>analysis<|message|>Or {FORM}?<|end|><|start|>assistant"
    for whole in (text, f"{thought}{text.removeprefix('<|start|>assistant')}"):
        assert read(whole)[1] == [("execute_bash", {"command": "ls"})]
    hidden = text.replace("commentary", "analysis").replace("final", "analysis")
    assert read(hidden)[1] == []


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
            "<!--",
            "<!-- -->",
            "\n<details>",
            "<|channel|>analysis",
            "<|channel|>commentary to=functions.finish<|message|>{",
            "[THINK]",
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
    text = start + unit * (40_000 // len(unit)) + "</think>"
    begin = time.process_time()
    with contextlib.suppress(FunctionCallConversionError):
        read_calls(text, TABLE)
    read_words(write_words(text))
    assert time.process_time() - begin < 0.3


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
        "a missing > after <parameter=command",
        "a missing </parameter> after `command`",
    ]
    assert read_calls(FORM, TABLE)[1][0].repairs == []


@pytest.mark.parametrize(
    "end",
    [
        *("</parameter\n</function>", "</parameter</function>", "</param>\n</function>", "</command>\n</function>"),
        *("</parameter\n", "</parameter\n<parameter=timeout>5</parameter>\n</function>"),
        f"</parameter\n</function>\n{FORM}",
    ],
    ids=["no-bracket", "no-break", "short", "named", "stopped", "next", "next-call"],
)
def test_a_broken_closing_tag_does_not_become_a_part_of_the_command(end):
    text = f"<function=execute_bash>\n<parameter=command>ls{end}"
    (first, arguments), *rest = read(text)[1]
    assert (first, arguments["command"]) == ("execute_bash", "ls")
    assert all(each == ("execute_bash", {"command": "ls"}) for each in rest)
    assert "a missing </parameter> after `command`" in read_calls(text, TABLE)[1][0].repairs


@pytest.mark.parametrize(
    "value",
    ["cat <<E\n<command>x</command>", "echo '</parameter'", "ls </command"],
    ids=["whole-tags", "quoted", "cut"],
)
def test_a_tag_that_may_belong_to_a_value_stays(value):
    _, (call,) = read_calls(f"<function=execute_bash>\n<parameter=command>{value}", TABLE)
    assert (call.values, call.is_cut) == ({"command": value}, True)


LS = "<parameter=command>ls</parameter>\n"
TWICE = {
    "regular": f"<function=execute_bash>\n{LS}<parameter=command>rm x</parameter>\n</function>",
    "same": f"<function=execute_bash>\n{LS}{LS}</function>",
    "loose": f'<invoke name="execute_bash">\n{LS}<parameter name="command">rm x</parameter>',
    "json": '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls", "command": "rm x"}}</tool_call>',
    "json-text": r'<tool_call>{"name": "execute_bash", "arguments": "{\"command\": \"a\", \"command\": \"b\"}"}',
    "json-body": '<function=execute_bash>{"command": "ls", "command": "rm x"}</function>',
}


@pytest.mark.parametrize("name", TWICE)
def test_a_parameter_that_is_given_twice_is_refused_with_what_to_send(name):
    with pytest.raises(FunctionCallConversionError, match=r"`command`.*Send the call again"):
        read(TWICE[name])


@pytest.mark.parametrize("quote", ["`", '"', "'"])
@pytest.mark.parametrize("tag", ["<think>", "</think>", "<thinking>", "<reasoning>"])
def test_a_tag_of_thinking_that_the_text_speaks_of_is_text(quote, tag):
    words = f"I use the {quote}{tag}{quote} tag."
    ls = [("execute_bash", {"command": "ls"})]
    assert read(f"{words}\n{FORM}") == (words, ls)
    assert read(f"{FORM}\n{words}") == (words, ls)
    assert read(f"<think>{words} {FORM}</think>")[1] == []
    assert read(f"<think>{words}</think>\n{FORM}")[1] == ls


@pytest.mark.parametrize("key", ["arguments", "parameters"])
@pytest.mark.parametrize("text", ['{"command": "ls"}', ' {"command": "ls"}\n'], ids=["bare", "spaces"])
def test_arguments_of_a_call_as_json_may_be_json_text(key, text):
    whole = json.dumps({"name": "execute_bash", key: text})
    assert read(f"<tool_call>{whole}</tool_call>") == ("", [("execute_bash", {"command": "ls"})])
    cut = json.dumps({"name": "execute_bash", key: text.strip()[:-1]})
    assert read(f"<tool_call>{cut}</tool_call>")[1] == []


@pytest.mark.parametrize(
    ("name", "own"), [(name, own) for name, own in OLDER_NAMES.items() if own in TABLE and own != "finish"]
)
@pytest.mark.parametrize("opening", ["<function={}>", '<invoke name="{}">', "json"], ids=["strict", "invoke", "json"])
def test_an_older_name_of_a_tool_is_read(name, own, opening):
    text = f"{opening.format(name)}\n<parameter=command>view</parameter>\n</function>"
    if opening == "json":
        text = f'<tool_call>{{"name": "{name}", "arguments": {{"command": "view"}}}}</tool_call>'
    assert read(text)[1] == [(own, {"command": "view"})]
    ours = [{"type": "function", "function": {"name": name, "parameters": BASH["function"]["parameters"]}}]
    assert read(text, [*TOOLS, *ours])[1] == [(name, {"command": "view"})]


RISKY = {"command": {"type": "string"}, "security_risk": {"type": "string", "enum": ["LOW", "MEDIUM", "HIGH"]}}


@pytest.mark.parametrize("risk", [None, "LOW", "low", "LWO", "", "[1]"])
@pytest.mark.parametrize("required", [["security_risk", "command"], ["command"]], ids=["required", "optional"])
def test_a_risk_that_is_missing_or_invalid_does_not_fail_the_call(risk, required):
    schema = {"type": "object", "properties": RISKY, "required": required}
    tools = [{"type": "function", "function": {"name": "execute_bash", "parameters": schema}}]
    rating = "" if risk is None else f"<parameter=security_risk>{risk}</parameter>\n"
    text = f"<function=execute_bash>\n<parameter=command>ls</parameter>\n{rating}</function>"
    expected = {"command": "ls", **({} if risk is None else {"security_risk": risk})}
    assert read(text, tools)[1] == [("execute_bash", expected)]


def test_a_parameter_of_that_name_with_other_values_is_checked():
    schema = {"type": "object", "properties": {"security_risk": {"type": "integer"}}, "required": ["security_risk"]}
    tools = [{"type": "function", "function": {"name": "rate", "parameters": schema}}]
    for parameter in ("", "<parameter=security_risk>x</parameter>\n"):
        text = f"<function=rate>\n{parameter}</function>"
        with pytest.raises(FunctionCallValidationError, match="security_risk"):
            read(text, tools)
