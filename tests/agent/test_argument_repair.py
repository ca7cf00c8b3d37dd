"""Calls as models really send them: repaired if they have one meaning, with a note to the model, else refused."""

import ast
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.agent.responses import ReadCall, UnreadableArguments, read_arguments, read_or_repaired, read_response
from workbench.llm.model import ModelResponse, ToolCall
from workbench.tools import Action, ToolDefinition
from workbench.tools.argument_repair import repaired_arguments
from workbench.tools.context import ToolContext
from workbench.tools.execute_bash.messages import key, typed
from workbench.tools.literals import literal
from workbench.tools.registry import open_tools

BASH, EDITOR, TASKS = "execute_bash", "str_replace_editor", "task_tracker"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ToolDefinition]]:
    names = (BASH, EDITOR, TASKS, "think", "finish", "glob", "grep")
    opened = open_tools(ToolContext(str(tmp_path_factory.mktemp("work"))), names)
    yield opened
    for tool in opened.values():
        tool.close()


def read(tools, name, arguments, **more) -> ReadCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    (call,) = read_response(ModelResponse("r", "m", tool_calls=(ToolCall("c", name, text),), **more), tools, set())
    return call


LS = {"command": "ls"}
JSON_SLIPS = {
    "line-break": ('{"command": "a\nb"}', {"command": "a\nb"}, "line breaks and tabs"),
    "tab": ('{"command": "a\tb"}', {"command": "a\tb"}, "line breaks and tabs"),
    "carriage-return": ('{"command": "a\rb"}', {"command": "a\rb"}, "line breaks and tabs"),
    "fence": ('```json\n{"command": "ls"}\n```', LS, "ignored"),
    "fence-open": ('```\n{"command": "ls"}', LS, "a code fence"),
    "tag": ('{"command": "ls"}</tool_call>', LS, "`</tool_call>` after it"),
    "tags": ('{"command": "ls"}\n</parameter>\n</function>', LS, "after it"),
    "token": ('{"command": "ls"}<|im_end|>', LS, "after it"),
    "twice": ('{"command": "ls"}{"command": "ls"}', LS, "one object"),
    "empty-first": ('{}{"command": "ls"}', LS, "one object"),
    "text": (json.dumps(json.dumps(LS)), LS, "JSON inside a text"),
    "list": ('[{"command": "ls"}]', LS, "a list of one object"),
    "escape": ('{"command": "grep \\d+ \\s"}', {"command": "grep \\d+ \\s"}, "backslashes"),
    "fence-and-tab": ('```json\n{"command": "a\tb"}\n```', {"command": "a\tb"}, "line breaks and tabs"),
    "mark": ('\ufeff{"command": "ls"}', LS, "a byte order mark"),
    "arguments": ('{"arguments": {"command": "ls"}}', LS, "the object inside"),
    "parameters": ('{"parameters": {"command": "ls"}, "security_risk": "LOW"}', LS, "the object inside"),
    "name": ('{"name": "execute_bash", "arguments": {"command": "ls"}}', LS, "the object inside"),
}


@pytest.mark.parametrize("name", JSON_SLIPS)
def test_arguments_that_are_no_plain_json_object(tools, name):
    text, arguments, message = JSON_SLIPS[name]
    call = read(tools, BASH, text)
    if arguments is None:
        assert message in call.error
    else:
        assert call.error == ""
        assert call.arguments == arguments
        assert message in " ".join(call.repairs)
        assert call.action is not None
        assert call.action.model_dump(exclude_unset=True) == arguments


