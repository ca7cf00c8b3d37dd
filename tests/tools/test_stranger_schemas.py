"""Any schema of another program can be offered to any model, and no tool's schema fails a request."""

import contextlib
import copy
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.tools.stranger_schemas import KEYWORDS, SCHEMAS, with_properties
from workbench.agent.agent import Agent, described_for
from workbench.llm.litellm_setup import load_litellm
from workbench.llm.model import Cancel, ModelResponse
from workbench.llm.text_tools.calls import (
    convert_fncall_messages_to_non_fncall_messages,
    convert_non_fncall_messages_to_fncall_messages,
    convert_tools_to_description,
)
from workbench.mcp.definitions import checked
from workbench.mcp.tool import MCPToolDefinition
from workbench.tools import Action, ToolDefinition
from workbench.tools.arguments import ArgumentError
from workbench.tools.json_schema import for_models
from workbench.tools.provider_schema import for_gemini
from workbench.tools.schema_repair import _REPAIRS, repaired

MODELS = ("openai/gpt-5", "gemini/gemini-3-pro", "anthropic/claude-opus-4-1", "bedrock/anthropic.claude-opus-4-1")
THOROUGH = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
GEMINI_KEYS = {
    *("type", "format", "description", "nullable", "enum", "items", "properties", "required", "anyOf", "pattern"),
    *("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "minProperties", "maxProperties"),
}


def tool_of(schema: Any) -> ToolDefinition:
    return ToolDefinition(name="foreign", description="Does it.", action_type=Action.from_mcp_schema("foreign", schema))


def mapped(model: str, described: dict[str, Any]) -> Any:
    """Return what litellm sends to the provider of this model."""
    load_litellm()
    from litellm.litellm_core_utils.prompt_templates.factory import _bedrock_tools_pt
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig

    tools = [copy.deepcopy(described)]
    if model.startswith("gemini"):
        (mapping,) = VertexGeminiConfig()._map_function(value=tools, optional_params={})
        return mapping["function_declarations"][0]["parameters"]
    if model.startswith("bedrock"):
        return _bedrock_tools_pt(tools)
    return AnthropicConfig()._map_tools(tools) if model.startswith("anthropic") else tools


def messages_with(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    function = {"name": "foreign", "arguments": json.dumps(arguments)}
    call = {"id": "toolu_01", "type": "function", "function": function}
    return [{"role": "user", "content": "Go"}, {"role": "assistant", "content": "", "tool_calls": [call]}]


def through_text(arguments: dict[str, Any], tool: dict[str, Any]) -> dict[str, Any]:
    text = convert_fncall_messages_to_non_fncall_messages(messages_with(arguments), [tool])
    back = convert_non_fncall_messages_to_fncall_messages(text, [tool])
    arguments_back: dict[str, Any] = json.loads(back[-1]["tool_calls"][0]["function"]["arguments"])
    return arguments_back


def gemini_parts(node: dict[str, Any]) -> list[dict[str, Any]]:
    below = [
        *node.get("properties", {}).values(),
        *node.get("anyOf", ()),
        *([node["items"]] if "items" in node else []),
    ]
    return [node, *(part for each in below for part in gemini_parts(each))]


def check_exports(schema: Any) -> None:
    tool = tool_of(schema)
    jsonschema.Draft202012Validator.check_schema(tool.to_mcp_tool()["inputSchema"])
    for model in MODELS:
        described = described_for(model, tool)
        sent = mapped(model, described)
        if model.startswith("gemini"):
            # Nothing is left for litellm to correct, so the model gets the intended schema.
            assert sent == described["function"]["parameters"]
            assert all(set(part) <= GEMINI_KEYS for part in gemini_parts(sent))
            assert all("type" in part or "anyOf" in part for part in gemini_parts(sent))
        assert json.dumps(sent)
        assert convert_tools_to_description([described]).count("BEGIN FUNCTION") == 1
        convert_fncall_messages_to_non_fncall_messages([{"role": "user", "content": "Go"}], [described])
    raw = {"type": "function", "function": {"name": "foreign", "description": "", "parameters": schema}}
    assert "foreign" in convert_tools_to_description([raw])
    with contextlib.suppress(ArgumentError):
        tool.action_from_arguments({"\x00nothing of it": {"x": object()}, "a": object()})


@pytest.mark.parametrize("name", SCHEMAS)
def test_foreign_schema_is_exported_for_each_kind_of_model(name):
    check_exports(SCHEMAS[name])
    assert repaired(SCHEMAS[name]).schema.get("type", "object") == "object"


@pytest.mark.parametrize("name", SCHEMAS)
def test_server_tool_with_a_sloppy_schema_is_offered(name):
    usable, faults = checked([{"name": "tool", "inputSchema": SCHEMAS[name], "description": "d"}])
    assert list(usable) == ["tool"], faults
    definition = MCPToolDefinition("tool", usable["tool"], "server")
    assert definition.to_openai_tool()["function"]["parameters"]["type"] == "object"
    assert usable["tool"]["inputSchema"] == (SCHEMAS[name] or {})


@pytest.mark.parametrize("schema", ["x", 5, [], {"type": "string"}, {"type": ["array"]}], ids=str)
def test_tool_with_a_schema_that_is_no_object_is_omitted_with_the_reason(schema):
    with pytest.raises(ValueError, match="must describe an object"):
        Action.from_mcp_schema("foreign", schema)
    assert for_models(schema)["type"] == "object"
    usable, faults = checked([{"name": "tool", "inputSchema": schema, "description": "d"}])
    assert bool(usable) != any("it is ignored" in line for line in faults)


ODD_LIMITS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "minimum": ({"type": "integer", "minimum": 0.5}, [1, 2], [0]),
    "maximum": ({"type": "integer", "maximum": 2.5}, [2, -9], [3]),
    "exclusive-minimum": ({"type": "integer", "exclusiveMinimum": 0.5}, [1], [0]),
    "exclusive-maximum": ({"type": "integer", "exclusiveMaximum": 2.5}, [2], [3]),
    "whole": ({"type": "integer", "minimum": 1.0, "exclusiveMaximum": 3.0}, [1, 2], [0, 3]),
    "large": ({"type": "integer", "maximum": 1e30, "minimum": -(10**40)}, [10**20], [10**31]),
    "in-list": ({"type": ["integer", "null"], "minimum": 0.5}, [1, None], [0]),
    "in-items": ({"type": "array", "items": {"type": "integer", "minimum": 0.5}}, [[1]], [[0]]),
    "lengths": ({"type": "string", "minLength": 1.0, "maxLength": 1e300}, ["a"], [""]),
}


@pytest.mark.parametrize("name", ODD_LIMITS)
def test_limits_that_are_no_whole_numbers_hold(name):
    part, accepted, refused = ODD_LIMITS[name]
    tool = ToolDefinition(name="t", description="d", input_schema=with_properties(a=part))
    for value in accepted:
        jsonschema.validate(value, part)
        assert tool.action_from_arguments({"a": value}).a == value
    for value in refused:
        with pytest.raises(ArgumentError):
            tool.action_from_arguments({"a": value})


SURROGATE, NAN, INFINITY = "x\ud800", float("nan"), float("inf")
NO_JSON: dict[str, Any] = {
    "default-nan": with_properties(a={"type": "number", "default": NAN}),
    "default-inside": with_properties(a={"default": {"x": [INFINITY]}}),
    "maximum-infinite": with_properties(a={"type": "number", "maximum": INFINITY, "minimum": -INFINITY}),
    "count-infinite": with_properties(a={"type": "string", "maxLength": INFINITY, "minLength": NAN}),
    "enum": with_properties(a={"enum": [SURROGATE, NAN, "ok"]}),
    "enum-only": with_properties(a={"enum": [SURROGATE]}),
    "const": with_properties(a={"const": SURROGATE}),
    "description": with_properties(a={"type": "string", "description": SURROGATE}),
    "root-description": {**with_properties(a={}), "description": SURROGATE, "title": SURROGATE},
    "name": with_properties(**{SURROGATE: {"type": "string"}, "a": {}}),
    "required": {**with_properties(a={}), "required": [SURROGATE]},
    "definitions": {**with_properties(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"enum": [SURROGATE, "ok"]}}},
    "pattern": with_properties(a={"type": "string", "pattern": SURROGATE}),
    "pattern-properties": {**with_properties(a={}), "patternProperties": {SURROGATE: {}}},
    "unknown-keyword": {**with_properties(a={"x-of": {"y": NAN}}), SURROGATE: 1},
    "reference": with_properties(a={"$ref": SURROGATE}),
    "examples": with_properties(a={"examples": [INFINITY, "ok"]}),
    "no-json-type": with_properties(a={"default": {1, 2}}),
}


