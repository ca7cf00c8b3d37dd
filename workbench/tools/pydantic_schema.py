"""JSON schemas and JSON data of pydantic classes that may have types and values which JSON cannot express."""

from __future__ import annotations

import logging
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema

logger = logging.getLogger(__name__)
_IMPOSSIBLE: Final[dict[str, Any]] = {"not": {}}


class _Strict(GenerateJsonSchema):
    """Raises for a type that JSON cannot express; omits a default that JSON cannot express."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it


class _Arguments(_Strict):
    """For a type that no model can send, such as a function, generates a schema that no value matches."""

    def handle_invalid_for_json_schema(self, schema: CoreSchema, error_info: str) -> JsonSchemaValue:
        return dict(_IMPOSSIBLE)


class _Results(_Strict):
    """For a type that JSON cannot express, generates a schema that every value matches."""

    def handle_invalid_for_json_schema(self, schema: CoreSchema, error_info: str) -> JsonSchemaValue:
        return {}


def check_sendable(kind: type[BaseModel]) -> None:
    """Raise PydanticUserError if a model cannot send a value for each argument."""
    kind.model_json_schema(schema_generator=_Strict)


def arguments_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of the arguments. Optional arguments that no model can send are omitted, and logged.

    Raises ValueError if a required argument cannot be sent.
    """
    schema: dict[str, Any] = _sendable(kind.model_json_schema(schema_generator=_Arguments), kind.__name__)
    return schema


def results_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of results; values that JSON cannot express are not restricted."""
    return kind.model_json_schema(schema_generator=_Results)


def _sendable(node: Any, name: str) -> Any:
    if isinstance(node, list):
        return [each for part in node if not _is_impossible(each := _sendable(part, name))]
    if not isinstance(node, dict):
        return node
    result = {key: _sendable(value, name) for key, value in node.items()}
    for union in ("anyOf", "oneOf"):
        if union in result and result[union] in ([], [{"type": "null"}]) and node[union] != result[union]:
            return dict(_IMPOSSIBLE)
    properties = result.get("properties")
    if not isinstance(properties, dict):
        return result
    for key in [key for key, part in properties.items() if _is_impossible(part)]:
        if key in result.get("required", ()):
            raise ValueError(f"{name}: no model can send a value for `{key}`, which is required")
        logger.warning("%s: `%s` is omitted, because no model can send a value for it", name, key)
        del properties[key]
    return result


def _is_impossible(node: Any) -> bool:
    return isinstance(node, dict) and node.get("not") == _IMPOSSIBLE["not"]


def json_fields(value: BaseModel) -> dict[str, Any]:
    """Return the fields as JSON data; a value that JSON cannot express becomes a string or is omitted. Never raises."""
    try:
        return value.model_dump(mode="json", fallback=str)
    except Exception:  # noqa: BLE001 - data of a tool's own, such as one that contains itself
        names = (*type(value).model_fields, *(value.model_extra or ()))
        return {name: field[name] for name in names if (field := _field(value, name))}


def _field(value: BaseModel, name: str) -> dict[str, Any]:
    try:
        return value.model_dump(mode="json", include={name}, fallback=str)
    except Exception:  # noqa: BLE001 - as above
        logger.warning("%s: the field `%s` is not recorded, because it is not JSON", type(value).__name__, name)
        return {}
