"""A tool that says what it is in the body of its class: the form in which the built-in ones are written.

What depends on how an instance is made (a text, a type) its constructor sets before it hands the executor on.
"""

from __future__ import annotations

from workbench.tools.executor import ActionT, ObservationT, ToolExecutor
from workbench.tools.tool import ToolAnnotations, ToolDefinition


class DeclaredTool(ToolDefinition[ActionT, ObservationT]):
    """A tool by its declarations; `ToolDefinition` tells what each of them means."""

    name: str
    description: str
    short_description: str
    action_type: type[ActionT]
    observation_type: type[ObservationT]
    annotations: ToolAnnotations
    ends_run: bool = False
    asks_person: bool = False

    def __init__(self, executor: ToolExecutor[ActionT, ObservationT]) -> None:
        super().__init__(
            name=self.name,
            description=self.description,
            short_description=self.short_description,
            action_type=self.action_type,
            observation_type=self.observation_type,
            annotations=self.annotations,
            executor=executor,
            ends_run=self.ends_run,
            asks_person=self.asks_person,
        )
