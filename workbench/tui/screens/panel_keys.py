"""What the keys of the panels do on the main screen: unfold one, give it all the room, scroll the conversation."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget

from workbench.tui.titles import PANELS
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.side import PanelTabs, SidePanels


class PanelKeys(Screen[None]):
    """The part of the main screen that moves between its panels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "panel('timeline')", "Timeline", id="timeline", priority=True),
        Binding("f3", "panel('tasks')", "Tasks", id="tasks", priority=True),
        Binding("f4", "panel('changes')", "Changes", id="changes", priority=True),
        Binding("f6", "zoom", "Maximise a panel", id="zoom", priority=True),
        Binding("ctrl+up", "scroll(-3)", "Conversation up", id="scroll-up", priority=True, show=False),
        Binding("ctrl+down", "scroll(3)", "Conversation down", id="scroll-down", priority=True, show=False),
    ]

    @on(PanelTabs.Chosen)
    def action_panel(self, panel: str | PanelTabs.Chosen) -> None:
        """Go to a panel; on a narrow screen unfold it, and fold it when it is where we are."""
        name = panel.panel if isinstance(panel, PanelTabs.Chosen) else panel
        side = self.query_one(SidePanels)
        is_here = self.has_class("-narrow") and side.opened == name
        side.open("" if is_here else name)
        (self.query_one(Prompt) if is_here else self.query_one(f"#{name}", Widget)).focus()

    def action_zoom(self) -> None:
        """Give one panel the whole width, or take it back."""
        zoomed = not self.has_class("-zoomed")
        panel = self.focused if self.focused and self.focused.id in PANELS else self.query_one(Conversation)
        for each in self.query(".panel"):
            each.set_class(zoomed and each is panel, "-zoomed")
        self.set_class(zoomed, "-zoomed")
        self.set_class(zoomed and panel.id in PANELS, "-zoomed-side")

    def action_scroll(self, lines: int) -> None:
        """Move the conversation by some lines, also behind a question."""
        self.query_one(Conversation).scroll_relative(y=lines, animate=False)
