"""The types of a tool's input and output, `Action` and `Observation`, and pydantic models from JSON schemas."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, create_model, field_validator
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError, to_json

from workbench.text import visible
from workbench.tools.alternatives import Need, alternatives
from workbench.tools.json_schema import all_of, copied, flat_object, for_models, inlined, is_object, object_schema
from workbench.tools.pydantic_schema import arguments_schema, json_fields, results_schema
from workbench.tools.schema_repair import repaired

if TYPE_CHECKING:
    from rich.console import RenderableType

ModelT = TypeVar("ModelT", bound=BaseModel)

_PLAIN: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
_CONSTRAINTS = {
    "integer": {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"},
    "number": {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"},
    "string": {"minLength": "min_length", "maxLength": "max_length"},
    "array": {"minItems": "min_length", "maxItems": "max_length"},
}
_WHOLE = {"ge": math.ceil, "le": math.floor, "gt": math.floor, "lt": math.ceil}
"""How to round a limit to a whole number that limits integers in the same way."""
_MAX_DEPTH = 25
_MAX_NODES = 2_000


def model_from_schema(name: str, schema: dict[str, Any] | bool, base: type[ModelT]) -> type[ModelT]:
    """Return a subclass of `base` for an object schema. Raises ValueError for any other or an invalid schema.

    True stands for an object with any properties, and false for one without any.
    """
    schema = object_schema(schema)
    if not isinstance(schema, dict) or _lists_properties(schema):
        raise ValueError(f"{name}: the schema must describe an object.")
    try:
        plain = flat_object(inlined(repaired(schema).schema, keep_null=True))
        if plain.get("type", "object") not in ("object", ["object"]):
            raise ValueError(f"{name}: the schema must describe an object.")
        return cast(type[ModelT], _Builder(base).model(name, plain, 0))
    except (TypeError, AttributeError, RecursionError, SchemaError, PydanticUserError) as error:
        raise ValueError(f"{name}: this is not a usable JSON schema ({error}).") from error


def _lists_properties(schema: dict[str, Any]) -> bool:
    """Return whether the properties are a list; PHP writes an empty object as an empty list."""
    properties = schema.get("properties")
    return isinstance(properties, list) and bool(properties)


class _Builder:
    """Creates the models for one schema without references; beyond `_MAX_NODES` nodes any value is accepted."""

    def __init__(self, base: type[BaseModel]) -> None:
        self._base = base
        self._nested = next(part for part in reversed(base.__mro__) if _forbids_extra(part))
        self._nodes = 0

    def model(self, name: str, schema: dict[str, Any], depth: int) -> type[BaseModel]:
        """Return the model of an object schema."""
        base = self._base if depth == 0 else self._nested
        required = schema.get("required") or ()
        fields: dict[str, Any] = {}
        for key, part in (schema.get("properties") or {}).items():
            attribute = attribute_name(key, base, fields)
            kind = self.kind(key, part, depth + 1)
            fields[attribute] = _field(kind, part, key in required, None if attribute == key else key)
        is_output = issubclass(base, Observation)
        is_free = is_output or (depth == 0 and "properties" not in schema)  # `{}` allows any, and names none
        is_open = bool(schema.get("additionalProperties", is_free) or schema.get("patternProperties"))
        kind = type(base.__name__, (base,), {"model_config": ConfigDict(extra="allow")}) if is_open else base
        doc = schema.get("description")
        model: type[BaseModel] = create_model(_class_name(name), __base__=kind, **fields)
        model.__doc__ = doc if isinstance(doc, str) else None
        return model

    def kind(self, name: str, schema: Any, depth: int) -> Any:
        """Return the Python type for a schema."""
        self._nodes += 1
        if not isinstance(schema, dict) or not schema or depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return Any
        if "const" in schema or "enum" in schema:
            return _literal(schema.get("enum", [schema.get("const")]))
        if is_object(schema):
            return self._object(name, flat_object(schema), depth)
        if isinstance(schema.get("allOf"), list):
            beside = {key: value for key, value in schema.items() if key != "allOf"}
            return self.kind(name, all_of([beside, *schema["allOf"]]), depth + 1)
        for union in ("anyOf", "oneOf"):
            if schema.get(union):
                return _union([self.kind(name, part, depth + 1) for part in schema[union]])
        return self._typed(name, schema, depth)

    def _typed(self, name: str, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "array" if "items" in schema or "prefixItems" in schema else None)
        if isinstance(kind, list):
            return _union([self.kind(name, {**schema, "type": one}, depth + 1) for one in kind])
        if kind == "array":
            return _limited(list[self.kind(name, schema.get("items"), depth + 1)], kind, schema)  # type: ignore[misc]
        return _limited(_PLAIN[kind], kind, schema) if kind in _PLAIN else Any

    def _object(self, name: str, schema: dict[str, Any], depth: int) -> Any:
        if schema.get("properties"):
            return self.model(name, schema, depth)
        return dict[str, self.kind(name, schema.get("additionalProperties"), depth + 1)]  # type: ignore[misc]


def _field(kind: Any, part: Any, required: bool, alias: str | None) -> tuple[Any, FieldInfo]:
    schema = part if isinstance(part, dict) else {}
    words = schema.get("description")
    options: dict[str, Any] = {"description": words if isinstance(words, str) else None, "alias": alias}
    if not required:
        # None even if the schema does not allow null: an omitted parameter is not sent.
        options["default"] = schema.get("default")
    return kind, cast(FieldInfo, Field(**options))


def _forbids_extra(kind: type) -> bool:
    return issubclass(kind, BaseModel) and kind.model_config.get("extra") == "forbid"


def _limited(kind: Any, kind_name: str, schema: dict[str, Any]) -> Any:
    """Return the type with the schema's limits, as far as pydantic checks them in the same way as JSON Schema."""
    names = _CONSTRAINTS.get(kind_name, {})
    limits: dict[str, Any] = {ours: schema[key] for key, ours in names.items() if _is_number(schema.get(key))}
    if kind_name == "integer":
        limits = {ours: _WHOLE[ours](limit) for ours, limit in limits.items()}
    return Annotated[kind, Field(**limits)] if limits else kind


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _literal(values: Any) -> Any:
    if isinstance(values, list) and values and all(isinstance(value, str | int | bool | None) for value in values):
        return Literal[tuple(values)]
    return Any


