"""Titles of the panels with their counts; used on the panels' borders and on the folded tabs."""

from __future__ import annotations

from textual.content import Content

from workbench.tui.widgets.changes import ChangesPanel
from workbench.tui.widgets.tasks import TaskPanel
from workbench.tui.widgets.timeline import Timeline
from workbench.view.state import SessionState

PANELS = ("timeline", "tasks", "changes")
"""Ids of the panels on the right, in order."""


def panel_titles(state: SessionState, timeline: Timeline) -> dict[str, Content]:
    """The title of each panel, by its id."""
    rows = _title("Timeline", timeline.title_counts(state))
    return {
        "conversation": Content("Conversation"),
        "timeline": rows.stylize("$sign-waiting") if state.waiting else rows,
        "tasks": _title("Tasks", TaskPanel.title_counts(state)),
        "changes": _title("Changes", ChangesPanel.title_counts(state)),
    }


def _title(name: str, counts: str) -> Content:
    return Content(f"{name} · {counts}" if counts else name)