REFUSED_JSON = {
    "cut": '{"command": "rm -rf /tm',
    "cut-object": '{"command": "ls"',
    "cut-list": '[{"command": "ls"}',
    "cut-python": "{'command': 'ls'",
    "cut-fence": '```json\n{"command": "ls"',
    "words": '{"command": "ls"} done',
    "different": '{"command": "ls"}{"command": "rm x"}',
    "keys-twice": '{"command": "ls", "command": "rm x"}',
    "keys-twice-python": "{'command': 'ls', 'command': 'rm x'}",
    "ambiguous-escape": '{"command": "grep \\d\\b"}',
    "two-in-list": '[{"command": "ls"}, {"command": "rm x"}]',
    "comma": '{"command": "ls",}',
    "comma-and-mark": '\ufeff{"command": "ls", }',
    "comma-in-list": '{"command": "ls", "x": [1,]}',
    "two-commas": '{"command": "ls",,}',
    "only-comma": "{,}",
    "cut-comma": '{"command": "ls",',
    "single-quotes": "{'command': 'ls'}",
    "python-words": '{"command": "ls", "is_input": False}',
    "bare-names": "{command: 'ls'}",
    "nan": '{"command": "ls", "timeout": NaN,}',
    "null": "null",
}


@pytest.mark.parametrize("name", REFUSED_JSON)
def test_arguments_that_may_mean_several_things_are_refused(tools, name):
    call = read(tools, BASH, REFUSED_JSON[name])
    assert call.action is None
    assert "was not run" in call.error
    with pytest.raises(UnreadableArguments):
        read_or_repaired(REFUSED_JSON[name])


VIEW = {"command": "view", "path": "/a"}
TASK = [{"title": "a"}]
TASK_LISTS: dict[str, str] = {
    "python": "[{'title': 'a', 'status': 'done'}]",
    "python-words": "[{'title': 'a', 'status': 'done', 'notes': None}]",
    "python-tuple": "({'title': 'a', 'status': 'done'},)",
    "python-lines": "[\n  {'title': 'a',  # first\n   'status': 'done'},\n]",
    "mixed-quotes": "[{'title': \"a\", \"status\": 'done'}]",
    "bare-names": '[{title: "a", status: "done"}]',
    "comment": '[{"title": "a", "status": "done"} // first\n]',
    "block-comment": '[/* first */ {"title": "a", "status": "done"}]',
    "fence": '```json\n[{"title": "a", "status": "done"}]\n```',
    "fence-python": "```python\n[{'title': 'a', 'status': 'done'}]\n```",
    "one-object": '{"title": "a", "status": "done"}',
    "one-python-object": "{'title': 'a', 'status': 'done'}",
    "tag": "[{'title': 'a', 'status': 'done'}]</parameter>",
    "texts": '[\'{"title": "a", "status": "done"}\']',
}


@pytest.mark.parametrize("name", TASK_LISTS)
def test_a_list_in_the_syntax_of_another_language_is_read_and_the_model_is_told(tools, name):
    call = read(tools, TASKS, json.dumps({"command": "plan", "task_list": TASK_LISTS[name]}))
    assert call.error == ""
    assert [(task.title, task.status, task.notes) for task in call.action.task_list] == [("a", "done", "")]
    assert any(note.startswith("`task_list`") for note in call.repairs)


@pytest.mark.parametrize("separator", ["\n", ",\n", "\n\n"], ids=["lines", "commas", "empty-lines"])
def test_objects_one_after_the_other_are_a_list(tools, separator):
    tasks = separator.join(['{"title": "a"}', "{'title': 'b'}"])
    call = read(tools, TASKS, json.dumps({"command": "plan", "task_list": tasks}))
    assert [task.title for task in call.action.task_list] == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        *("[{'title': 'a'}", "[{'title': 'a}]", "[{'title': 'a'", "[{'title': 'a'}]]"),
        *("[dict(title='a')]", "[{'title': 'a' + 'b'}]", "[{'title'}]", "[{'title': open('x')}]", "[{'title': f'a'}]"),
        *("[{'title': 'a', 'title': 'b'}]", "[{'title': a}]", "[{'title': 'a' 'b'}]", "[{'title': ['a')}]"),
        *("[{'title': '\\q'}]", "[{,}]", "[,]", "__import__('os')", "[{'title': NaN}]", "[{1: 'a'}]"),
    ],
)
def test_a_list_that_is_cut_or_would_be_computed_is_refused(tools, text):
    call = read(tools, TASKS, json.dumps({"command": "plan", "task_list": text}))
    assert call.action is None
    assert "task_list" in call.error


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"""['it\'s', "a \"b\"", 'a\nb', 'a\\b', '\x41\u00e9', '\ud83d\ude00']""", None),
        ("[True, False, None, -1, 2.5, 1e3]", [True, False, None, -1, 2.5, 1000.0]),
        ("(1, (2, 3), [], {})", [1, [2, 3], [], {}]),
        ("{'a': {'b': ('c',)}}", {"a": {"b": ["c"]}}),
        ("['//', '# no', \"/* no */\"]", ["//", "# no", "/* no */"]),
        ("['line\nbreak']", ["line\nbreak"]),
    ],
    ids=["escapes", "words", "tuples", "nested", "no-comments", "break"],
)
def test_literals_are_read_exactly(text, value):
    assert literal(text) == (ast.literal_eval(text.replace("\\ud83d\\ude00", "\U0001f600")) if value is None else value)


