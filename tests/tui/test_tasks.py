"""The task tracker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import STEADY, Script, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.tui.widgets.task_panel import TaskPanel, task_line
from workbench.view.state import SessionState, Task
from workbench.view.wrapping import line_width


def text_of(task: Task, width: int = 40) -> str:
    return "".join(piece.text for piece in task_line(task, width))


def test_task_shows_its_state():
    assert text_of(Task("1", "Reproduce", "todo")).split() == ["○", "Reproduce"]
    assert text_of(Task("1", "Reproduce", "in_progress", steps=[4])).split() == ["●", "Reproduce"]
    assert text_of(Task("1", "Reproduce", "done", steps=[4, 6, 9])).split() == ["✓", "Reproduce"]


def test_task_done_without_a_step_is_claimed():
    assert text_of(Task("1", "Reproduce", "done")).split() == ["◌", "Reproduce", "claimed"]


@STEADY
@given(st.text(), st.integers(8, 100))
def test_any_title_fits_on_one_line(title, width):
    line = task_line(Task("1", title, "done"), width)

    assert line_width(line) <= width
    assert not any("\n" in piece.text for piece in line)


def test_border_counts_finished_tasks():
    assert TaskPanel.title_counts(SessionState()) == ""
    assert TaskPanel.title_counts(working_session().state()) == "1/3"


def test_users_command_is_no_step_of_the_agent():
    script = Script().user("Go on")
    script.run("task_tracker", command="plan", task_list=[{"id": "1", "title": "Read", "status": "in_progress"}])
    script.add(ev.UserCommand, action_id="own", command="ls")
    script.add(ev.ActionStarted, action_id="own")
    assert [task.steps for task in script.state().tasks] == [[]]


async def test_plan_is_updated_live_and_enter_steps_through_a_tasks_actions():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.query_one(TaskPanel)
        await until(pilot, lambda: panel.size.height > 0)
        assert "No plan yet" in panel.render_line(0).text

        app.take(*working_session().events)
        assert "Reproduce the failure" in panel.render_line(0).text

        panel.focus()
        await pilot.press("down", "enter", "enter", "enter")
        await until(pilot, lambda: len(app.chosen) == 3)
        assert app.chosen == ["row a6", "row a7", "row a6"]


async def test_task_without_steps_opens_nothing():
    script = Script().start()
    script.run("task_tracker", command="plan", task_list=[{"title": "x", "status": "todo"}])
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        app.query_one(TaskPanel).focus()
        await pilot.press("enter")
        await pilot.pause()

        assert app.chosen == []
