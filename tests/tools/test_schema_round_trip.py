"""A schema of another program, the model made from it and what that exports mean the same, for any document."""

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from workbench.tools import Action

Node = dict[str, Any]
QUICK = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
names = st.sampled_from(["a", "b", "class", "x-y", "schema"])
small = st.integers(0, 4)

plain_kinds = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")}, optional={"minLength": st.integers(0, 1), "maxLength": st.integers(1, 3)}
    ),
    st.fixed_dictionaries(
        {"type": st.just("integer")}, optional={"minimum": st.integers(0, 1), "exclusiveMaximum": st.integers(3, 5)}
    ),
    st.fixed_dictionaries({"type": st.just("number")}, optional={"maximum": small}),
    st.just({"type": "boolean", "description": "yes or no"}),
    st.just({"enum": ["a", "b", 3], "default": "a"}),
    st.just({"type": ["string", "null"]}),
    st.just({"const": "c"}),
)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Node]) -> Node:
    properties = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def nested(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    lists = st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"maxItems": small})
    maps = st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
    unions = st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
    return st.one_of(objects(inner), lists, maps, unions)


trees = st.recursive(plain_kinds | st.just({"$ref": "#/$defs/shared"}), nested, max_leaves=8)
shared = st.recursive(plain_kinds, nested, max_leaves=3)


@st.composite
def documents(draw: st.DrawFn, schema: Node, root: Node) -> Any:
    """Draw a document close to what the schema describes, sometimes wrong in one place."""
    if draw(st.integers(0, 39)) == 0:
        return draw(st.sampled_from([None, "", "zz", -1, 2.5, True, [], {}]))
    if "$ref" in schema:
        return draw(documents(root["$defs"]["shared"], root))
    if "anyOf" in schema:
        return draw(documents(draw(st.sampled_from(schema["anyOf"])), root))
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
    if schema["type"] == "object" and "properties" in schema:
        left_out = draw(st.sets(st.sampled_from(sorted(schema["properties"]))))
        required = [name for name in schema["properties"] if name in schema["required"] or name not in left_out]
        return {name: draw(documents(schema["properties"][name], root)) for name in required}
    if schema["type"] == "object":
        return draw(st.dictionaries(names, documents(schema["additionalProperties"], root), max_size=2))
    if schema["type"] == "array":
        return draw(st.lists(documents(schema["items"], root), max_size=3))
    plain = {"string": st.text("ab", max_size=3), "integer": small, "number": small, "boolean": st.booleans()}
    return draw(plain[schema["type"] if isinstance(schema["type"], str) else "string"])


@st.composite
def schemas(draw: st.DrawFn) -> Node:
    return {**draw(objects(trees)), "$defs": {"shared": draw(shared)}}


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Node, Any]:
    schema = draw(schemas())
    return schema, draw(documents({**schema, "$defs": {}}, schema))


def is_valid(document: Any, schema: Node) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(document))


def is_taken(document: Any, model: type[Action], *, strict: bool | None = None) -> bool:
    try:
        model.model_validate(document, strict=strict)
    except ValidationError:
        return False
    return True


def without_null(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: without_null(part) for name, part in node.items() if part is not None}
    return [without_null(part) for part in node] if isinstance(node, list) else node


@given(pairs())
@QUICK
def test_model_accepts_exactly_what_the_schema_accepts(pair):
    schema, document = pair
    model = Action.from_mcp_schema("foreign", schema)
    if is_valid(document, schema):
        assert is_taken(document, model)
    if is_taken(document, model, strict=True):
        assert is_valid(document, schema)


@given(pairs())
@QUICK
def test_exported_schema_accepts_exactly_what_the_schema_accepts(pair):
    schema, document = pair
    exported = Action.from_mcp_schema("foreign", schema).to_mcp_schema()
    jsonschema.Draft202012Validator.check_schema(exported)
    if is_valid(document, exported):
        assert is_valid(document, schema)
    document_without_null = without_null(document)  # optional values are omitted, not null
    if document_without_null == document and is_valid(document, schema):
        assert is_valid(document, exported)


@given(pairs())
@QUICK
def test_second_round_trip_changes_nothing(pair):
    schema, _ = pair
    once = Action.from_mcp_schema("foreign", schema).to_mcp_schema()
    assert Action.from_mcp_schema("foreign", once).to_mcp_schema() == once


@given(pairs())
@QUICK
def test_arguments_reach_the_other_program_unchanged(pair):
    schema, document = pair
    model = Action.from_mcp_schema("foreign", schema)
    if is_valid(document, schema):
        assert model.model_validate(document).model_dump(by_alias=True, exclude_unset=True) == document