WORDS = st.text(max_size=9)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS


@given(st.lists(SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(WORDS, SCALARS, max_size=3), max_size=4))
def test_what_python_writes_is_read_exactly(value):
    assert literal(repr(value)) == value


@pytest.mark.parametrize("text", ["[" * 100_000, "['" * 50_000, "[/*" * 60_000, "(" * 90_000, '["\\"' * 40_000])
def test_literals_are_refused_in_linear_time(text):
    began = time.perf_counter()
    with pytest.raises(ValueError, match=r"."):
        literal(text)
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("name", ["execute_bash\u200b", "\ufeffexecute_bash", "execute\u00ad_bash"])
def test_invisible_characters_in_a_tools_name_are_left_out(tools, name):
    call = read(tools, name, '{"command": "ls"}')
    assert call.tool == BASH
    assert call.action is not None


@pytest.mark.parametrize("text", ['"30"', "'30'", ' "30" '], ids=["double", "single", "spaces"])
def test_a_number_in_quotes_is_a_number(tools, text):
    call = read(tools, BASH, json.dumps({"command": "ls", "timeout": text}))
    assert call.action.timeout == 30


PLAN = {"command": "plan"}
DONE, BEGUN = [{"title": "a", "status": "done"}], [{"title": "a", "status": "in_progress"}]
VALUE_SLIPS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "tasks-tag": (TASKS, {"command": "plan", "task_list": '[{"title": "a"}]</parameter>'}, {"task_list": TASK}),
    "tasks-tags": (
        TASKS,
        {"command": "plan", "task_list": '[{"title": "a"}]\n</task_list>\n</x>'},
        {"task_list": TASK},
    ),
    "tasks-break": (TASKS, {"command": "plan", "task_list": '[{"title": "a\nb"}]'}, {"task_list": [{"title": "a\nb"}]}),
    "tasks-items": (TASKS, {"command": "plan", "task_list": ['{"title": "a"}']}, {"task_list": TASK}),
    "range-tag": (EDITOR, {**VIEW, "view_range": "[1, 10]</parameter>"}, {"view_range": [1, 10]}),
    "range-comma": (EDITOR, {**VIEW, "view_range": "1, 10"}, {"view_range": [1, 10]}),
    "range-minus": (EDITOR, {**VIEW, "view_range": "1-10"}, {"view_range": [1, 10]}),
    "range-to-end": (EDITOR, {**VIEW, "view_range": "20, -1"}, {"view_range": [20, -1]}),
    "range-null": (EDITOR, {**VIEW, "view_range": "null"}, {}),
    "lines": (EDITOR, {"command": "create", "path": "/a", "file_text": ["a", "b"]}, {"file_text": "a\nb"}),
    "lines-with-ends": (
        EDITOR,
        {"command": "create", "path": "/a", "file_text": ["a\n", "b\n"]},
        {"file_text": "a\nb\n"},
    ),
    "old-lines": (EDITOR, {"command": "str_replace", "path": "/a", "old_str": ["a", "b"]}, {"old_str": "a\nb"}),
    "command-tag": (EDITOR, {**VIEW, "command": "view</command>"}, {}),
    "command-case": (EDITOR, {**VIEW, "command": "View "}, {}),
    "command-quotes": (EDITOR, {**VIEW, "command": '"view"'}, {}),
    "command-undo": (EDITOR, {"command": "undo", "path": "/a"}, {"command": "undo_edit"}),
    "command-replace": (EDITOR, {"command": "replace", "path": "/a", "old_str": "x"}, {"command": "str_replace"}),
    "path-tag": (EDITOR, {"command": "view", "path": "/a</path>"}, {"path": "/a"}),
    "path-tags": (EDITOR, {"command": "view", "path": "/a</parameter>\n</function>"}, {"path": "/a"}),
    "no-command-replace": (EDITOR, {"path": "/a", "old_str": "x", "new_str": "y"}, {"command": "str_replace"}),
    "no-command-insert": (EDITOR, {"path": "/a", "insert_line": 1, "new_str": "y"}, {"command": "insert"}),
    "no-command-create": (EDITOR, {"path": "/a", "file_text": "x"}, {"command": "create"}),
    "no-command-view": (EDITOR, {"path": "/a"}, {"command": "view"}),
    "no-command-range": (EDITOR, {"path": "/a", "view_range": [1, 2]}, {"command": "view"}),
    "input-empty": (BASH, {"command": "ls", "is_input": ""}, {}),
    "timeout-null": (BASH, {"command": "ls", "timeout": "null"}, {}),
    "timeout-unit": (BASH, {"command": "ls", "timeout": "5s"}, {"timeout": 5.0}),
    "timeout-minutes": (BASH, {"command": "ls", "timeout": "2 min"}, {"timeout": 120.0}),
    "timeout-tag": (BASH, {"command": "ls", "timeout": "5</timeout>"}, {"timeout": 5}),
    "completed": ("finish", {"message": "x", "task_completed": "True"}, {"task_completed": "true"}),
    "completed-boolean": ("finish", {"message": "x", "task_completed": True}, {"task_completed": "true"}),
    "key": (BASH, {"command": "ctrl+c", "is_input": True}, {"command": "C-c"}),
    "key-spaces": (BASH, {"command": "Ctrl + D", "is_input": True}, {"command": "C-d"}),
    "command-spaces": (EDITOR, {"command": "str replace", "path": "/a", "old_str": "x"}, {"command": "str_replace"}),
    "command-minus": (EDITOR, {"command": "Undo-Edit", "path": "/a"}, {"command": "undo_edit"}),
    "path-in-list": (EDITOR, {"command": "view", "path": ["/a"]}, {"path": "/a"}),
    "shell-in-list": (BASH, {"command": ["ls -la"]}, {"command": "ls -la"}),
    "status-case": (TASKS, PLAN | {"task_list": [{"title": "a", "status": "Done"}]}, {"task_list": DONE}),
    "status-tag": (TASKS, PLAN | {"task_list": [{"title": "a", "status": "done</status>"}]}, {"task_list": DONE}),
    "status-spaces": (TASKS, PLAN | {"task_list": [{"title": "a", "status": "in progress"}]}, {"task_list": BEGUN}),
    "status-text": (TASKS, PLAN | {"task_list": '[{"title": "a", "status": "IN-PROGRESS"}]'}, {"task_list": BEGUN}),
    "title-in-list": (TASKS, PLAN | {"task_list": [{"title": ["a"], "status": "done"}]}, {"task_list": DONE}),
    "tasks-comma": (TASKS, {"command": "plan", "task_list": '[{"title": "a",},]'}, {"task_list": TASK}),
    "range-bracket": (EDITOR, {**VIEW, "view_range": "[1, 5]>"}, {"view_range": [1, 5]}),
    "timeout-bracket": (BASH, {"command": "ls", "timeout": "5>"}, {"timeout": 5}),
    "shell-tag": (BASH, {"command": "ls</command>"}, {"command": "ls"}),
    "shell-tags": (BASH, {"command": "ls</parameter>\n</function>"}, {"command": "ls"}),
    "name-case": (BASH, {"Command": "ls"}, {"command": "ls"}),
    "name-camel": (BASH, {"command": "ls", "isInput": False}, {"is_input": False}),
    "name-spaces": (BASH, {" command ": "ls"}, {"command": "ls"}),
    "name-quotes": (BASH, {'"command"': "ls"}, {"command": "ls"}),
    "name-bracket": (BASH, {"command>": "ls"}, {"command": "ls"}),
    "no-command-fillers": (
        EDITOR,
        {"path": "/a", "old_str": "x", "new_str": "", "file_text": "", "insert_line": None, "view_range": None},
        {"command": "str_replace", "new_str": ""},
    ),
    "no-command-filler": (EDITOR, {"path": "/a", "file_text": "x", "old_str": ""}, {"command": "create"}),
    "empty-command": (
        EDITOR,
        {"command": "", "path": "/a", "old_str": "x", "new_str": "y"},
        {"command": "str_replace"},
    ),
    "key-escape": (BASH, {"command": "Esc", "is_input": True}, {"command": "ESC"}),
    "key-arrow": (BASH, {"command": "ArrowUp", "is_input": True}, {"command": "UP"}),
    "key-page": (BASH, {"command": "Page_Down", "is_input": True}, {"command": "PGDN"}),
    "key-return": (BASH, {"command": "RETURN", "is_input": True}, {"command": "ENTER"}),
    "key-caret": (BASH, {"command": "^D", "is_input": "true"}, {"command": "C-d"}),
}


