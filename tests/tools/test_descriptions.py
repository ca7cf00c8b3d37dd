"""The descriptions of all built-in tools: whole schemas, short forms within their budget, copies for Gemini."""

import importlib.util
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import jsonschema
import pytest
import tiktoken

from workbench.tools import Tool, ToolContext, ToolDefinition, list_registered_tools, resolve_tool
from workbench.tools.provider_schema import for_gemini


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ToolDefinition]]:
    context = ToolContext(str(tmp_path_factory.mktemp("work")))
    made = [tool for name in list_registered_tools() for tool in resolve_tool(Tool(name), context)]
    yield made
    for tool in made:
        tool.close()


@pytest.fixture
def tokens(monkeypatch):
    package = importlib.util.find_spec("litellm")
    assert package is not None
    directory = Path(package.submodule_search_locations[0]) / "litellm_core_utils/tokenizers"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(directory))  # the data that it would fetch is cached
    return lambda text: len(tiktoken.get_encoding("cl100k_base").encode(text))


def test_short_descriptions_of_all_tools_stay_under_1024_tokens(tools, tokens):
    short = [tool.to_openai_tool(short=True)["function"]["description"] for tool in tools]
    assert tokens("\n".join(short)) < 1024
    assert tokens("\n".join(short)) < tokens("\n".join(tool.description for tool in tools))
    assert all(len(text) <= 1024 for text in short)  # characters; some providers refuse longer ones


def test_security_risk_and_summary_come_first_and_read_only_tools_have_only_a_summary(tools):
    for tool in tools:
        parameters = tool.to_openai_tool()["function"]["parameters"]
        extras = ["summary"] if tool.is_read_only else ["security_risk", "summary"]
        assert list(parameters["properties"])[: len(extras)] == extras
        assert ("security_risk" in parameters.get("required", ())) is not tool.is_read_only
        assert not {"security_risk", "summary"} & tool.to_mcp_tool()["inputSchema"]["properties"].keys()


def test_every_schema_is_valid_simplified_and_described(tools):
    for tool in tools:
        for schema in (tool.to_openai_tool()["function"]["parameters"], tool.to_mcp_tool()["inputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema)
            assert all("description" in part for part in schema["properties"].values()), tool.name


def test_gemini_gets_a_copy_without_defaults_and_unknown_formats():
    schema = {
        "type": "object",
        "properties": {
            "default": {"type": "string", "default": "x", "format": "uri"},
            "format": {"type": "string", "format": "date-time"},
            "kind": {"type": "string", "format": "enum", "enum": ["a", "default"]},
            "count": {"type": "integer", "format": "int64"},
            "rows": {"type": "array", "items": {"anyOf": [{"type": "string", "format": "date", "default": "d"}]}},
        },
        "required": ["default"],
    }
    before = deepcopy(schema)
    assert for_gemini(schema)[0] == {
        "type": "object",
        "properties": {
            "default": {"type": "string"},
            "format": {"type": "string", "format": "date-time"},
            "kind": {"type": "string", "format": "enum", "enum": ["a", "default"]},
            "count": {"type": "integer", "format": "int64"},
            "rows": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["default"],
    }
    assert schema == before


def test_exported_tool_is_an_independent_copy(tools):
    tool = tools[0]
    tool.to_mcp_tool()["inputSchema"]["properties"].clear()
    tool.to_openai_tool()["function"]["parameters"]["properties"].clear()
    assert tool.to_mcp_tool()["inputSchema"]["properties"]
    assert len(tool.to_openai_tool()["function"]["parameters"]["properties"]) > 1