def _union(kinds: list[Any]) -> Any:
    if Any in kinds:
        return Any
    return reduce(or_, kinds) if kinds != [None] else None


def _class_name(name: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", name)
    return "".join(word[:1].upper() + word[1:] for word in words) or "Foreign"


def attribute_name(key: str, base: type[BaseModel], taken: dict[str, Any]) -> str:
    """Return a valid field name: the key itself if possible, else a similar name, for which the key is the alias."""
    name = re.sub(r"\W", "_", key, flags=re.ASCII).lstrip("_") or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    own = name in base.model_fields or not hasattr(base, name)
    if issubclass(base, Observation) and name in Observation.model_fields:
        own = False  # `content` is kept for the text that the model gets
    while name in taken or not own or name.startswith("model_"):
        name, own = f"x_{name}" if name.startswith("model_") else f"{name}_", True
    return name


class TextContent(BaseModel):
    """A block of text."""

    model_config = ConfigDict(frozen=True)
    type: Literal["text"] = "text"
    text: str


class ImageContent(BaseModel):
    """A base64-encoded image."""

    model_config = ConfigDict(frozen=True)
    type: Literal["image"] = "image"
    data: str
    mime_type: str


Content: TypeAlias = Annotated[TextContent | ImageContent, Field(discriminator="type")]


class Schema(BaseModel):
    """A frozen pydantic model whose JSON schema is sent to language models."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    foreign_schema: ClassVar[dict[str, Any] | None] = None
    """The JSON schema of another program from which the model was created, if any."""

    @classmethod
    def to_mcp_schema(cls) -> dict[str, Any]:
        """Return the JSON schema in simplified form: no references, null branches or titles, but all constraints."""
        foreign = cls.__dict__.get("foreign_schema")  # not inherited: a subclass may have more fields
        return copied(_simplified(cls)) if foreign is None else for_models(foreign)

    @classmethod
    def from_mcp_schema(cls, name: str, schema: dict[str, Any] | bool) -> type[Self]:
        """Return a subclass for the JSON schema of another program. Raises ValueError if it is not usable."""
        model = model_from_schema(name, schema, cls)
        model.foreign_schema = object_schema(schema)
        return model


_simplified_schemas: WeakKeyDictionary[type[Schema], tuple[object, dict[str, Any]]] = WeakKeyDictionary()
"""Simplified schemas with the core schemas they are of. Pydantic needs more time for one than a short session has steps
for, and a process may open thousands of sessions with the same tools.
"""


def _simplified(kind: type[Schema]) -> dict[str, Any]:
    """Return the simplified schema of the arguments, which callers must not change."""
    core, schema = _simplified_schemas.get(kind, (None, {}))
    if core is None or core is not kind.__pydantic_core_schema__:
        schema = for_models(arguments_schema(kind))
        # Only now: a class with a type that was declared later gets its final core schema with the first use.
        _simplified_schemas[kind] = kind.__pydantic_core_schema__, schema
    return schema


class Action(Schema):
    """The validated input of a tool."""

    can_read_only: ClassVar[bool] = False
    """Whether a tool that may write also has actions that only read; `reads_only` says whether an action does."""

    @property
    def reads_only(self) -> bool:
        """Whether this action only reads, although the tool can also write; plan mode allows such actions."""
        return False

    @property
    def visualize(self) -> RenderableType:
        """The rendering of the call that is printed without a screen; a tool may return any renderable of Rich.

        It is shown in addition to the line about the call, and only if the tool overrides this property, which returns
        the arguments.
        """
        from rich.text import Text

        lines = [f"{name}: {getattr(self, name)}" for name in sorted(self.model_fields_set)]
        return Text(visible("\n".join(lines)))


class Observation(Schema):
    """The result of an action."""

    content: Sequence[Content] = ()
    is_error: bool = False
    _need: Need | None = PrivateAttr(None)

    def lacking(self, need: Need) -> Self:
        """Note that the call failed because a program is missing, and return the observation."""
        self._need = need
        return self

    def with_alternatives(self, tools: Collection[str]) -> Self:
        """Return the observation with the names of those tools that can stand in for the missing program, if any."""
        hint = alternatives(self._need, tools) if self._need else ""
        return self.model_copy(update={"content": (*self.content, TextContent(text=hint))}) if hint else self

    @field_validator("content", mode="before")
    @classmethod
    def _blocks(cls, value: Any) -> Any:
        """Accept a text or a single block, as well as a sequence of blocks."""
        if value is None:
            return ()
        if isinstance(value, str):
            return (TextContent(text=value),)
        return (value,) if isinstance(value, TextContent | ImageContent) else value

    @classmethod
    def to_mcp_schema(cls) -> dict[str, Any]:
        """Return the JSON schema in simplified form, in which null stays a value of the fields that may have it."""
        foreign = cls.__dict__.get("foreign_schema")
        return for_models(results_schema(cls) if foreign is None else foreign, keep_null=True)

    @classmethod
    def from_text(cls, text: str, *, is_error: bool = False, **fields: Any) -> Self:
        """Return an observation with one block of text."""
        return cls(content=(TextContent(text=text),), is_error=is_error, **fields)

    @property
    def text(self) -> str:
        """All text blocks, joined by newlines."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextContent))

    @property
    def visualize(self) -> RenderableType:
        """The rendering of the result that is printed without a screen; a tool may return any renderable of Rich.

        It is shown in addition to the first line of the text, and only if the tool overrides it.
        """
        from rich.text import Text

        return Text(visible(self.text))

    @property
    def to_llm_content(self) -> Sequence[Content]:
        """The content for the model; without any, the fields of the class as JSON."""
        if self.content:
            return self.content
        rest = {name: value for name, value in json_fields(self).items() if name not in Observation.model_fields}
        return (TextContent(text=to_json(rest).decode()),) if rest else ()