@pytest.mark.parametrize("name", VALUE_SLIPS)
def test_an_argument_is_repaired_and_the_model_is_told(tools, name):
    tool, arguments, changed = VALUE_SLIPS[name]
    call = read(tools, tool, arguments)
    assert call.error == ""
    assert call.repairs
    # The repaired call is rated, shown and run.
    assert tools[tool].action_from_arguments(call.arguments) == call.action
    assert changed.items() <= call.arguments.items()
    assert call.arguments.keys() <= arguments.keys() | changed.keys()


@pytest.mark.parametrize(
    ("word", "name"), [("up", "UP"), ("return", "ENTER"), ("end", "END"), ("Enter ", "ENTER"), ("Home ", "HOME")]
)
def test_a_word_that_names_a_key_is_typed_and_the_model_is_told(tools, word, name):
    call = read(tools, BASH, {"command": word, "is_input": True})
    assert call.action is not None
    assert call.arguments["command"] == word
    assert call.repairs == (f"`command` {word!r} as text (the key is {name})",)
    assert typed(word) == f"{word}\n".encode()


@pytest.mark.parametrize(
    ("word", "name"),
    [
        *(("Enter", "ENTER"), ("enter", "ENTER"), ("Return", "ENTER"), ("Tab", "TAB"), ("tab", "TAB"), ("Up", "UP")),
        *(("Left", "LEFT"), ("Home", "HOME"), ("End", "END"), ("Escape", "ESC"), ("BSpace", "BS"), ("PageUp", "PGUP")),
        *(("PPage", "PGUP"), ("NPage", "PGDN"), ("PgDn", "PGDN"), ("esc", "ESC")),
    ],
    ids=lambda value: value,
)
def test_a_key_as_tmux_names_it_is_pressed_and_the_model_is_told(tools, word, name):
    call = read(tools, BASH, {"command": word, "is_input": True})
    assert call.arguments["command"] == name
    assert call.repairs == (f"`command` {word!r} as the key {name} (as text: {f'{word} '!r}, with a space)",)
    assert typed(word) == typed(name) != f"{word}\n".encode()
    assert typed(f"{word} ") == f"{word} \n".encode()


