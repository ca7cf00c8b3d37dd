from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, ValidationError

from workbench.tools import Action, Observation, Schema, ToolDefinition
from workbench.tools.provider_schema import for_gemini


class Point(Schema):
    x: int = Field(ge=0, le=9, description="across")
    y: float = 0.5


class Tree(Schema):
    name: str
    children: list["Tree"] = []


class Draw(Action):
    title: str = Field(min_length=1, description="what the picture is called")
    start: Point
    end: Point | None = Field(None, description="where it ends")
    style: Literal["thin", "thick"] = "thin"
    points: list[Point] = Field(default_factory=list, max_length=3)
    tree: Tree | None = None


def every_part(node: Any) -> list[dict[str, Any]]:
    if isinstance(node, list):
        return [part for item in node for part in every_part(item)]
    if not isinstance(node, dict):
        return []
    return [node] + [part for value in node.values() for part in every_part(value)]


def test_references_are_inlined_and_null_branches_removed():
    schema = Draw.to_mcp_schema()
    text = str(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert "null" not in text
    assert schema["properties"]["end"]["properties"]["x"]["maximum"] == 9
    assert schema["properties"]["end"]["description"] == "where it ends"


def test_schema_belongs_to_its_caller():
    Draw.to_mcp_schema()["properties"]["style"]["enum"].clear()
    assert Draw.to_mcp_schema()["properties"]["style"]["enum"] == ["thin", "thick"]


def test_schema_of_a_class_that_is_built_again_is_new():
    class Late(Action):
        where: Point

    assert Late.to_mcp_schema()["required"] == ["where"]
    Late.model_fields["where"].default = Point(x=1)
    Late.model_rebuild(force=True)
    assert "required" not in Late.to_mcp_schema()


def test_titles_are_removed_but_a_property_named_title_stays():
    schema = Draw.to_mcp_schema()
    assert schema["properties"]["title"] == {
        "type": "string",
        "minLength": 1,
        "description": "what the picture is called",
    }
    assert [part["title"] for part in every_part(schema) if "title" in part] == [schema["properties"]["title"]]


def test_constraints_for_the_model_are_kept():
    properties = Draw.to_mcp_schema()["properties"]
    assert properties["style"] == {"default": "thin", "enum": ["thin", "thick"], "type": "string"}
    assert properties["points"]["maxItems"] == 3
    assert properties["points"]["items"]["properties"]["x"]["minimum"] == 0
    assert Draw.to_mcp_schema()["required"] == ["title", "start"]


def test_recursive_schema_ends_in_a_plain_object():
    children = Draw.to_mcp_schema()["properties"]["tree"]["properties"]["children"]
    assert children["items"]["type"] == "object"
    assert "properties" not in children["items"]


def test_recursive_actions_export_a_simplified_schema():
    class Folder(Action):
        name: str
        inside: list["Folder"] = []
        owner: "Owner | None" = None

    class Owner(Schema):
        folders: list[Folder] = []

    Folder.model_rebuild(_types_namespace={"Folder": Folder, "Owner": Owner})
    schema = Folder.to_mcp_schema()
    assert "$ref" not in str(schema)
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    assert schema["properties"]["inside"]["items"]["type"] == "object"
    arguments = {"name": "a", "inside": [{"name": "b", "owner": {"folders": [{"name": "c"}]}}]}
    jsonschema.validate(arguments, schema)
    assert Folder.model_validate(arguments).inside[0].owner is not None


def test_exported_schema_is_valid_and_accepts_what_the_model_accepts():
    sent = {"title": "t", "start": {"x": 1}, "tree": {"name": "a"}}
    jsonschema.Draft202012Validator.check_schema(Draw.to_mcp_schema())
    jsonschema.validate(sent, Draw.to_mcp_schema())
    assert Draw.model_validate(sent).start.x == 1


FOREIGN = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "where"},
        "depth": {"type": "integer", "minimum": 1, "maximum": 5},
        "mode": {"enum": ["fast", "slow"], "type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "where": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "maybe": {"type": ["number", "null"]},
        "node": {"$ref": "#/$defs/Node"},
        "schema": {"type": "string"},
        "x-y": {"type": "boolean", "default": True},
        "class": {"type": "string"},
    },
    "required": ["path", "node"],
    "$defs": {
        "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": {"type": "string"}}}
    },
}


def test_foreign_schema_becomes_a_validating_model():
    model = Action.from_mcp_schema("read_it", FOREIGN)
    arguments = {
        "path": "/a",
        "node": {"value": "v", "next": {"value": "w"}},
        "schema": "s",
        "x-y": False,
        "class": "c",
    }
    action = model.model_validate(arguments)
    assert issubclass(model, Action)
    assert action.model_dump(by_alias=True, exclude_unset=True) == arguments
    jsonschema.validate(arguments, model.to_mcp_schema())


