"""An operation of an OpenAPI document as a tool; its model is made on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urldefrag, urljoin

from workbench.text import visible
from workbench.tools.effects import AssessmentContext, CallsServer, Effect
from workbench.tools.json_schema import for_models
from workbench.tools.openapi.calls import OperationExecutor, OperationObservation
from workbench.tools.openapi.operations import Located, Operation
from workbench.tools.openapi.references import Broken, References
from workbench.tools.schema import Action
from workbench.tools.tool import ToolAnnotations, ToolDefinition

_ABOUT = frozenset(
    {"example", "examples", "externalDocs", "xml", "discriminator", "deprecated", "readOnly", "writeOnly"}
)
"""What says nothing of the values that are allowed."""
_NAMED = ("properties", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MOST = 3_000
"""Nodes of one schema; what is beyond may be anything."""
_DEEPEST = 60


def arguments_schema(operation: Operation, references: References, *, is_old: bool) -> dict[str, Any]:
    """The JSON schema of the object that a model gives; `is_old` where the document is one of 3.0."""
    made = _Maker(references, is_old)
    properties: dict[str, Any] = {}
    for parameter in operation.parameters:
        about = parameter.description or f"The {parameter.where} parameter {parameter.name}."
        properties[parameter.argument] = _described(made.schema(parameter.schema), about)
    required = [parameter.argument for parameter in operation.parameters if parameter.is_required]
    if body := operation.body:
        properties[body.argument] = _described(
            made.schema(body.schema), body.description or f"The body ({body.media})."
        )
        required += [body.argument] if body.is_required else []
    made.finish()
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {**whole, "$defs": made.defined} if made.defined else whole


def _described(schema: Any, about: str) -> Any:
    if not isinstance(schema, dict):
        return {"description": about}
    if "$ref" in schema:
        return {"allOf": [schema], "description": about}
    return schema if schema.get("description") else {**schema, "description": about}


class _Maker:
    """Copies schemas; what they refer to is put under `$defs`, each once."""

    def __init__(self, references: References, is_old: bool) -> None:
        self._references = references
        self._is_old = is_old
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []
        self._nodes = 0
        self.defined: dict[str, Any] = {}

    def schema(self, located: Located) -> Any:
        """The schema, its references pointing into `$defs`."""
        return self._copied(located.schema, located.place, 0)

    def finish(self) -> None:
        """Put everything that is referred to under `$defs`."""
        while self._waiting:
            whole = self._waiting.pop()
            try:
                target = self._references.target(whole)
            except Broken:
                target = {}
            self.defined[self._names[whole]] = self._copied(target, urldefrag(whole).url, 0)

    def _named(self, whole: str) -> str:
        if whole not in self._names:
            last = whole.rpartition("/")[2]
            name = last if last.isidentifier() and last not in self._names.values() else f"schema{len(self._names)}"
            self._names[whole] = name
            self._waiting.append(whole)
        return self._names[whole]

    def _copied(self, node: Any, place: str, depth: int) -> Any:
        self._nodes += 1
        if not isinstance(node, dict):
            return node if isinstance(node, bool) else {}
        if self._nodes > _MOST or depth > _DEEPEST:
            return {}
        if isinstance(node.get("$ref"), str):
            beside = {name: node[name] for name in ("description", "default") if name in node}
            return {"$ref": f"#/$defs/{self._named(urljoin(place, node['$ref']))}", **beside}
        made = {name: self._part(name, part, place, depth + 1) for name, part in node.items() if self._counts(name)}
        if isinstance(made.get("required"), list) and isinstance(made.get("properties"), dict):
            made["required"] = [name for name in made["required"] if not _is_answer(node["properties"].get(name))]
        return _modern(made) if self._is_old else made

    def _counts(self, name: Any) -> bool:
        return isinstance(name, str) and name not in _ABOUT and not name.startswith("x-")

    def _part(self, name: str, part: Any, place: str, depth: int) -> Any:
        if name in _NAMED and isinstance(part, dict):
            kept = {str(key): value for key, value in part.items() if not _is_answer(value)}
            return {key: self._copied(value, place, depth) for key, value in kept.items()}
        if name in _SINGLE and isinstance(part, dict):
            return self._copied(part, place, depth)
        if name in _LISTS and isinstance(part, list):
            return [self._copied(each, place, depth) for each in part]
        return part


def _is_answer(part: Any) -> bool:
    """Whether a property comes only in answers."""
    return isinstance(part, dict) and part.get("readOnly") is True


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of OpenAPI 3.0 as JSON Schema says the same."""
    made = {name: part for name, part in schema.items() if name != "nullable"}
    for name, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(made.get(name), bool):
            is_exclusive = made.pop(name)
            if is_exclusive and limit in made:
                made[name] = made.pop(limit)
    if schema.get("nullable") is True:
        if isinstance(made.get("type"), str):
            made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list) and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
    return made


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