@pytest.mark.parametrize("word", ["entered", "tabs", "Enter it", "Ups", "END IF", "yes", "y"])
def test_an_input_that_only_contains_a_key_is_text(tools, word):
    call = read(tools, BASH, {"command": word, "is_input": True})
    assert (call.arguments["command"], call.repairs) == (word, ())
    assert typed(word) == f"{word}\n".encode()


REFUSED_VALUES: dict[str, tuple[str, dict[str, Any], str]] = {
    "text-for-tasks": (TASKS, {"command": "plan", "task_list": "a, b"}, "task_list"),
    "one-task": (TASKS, {"command": "plan", "task_list": {"title": "a"}}, "task_list"),
    "content-object": (EDITOR, {"command": "create", "path": "/a", "file_text": {"a": 1}}, "file_text"),
    "content-mixed": (EDITOR, {"command": "create", "path": "/a", "file_text": ["a", 1]}, "file_text"),
    "command-list": (BASH, {"command": ["ls", "-l"]}, "command"),
    "no-command-new": (EDITOR, {"path": "/a", "new_str": "x"}, "Send one of: `view`"),
    "no-command-two": (EDITOR, {"path": "/a", "file_text": "a", "old_str": "b"}, "Send one of: `view`"),
    "unknown-command": (EDITOR, {"path": "/a", "command": "vieww"}, "did you mean 'view'"),
    "timeout-words": (BASH, {"command": "ls", "timeout": "soon"}, "timeout"),
    "two-names": (BASH, {"Command": "ls", "COMMAND": "rm x"}, "COMMAND"),
    "name-twice": (BASH, {"command": "ls", "Command": "rm x"}, "Command"),
    "no-command-empties": (EDITOR, {"path": "/a", "file_text": "", "old_str": ""}, "Send one of: `view`"),
    "other-name": (BASH, {"command": "ls", "securityy": "LOW"}, "securityy"),
}