@pytest.mark.parametrize("name", NO_JSON)
def test_what_json_cannot_hold_is_left_out_of_every_export(name):
    tool = ToolDefinition(name="t", description=f"d {SURROGATE}", input_schema=NO_JSON[name])
    openai = tool.to_openai_tool()
    gemini, _ = for_gemini(openai["function"]["parameters"])
    for export in openai, tool.to_responses_tool(), tool.to_mcp_tool(), gemini:
        assert json.dumps(export, ensure_ascii=False, allow_nan=False).encode()
    raw = {"type": "function", "function": {"name": "t", "description": "d", "parameters": NO_JSON[name]}}
    assert all(convert_tools_to_description([each]).encode() for each in (openai, raw))
    assert "a" in tool.schema["properties"]
    value: Any = 1.5 if name in ("default-nan", "maximum-infinite") else "ok"
    assert tool.action_from_arguments({"a": value}).a == value


@pytest.mark.parametrize(
    ("schema", "accepts"),
    [
        ({}, True),
        (True, True),
        ({"type": "object"}, True),
        ({"type": "object", "description": "d"}, True),
        ({"type": ["object", "null"]}, True),
        ({"type": "object", "properties": {}}, False),
        ({"type": "object", "properties": []}, False),
        ({"type": "object", "additionalProperties": False}, False),
        (False, False),
    ],
    ids=str,
)
def test_schema_that_names_no_properties_accepts_any(schema, accepts):
    for kind in ({"input_schema": schema}, {"action_type": Action.from_mcp_schema("t", schema)}):
        tool = ToolDefinition(name="t", description="d", **kind)
        assert tool.action_from_arguments({})
        assert tool.schema["additionalProperties"] is accepts
        if accepts:
            assert tool.action_from_arguments({"z": 1}).model_dump()["z"] == 1
        else:
            with pytest.raises(ArgumentError, match="takes no parameters"):
                tool.action_from_arguments({"z": 1})