@pytest.mark.parametrize(
    "wrong",
    [
        {"depth": 0},
        {"depth": 6},
        {"mode": "medium"},
        {"tags": ["a", "b", "c"]},
        {"where": {}},
        {"where": {"line": 1, "column": 2}},
        {"either": [1]},
        {"maybe": "much"},
        {"unknown": 1},
        {"node": 3},
    ],
)
def test_model_of_a_foreign_schema_refuses_invalid_data(wrong):
    model = Action.from_mcp_schema("read_it", FOREIGN)
    with pytest.raises(ValidationError):
        model.model_validate({"path": "/a", "node": {}, **wrong})


def test_foreign_schema_survives_a_round_trip():
    exported = Action.from_mcp_schema("read_it", FOREIGN).to_mcp_schema()
    assert exported["required"] == ["path", "node"]
    assert exported["properties"]["depth"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert exported["properties"]["mode"]["enum"] == ["fast", "slow"]
    assert exported["properties"]["where"]["required"] == ["line"]
    assert exported["properties"]["x-y"] == {"type": "boolean", "default": True}


def test_foreign_schema_with_multiplying_references_is_bounded():
    names = [f"L{number}" for number in range(40)]
    definitions: dict[str, Any] = {
        name: {"type": "object", "properties": {side: {"$ref": f"#/$defs/{below}"} for side in ("a", "b")}}
        for name, below in pairwise(names)
    }
    definitions[names[-1]] = {"type": "string"}
    schema = {"type": "object", "properties": {"top": {"$ref": "#/$defs/L0"}}, "$defs": definitions}
    assert "top" in Action.from_mcp_schema("bomb", schema).model_fields


@pytest.mark.parametrize("schema", [{"type": "string"}, [], {"type": "object", "properties": [1]}])
def test_schema_that_is_no_object_schema_is_refused(schema):
    with pytest.raises(ValueError, match="broken"):
        Action.from_mcp_schema("broken", schema)


kinds = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"enum": ["a", "b"], "type": "string"}]
    ),
    lambda inner: (
        inner.map(lambda item: {"type": "array", "items": item})
        | st.dictionaries(st.text("abcxyz", min_size=1, max_size=4), inner, min_size=1, max_size=3).map(
            lambda properties: {"type": "object", "additionalProperties": False, "properties": properties}
        )
    ),
    max_leaves=6,
)


@given(properties=st.dictionaries(st.text("abcxyz", min_size=1, max_size=4), kinds, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_simple_schema_survives_a_round_trip(properties):
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    assert Action.from_mcp_schema("any", schema).to_mcp_schema() == schema


class Client:
    """An object of a program that no model can send."""


class Inner(Schema):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    number: int = 0
    client: Client | None = None


class Unsendable(Action):
    """Arguments of a model beside others that only a program can set."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    words: str
    function: Callable[[], int] | None = None
    client: Client = Client()
    either: Client | Callable[[], int] | None = None
    some: Client | int = 0
    inner: Inner | None = None


class Required(Action):
    """An argument that no model can send."""

    function: Callable[[], int]


class RequiredInside(Action):
    """Such an argument inside another one."""

    inner: Required | None = None


def test_optional_arguments_that_no_model_can_send_are_left_out_of_every_schema(caplog):
    whole = ToolDefinition(name="ask", description="a", action_type=Unsendable)
    for schema in (
        whole.schema,
        whole.to_mcp_tool()["inputSchema"],
        whole.to_openai_tool()["function"]["parameters"],
        for_gemini(whole.schema)[0],
    ):
        properties = schema["properties"]
        assert [name for name in properties if name not in ("security_risk", "summary")] == ["words", "some", "inner"]
        assert properties["some"]["type"] == "integer"
        assert list(properties["inner"]["properties"]) == ["number"]
    assert "no model can send" in caplog.text
    assert whole.action_from_arguments({"words": "a"}).client.__class__ is Client


@pytest.mark.parametrize("kind", [Required, RequiredInside], ids=["itself", "inside"])
def test_required_argument_that_no_model_can_send_is_named(kind):
    with pytest.raises(ValueError, match="no model can send a value for `function`, which is required"):
        kind.to_mcp_schema()


class Found(Observation):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    client: Client
    count: int = 0


def test_what_json_cannot_express_is_open_in_the_schema_of_a_result():
    schema = ToolDefinition(name="ask", description="a", action_type=Draw, observation_type=Found).to_mcp_tool()
    assert schema["outputSchema"]["properties"]["client"] == {}
    assert schema["outputSchema"]["properties"]["count"]["type"] == "integer"
    jsonschema.Draft202012Validator.check_schema(schema["outputSchema"])