JSON_VALUE: Node = {
    "type": "object",
    "properties": {"value": {"$ref": "#/$defs/Json"}},
    "required": ["value"],
    "$defs": {
        "Json": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
            ]
        }
    },
}
RING: Node = {
    "$ref": "#/$defs/Person",
    "$defs": {
        "Person": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "lives": {"$ref": "#/$defs/House"}},
            "required": ["name"],
        },
        "House": {
            "allOf": [
                {"type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
                {"properties": {"people": {"type": "array", "items": {"$ref": "#/$defs/Person"}}}},
            ]
        },
    },
}
ROOT_LOOP: Node = {"type": "object", "properties": {"name": {"type": "string"}, "inner": {"$ref": "#"}}}
WAYS: Node = {
    "type": "object",
    "properties": {"how": {"type": "string"}},
    "required": ["how"],
    "oneOf": [
        {"properties": {"path": {"type": "string"}, "line": {"type": "integer"}}, "required": ["path"]},
        {"properties": {"url": {"type": "string"}, "line": {"type": "string"}}, "required": ["url"]},
    ],
}
LIMITS: Node = {
    "type": "object",
    "properties": {
        "size": {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}, "minItems": 1},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "additionalProperties": {"type": "string"},
}


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        (JSON_VALUE, {"value": [1, ["a", None], {"b": [True]}]}),
        (JSON_VALUE, {"value": None}),
        (RING, {"name": "a", "lives": {"street": "s", "people": [{"name": "b", "lives": {"street": "t"}}]}}),
        (ROOT_LOOP, {"name": "a", "inner": {"name": "b", "inner": {"inner": {}}}}),
        (WAYS, {"how": "quick", "path": "/a", "line": 3}),
        (WAYS, {"how": "quick", "url": "u", "line": "last"}),
        (LIMITS, {"size": 3, "rows": [{"n": 1}], "more": {"x": 1}, "unknown": "text"}),
    ],
)
def test_recursive_joined_and_split_schemas_accept_valid_documents(schema, good):
    model = Action.from_mcp_schema("foreign", schema)
    exported = model.to_mcp_schema()
    jsonschema.Draft202012Validator.check_schema(exported)
    assert is_valid(good, schema)
    assert is_valid(good, exported)
    assert model.model_validate(good).model_dump(by_alias=True, exclude_unset=True) == good


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        (JSON_VALUE, {}),
        (RING, {"name": 3}),
        (RING, {"name": "a", "lives": {}}),
        (ROOT_LOOP, {"inner": "text"}),
        (ROOT_LOOP, {"inner": {"name": []}}),
        (WAYS, {"path": "/a"}),
        (WAYS, {"how": "quick", "path": 3}),
        (LIMITS, {"size": 2}),
        (LIMITS, {"size": 10}),
        (LIMITS, {"rows": []}),
        (LIMITS, {"rows": [{"n": "many"}]}),
        (LIMITS, {"more": {"x": "text"}}),
    ],
)
def test_recursive_joined_and_split_schemas_refuse_invalid_documents(schema, wrong):
    model = Action.from_mcp_schema("foreign", schema)
    assert not is_valid(wrong, model.to_mcp_schema())
    assert not is_taken(wrong, model)


def test_top_level_union_becomes_one_list_of_properties():
    exported = Action.from_mcp_schema("foreign", WAYS).to_mcp_schema()
    assert set(exported) == {"type", "properties", "required", "additionalProperties"}
    assert list(exported["properties"]) == ["how", "path", "line", "url"]
    assert exported["properties"]["line"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert exported["required"] == ["how"]


def test_constraints_unsupported_by_pydantic_stay_in_the_exported_schema():
    odd = {
        "when": {"type": "string", "format": "date", "pattern": "^2"},
        "step": {"type": "number", "multipleOf": 0.5, "enum": [0.5, 1.5]},
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    }
    model = Action.from_mcp_schema("foreign", {"type": "object", "properties": odd})
    assert model.to_mcp_schema()["properties"] == odd
    assert is_taken({"when": "2026-11-21", "step": 0.5, "tags": ["a"]}, model)


def test_null_is_kept_if_it_has_a_meaning():
    nullable = {"type": ["string", "null"]}
    schema = {
        "type": "object",
        "properties": {"must": nullable, "may": nullable, "rows": {"type": "array", "items": nullable}},
        "required": ["must"],
    }
    properties = Action.from_mcp_schema("foreign", schema).to_mcp_schema()["properties"]
    assert properties["must"] == nullable
    assert properties["rows"]["items"] == nullable
    assert properties["may"] == {"type": "string"}


@pytest.mark.parametrize(
    "odd",
    [
        {"minimum": True, "type": "integer"},
        {"minLength": "3", "type": "string"},
        {"description": 5, "type": "string"},
        {"type": "wonder"},
        {"enum": []},
        {"anyOf": []},
        {"allOf": [True, {"type": "string"}]},
        {"$ref": "#/nowhere"},
        {"$ref": "https://elsewhere.example/schema"},
        True,
    ],
)
def test_sloppy_schema_still_gives_a_model(odd):
    model = Action.from_mcp_schema("foreign", {"type": "object", "properties": {"x": odd, "y": {"type": "integer"}}})
    assert is_taken({"x": "text", "y": 1}, model) or is_taken({"x": 7, "y": 1}, model)
    assert not is_taken({"y": "one"}, model)