@pytest.mark.parametrize("name", REFUSED_VALUES)
def test_an_argument_that_may_mean_several_things_is_refused_with_what_to_send(tools, name):
    tool, arguments, message = REFUSED_VALUES[name]
    call = read(tools, tool, arguments)
    assert call.action is None
    assert message in call.error


UNCHANGED: dict[str, tuple[str, dict[str, Any]]] = {
    "tag-in-text": (EDITOR, {"command": "create", "path": "/a", "file_text": "<p>x</p></file_text>"}),
    "tag-in-edit": (EDITOR, {"command": "str_replace", "path": "/a", "old_str": "a</parameter>", "new_str": "</b>"}),
    "tag-in-command": (BASH, {"command": "echo '</command>'"}),
    "null-text": (EDITOR, {"command": "create", "path": "/a", "file_text": "null"}),
    "list-text": (EDITOR, {"command": "create", "path": "/a", "file_text": "[1, 2]"}),
    "no-input": (BASH, {"command": "ctrl+c"}),
    "other-path": (EDITOR, {"command": "view", "path": "/a</b>"}),
    "word": (BASH, {"command": "yes", "is_input": True}),
    "here-document": (BASH, {"command": "cat <<E\n</command>"}),
    "whole-tags": (BASH, {"command": "x '<command>' </command>"}),
    "redirect": (BASH, {"command": "ls </command"}),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_an_argument_that_fits_is_not_changed(tools, name):
    tool, arguments = UNCHANGED[name]
    call = read(tools, tool, arguments)
    assert (call.error, call.repairs) == ("", ())
    assert call.arguments == arguments


@pytest.mark.parametrize(
    "name",
    [
        *("security_rsik", "securityRisk", "security-risk", "Security_Risk", "security_risk ", "SECURITY_RISK", "risk"),
        *("secuirty_risk", "security_risks"),
    ],
)
def test_a_misspelt_risk_is_read_and_does_not_fail_the_call(tools, name):
    call = read(tools, BASH, {"command": "ls", name: "HIGH"})
    assert (call.error, call.risk, call.arguments) == ("", "HIGH", LS)
    assert "`security_risk`" in call.repairs[0]


@pytest.mark.parametrize(
    ("value", "risk"),
    [
        *(("high", "HIGH"), ("HIGH.", "HIGH"), ("High risk", "HIGH"), ("HIGHT", "HIGH"), ("Hgih", "HIGH")),
        *(("low", "UNKNOWN"), ("LOW ", "UNKNOWN"), ("medium", "UNKNOWN"), ("MEDIUM.", "UNKNOWN"), ("LWO", "UNKNOWN")),
        *((None, "UNKNOWN"), (1, "UNKNOWN"), ("", "UNKNOWN"), ("not high", "UNKNOWN"), ("LOW|HIGH", "UNKNOWN")),
    ],
)
def test_a_risk_in_another_form(tools, value, risk):
    call = read(tools, BASH, {"command": "ls", "security_risk": value})
    assert (call.error, call.risk) == ("", risk)
    assert bool(call.repairs) == (value is not None)
    assert all("`security_risk`" in note and f"as {risk}" in note for note in call.repairs)


@pytest.mark.parametrize("value", ["LOW", "MEDIUM", "low", ""])
@pytest.mark.parametrize("name", ["security_rsik", "securityRisk", "security-risk", "Security_Risk", "risk"])
def test_a_rating_below_high_under_another_name_is_unknown(tools, name, value):
    call = read(tools, BASH, {"command": "ls", name: value})
    assert (call.error, call.risk, call.arguments) == ("", "UNKNOWN", LS)
    assert call.repairs[0].startswith(f"`{name}` as `security_risk` UNKNOWN")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "execute_bash</function>",
            "execute_bash>",
            "execute_bash<tool_call>",
            "execute_bash\n<parameter",
            "execute_bash()",
        ),
        *("functions.execute_bash", "Execute_Bash", "execute-bash", "executeBash", "execute_bash<|channel|>commentary"),
        *("<execute_bash>", "execute_bash[END_TOOL]", "BashTool", "<BashTool>"),
        *("execute_bash:1", 'execute_bash"', "default_api.execute_bash", "<function=execute_bash>", "functions.bash"),
    ],
)
def test_a_name_with_something_around_it_is_read(tools, name):
    call = read(tools, name, LS)
    assert (call.error, call.tool, call.arguments) == ("", BASH, LS)
    assert "as `execute_bash`" in call.repairs[0]


