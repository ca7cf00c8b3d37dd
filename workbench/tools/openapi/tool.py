"""An operation of an OpenAPI document as a tool; its model is made on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.text import visible
from workbench.tools.effects import AssessmentContext, CallsServer, Effect
from workbench.tools.json_schema import for_models
from workbench.tools.openapi.calling import OperationExecutor, OperationObservation
from workbench.tools.openapi.operation import Operation
from workbench.tools.openapi.references import References
from workbench.tools.openapi.schemas import arguments_schema
from workbench.tools.schema import Action
from workbench.tools.tool import ToolAnnotations, ToolDefinition

_LONGEST = 1_200
"""Characters of a description that models get."""
_ANYTHING = {"type": "object", "additionalProperties": True}


class OperationAction(Action):
    """The arguments of a call; the fields are made from the document."""


class OperationTool(ToolDefinition[OperationAction, OperationObservation]):
    """One operation, under the name that models call."""

    is_remote = True

    def __init__(
        self,
        name: str,
        operation: Operation,
        references: References,
        executor: OperationExecutor,
        *,
        is_old: bool,
        is_settled: bool = True,
    ) -> None:
        """`is_settled`: where calls go is the person's choice, and not only that of whoever writes the document."""
        self._made: type[OperationAction] | None = None
        self._raw: dict[str, Any] | None = None
        self._references = references
        self._is_old = is_old
        self._is_settled = is_settled
        self.operation = operation
        self.server = executor.source.name
        description = described(operation)
        super().__init__(
            name=name,
            description=description,
            short_description=description.partition("\n")[0][:200],
            action_type=OperationAction,
            observation_type=OperationObservation,
            annotations=_annotations(operation),
            executor=executor,
        )

    @property
    def action_type(self) -> type[OperationAction]:
        """Made when it is first asked for; where a schema cannot be a model, the server checks the arguments."""
        if self._made is None:
            try:
                self._made = OperationAction.from_mcp_schema(self.name, self._arguments())
            except ValueError:
                self._made = OperationAction.from_mcp_schema(self.name, _ANYTHING)
        return self._made

    @action_type.setter
    def action_type(self, kind: type[OperationAction]) -> None:
        self._made = None if kind is OperationAction else kind

    @property
    def schema(self) -> dict[str, Any]:
        """The arguments as models read them best; this needs no model."""
        if self._schema is None:
            self._schema = for_models(self._arguments())
        return self._schema

    def _arguments(self) -> dict[str, Any]:
        if self._raw is None:
            self._raw = arguments_schema(self.operation, self._references, is_old=self._is_old)
        return self._raw

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the request to the server of the document."""
        hints = {"readOnlyHint": self.operation.reads_only, "destructiveHint": self.operation.method == "delete"}
        call = f"{self.operation.method.upper()} {self.operation.base_url.rstrip('/')}{self.operation.path}"
        is_approved = self._is_settled
        return (CallsServer(self.name, self.server, dict(arguments), call, hints, is_approved=is_approved),)


def described(operation: Operation) -> str:
    """What an operation is for, in the document's words, and how it is called."""
    words = [operation.summary.strip(), operation.description.strip()]
    told = "\n".join(visible(each) for each in dict.fromkeys(words) if each)
    told = told if len(told) <= _LONGEST else f"{told[:_LONGEST]} […]"
    call = f"{operation.method.upper()} {visible(operation.path, lines=False)}"
    notes = " (deprecated)" if operation.is_deprecated else ""
    return f"{told}\n{call}{notes}" if told else f"{call}{notes}"


def _annotations(operation: Operation) -> ToolAnnotations:
    return ToolAnnotations(
        title=visible(operation.summary or operation.id, lines=False)[:80],
        readOnlyHint=operation.reads_only,
        destructiveHint=operation.method == "delete",
        idempotentHint=operation.method in ("get", "head", "options", "put", "delete"),
        openWorldHint=True,
    )
