"""The panel of the agent's current plan; Enter on a task goes to the steps done for it."""

from __future__ import annotations

from workbench.text import visible
from workbench.tui.messages import RowRequested, StepRequested
from workbench.tui.widgets.line_list import FittingList
from workbench.view.state import Changed, SessionState, Task
from workbench.view.wrapping import Line, Piece, spread

_ICONS = {"todo": ("○", "dim"), "in_progress": ("●", "running"), "done": ("✓", "ok")}
_EMPTY = "No plan yet"


class TaskPanel(FittingList):
    """One row for each task; Enter goes to the first step done for it, and each further press to the next one."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._tasks: list[Task] = []
        self._state = SessionState()
        self._last_step = (-1, -1)
        """The task whose step was shown last, and the index of that step."""

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Show the plan if it has changed."""
        if changed is not None and not changed.tasks:
            return
        self._state = state
        self._tasks = state.tasks
        self.set_count(max(1, len(self._tasks)))
        self.forget()

    @staticmethod
    def title_counts(state: SessionState) -> str:
        """Return the text for the panel's border, such as `2/5`: tasks done, and all tasks."""
        done = sum(1 for task in state.tasks if task.status == "done")
        return f"{done}/{len(state.tasks)}" if state.tasks else ""

    def line(self, index: int, width: int) -> Line:
        """Return the row of a task."""
        if index >= len(self._tasks):
            return [Piece(_EMPTY, "dim")]
        return task_line(self._tasks[index], width)

    def choose(self, index: int) -> None:
        """Show a step of the task on the timeline: the first one, then the next with each press."""
        steps = self._tasks[index].steps if index < len(self._tasks) else []
        if not steps:
            return
        task, step = self._last_step
        step = (step + 1) % len(steps) if task == index else 0
        self._last_step = (index, step)
        item = next((item for item in self._state.actions.values() if item.number == steps[step]), None)
        self.post_message(StepRequested(steps[step]) if item is None else RowRequested(item))


def task_line(task: Task, width: int) -> Line:
    """Return the icon and title of a task; a task marked done without any step is shown as claimed."""
    icon, style = _ICONS[task.status]
    if task.is_claimed:
        icon, style = "◌", "waiting"
    title = visible(task.title[:500], lines=False)
    start = [Piece(f"{icon} ", style), Piece(title, "bold" if task.status == "in_progress" else "")]
    return spread(start, [Piece("claimed " if task.is_claimed else "", "waiting")], width)
