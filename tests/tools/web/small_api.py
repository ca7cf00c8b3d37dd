"""A small OpenAPI document of the tests, with one operation for each way of sending parameters."""

from __future__ import annotations

from typing import Any


def operation(name: str, *parameters: dict[str, Any], body: Any = None, **more: Any) -> dict[str, Any]:
    made = {"operationId": name, "parameters": list(parameters), "responses": {"200": {"description": "fine"}}, **more}
    return {**made, "requestBody": body} if body else made


def given(name: str, where: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": schema or {"type": "string"}, **more}


def content(media: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"content": {media: {"schema": schema}}, **more}


def document(
    paths: dict[str, Any], version: str = "3.0.3", url: str = "https://api.test/v1", **components: Any
) -> dict[str, Any]:
    info = {"title": "Small", "version": "1"}
    return {"openapi": version, "info": info, "servers": [{"url": url}], "paths": paths, "components": components}


PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string", "example": {"$ref": "#/nowhere"}},
        "age": {"type": "number", "nullable": True, "minimum": 0, "exclusiveMinimum": True},
        "mother": {"$ref": "#/components/schemas/Pet"},
        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
    },
}
