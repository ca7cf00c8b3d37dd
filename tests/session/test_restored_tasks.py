"""A reopened session reads its task list from the log, which is the only place that stores it."""

from tests.session.fake_agent import calls, says
from workbench.tools.executor import ToolExecutor
from workbench.tools.schema import Observation
from workbench.tools.task_tracker.definition import TaskTrackerTool
from workbench.tools.think.definition import ThinkTool


def test_task_list_survives_a_restart_without_a_file_of_its_own(harness, tmp_path):
    plan = ("task_tracker", {"command": "plan", "task_list": [{"title": "go on", "status": "in_progress"}]})
    wrong = ("task_tracker", {"command": "plan", "task_list": "nothing"})
    d = harness(calls(plan, wrong), says("ok"), calls(("task_tracker", {"command": "view"})), says("ok"))
    d.tools["task_tracker"] = TaskTrackerTool()
    d.reopen()
    d.session.send("plan it")
    d.run()
    d.tools["task_tracker"] = TaskTrackerTool()
    d.reopen()
    d.session.send("where are we?")
    d.run()
    assert "go on [task-1, in_progress]" in d.results()[-1]
    assert [path.name for path in tmp_path.rglob("*task*")] == []


class Forgetful(ToolExecutor):
    def __call__(self, action):
        return Observation.from_text("seen")

    def recall(self, observation):
        raise ValueError("no memory")


def test_tool_that_fails_to_recall_does_not_prevent_opening(harness, caplog):
    d = harness(calls(("think", {"thought": "a"})), says("ok"))
    d.tools["think"] = ThinkTool().set_executor(Forgetful())
    d.reopen()
    d.session.send("go")
    d.run()
    d.reopen()
    assert "could not take up" in caplog.text
    assert d.session.ended == "waiting"
