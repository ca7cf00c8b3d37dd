"""The panels on the right with their titles, and the input line that filters the timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from workbench.tui.messages import ViewChanged
from workbench.tui.widgets.changes_panel import ChangesPanel
from workbench.tui.widgets.line_list import LineList
from workbench.tui.widgets.strips import as_content, css_beside
from workbench.tui.widgets.task_panel import TaskPanel
from workbench.tui.widgets.timeline import FilterAsked, ShowAllAsked, Timeline, timeline_counts
from workbench.view.state import Changed, Item, SessionState
from workbench.view.timeline_filter import HELP

PANELS = ("timeline", "tasks", "changes")
"""Ids of the panels on the right, in order."""


class Title(NamedTuple):
    """The heading of a panel: its name, and a count."""

    name: Content
    counts: Content


def panel_titles(state: SessionState, timeline: Timeline) -> dict[str, Title]:
    """Return the heading of each panel, by its id."""
    count_style = "$sign-waiting" if state.waiting else "$dim"
    return {
        "timeline": Title(
            Content("Timeline"), Content.styled(timeline_counts(timeline.rows, state).removesuffix(" · "), count_style)
        ),
        "tasks": Title(Content("Plan"), Content.styled(TaskPanel.title_counts(state), "$dim")),
        "changes": Title(Content("Changes"), as_content([ChangesPanel.title_counts(state)])),
    }


class FilterLine(Input):
    """Filters the timeline while the user types; enter keeps the filter, escape clears it."""

    DEFAULT_CSS = css_beside(__file__)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Keep", id="filter.keep"),
        Binding("down", "keep", "Keep", show=False, id="filter.rows"),
        Binding("escape", "clear", "Show all", id="filter.clear"),
    ]

    class Closed(Message):
        """Posted when the focus returns to the rows."""

    def __init__(self) -> None:
        super().__init__(placeholder=HELP, select_on_focus=False, id="filter")

    def action_clear(self) -> None:
        """Show every row again."""
        self.value = ""
        self.action_keep()

    def action_keep(self) -> None:
        """Return to the matching rows."""
        self.display = bool(self.value.strip())
        self.post_message(self.Closed())


def rows_of(space: int, timeline: int, tasks: int, changes: int) -> tuple[int, int]:
    """Return how many of `space` rows the plan and the changes may take, given the lines of each panel.

    Each may take a quarter, with its heading, and after that what the timeline leaves empty, the plan first.
    """
    quarter = max(1, space // 4 - 1)
    empty = space - _HEADINGS - timeline - min(tasks, quarter) - min(changes, quarter)
    more = max(0, min(tasks - quarter, empty))
    return quarter + more, quarter + max(0, empty - more)


_HEADINGS = 5
"""The rows of the three headings, and the two empty ones between the panels."""
_LEAST_WIDTH = 30
_LEAST_HEIGHT = 4


class PanelTabs(Widget):
    """One line that names the folded panels and their counts."""

    class Chosen(Message):
        """Posted when a tab was clicked."""

        def __init__(self, panel: str) -> None:
            super().__init__()
            self.panel = panel

    def __init__(self) -> None:
        super().__init__(id="tabs")
        self._titles: Mapping[str, Title] = {}
        self._open = ""

    def show(self, titles: Mapping[str, Title], open_panel: str) -> None:
        """Show these titles, with one panel open."""
        if (titles, open_panel) != (self._titles, self._open):
            self._titles, self._open = titles, open_panel
            self.refresh()

    def render(self) -> Content:
        """Return the tabs side by side."""
        return Content.assemble(*(self._tab(name) for name in PANELS if name in self._titles))

    def on_click(self, event: events.Click) -> None:
        """Open the tab under the mouse."""
        if name := self.tab_at(event.x):
            self.post_message(self.Chosen(name))

    def tab_at(self, x: int) -> str:
        """Return the panel whose tab is at a column of this widget; empty beside the tabs."""
        end = 0
        for name in PANELS:
            end += self._tab(name).cell_length
            if x < end:
                return name
        return ""

    def _tab(self, name: str) -> Content:
        is_open = name == self._open
        style = "bold $panel-title-focus" if is_open else "$panel-title"
        title, counts = self._titles[name]
        start = Content.assemble(("▾ " if is_open else "▸ ", style), title.stylize(style))
        return Content.assemble(start, " " if counts.plain else "", counts, "   ")


class SidePanels(Vertical):
    """Holds the three panels; on a narrow screen they are folded, and `opened` is the id of the open one, if any."""

    def __init__(self) -> None:
        super().__init__(id="side")
        self.opened = ""
        self._titles: Mapping[str, Title] = {}
        self._timeline = Timeline(id="timeline", classes="panel")
        self._fitting = TaskPanel(id="tasks", classes="panel"), ChangesPanel(id="changes", classes="panel")
        self._panels: Mapping[str, LineList] = dict(zip(PANELS, (self._timeline, *self._fitting), strict=True))

    def compose(self) -> ComposeResult:
        """Yield the tabs for narrow screens, then the panels."""
        yield PanelTabs()
        yield from self._panels.values()

    def show(self, state: SessionState, changed: Changed | None) -> None:
        """Pass a change on to each panel."""
        self.query_one(Timeline).show(state, changed)
        self.query_one(TaskPanel).show(state, changed)
        self.query_one(ChangesPanel).show(state, changed)
        self._share_rows()

    def on_resize(self) -> None:
        """Share the new number of rows."""
        self._share_rows()

    def _share_rows(self) -> None:
        """Limit the plan and the changes; beneath the tabs of a narrow screen the style sheet does so."""
        limits = rows_of(self.size.height, self._timeline.count, *(panel.count for panel in self._fitting))
        for panel, limit in zip(self._fitting, limits, strict=True):
            panel.limit(0 if self.screen.has_class("-narrow") else limit)

    def entitle(self, titles: Mapping[str, Title]) -> None:
        """Show these titles above the panels and on the tabs."""
        self._titles = titles
        self.query_one(PanelTabs).show(titles, self.opened)
        for name, title in titles.items():
            self._panels[name].heading.set(*title)

    def make_wider(self, by: int, space: int) -> None:
        """Widen the panels at the conversation's expense, or narrow them; both keep a minimum width."""
        self.styles.width = max(_LEAST_WIDTH, min(space - _LEAST_WIDTH, self.outer_size.width + by))
        self.styles.min_width = _LEAST_WIDTH

    def make_higher(self, panel: str, by: int, space: int) -> None:
        """Make a panel higher or lower; it and the other panels keep at least `_LEAST_HEIGHT` of the `space` rows."""
        target = self.query_one(f"#{panel}", Widget)
        target.styles.max_height = "100%"
        target.styles.height = max(_LEAST_HEIGHT, min(space - _LEAST_HEIGHT, target.outer_size.height + by))

    def reset_sizes(self) -> None:
        """Restore the sizes of the style sheet."""
        for rule in ("width", "min_width"):
            self.styles.clear_rule(rule)
        for name in PANELS:
            for rule in ("height", "max_height"):
                self.query_one(f"#{name}", Widget).styles.clear_rule(rule)

    @on(FilterAsked)
    async def on_filter_asked(self) -> None:
        """Open the input line below the timeline."""
        lines = self.query(FilterLine)
        if not lines:
            await self.mount(FilterLine(), after="#timeline")
        line = self.query_one(FilterLine)
        line.display = True
        self.add_class("-filtering")
        line.focus()

    def on_descendant_focus(self) -> None:
        """Brighten the heading of the timeline while its filter has the focus."""
        self.set_class(isinstance(self.screen.focused, FilterLine), "-typing")

    on_descendant_blur = on_descendant_focus

    @on(FilterLine.Changed)
    def on_filter_changed(self, changed: FilterLine.Changed) -> None:
        """Filter while the user types."""
        self._filter(changed.value)

    @on(FilterLine.Closed)
    def on_filter_closed(self) -> None:
        """Focus the rows again."""
        self.set_class(self.query_one(FilterLine).display, "-filtering")
        self.query_one(Timeline).focus()

    @on(ShowAllAsked)
    def on_show_all_asked(self) -> None:
        """Clear the filter and hide its input line."""
        for line in self.query(FilterLine):
            line.value = ""
            line.display = False
        self.remove_class("-filtering")
        self._filter("")

    def _filter(self, text: str) -> None:
        self.query_one(Timeline).filter(text)
        self.post_message(ViewChanged(Changed()))

    def reveal(self, item: Item) -> None:
        """Go to the row of an item; a filter that hides it is cleared."""
        timeline = self.query_one(Timeline)
        if not timeline.go_to(item):
            self.on_show_all_asked()
            timeline.go_to(item)
        timeline.focus()

    def open(self, panel: str) -> None:
        """Unfold one panel and fold the others; an empty name folds all of them."""
        self.opened = panel
        for name in PANELS:
            self.set_class(name == panel, f"-{name}")
        self.query_one(PanelTabs).show(self._titles, panel)
