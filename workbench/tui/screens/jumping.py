"""Jumps between what stands in several places: from a card to its row on the timeline, from a row or a task back."""

from __future__ import annotations

from textual import on

from workbench.tui.messages import PlaceWanted, RowWanted, StepWanted
from workbench.tui.screens.earlier import Earlier
from workbench.tui.widgets.conversation import Conversation
from workbench.tui.widgets.side import SidePanels


class Jumping(Earlier):
    """The part of the main screen that goes from one place of an item to another."""

    @on(RowWanted)
    def on_row_wanted(self, wanted: RowWanted) -> None:
        """Show the row on the timeline, which is unfolded where it is folded."""
        self._leave_zoom("timeline")
        side = self.query_one(SidePanels)
        if self.has_class("-narrow") and side.opened != "timeline":
            side.open("timeline")
        self.call_after_refresh(side.reveal, wanted.item)

    @on(StepWanted)
    async def on_step_wanted(self, wanted: StepWanted) -> None:
        """Show the row of an action, which may stand far above what was read."""
        self.run_worker(self._show_step(wanted.number), group="step", exclusive=True)

    async def _show_step(self, number: int) -> None:
        await self.read_until(lambda: self.state.actions_before < number)
        item = next((item for item in self.state.actions.values() if item.number == number), None)
        if item is not None:
            self.on_row_wanted(RowWanted(item))

    @on(PlaceWanted)
    def on_place_wanted(self, wanted: PlaceWanted) -> None:
        """Show the item in the conversation."""
        self._leave_zoom("conversation")
        self.call_after_refresh(self.query_one(Conversation).reveal, wanted.item)

    def _leave_zoom(self, wanted: str) -> None:
        """Where one goes to must be in sight."""
        if any(panel.id != wanted for panel in self.query(".panel.-zoomed")):
            self.action_zoom()
