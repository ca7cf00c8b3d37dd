"""An operation of an OpenAPI document as a tool; its argument model is created on first use."""

from __future__ import annotations

import functools
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
"""Keywords that do not restrict the allowed values."""
_NAMED = ("properties", "patternProperties")
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MOST = 3_000
"""The most nodes of one schema; further nodes allow any value."""
_DEEPEST = 60


def arguments_schema(operation: Operation, references: References, *, is_old: bool) -> dict[str, Any]:
    """Return the JSON schema of the call's arguments; `is_old` means that the document is OpenAPI 3.0."""
    copier = _SchemaCopier(references, is_old)
    properties: dict[str, Any] = {}
    for parameter in operation.parameters:
        about = parameter.description or f"The {parameter.where} parameter {parameter.name}."
        properties[parameter.argument] = _described(copier.schema(parameter.schema), about)
    required = [parameter.argument for parameter in operation.parameters if parameter.is_required]
    if body := operation.body:
        properties[body.argument] = _described(
            copier.schema(body.schema), body.description or f"The body ({body.media})."
        )
        required += [body.argument] if body.is_required else []
    copier.finish()
    whole = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {**whole, "$defs": copier.defined} if copier.defined else whole


def _described(schema: Any, about: str) -> Any:
    if not isinstance(schema, dict):
        return {"description": about}
    if "$ref" in schema:
        return {"allOf": [schema], "description": about}
    return schema if schema.get("description") else {**schema, "description": about}


class _SchemaCopier:
    """Copies schemas and collects the targets of their references under `$defs`, each once."""

    def __init__(self, references: References, is_old: bool) -> None:
        self._references = references
        self._is_old = is_old
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []
        self._nodes = 0
        self.defined: dict[str, Any] = {}

    def schema(self, located: Located) -> Any:
        """Return a copy of the schema whose references point into `$defs`."""
        return self._copied(located.schema, located.base_uri, 0)

    def finish(self) -> None:
        """Copy all referenced schemas into `defined`, including those that they refer to."""
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

    def _copied(self, node: Any, base_uri: str, depth: int) -> Any:
        self._nodes += 1
        if not isinstance(node, dict):
            return node if isinstance(node, bool) else {}
        if self._nodes > _MOST or depth > _DEEPEST:
            return {}
        if isinstance(node.get("$ref"), str):
            beside = {name: node[name] for name in ("description", "default") if name in node}
            return {"$ref": f"#/$defs/{self._named(urljoin(base_uri, node['$ref']))}", **beside}
        result = {
            name: self._part(name, part, base_uri, depth + 1) for name, part in node.items() if self._counts(name)
        }
        if isinstance(result.get("required"), list) and isinstance(result.get("properties"), dict):
            result["required"] = [name for name in result["required"] if not _is_answer(node["properties"].get(name))]
        return _modern(result) if self._is_old else result

    def _counts(self, name: Any) -> bool:
        return isinstance(name, str) and name not in _ABOUT and not name.startswith("x-")

    def _part(self, name: str, part: Any, base_uri: str, depth: int) -> Any:
        if name in _NAMED and isinstance(part, dict):
            properties = {str(key): value for key, value in part.items() if not _is_answer(value)}
            return {key: self._copied(value, base_uri, depth) for key, value in properties.items()}
        if name in _SINGLE and isinstance(part, dict):
            return self._copied(part, base_uri, depth)
        if name in _LISTS and isinstance(part, list):
            return [self._copied(each, base_uri, depth) for each in part]
        return part


def _is_answer(part: Any) -> bool:
    """Return whether a property is read-only, so it occurs only in responses."""
    return isinstance(part, dict) and part.get("readOnly") is True


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """Convert an OpenAPI 3.0 schema to JSON Schema 2020-12 (`nullable`, exclusive limits)."""
    converted = {name: part for name, part in schema.items() if name != "nullable"}
    for name, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(converted.get(name), bool):
            is_exclusive = converted.pop(name)
            if is_exclusive and limit in converted:
                converted[name] = converted.pop(limit)
    if schema.get("nullable") is True:
        if isinstance(converted.get("type"), str):
            converted["type"] = [converted["type"], "null"]
        if isinstance(converted.get("enum"), list) and None not in converted["enum"]:
            converted["enum"] = [*converted["enum"], None]
    return converted


_LONGEST = 1_200
"""The most characters of a description for models."""
_ANYTHING = {"type": "object", "additionalProperties": True}


class OperationAction(Action):
    """The arguments of a call; its fields come from the document."""


class OperationTool(ToolDefinition[OperationAction, OperationObservation]):
    """A tool that calls one operation."""

    is_remote = True

    def __init__(
        self,
        name: str,
        operation: Operation,
        references: References,
        executor: OperationExecutor,
        *,
        is_old: bool,
        is_server_trusted: bool = True,
    ) -> None:
        """`is_server_trusted` means that the user chose the server, not only the author of the document."""
        self._model: type[OperationAction] | None = None
        self._raw: dict[str, Any] | None = None
        self._references = references
        self._is_old = is_old
        self._is_server_trusted = is_server_trusted
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
        """The model, created on first use; any object is accepted if the schema cannot be turned into a model."""
        if self._model is None:
            try:
                self._model = OperationAction.from_mcp_schema(self.name, self._arguments())
            except ValueError:
                self._model = OperationAction.from_mcp_schema(self.name, _ANYTHING)
        return self._model

    @action_type.setter
    def action_type(self, kind: type[OperationAction]) -> None:
        self._model = None if kind is OperationAction else kind

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The schema of the arguments in simplified form; does not create the model."""
        return for_models(self._arguments())

    def _arguments(self) -> dict[str, Any]:
        if self._raw is None:
            self._raw = arguments_schema(self.operation, self._references, is_old=self._is_old)
        return self._raw

    def assess(self, arguments: Mapping[str, Any], context: AssessmentContext) -> Sequence[Effect]:
        """Return the request to the server as the only effect."""
        hints = {"readOnlyHint": self.operation.reads_only, "destructiveHint": self.operation.method == "delete"}
        call = f"{self.operation.method.upper()} {self.operation.base_url.rstrip('/')}{self.operation.path}"
        is_approved = self._is_server_trusted
        return (CallsServer(self.name, self.server, dict(arguments), call, hints, is_approved=is_approved),)


def described(operation: Operation) -> str:
    """Return the tool's description: summary and description of the operation, then method and path."""
    words = [operation.summary.strip(), operation.description.strip()]
    text = "\n".join(visible(each) for each in dict.fromkeys(words) if each)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} […]"
    call = f"{operation.method.upper()} {visible(operation.path, lines=False)}"
    notes = " (deprecated)" if operation.is_deprecated else ""
    return f"{text}\n{call}{notes}" if text else f"{call}{notes}"


def _annotations(operation: Operation) -> ToolAnnotations:
    return ToolAnnotations(
        title=visible(operation.summary or operation.id, lines=False)[:80],
        readOnlyHint=operation.reads_only,
        destructiveHint=operation.method == "delete",
        idempotentHint=operation.method in ("get", "head", "options", "put", "delete"),
        openWorldHint=True,
    )
