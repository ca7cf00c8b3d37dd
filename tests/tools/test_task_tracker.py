import json

import pytest

from workbench.tools import (
    ArgumentError,
    FinishTool,
    TaskTrackerAction,
    TaskTrackerExecutor,
    TaskTrackerTool,
    ThinkTool,
)


@pytest.fixture
def tool():
    return TaskTrackerTool()


def run(tool, **arguments):
    return tool(tool.action_from_arguments(arguments))


def test_missing_fields_of_a_task_are_filled_in(tool):
    result = run(tool, command="plan", task_list=[{}, {"title": "Fix it", "status": "done", "id": "fix"}])
    assert [task.title for task in result.task_list] == ["Untitled task", "Fix it"]
    assert result.model_dump(mode="json")["task_list"] == [
        {"id": "task-1", "title": "Untitled task", "status": "todo", "notes": ""},
        {"id": "fix", "title": "Fix it", "status": "done", "notes": ""},
    ]


def test_generated_ids_are_unique(tool):
    result = run(tool, command="plan", task_list=[{"id": "task-2"}, {}, {"id": 7}, {}])
    assert len({task.id for task in result.task_list}) == 4


def test_plan_replaces_and_view_prints_the_list(tool):
    run(tool, command="plan", task_list=[{"title": "old"}])
    run(tool, command="plan", task_list=[{"title": "one", "notes": "careful"}, {"title": "two", "status": "done"}])
    text = run(tool, command="view").text
    assert "1. ⏳ one" in text
    assert "careful" in text
    assert "2. ✅ two" in text
    assert "old" not in text


def test_empty_list_is_reported(tool):
    assert "no tasks" in run(tool, command="view").text
    assert run(tool, command="plan", task_list=[]).task_list == []


def test_several_tasks_in_progress_are_accepted_and_reported(tool):
    active = [{"title": name, "status": "in_progress"} for name in "ab"]
    result = run(tool, command="plan", task_list=active)
    assert not result.is_error
    assert "2 of them are in progress (task-1, task-2)" in result.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": "plan"}, "needs `task_list`"),
        ({"command": "plan", "task_list": "fix it"}, "list"),
        ({"command": "plan", "task_list": 3}, "list"),
        ({"command": "plan", "task_list": [{}, "fix it"]}, "entry 2"),
        (
            {"command": "plan", "task_list": [{}, {}, {"status": "doing"}]},
            "entry 3 of task_list has the status 'doing'",
        ),
        ({"command": "plan", "task_list": [{"status": ["done"]}]}, "entry 1"),
        ({"command": "plan", "task_list": [{"titel": "x"}]}, "entry 1 of task_list has an unknown field 'titel'"),
        ({"command": "plan", "task_list": [{"title": ["x"]}]}, "task_list[0].title"),
        ({"command": "show"}, "one of view, plan"),
    ],
)
def test_invalid_entry_is_named(tool, arguments, message):
    with pytest.raises(ArgumentError) as raised:
        tool.action_from_arguments(arguments)
    assert message in str(raised.value)


def test_list_is_recalled_from_an_earlier_result(tool):
    answer = run(tool, command="plan", task_list=[{"title": "go on", "status": "done"}]).model_dump(mode="json")
    again = TaskTrackerTool()
    again.executor.recall(answer)
    assert run(again, command="view").model_dump(mode="json")["task_list"] == answer["task_list"]
    for odd in ({"task_list": [{"title": 3}]}, {"task_list": 7}, {"task_list": ["x"]}):
        again.executor.recall(odd)
        assert run(again, command="view").model_dump(mode="json")["task_list"] == answer["task_list"]


def test_think_confirms_that_the_thought_is_logged():
    tool = ThinkTool()
    action = tool.action_from_arguments({"thought": "hm"})
    assert tool(action).text == "Your thought has been logged."


@pytest.mark.parametrize("message", ["true", "false", "partial", True, None])
def test_finish_returns_its_message(message):
    tool = FinishTool()
    action = tool.action_from_arguments({"message": "Done.", "task_completed": message})
    assert tool(action).text == "Done."
    assert tool.ends_run


def test_finish_refuses_other_values_of_task_completed():
    with pytest.raises(ArgumentError, match="task_completed"):
        FinishTool().action_from_arguments({"message": "Done.", "task_completed": "almost"})


@pytest.mark.parametrize("make", [TaskTrackerTool, ThinkTool, FinishTool])
def test_these_tools_need_no_approval(make):
    hints = make().annotations
    assert (hints.readOnlyHint, hints.destructiveHint, hints.idempotentHint) == (True, False, True)
    names = make().to_openai_tool()["function"]["parameters"]["properties"]
    assert "security_risk" not in names


def test_same_plan_twice_gives_the_same_list(tool):
    plan = {"command": "plan", "task_list": [{"title": "one"}, {"title": "two", "status": "in_progress"}]}
    assert run(tool, **plan) == run(tool, **plan)


def test_finish_requires_a_message():
    with pytest.raises(ArgumentError, match="`message` is missing"):
        FinishTool().action_from_arguments({})


def test_with_a_directory_the_list_outlives_the_tool(tmp_path):
    directory = tmp_path / "new/tasks"
    plan = {"command": "plan", "task_list": [{"title": "one"}, {"title": "two", "status": "done"}]}
    first = TaskTrackerTool(directory)
    first({"command": "plan", "task_list": [{"title": "zero"}]})
    first(plan)
    again = TaskTrackerExecutor(save_dir=str(directory))
    assert "two" in again(TaskTrackerAction(command="view")).text
    assert [task["title"] for task in json.loads((directory / "TASKS.json").read_text())] == ["one", "two"]
    (directory / "TASKS.json").write_text("[{")
    assert "no tasks" in TaskTrackerTool(directory)({"command": "view"}).text
