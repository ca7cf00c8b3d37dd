"""Calls in the format of earlier versions still work as they did; calls of today are never changed."""

import pytest

from workbench.tools.context import ToolContext
from workbench.tools.older_calls import OLDER_ARGUMENTS, adapted
from workbench.tools.older_names import OLDER_NAMES
from workbench.tools.registry import open_tools, resolve_alias

BASH = ("command", "is_input", "timeout", "reset")
EDITOR = ("command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range")
FINISH = ("message", "task_completed")


@pytest.mark.parametrize(
    ("tool", "known", "older", "today"),
    [
        ("execute_bash", BASH, {"cmd": "ls"}, {"command": "ls"}),
        ("execute_bash", BASH, {"restart": True}, {"command": "", "reset": True}),
        (
            "str_replace_editor",
            EDITOR,
            {"command": "insert", "path": "/a", "insert_line": 2, "insert_text": "x"},
            {"command": "insert", "path": "/a", "insert_line": 2, "new_str": "x"},
        ),
        (
            "str_replace_editor",
            EDITOR,
            {"command": "create", "file_path": "/a", "content": "x"},
            {"command": "create", "path": "/a", "file_text": "x"},
        ),
        (
            "finish",
            FINISH,
            {"status": "success"},
            {"task_completed": "true", "message": "The task ended with: success."},
        ),
        (
            "finish",
            FINISH,
            {"status": "failure", "message": "no net"},
            {"task_completed": "false", "message": "no net"},
        ),
        ("finish", FINISH, {"outputs": {"content": "done"}}, {"message": "done"}),
        ("ask_human", ("question", "options"), {"inquire": "why?"}, {"question": "why?"}),
    ],
)
def test_older_arguments_are_converted(tool, known, older, today):
    assert adapted(tool, older, known) == today


def test_current_parameter_is_never_renamed_or_replaced():
    both = {"cmd": "old", "command": "new"}
    assert adapted("execute_bash", both, BASH) == both, "the tool says what is unexpected"
    assert adapted("grep", {"glob": "*.py"}, ("pattern", "glob")) == {"glob": "*.py"}
    assert adapted("other", {"cmd": "ls"}, ("command",)) == {"cmd": "ls"}


def test_parameter_is_renamed_only_to_one_the_tool_has():
    assert adapted("execute_bash", {"cmd": "ls"}, ("script",)) == {"cmd": "ls"}


def test_every_table_entry_names_a_parameter_of_the_tool(tmp_path):
    tools = open_tools(ToolContext(str(tmp_path)))
    try:
        for name, tool in tools.items():
            known = {field.alias or own for own, field in tool.action_type.model_fields.items()}
            assert set(OLDER_ARGUMENTS.get(name, {}).values()) <= known
            assert set(OLDER_ARGUMENTS.get(name, {})).isdisjoint(known)
    finally:
        for tool in tools.values():
            tool.close()


def test_older_names_resolve_to_their_tools():
    assert {resolve_alias(name) for name in OLDER_NAMES} == {"execute_bash", "str_replace_editor", "finish"}
    assert set(OLDER_NAMES.values()) <= set(OLDER_ARGUMENTS), "each has its arguments in the table beside"
