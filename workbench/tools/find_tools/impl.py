"""Runs `find_tools`: ranks the tools that are not shown, and shows the best from then on."""

from __future__ import annotations

from typing import Any

from workbench.text import first_line
from workbench.tools.executor import ToolExecutor
from workbench.tools.find_tools.definition import FindToolsAction, FindToolsObservation
from workbench.tools.find_tools.offer import Index, Offer


class FindToolsExecutor(ToolExecutor[FindToolsAction, FindToolsObservation]):
    """Finds tools of one session."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def __call__(self, action: FindToolsAction) -> FindToolsObservation:
        """The best, which the model is shown from now on."""
        hidden = self._offer.hidden
        found = Index(hidden).best(action.query, action.most)
        if not found:
            there = f"there are {self._offer.told}; try other words" if hidden else "all tools are in your list"
            return FindToolsObservation.from_text(f"No other tool fits: {there}.", is_error=bool(hidden))
        self._offer.ask_for(found)
        lines = [f"- {name}: {first_line(hidden[name].description, 160)}" for name in found]
        said = "\n".join(["These can be called from your next answer on:", *lines])
        return FindToolsObservation.from_text(said, found=found)

    def recall(self, observation: dict[str, Any]) -> None:
        """Show what was found before a restart."""
        found = observation.get("found")
        if isinstance(found, list):
            self._offer.ask_for(name for name in found if isinstance(name, str))