@pytest.mark.parametrize("name", ["execute_bsah", "rm", "", "<>", "execute", "<function=>", "execute_bash_2"])
def test_a_misspelt_name_is_refused_with_the_names(tools, name):
    call = read(tools, name, LS)
    assert "there is no tool" in call.error
    assert call.action is None


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize(
    "text", ['{"command": "ls"}', '{"command": "ls",}', "{'command': 'ls'}", '{"command": "a\nb"}']
)
def test_a_call_of_a_cut_response_is_never_run(tools, reason, text):
    call = read(tools, BASH, text, finish_reason=reason)
    assert call.action is None


@pytest.mark.parametrize(
    "name",
    [
        "ctrl+c",
        "CTRL-c",
        "Ctrl+C",
        "C-c",
        "c-c",
        "C-C",
        "^C",
        "^c",
        "<C-c>",
        "<ctrl-c>",
        "Control-C",
        "control c",
        "ctrl_c",
    ],
)
def test_all_names_of_a_control_key_press_it(name):
    assert (key(name), typed(name)) == (b"\x03", b"\x03")
    assert key(name.replace("c", "d") if name[-1] == "c" else "Ctrl+D") in (b"\x04", b"\x03", None)


@pytest.mark.parametrize(
    "name", ["up", "end", "Tab ", "ctrl", "c", "C-", "ctrl+", "ctrl+cc", "cc", "C-1", "y", "<up", "a^C"]
)
def test_words_are_typed_as_text(name):
    assert key(name) is None
    assert typed(name) == name.encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "pressed"),
    [
        ("<enter>", b"\n"),
        ("<Up>", b"\x1b[A"),
        ("<escape>", b"\x1b"),
        ("<page_up>", b"\x1b[5~"),
        ("<Backspace>", b"\x7f"),
    ],
)
def test_keys_in_brackets_are_pressed(name, pressed):
    assert key(name) == pressed


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=3))
@settings(deadline=None)
def test_valid_arguments_are_never_changed_and_a_part_of_them_is_never_read(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        assert read_or_repaired(text) == (value, "")
        assert read_arguments(text) == value
        for stop in range(1, len(text)):
            with pytest.raises(UnreadableArguments):
                read_or_repaired(text[:stop])


@given(st.text() | st.text("{}[]\"',:\\ \n\t`</>abtrue1", max_size=60))
@settings(deadline=None)
def test_no_text_raises_another_exception(text):
    message = ""
    try:
        value, _ = read_or_repaired(text)
    except UnreadableArguments as error:
        value, message = {}, str(error)
    assert message or isinstance(value, dict)
    assert len(message) < 500


class Wide(Action):
    """Parameters of each type."""

    path: str = ""
    number: int | None = None
    ratio: float = 0.0
    flag: bool = False
    rows: list[int] | None = None
    table: dict[str, int] | None = None


@given(st.dictionaries(st.sampled_from(["path", "number", "ratio", "flag", "rows", "table", "x"]), values))
@settings(deadline=None)
def test_repair_of_any_values_is_total_and_changes_nothing_twice(arguments):
    once, notes = repaired_arguments(arguments, Wide.to_mcp_schema())
    assert repaired_arguments(once, Wide.to_mcp_schema())[0] == once
    assert bool(notes) == (
        once != arguments or any(type(once.get(key)) is not type(arguments[key]) for key in arguments)
    )


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '{"',
        '{"a": "',
        "}",
        "</a>",
        "</",
        "```",
        ",",
        ", ",
        "\\",
        "\\d",
        "{}",
        "{} ",
        "'",
        "{'",
        "[",
        " ",
        "\n",
        "<|a|>",
    ],
)
@pytest.mark.parametrize(
    "start", ["", '{"command": "', "{'command': '", '{"command": "ls"}'], ids=["bare", "open", "python", "whole"]
)
def test_hostile_arguments_take_linear_time(tools, unit, start):
    text = start + unit * (40_000 // len(unit))
    begin = time.process_time()
    call = read(tools, BASH, text)
    assert time.process_time() - begin < 0.3
    assert call.action is None or start
    begin = time.process_time()
    assert read(tools, EDITOR, {"command": text, "path": text, "view_range": text, "insert_line": text}).action is None
    assert time.process_time() - begin < 0.3


NESTED = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "count": {"type": "integer"},
                    "is_on": {"type": "boolean"},
                    "kind": {"enum": ["plain_text", "page"]},
                    "path": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "integer"}},
                    "more": {"type": "object", "properties": {"size": {"type": ["number", "null"]}}},
                    "any": {},
                },
                "required": ["count"],
            },
        }
    },
}
INSIDE: dict[str, tuple[Any, Any]] = {
    "number": ({"count": "3"}, {"count": 3}),
    "boolean": ({"is_on": "True"}, {"is_on": True}),
    "enum": ({"kind": "Plain Text"}, {"kind": "plain_text"}),
    "null": ({"count": 1, "is_on": "null"}, {"count": 1}),
    "list": ({"tags": "[1, 2]"}, {"tags": [1, 2]}),
    "items": ({"tags": ["1", 2]}, {"tags": [1, 2]}),
    "object": ({"more": '{"size": "2.5"}'}, {"more": {"size": 2.5}}),
}
AS_THEY_ARE = [
    {"count": 3, "path": "/a</path>", "any": "3", "other": ["x"]},
    {"kind": "other", "count": "many", "is_on": "perhaps"},
    {"more": {"size": None}, "tags": []},
    "text",
    None,
    {"count": None, "any": {"count": "3"}},
]


@pytest.mark.parametrize(("row", "meant"), INSIDE.values(), ids=INSIDE)
def test_values_inside_lists_and_objects_are_repaired_too(row, meant):
    repaired, notes = repaired_arguments({"rows": [{"count": 1}, row]}, NESTED)
    assert repaired == {"rows": [{"count": 1}, meant]}
    assert len(notes) == 1
    assert notes[0].startswith("`rows` [")


@pytest.mark.parametrize("row", AS_THEY_ARE, ids=range(len(AS_THEY_ARE)))
def test_values_inside_that_fit_or_may_mean_several_things_stay_as_they_are(row):
    arguments = {"rows": [row]}
    repaired, notes = repaired_arguments(arguments, NESTED)
    assert (repaired, notes) == (arguments, [])
    assert repaired["rows"] is arguments["rows"]
