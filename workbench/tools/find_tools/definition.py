"""The tool `find_tools`: its action, observation and description, and the executor that searches."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field

from workbench.text import first_line, visible
from workbench.tools.executor import ToolExecutor
from workbench.tools.find_tools.offer import FINDER, MOST, Index, Offer
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import DeclaredTool, ToolAnnotations

_DESCRIPTION = """Find tools that are not in your list, by words for what they do. Those found are in it from your next
answer on, for the rest of the session."""
_SHORT = "Find more tools by what they do; those found can be called from your next answer on."


class FindToolsAction(Action):
    """A query in plain words, and the maximum number of tools to add."""

    query: str = Field(min_length=1, description="What the tool should do, or its name: `create an issue`.")
    most: int = Field(5, ge=1, le=20, description="How many tools to add at most.")


class FindToolsObservation(Observation):
    """The names of the tools that were added."""

    found: list[str] = Field(default_factory=list)


class FindToolsTool(DeclaredTool[FindToolsAction, FindToolsObservation]):
    """Finds tools; the model is offered at most `most` without a search."""

    name = FINDER
    action_type = FindToolsAction
    observation_type = FindToolsObservation
    annotations = ToolAnnotations.reading("Find tools")

    offer = Offer(MOST)
    """The offer of a definition without an executor, which is only shown and never called."""

    def __init__(self, *, most: int = MOST) -> None:
        self.offer = Offer(most)
        super().__init__(FindToolsExecutor(self.offer))

    def set_executor(self, executor: Any) -> Self:
        """Return a copy of the tool with this executor and the `Offer` that the executor searches."""
        changed = super().set_executor(executor)
        changed.offer = executor.offer if isinstance(executor, FindToolsExecutor) else Offer(MOST)
        return changed

    @property
    def description(self) -> str:
        """The description, with the number of hidden tools of each service."""
        return self._with_services(_DESCRIPTION)

    @description.setter
    def description(self, text: str) -> None:
        """Do nothing: the text is computed whenever it is read."""

    @property
    def short_description(self) -> str:
        """The short description, with the number of hidden tools of each service."""
        return self._with_services(_SHORT)

    @short_description.setter
    def short_description(self, text: str) -> None:
        """Do nothing: the text is computed whenever it is read."""

    def _with_services(self, text: str) -> str:
        summary = self.offer.summary
        return f"{text} There are {visible(summary, lines=False)}." if summary else text


class FindToolsExecutor(ToolExecutor[FindToolsAction, FindToolsObservation]):
    """Searches the hidden tools of one session."""

    def __init__(self, offer: Offer) -> None:
        self.offer = offer

    def __call__(self, action: FindToolsAction) -> FindToolsObservation:
        """Return the best matches, which are offered to the model from its next call on."""
        hidden = self.offer.hidden
        names = Index(hidden).best(action.query, action.most)
        if not names:
            there = f"there are {self.offer.summary}; try other words" if hidden else "all tools are in your list"
            return FindToolsObservation.from_text(f"No other tool fits: {there}.", is_error=bool(hidden))
        self.offer.ask_for(names)
        lines = [f"- {name}: {first_line(hidden[name].description, 160)}" for name in names]
        text = "\n".join(["These can be called from your next answer on:", *lines])
        return FindToolsObservation.from_text(text, found=names)

    def recall(self, observation: dict[str, Any]) -> None:
        """Offer the tools that were found before a restart."""
        names = observation.get("found")
        if isinstance(names, list):
            self.offer.ask_for(name for name in names if isinstance(name, str))