def test_omitted_parts_of_a_server_tool_are_reported():
    schema = with_properties(never=False, when={"type": 5}, word={"pattern": "["}, limit={"minimum": "1"})
    usable, (line,) = checked([{"name": "tool", "inputSchema": schema}])
    assert usable
    assert line.startswith("the tool tool: in its schema `never` is ignored: no value is allowed there, `when.type`")
    assert line.endswith("and 2 more")


def test_valid_schema_is_unchanged():
    for schema in SCHEMAS.values():
        once = repaired(schema).schema
        assert repaired(once) == (once, [], "")


class RecordingModel:
    """A model that keeps the tools it is offered."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: list[str] = []

    def respond(self, request, on_delta, cancel):
        self.tools = [tool["function"]["name"] for tool in request.tools]
        return ModelResponse("r", self.name, "Yes.")

    def close(self) -> None:
        pass


class BrokenTool(ToolDefinition):
    """A tool whose export fails."""

    def to_openai_tool(
        self, add_security_risk_prediction: bool | None = None, *, short: bool = False
    ) -> dict[str, Any]:
        raise KeyError("no description")


@pytest.mark.parametrize("model", MODELS)
def test_tool_that_cannot_be_described_is_omitted_with_one_notice(tmp_path, model):
    needs_it = {**with_properties(**{"$ref": {"type": "string"}}), "required": ["$ref"]}
    tools = {
        "good": tool_of(with_properties(a=True)),
        "bad": BrokenTool(name="bad", description="", action_type=Action),
        "half": tool_of(with_properties(**{"$ref": {"type": "string"}, "b": {"type": "string"}})),
        "needs": tool_of(needs_it),
    }
    for name, tool in tools.items():
        tool.name = name
    notices: list[str] = []
    recording = RecordingModel(model)
    agent = Agent(recording, tools, tmp_path, on_notice=notices.append)
    for _ in range(2):
        agent.respond([{"role": "user", "content": "Go"}], lambda delta: None, Cancel())
    misreads = model.startswith(("gemini", "bedrock"))
    assert recording.tools == (["good", "half"] if misreads else ["good", "half", "needs"])
    expected = [
        f"the tool bad is not offered to {model}: 'no description'",
        f"the tool half is offered to {model} without its parameter $ref",
        f"the tool needs is not offered to {model}: its required parameter `$ref` cannot be sent to this provider",
    ]
    assert notices == (expected if misreads else expected[:1])


@pytest.mark.parametrize("name", KEYWORDS)
def test_parameter_named_like_a_keyword_arrives_or_is_omitted(name):
    schema = for_models(with_properties(**{name: {"type": "string"}, "other": {"type": "integer"}}))
    sent, left_out = for_gemini(schema)
    assert set(sent["properties"]) == ({name, "other"} - set(left_out))
    assert left_out == ([name] if name in ("$ref", "strict") else [])


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"const": 5}, {"type": "integer", "description": "One of: 5"}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        (
            {"enum": ["a", None]},
            {"type": "string", "enum": ["a"], "nullable": True, "description": 'One of: "a", null'},
        ),
        ({"enum": [1, 2], "description": "n"}, {"type": "integer", "description": "n. One of: 1, 2"}),
        ({"type": "array", "items": False}, {"type": "array", "maxItems": 0}),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, {"items": {"type": "string"}}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"not": {"type": "string"}}, {"anyOf": [{"type": "string"}, {"type": "number"}]}),
        ({"properties": {"x": True}}, {"type": "object"}),
    ],
    ids=["const", "const-text", "enum-null", "enum-numbers", "no-items", "tuple", "null", "union", "not", "no-type"],
)
def test_gemini_gets_the_correct_type(schema, sent):
    node = for_gemini(for_models({**with_properties(a=schema), "required": ["a"]}))[0]["properties"]["a"]
    for name, value in sent.items():
        assert node[name][:2] == value if name == "anyOf" else node[name] == value


property_names = st.sampled_from(
    ["a", "b", "class", "x-y", "schema", "self", "$ref", "items", "properties", "_x", "a=b"]
)
constants = st.sampled_from([1, "x", None, True, 1.5, [1], {"k": 1}, "1", "null", "true"])
KINDS = ["string", "integer", "number", "boolean", "null", "array", "object"]
leaves = st.one_of(
    st.booleans(),
    st.just({}),
    st.fixed_dictionaries({"type": st.sampled_from(KINDS)}),
    st.fixed_dictionaries({"const": constants}),
    st.fixed_dictionaries({"enum": st.lists(constants, min_size=1, max_size=3, unique_by=repr)}),
    st.fixed_dictionaries({"type": st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)}),
    st.sampled_from([{"$ref": "#/$defs/d"}, {"$ref": "#"}, {"$ref": "#/properties/a"}]),
)


def branches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = st.lists(inner, min_size=1, max_size=3)
    arrays = st.fixed_dictionaries(
        {"type": st.just("array")}, optional={"items": inner, "prefixItems": parts, "contains": inner}
    )
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(property_names, inner, max_size=3)},
        optional={
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.just("^x"), inner, max_size=1),
            "required": st.lists(property_names, max_size=2, unique=True),
        },
    )
    unions = [st.fixed_dictionaries({name: parts}) for name in ("anyOf", "oneOf", "allOf")]
    conditions = st.fixed_dictionaries({"if": inner, "then": inner, "else": inner})
    return st.one_of(arrays, objects, *unions, st.fixed_dictionaries({"not": inner}), conditions)


parts = st.recursive(leaves, branches, max_leaves=6)
schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(property_names, parts, max_size=4),
        "$defs": st.fixed_dictionaries({"d": parts}),
    },
    optional={"additionalProperties": parts, "required": st.lists(property_names, max_size=2, unique=True)},
)
ALL_KEYWORDS = sorted({*KEYWORDS, *_REPAIRS, "discriminator", "x-vendor"})
values = st.none() | st.booleans() | st.integers(-2, 3) | st.floats(-1, 2) | st.sampled_from(["", "a", "#", "["])
careless = st.recursive(
    values | leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(ALL_KEYWORDS), inner, max_size=4),
    max_leaves=6,
)


def is_exported(schema: dict[str, Any], *reasons: str) -> bool:
    try:
        check_exports(schema)
    except ValueError as error:
        return any(reason in str(error) for reason in reasons)
    return True


@given(schemas)
@THOROUGH
def test_any_schema_is_exported(schema):
    assert is_exported(schema, "cannot be sent")


@given(st.dictionaries(st.sampled_from(ALL_KEYWORDS), careless, max_size=5))
@THOROUGH
def test_anything_in_the_place_of_a_schema_is_exported_or_refused(schema):
    assert is_exported(schema, "cannot be sent", "must describe an object")


strings = st.lists(
    st.sampled_from(
        ["a", "1", "null", " ", "\n", '"', "</parameter>", "</function>", "<parameter=b>", "<think>", "\\"]
    ),
    max_size=3,
).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(strings, inner, max_size=2),
    max_leaves=4,
)
OF_KIND = {
    "string": strings,
    "integer": st.integers(),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    "boolean": st.booleans(),
    "null": st.none(),
}


@st.composite
def documents(draw: st.DrawFn, schema: Any) -> Any:
    """Draw mostly what the schema accepts; hypothesis-jsonschema does not work with newer versions of hypothesis."""
    if not isinstance(schema, dict):
        return draw(json_values)
    if "enum" in schema or "const" in schema:
        return draw(st.sampled_from(schema.get("enum", [schema.get("const")])))
    union = next((schema[name] for name in ("anyOf", "oneOf", "allOf") if name in schema), None)
    if union is not None:
        return draw(documents(draw(st.sampled_from(union))))
    kind = schema.get("type", "any")
    kind = draw(st.sampled_from(kind)) if isinstance(kind, list) else kind
    if kind == "array":
        first = [draw(documents(part)) for part in schema.get("prefixItems", ())]
        return first + draw(st.lists(documents(schema.get("items", True)), max_size=2))
    if kind == "object":
        properties, required = schema.get("properties", {}), schema.get("required", ())
        names = [name for name in properties if name in required or draw(st.booleans())]
        more = schema.get("additionalProperties", False)
        others = draw(st.lists(st.sampled_from(["other", "x", "a=b", "<c>"]), max_size=2, unique=True)) if more else []
        others = [name for name in others if name not in properties]
        known = {name: draw(documents(properties[name])) for name in names}
        return known | {name: draw(documents(more)) for name in others}
    return draw(OF_KIND.get(kind, json_values))


def closed(schema: Any) -> Any:
    """Return the schema with additional properties forbidden in all objects, as the workbench reads them."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema and "type" in schema else {}
    return {**more, **{name: part if name == "properties" else closed(part) for name, part in schema.items()}} | (
        {"properties": {name: closed(part) for name, part in schema["properties"].items()}} if more else {}
    )


closed_schemas = st.fixed_dictionaries(
    {"type": st.just("object"), "properties": st.dictionaries(property_names, parts, min_size=1, max_size=4)},
    optional={"additionalProperties": parts, "required": st.lists(property_names, max_size=2, unique=True)},
).map(closed)


@given(closed_schemas.filter(lambda schema: "$ref': '#" not in str(schema)), st.data())
@THOROUGH
def test_each_argument_that_a_schema_accepts_comes_back_exact(schema, data):
    arguments = data.draw(documents(schema))
    assume(jsonschema.Draft202012Validator(schema).is_valid(arguments))
    tool = tool_of(schema)
    action = tool.action_from_arguments(arguments)
    assert same(action.model_dump(mode="json", by_alias=True, exclude_unset=True), arguments)
    for parameters in (schema, for_models(schema)):
        described = {"type": "function", "function": {"name": "foreign", "description": "", "parameters": parameters}}
        assert same(through_text(arguments, described), arguments)


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; true is not 1, but 1.0 is."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(part, other[name]) for name, part in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
