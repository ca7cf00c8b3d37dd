"""A tool of an MCP server as a tool of ours: its definition, action and observation; `executor` runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workbench.mcp.definitions import Definition
from workbench.text import visible
from workbench.tools.executor import ToolExecutor
from workbench.tools.json_schema import for_models
from workbench.tools.schema import Action, Observation
from workbench.tools.tool import ToolAnnotations, ToolDefinition

_MAKE_HARMLESS = ("readOnlyHint", "idempotentHint")


class MCPToolAction(Action):
    """The arguments of a call; the fields are made from the server's schema."""

    def to_mcp_arguments(self) -> dict[str, Any]:
        """What goes to the server: what was given, under the names of its schema."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class MCPToolObservation(Observation):
    """What the server gave back."""

    server: str = ""
    tool: str = ""


class MCPToolDefinition(ToolDefinition[MCPToolAction, MCPToolObservation]):
    """A tool of a server, under the name that models call; its model is made on first use."""

    def __init__(
        self,
        name: str,
        definition: Definition,
        server: str,
        executor: ToolExecutor[MCPToolAction, MCPToolObservation] | None = None,
        *,
        is_approved: bool = False,
    ) -> None:
        """`is_approved` says that the user approved it: only then does it count that it says it only reads."""
        self.is_approved = is_approved
        self._made: type[MCPToolAction] | None = None
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
        """Made from the schema when it is first asked for."""
        if self._made is None:
            self._made = MCPToolAction.from_mcp_schema(self.name, self.definition["inputSchema"])
        return self._made

    @action_type.setter
    def action_type(self, kind: type[MCPToolAction]) -> None:
        self._made = None if kind is MCPToolAction else kind

    @property
    def schema(self) -> dict[str, Any]:
        """The server's schema as models read it best; it needs no model."""
        if self._schema is None:
            self._schema = for_models(self.definition["inputSchema"])
        return self._schema

    def foreign(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The call as the rating of other programs' tools wants it described."""
        told = {
            "tool": self.definition["name"],
            "description": self.definition.get("description"),
            "args": dict(arguments),
            "server": self.server,
        }
        told["call"] = f"{self.definition['name']} of the MCP server {self.server}"
        return {**told, "annotations": self.definition.get("annotations") or {}, "pinned": self.is_approved}


def annotations_of(hints: Mapping[str, Any], *, is_approved: bool) -> ToolAnnotations:
    """The hints of a server that are well formed; those that make a call less dangerous only where it `is_approved`."""
    known = {name: value for name, value in hints.items() if name in ToolAnnotations.model_fields and value is not None}
    if not is_approved:
        known = {name: value for name, value in known.items() if name not in _MAKE_HARMLESS or value is not True}
    try:
        return ToolAnnotations(**known)
    except ValidationError:
        return ToolAnnotations()
