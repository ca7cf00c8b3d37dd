"""The definition, action and observation of an MCP server's tool; the module `executor` runs it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from workbench.mcp.definitions import Definition
from workbench.text import visible
from workbench.tools.effects import AssessmentContext, CallsServer, Effect
from workbench.tools.executor import ToolExecutor
from workbench.tools.json_schema import for_models
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

_MAKE_HARMLESS = ("readOnlyHint", "idempotentHint")


class MCPToolAction(Action):
    """The arguments of a call, with fields from the server's schema."""

    def to_mcp_arguments(self) -> dict[str, Any]:
        """Return the arguments that were set, under their names in the server's schema."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class MCPToolObservation(Observation):
    """The server's result of a call."""

    server: str = ""
    tool: str = ""


class MCPToolDefinition(ToolDefinition[MCPToolAction, MCPToolObservation]):
    """A server's tool under the name that models use; the model of its arguments is built on first use."""

    is_remote = True

    def __init__(
        self,
        name: str,
        definition: Definition,
        server: str,
        executor: ToolExecutor[MCPToolAction, MCPToolObservation] | None = None,
        *,
        is_approved: bool = False,
    ) -> None:
        """Define the tool; if `is_approved` is true, its hints (read-only, idempotent) are trusted."""
        self.is_approved = is_approved
        self._action_type: type[MCPToolAction] | None = None
        self.definition = definition
        self.server = server
        super().__init__(
            name=name,
            description=visible(definition.get("description") or "") or f"A tool of the MCP server {server}.",
            action_type=MCPToolAction,
            observation_type=MCPToolObservation,
            annotations=annotations_of(definition.get("annotations") or {}, is_approved=is_approved),
            executor=executor,
        )

    @property
    def action_type(self) -> type[MCPToolAction]:
        """The model of the arguments, built from the schema on first use."""
        if self._action_type is None:
            self._action_type = MCPToolAction.from_mcp_schema(self.name, self.definition["inputSchema"])
        return self._action_type

    @action_type.setter
    def action_type(self, kind: type[MCPToolAction]) -> None:
        self._action_type = None if kind is MCPToolAction else kind

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The server's schema, simplified for models."""
        return for_models(self.definition["inputSchema"])

    @functools.cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """The server's schema of the structured content, if it gave one."""
        return self.definition.get("outputSchema")

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return one effect: a call to the server, with the tool's hints and description."""
        name = self.definition["name"]
        call = CallsServer(
            name,
            self.server,
            dict(arguments),
            f"{name} of the MCP server {self.server}",
            self.definition.get("annotations") or {},
            self.definition.get("description") or "",
            self.is_approved,
        )
        return (call,)


def annotations_of(hints: Mapping[str, Any], *, is_approved: bool) -> ToolAnnotations:
    """Return a server's valid hints; hints that lower the risk of a call are included only if `is_approved`."""
    valid = {name: value for name, value in hints.items() if name in ToolAnnotations.model_fields and value is not None}
    if not is_approved:
        valid = {name: value for name, value in valid.items() if name not in _MAKE_HARMLESS or value is not True}
    try:
        return ToolAnnotations(**valid)
    except ValidationError:
        return ToolAnnotations()
