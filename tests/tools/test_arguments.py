from typing import Any

import pytest

from workbench.tools import ArgumentError, FileEditorTool, TaskTrackerTool


def refusal(arguments: Any) -> str:
    with pytest.raises(ArgumentError) as raised:
        FileEditorTool().action_from_arguments(arguments)
    return str(raised.value)


def test_error_lists_what_is_allowed():
    message = refusal({})
    assert "`command` is missing" in message
    assert "`path` is missing" in message
    assert "command (one of view, create, str_replace, insert, undo_edit; required)" in message
    assert "insert_line (integer >= 0; optional)" in message


def test_misspelled_parameter_names_the_nearest_one():
    assert "`old_string` is not a parameter (did you mean `old_str`?)" in refusal(
        {"command": "view", "path": "/a", "old_string": "x"}
    )


def test_misspelled_value_names_the_nearest_one():
    assert "`command` is 'str_replac'" in refusal({"command": "str_replac", "path": "/a"})
    assert "did you mean 'str_replace'?" in refusal({"command": "str_replac", "path": "/a"})


def test_wrong_type_error_names_given_and_expected_type():
    message = refusal({"command": "insert", "path": "/a", "insert_line": "soon"})
    assert "`insert_line` is 'soon'" in message
    assert "integer" in message
    assert "greater than or equal to 0" in refusal({"command": "insert", "path": "/a", "insert_line": -1})


@pytest.mark.parametrize("arguments", [None, [], "text", 3])
def test_arguments_that_are_no_object_are_refused(arguments):
    assert "must be one object" in refusal(arguments)


def test_list_sent_as_text_is_parsed():
    action = FileEditorTool().action_from_arguments({"command": "view", "path": "/a", "view_range": "[3, 5]"})
    assert action.view_range == [3, 5]


def test_null_counts_as_omitted():
    action = TaskTrackerTool().action_from_arguments({"command": "view", "task_list": None})
    assert action.task_list == []


def test_risk_and_summary_never_reach_the_action():
    action = FileEditorTool().action_from_arguments(
        {"security_risk": "LOW", "summary": "look", "command": "view", "path": "/a"}
    )
    assert set(action.model_dump(exclude_unset=True)) == {"command", "path"}


@pytest.mark.parametrize("kind", ["lists", "objects"])
def test_arguments_nested_ten_thousand_deep_are_refused(kind):
    deep: Any = "x"
    for _ in range(10_000):
        deep = [deep] if kind == "lists" else {"a": deep}
    assert "nested more than" in refusal({"command": "view", "path": deep})


def test_arguments_that_contain_themselves_are_refused():
    loop: dict[str, Any] = {"command": "view"}
    loop["path"] = loop
    assert "nested more than" in refusal(loop)


@pytest.mark.parametrize("half", ["x" * 10_500_000, "€" * 3_500_000], ids=["ASCII", "three bytes each"])
def test_arguments_of_more_than_twenty_megabytes_are_refused(half: str):
    assert "larger than 20 MB" in refusal({"command": "create", "path": "/a", "file_text": half, "old_str": half})


def test_deep_json_text_is_not_decoded():
    message = refusal({"command": "view", "path": "/a", "view_range": "[" * 100_000})
    assert "view_range" in message


def test_long_invalid_value_is_shortened_in_the_message():
    assert len(refusal({"command": "v" * 100_000, "path": "/a"})) < 1_000


def test_escape_sequence_in_a_name_is_not_repeated():
    assert "\x1b" not in refusal({"command": "view", "path": "/a", "\x1b]0;x": 1})
